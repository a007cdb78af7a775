"""Lets espeak-ng (1.51) read made-up numbers and words, and keeps the sound at 16 kHz.

    python speak.py spoken.npy

What it says is drawn from one seed, so that everybody gets the same bytes. Between phrases
espeak-ng is silent, which says where it speaks.
"""

import io
import os
import random
import subprocess
import sys
import wave

import numpy as np
from scipy.signal import resample_poly

LANGUAGES = "en-us en-gb de fr-fr es it pt-br nl pl ru cs sv fi el tr hu ro hi id cmn vi sw".split()
SPEAKERS = ["", "+m1", "+m3", "+m7", "+f1", "+f2", "+f3", "+f5", "+croak", "+klatt2", "+klatt4", "+whisper"]


def words(dice):
    syllable = lambda: dice.choice("ptkbdgmnlrsfvzwjh") + dice.choice("aeiou") + dice.choice(["", "n", "s", "l", "r", ""])
    said = []
    for _ in range(dice.randint(3, 9)):
        said.append(str(dice.randint(0, 99999)) if dice.random() < 0.3 else "".join(syllable() for _ in range(dice.randint(1, 4))))
        said.append(dice.choice(["", "", "", ",", ".", "?"]))
    return " ".join(said)


def spoken(dice):
    voice = dice.choice(LANGUAGES) + dice.choice(SPEAKERS)
    command = [os.environ.get("ESPEAK", "espeak-ng"), "-v", voice, "-s", str(dice.randint(110, 230)),
               "-p", str(dice.randint(10, 90)), "-g", str(dice.randint(0, 40)), "--stdout", words(dice)]
    with wave.open(io.BytesIO(subprocess.run(command, capture_output=True, check=True).stdout)) as file:
        sound = np.frombuffer(file.readframes(10**9), "<i2").astype(np.float64)
        rate = file.getframerate()
    return resample_poly(sound, 16_000, rate)


if __name__ == "__main__":
    dice, said, seconds = random.Random(1), [], 0.0
    while seconds < 1_500:
        sound = spoken(dice)
        said.append(np.clip(np.round(sound), -32768, 32767).astype(np.int16))
        said.append(np.zeros(int(16_000 * dice.uniform(0.0, 1.0)), np.int16))
        seconds += (len(said[-2]) + len(said[-1])) / 16_000
    np.save(sys.argv[1], np.concatenate(said))
