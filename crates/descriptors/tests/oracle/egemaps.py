"""Writes what openSMILE says of recordings: a line of 88 numbers to each, in the order of the files.

usage: egemaps.py OUT.csv FILE...
       egemaps.py --golden OUT_DIR   (makes a voice, its samples and its line)
"""
import os, sys
import numpy as np
import opensmile
import soundfile

smile = opensmile.Smile(opensmile.FeatureSet.eGeMAPSv02, opensmile.FeatureLevel.Functionals)


def line(values):
    return ",".join(repr(float(x)) for x in values)


if sys.argv[1] == "--golden":
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
