"""Asks Praat for the quality of the voices of voices.py.

usage: praat_quality.py DIRECTORY

Writes beside each WAV file NAME.quality.npy, one number to each of `MEASURES`, and NAME.formants.npy, rows of the
first three formants. CPPS is that of the fifth of a second in the middle: Praat takes seconds for it.
"""
import glob, sys
import numpy as np
import parselmouth
from parselmouth.praat import call

JITTER = ("local", "rap", "ppq5")
SHIMMER = ("local", "local_dB", "apq3", "apq5", "apq11")
MEASURES = [f"jitter {k}" for k in JITTER] + [f"shimmer {k}" for k in SHIMMER] + ["HNR (cc)", "HNR (ac)", "CPPS"]


def measure(sound):
    pulses = call(sound, "To PointProcess (periodic, cc)", 75, 600)
    yield from (call(pulses, f"Get jitter ({kind})", 0, 0, 0.0001, 0.02, 1.3) for kind in JITTER)
    yield from (call([sound, pulses], f"Get shimmer ({kind})", 0, 0, 0.0001, 0.02, 1.3, 1.6) for kind in SHIMMER)
    yield call(call(sound, "To Harmonicity (cc)", 0.01, 75, 0.1, 1.0), "Get mean", 0, 0)
    yield call(call(sound, "To Harmonicity (ac)", 0.01, 75, 0.1, 4.5), "Get mean", 0, 0)
    rate, values = int(sound.sampling_frequency), sound.values[0]
    start = len(values) // 2 - rate // 10
    middle = parselmouth.Sound(values[start : start + rate // 5], rate)
    cepstra = call(middle, "To PowerCepstrogram", 60, 0.002, 5000, 50)
    trend = ("Exponential decay", "Robust slow")
    yield call(cepstra, "Get CPPS", "yes", 0.02, 0.0005, 60, 330, 0.05, "Parabolic", 0.001, 0.05, *trend)


for path in sorted(glob.glob(f"{sys.argv[1]}/*.wav")):
    sound = parselmouth.Sound(path)
    np.save(path.replace(".wav", ".quality.npy"), np.array(list(measure(sound)), dtype=np.float32))
    formants = call(sound, "To Formant (burg)", 0.01, 5, 5500, 0.025, 50)
    rows = [
        [call(formants, "Get value at time", n, formants.frame_number_to_time(i), "hertz", "linear") for n in (1, 2, 3)]
        for i in range(1, formants.n_frames + 1)
    ]
    np.save(path.replace(".wav", ".formants.npy"), np.array(rows, dtype=np.float32))
