"""Pitch and speech in noise: `net`, `hq`, swift-f0 and Silero on recordings that you have.

    python python/benches/voice_in_noise.py FOLDER [FOLDER ...]

The pitch of a recording is what Praat's autocorrelation and WORLD's DIO and Harvest agree on within
3 %; a frame is unvoiced where Praat and DIO say so; all others, and those within 30 ms of a change,
are left out. Speech is what lies less than 35 dB below the loud frames of the clean recording,
pauses under 120 ms included. Noise is added to what was recorded; babble are eight other places of
the same recordings, and brown noise and babble are heard by detectors of speech alone. RPA: pitches within 50 cents, of
voiced frames, whether or not a tracker calls them voiced; `hq`, which says no pitch of unvoiced
frames, is judged there by the line between its neighbours. FFE: frames whose voicing is wrong or
whose pitch is off by more than 20 %. Needs praat-parselmouth, pyworld, soundfile and soxr; swift-f0
and silero-vad take part where they are installed.
"""

import pathlib
import sys

import numpy as np
import parselmouth
import pyworld
import soundfile
import soxr

from warpsmith import voice

SR, HOP = 16_000, 160


def recordings(folders, seconds=300.0):
    """Recordings of 1.5 to 12 s from each folder in turn, in the order of a fixed draw."""
    for folder in folders:
        endings = {".wav", ".flac", ".ogg"}
        paths = sorted(p for p in pathlib.Path(folder).rglob("*") if p.suffix in endings)
        np.random.default_rng(2).shuffle(paths)
        heard = 0.0
        for path in paths:
            y, rate = soundfile.read(path, dtype="float32", always_2d=True)
            y = soxr.resample(y.mean(1), rate, SR)
            if heard < seconds / len(folders) and 1.5 < len(y) / SR < 12.0:
                heard += len(y) / SR
                yield y[: len(y) // HOP * HOP].astype(np.float32)


def agreed_pitch(y):
    """Hz of each 10 ms, 0 where unvoiced, -1 where nobody can say."""
    x, frames = y.astype(float), len(y) // HOP
    times = np.arange(frames) * 0.01
    dio, at = pyworld.dio(x, SR, f0_floor=60, f0_ceil=500, frame_period=10.0)
    dio = pyworld.stonemask(x, dio, at, SR)[:frames]
    harvest = pyworld.harvest(x, SR, f0_floor=60, f0_ceil=500, frame_period=10.0)[0][:frames]
    track = parselmouth.Sound(x, SR).to_pitch_ac(time_step=0.01, pitch_floor=60, pitch_ceiling=500)
    own, at = track.selected_array["frequency"], track.xs()
    after = np.clip(np.searchsorted(at, times), 1, len(at) - 1)
    one, two = own[after - 1], own[after]
    between = one + (times - at[after - 1]) / (at[after] - at[after - 1]) * (two - one)
    praat = np.where((one > 0) & (two > 0), between, np.where((one == 0) & (two == 0), 0, -1))
    three = np.stack([dio, harvest, praat])
    agree = (three.min(0) > 0) & (three.max(0) < 1.03 * three.min(0))
    truth = np.where(agree, np.median(three, 0), np.where((dio == 0) & (praat == 0), 0, -1))
    keep = truth >= 0
    for shift in range(-3, 4):
        near = np.roll(truth, shift)
        keep &= ((near > 0) == (truth > 0)) | (near < 0)
    return np.where(keep, truth, -1)


def spoken(y):
    """Whether each 10 ms is speech."""
    power = np.convolve((y.reshape(-1, HOP) ** 2).mean(1), np.ones(3) / 3, "same")
    level = 10 * np.log10(power + 1e-12)
    speech = level > np.percentile(level, 95) - 35
    there = np.flatnonzero(speech)
    for a, b in zip(there[:-1], there[1:]):
        speech[a:b] |= b - a <= 12
    return speech


def white(count, random):
    return random.standard_normal(count)


def pink(count, random):
    spectrum = np.fft.rfft(random.standard_normal(count))
    return np.fft.irfft(spectrum / np.sqrt(np.maximum(np.fft.rfftfreq(count, 1 / SR), 20)), count)


def brown(count, random):
    spectrum = np.fft.rfft(random.standard_normal(count))
    return np.fft.irfft(spectrum / np.maximum(np.fft.rfftfreq(count, 1 / SR), 20), count)


def babble(y):
    """Eight other places of what is heard at once."""

    def noise(count, _):
        return sum(np.roll(y[:count], part * count // 9) for part in range(1, 9))

    return noise


def noisy(y, active, decibels, noise):
    if noise is None:
        return y
    added = noise(len(y), np.random.default_rng(0))
    gain = np.sqrt((y[active] ** 2).mean() / 10 ** (decibels / 10) / (added**2).mean())
    return (y + gain * added).astype(np.float32)


def trackers():
    def net(y):
        seconds, hertz, _ = voice.pitch(y, sr=SR, method="net", threshold=0)
        return seconds, hertz, voice.pitch(y, sr=SR, method="net")[1] > 0

    def hq(y):
        seconds, hertz, _ = voice.pitch(y, sr=SR, method="hq")
        voiced = hertz > 0
        return seconds, np.interp(seconds, seconds[voiced], hertz[voiced]), voiced

    yield "net", net
    yield "hq", hq
    try:
        from swift_f0 import SwiftF0
    except ImportError:
        return
    swift = SwiftF0()

    def track(y):
        found = swift.detect(y, SR)
        return found.timestamps, found.pitch_hz, found.confidence > 0.5

    yield "swift-f0", track


def detectors():
    yield "net", lambda y: voice.vad(y, sr=SR, method="net")
    yield "statistical", lambda y: voice.vad(y, sr=SR)
    try:
        import torch
        from silero_vad import load_silero_vad
    except ImportError:
        return
    silero = load_silero_vad(onnx=True)

    def detect(y):
        silero.reset_states()
        chunks = range(0, len(y) - 511, 512)
        sure = np.array([silero(torch.from_numpy(y[n : n + 512]), SR).item() for n in chunks])
        return sure[np.minimum(np.arange(len(y) // HOP) * HOP // 512, len(sure) - 1)] > 0.5

    yield "Silero at 0.5", detect


def main(folders):
    clips = list(recordings(folders))
    y = np.concatenate(clips)
    truth = np.concatenate([agreed_pitch(clip) for clip in clips])
    voiced, unvoiced = truth > 0, truth == 0
    times = np.arange(len(truth)) * 0.01
    frames = f"{voiced.sum()} voiced, {unvoiced.sum()} unvoiced frames"
    print(f"{len(clips)} recordings, {len(y) / SR:.0f} s; {frames}")
    mixtures = [
        ("clean", 0, None),
        ("white 10 dB", 10, white),
        ("white 0 dB", 0, white),
        ("pink 10 dB", 10, pink),
        ("pink 0 dB", 0, pink),
    ]
    for name, track in trackers():
        for mixture, decibels, noise in mixtures:
            heard = noisy(y, np.repeat(voiced, HOP), decibels, noise)
            at, hertz, sure = track(heard)
            # Trackers have frames of their own: between them pitches are lines in log frequency.
            hertz = np.exp(np.interp(times, at, np.log(np.maximum(hertz, 1.0))))
            said = np.interp(times, at, np.asarray(sure, float)) > 0.5
            ratio = np.where(voiced, hertz, 1) / np.where(voiced, truth, 1)
            cents = 1200 * np.abs(np.log2(ratio))
            off = voiced & said & (np.abs(ratio - 1) > 0.2)
            wrong = (voiced & ~said) | (unvoiced & said) | off
            rpa, ffe = (cents < 50)[voiced].mean(), wrong.sum() / (voiced | unvoiced).sum()
            figures = f"RPA {100 * rpa:6.2f} %  FFE {100 * ffe:6.2f} %"
            print(f"pitch  {name:14} {mixture:12} {figures}", flush=True)
    random = np.random.default_rng(3)
    gaps = [np.zeros(HOP * random.integers(30, 150), np.float32) for _ in clips]
    equal = [0.5 * clip / np.abs(clip).max() for clip in clips]
    pieces = [part for pair in zip(equal, gaps) for part in pair]
    silent = [np.zeros(len(gap) // HOP, bool) for gap in gaps]
    y = np.concatenate(pieces)
    labels = zip(map(spoken, clips), silent)
    speech = np.concatenate([part for pair in labels for part in pair])
    mixtures += [("brown 0 dB", 0, brown), ("babble 10 dB", 10, babble(y))]
    for name, detect in detectors():
        for mixture, decibels, noise in mixtures:
            heard = noisy(y, np.repeat(speech, HOP), decibels, noise)
            found = np.asarray(detect(heard))[: len(speech)]
            f1 = 2 * (found & speech).sum() / (found.sum() + speech.sum())
            print(f"speech {name:14} {mixture:12} F1 {f1:.3f}", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
