"""Lets synthetic voices read made-up numbers and words: espeak-ng, Festival and flite, from packages of Debian 12.

    apt-get install espeak-ng flite festival festvox-ca-ona-hts festvox-czech-{dita,krb,machac,ph} \
        festvox-itapc16k festvox-italp16k festvox-kallpc16k festvox-kdlpc16k festvox-ru \
        festvox-suopuhe-{lj,mv} festvox-us-slt-hts
    python voices.py voices.npz [SECONDS]

What they say is drawn from one seed. Between phrases there is silence, which says where they speak. The file has the
sound at 16 kHz, and of every 10 ms the pitch that Praat and WORLD hear in it: Hz where they agree, 0 where both hear
none, -1 where they differ. Needs praat-parselmouth, pyworld and scipy.
"""

import concurrent.futures
import os
import pathlib
import random
import subprocess
import sys
import tempfile
import wave

import numpy as np
from scipy.signal import resample_poly

sys.path.append(str(pathlib.Path(__file__).resolve().parents[4] / "python" / "benches"))
from voice_in_noise import HOP, agreed_pitch  # noqa: E402

LANGUAGES = "en-us en-gb de fr-fr es it pt-br nl pl ru cs sv fi el tr hu ro hi id cmn vi sw".split()
SPEAKERS = ["", "+m1", "+m3", "+m7", "+f1", "+f2", "+f3", "+f5", "+croak", "+klatt2", "+klatt4", "+whisper"]
FESTIVAL = """kal_diphone ked_diphone cmu_us_slt_arctic_hts czech_dita czech_krb czech_machac czech_ph
    suo_fi_lj_diphone hy_fi_mv_diphone lp_diphone pc_diphone msu_ru_nsh_clunits upc_ca_ona_hts""".split()
FLITE = "kal16 awb rms slt".split()


def words(dice):
    syllable = lambda: dice.choice("ptkbdgmnlrsfvzwjh") + dice.choice("aeiou") + dice.choice(["", "n", "s", "l", "r", ""])
    said = []
    for _ in range(dice.randint(3, 9)):
        said.append(str(dice.randint(0, 99999)) if dice.random() < 0.3 else "".join(syllable() for _ in range(dice.randint(1, 4))))
        said.append(dice.choice(["", "", "", ",", ".", "?"]))
    return " ".join(said)


def command(dice, out):
    """What says something into a file, and what it reads."""
    says, draw = words(dice), dice.random()
    if draw < 0.5:
        voice = dice.choice(LANGUAGES) + dice.choice(SPEAKERS)
        pace = ["-s", str(dice.randint(110, 230)), "-p", str(dice.randint(10, 90)), "-g", str(dice.randint(0, 40))]
        return ["espeak-ng", "-v", voice, *pace, "-w", out, says], ""
    stretch = dice.uniform(0.75, 1.3)
    if draw < 0.7:
        mean, range_hz = dice.uniform(80, 240), dice.uniform(5, 30)
        moved = ["--setf", f"int_f0_target_mean={mean}", "--setf", f"int_f0_target_stddev={range_hz}"]
        own = moved if dice.random() < 0.6 else []
        paced = ["--setf", f"duration_stretch={stretch}"]
        return ["flite", "-voice", dice.choice(FLITE), *own, *paced, "-t", says, "-o", out], ""
    scheme = f"(begin (voice_{dice.choice(FESTIVAL)}) (Parameter.set 'Duration_Stretch {stretch:.2f}))"
    return ["text2wave", "-eval", scheme, "-o", out], says


def spoken(seed):
    """A phrase at 16 kHz, with room behind it, and its pitch. A voice that fails says nothing."""
    dice = random.Random(seed)
    with tempfile.TemporaryDirectory() as folder:
        out = os.path.join(folder, "said.wav")
        line, says = command(dice, out)
        try:
            subprocess.run(line, input=says.encode(), capture_output=True, check=True, timeout=60)
            with wave.open(out) as file:
                sound = np.frombuffer(file.readframes(10**9), "<i2").astype(np.float64)
                rate = file.getframerate()
        except (subprocess.SubprocessError, OSError, wave.Error, EOFError) as error:
            print(f"{line[:3]}: {error}", file=sys.stderr)
            return np.zeros(0, np.int16), np.zeros(0, np.float32)
    sound = resample_poly(sound, 16_000, rate) if rate != 16_000 else sound
    sound = sound[: 16_000 * 10] * dice.uniform(0.5, 1.0)
    room = np.zeros(int(16_000 * dice.uniform(0.1, 0.8)) + HOP)
    sound = np.concatenate([sound, room])
    sound = np.clip(np.round(sound[: len(sound) // HOP * HOP]), -32768, 32767).astype(np.int16)
    if len(sound) < 16_000:
        return np.zeros(0, np.int16), np.zeros(0, np.float32)
    # The noise of the last bit, for trackers that divide by what they hear.
    heard = sound / 32768.0 + np.random.default_rng(seed).normal(0.0, 1e-5, len(sound))
    return sound, agreed_pitch(heard).astype(np.float32)


if __name__ == "__main__":
    wanted = float(sys.argv[2]) if len(sys.argv) > 2 else 1_600.0
    sounds, pitches, seconds, seed = [], [], 0.0, 0
    with concurrent.futures.ProcessPoolExecutor() as pool:
        while seconds < wanted:
            for sound, pitch in pool.map(spoken, range(seed, seed + 64)):
                sounds.append(sound)
                pitches.append(pitch)
                seconds += len(sound) / 16_000
            seed += 64
            print(f"{seconds:.0f} s", flush=True)
    sound, pitch = np.concatenate(sounds), np.concatenate(pitches)
    np.savez_compressed(sys.argv[1], sound=sound, pitch=pitch)
    voiced, unvoiced = (pitch > 0).mean(), (pitch == 0).mean()
    print(f"{len(sound) / 16_000:.0f} s; of 10 ms {voiced:.2f} voiced, {unvoiced:.2f} not")
