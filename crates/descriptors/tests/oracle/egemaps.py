"""Writes what openSMILE says of recordings: a line of 88 numbers to each, in the order of the files.

usage: egemaps.py OUT.csv FILE...
       egemaps.py --golden OUT_DIR   (makes a voice, its samples and its line)
       egemaps.py --made OUT.csv [FOLDER]   (makes the voices of `made_voices.rs`; writes them to FOLDER, too)
"""
import math, os, sys
import numpy as np
import opensmile
import soundfile

smile = opensmile.Smile(opensmile.FeatureSet.eGeMAPSv02, opensmile.FeatureLevel.Functionals)


def line(values):
    return ",".join(repr(float(x)) for x in values)


def made_voice(number):
    """Samples of 16 bits: what `made_voices.rs` does, step by step."""
    hertz, formants = [
        (105.0, (620.0, 1180.0, 2480.0)),
        (132.0, (420.0, 1950.0, 2600.0)),
        (196.0, (760.0, 1320.0, 2850.0)),
        (238.0, (350.0, 2300.0, 3050.0)),
    ][number]
    tau, state, phase, factor, last = 2.0 * math.pi, number + 1, 0.0, 1.0, 0.0
    widths = (70.0, 110.0, 160.0)
    shapes = []
    for formant, width in zip(formants, widths):
        radius = math.exp(-math.pi * width / 16000.0)
        shapes.append([2.0 * radius * math.cos(tau * formant / 16000.0), radius * radius, 1.0 - radius, 0.0, 0.0])
    samples = []
    for n in range(4 * 16000):
        t = n / 16000.0
        state = (state * 6364136223846793005 + 1442695040888963407) % 2**64
        noise = 2.0 * ((state >> 11) / 2**53) - 1.0
        phase += hertz * (1.0 + 0.12 * math.sin(tau * 0.6 * t)) * factor / 16000.0
        if phase >= 1.0:
            phase -= 1.0
            factor = 1.0 + 0.008 * noise
        if phase < 0.4:
            flow = 0.5 - 0.5 * math.cos(math.pi * phase / 0.4)
        elif phase < 0.56:
            flow = math.cos(0.5 * math.pi * (phase - 0.4) / 0.16)
        else:
            flow = 0.0
        syllable = math.sin(tau * 1.9 * t + number)
        voiced, breath = max(syllable, 0.0), max(-syllable - 0.5, 0.0)
        x = voiced * (flow - last + 0.004 * noise) + 0.02 * breath * noise
        last = flow
        for shape in shapes:
            y = x + shape[0] * shape[3] - shape[1] * shape[4]
            shape[4], shape[3] = shape[3], y
            x = shape[2] * y
        samples.append(min(max(math.floor(x * 1.0e8 + 60.0 * noise + 0.5), -32768), 32767))
    return np.array(samples, np.int16)


if sys.argv[1] == "--made":
    with open(sys.argv[2], "w") as table:
        for number in range(4):
            samples = made_voice(number)
            if len(sys.argv) > 3:
                soundfile.write(f"{sys.argv[3]}/made{number}.wav", samples, 16000)
            features = smile.process_signal(samples.astype(np.float32) / 32768, 16000)
            table.write(line(features.values[0]) + "\n")
elif sys.argv[1] == "--golden":
    out = sys.argv[2]
    os.makedirs(out, exist_ok=True)
    r = np.random.default_rng(5)
    t = np.arange(2 * 16000) / 16000
    phase = 2 * np.pi * np.cumsum(130 * 2 ** (0.2 * np.sin(5 * t))) / 16000
    y = sum(np.sin(k * phase + k * k) / k for k in range(1, 15))
    y = 0.2 * np.clip(3 * np.sin(2 * np.pi * 1.3 * t), 0, 1) * y + 0.003 * r.standard_normal(len(t))
    signal = np.clip(y * 32768, -32768, 32767).astype(np.int16)
    np.save(f"{out}/signal.npy", signal)
    features = smile.process_signal(signal.astype(np.float32) / 32768, 16000)
    open(f"{out}/egemaps.csv", "w").write(line(features.values[0]) + "\n")
else:
    with open(sys.argv[1], "w") as table:
        for file in sys.argv[2:]:
            signal, rate = soundfile.read(file, dtype="float32")
            assert rate == 16000 and signal.ndim == 1, file
            features = smile.process_signal(signal, rate)
            table.write(line(features.values[0]) + "\n")
