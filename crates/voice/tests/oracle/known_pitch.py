"""Writes voices at 16 kHz whose pitch is known: NAME.npy and NAME.truth.npy, Hz of each sample, 0 where
there is no voice.

usage: known_pitch.py OUT_DIR RECORDING.wav ...

Tones, a sweep, vibrato and harmonics without their fundamental by construction; `speech` is the
recordings, analysed and synthesised again by WORLD at a smoothed pitch, so that envelopes are those of
speech and the pitch is known. That pitch was found by WORLD's Harvest, also where hardly anything
repeats itself: a tracker that agrees with Harvest is favoured.
"""
import os, sys
import numpy as np

out, recordings = sys.argv[1], sys.argv[2:]
os.makedirs(out, exist_ok=True)
rate = 16000
random = np.random.default_rng(0)


def save(name, signal, truth):
    np.save(f"{out}/{name}.npy", np.ascontiguousarray(signal, dtype=np.float32))
    np.save(f"{out}/{name}.truth.npy", np.ascontiguousarray(truth, dtype=np.float32))


def sing(hertz, first=1, tilt=1.0):
    """Harmonics up to the twelfth of a contour."""
    phase = 2 * np.pi * np.cumsum(hertz) / rate
    sound = sum(np.where(k * hertz < 7600, np.sin(k * phase + 0.7 * k * k) / k**tilt, 0) for k in range(first, 13))
    return 0.5 * sound / np.abs(sound).max()


def noisy(signal, truth, decibel):
    power = np.mean(signal[truth > 0] ** 2)
    return signal + random.standard_normal(len(signal)) * np.sqrt(power / 10 ** (decibel / 10))


ramp = np.minimum(1, np.minimum(np.arange(8000), np.arange(8000)[::-1]) / 160)
tones, truth = [], []
for hertz in np.geomspace(72, 740, 24):
    contour = np.full(8000, hertz)
    tones += [sing(contour) * ramp, np.zeros(4000)]
    truth += [contour, np.zeros(4000)]
tones, truth = np.concatenate(tones), np.concatenate(truth)
save("tones", tones, truth)
save("tones_0_db", noisy(tones, truth, 0), truth)
sweep = 80 * (700 / 80) ** (np.arange(12 * rate) / (12 * rate))
save("sweep", sing(sweep), sweep)
t = np.arange(2 * rate) / rate
notes = [base * 2 ** (100 / 1200 * np.sin(2 * np.pi * 5.5 * t)) for base in (165, 220, 330, 440, 587)]
save("vibrato", np.concatenate([sing(note) for note in notes]), np.concatenate(notes))
turns = np.random.default_rng(3).uniform(90, 250, 25)
glides = np.interp(np.arange(12 * rate) / rate, np.linspace(0, 12, 25), turns)
save("no_fundamental", sing(glides, first=3, tilt=0.5), glides)

import pyworld, soundfile


def smooth(f0, width=15):
    """The logarithm under a window of 75 ms within voiced runs; runs below 50 ms are dropped."""
    smoothed = f0.copy()
    edges = np.flatnonzero(np.diff(np.concatenate([[0], (f0 > 0).astype(int), [0]])))
    window = np.hanning(width + 2)[1:-1]
    for start, end in zip(edges[::2], edges[1::2]):
        if end - start < 10:
            smoothed[start:end] = 0
        else:
            run = np.pad(np.log(f0[start:end]), width // 2, mode="edge")
            smoothed[start:end] = np.exp(np.convolve(run, window / window.sum(), "valid"))
    return smoothed


def resynthesise(path):
    signal, found = soundfile.read(path)
    assert found == rate, path
    f0, times = pyworld.harvest(signal, rate, f0_floor=65, f0_ceil=500, frame_period=5)
    f0 = smooth(f0)
    envelope, noise = pyworld.cheaptrick(signal, f0, times, rate), pyworld.d4c(signal, f0, times, rate)
    speech = pyworld.synthesize(f0, envelope, noise, rate, 5)
    at = np.arange(len(speech)) / rate
    voiced = f0[np.clip(np.round(at / 0.005).astype(int), 0, len(f0) - 1)] > 0
    return speech, np.where(voiced, np.interp(at, times[f0 > 0], f0[f0 > 0]), 0)


spoken = [resynthesise(path) for path in recordings]
for name, chosen in (("speech_tuned", spoken[::2]), ("speech_held_out", spoken[1::2])):
    save(name, np.concatenate([s for s, _ in chosen]), np.concatenate([f for _, f in chosen]))
