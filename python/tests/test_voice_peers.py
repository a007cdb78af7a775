"""Calls of the page "From librosa" beside librosa's own, over random settings."""

import numpy as np
import pytest

from warpsmith import voice

librosa = pytest.importorskip("librosa", reason="librosa is not installed")

SEEDS = range(6)


def signal(r, sr, seconds=1.0):
    """Harmonics that glide and pause over a little noise."""
    t = np.arange(int(sr * seconds)) / sr
    f0 = r.uniform(90, 300) * 2 ** (0.3 * np.sin(2 * np.pi * 0.8 * t))
    phase = 2 * np.pi * np.cumsum(f0) / sr
    y = sum(np.sin(k * phase + k * k) / k for k in range(1, 12))
    y = 0.15 * np.clip(3 * np.sin(2 * np.pi * 1.7 * t + 1), 0, 1) * y
    return (y + 0.002 * r.standard_normal(len(t))).astype(np.float32)


def settings(r):
    """A rate, and how frames are made."""
    n_fft = int(r.choice([256, 400, 512, 1024, 2048]))
    frames = {
        "n_fft": n_fft,
        "hop_length": int(r.integers(n_fft // 8, n_fft // 2)),
        "win_length": int(r.integers(n_fft // 2, n_fft + 1)),
        "window": str(r.choice(["hann", "hamming", "blackman"])),
        "center": bool(r.integers(2)),
    }
    return int(r.choice([8000, 16000, 22050, 44100])), frames


def near(ours, theirs, bound):
    assert ours.shape == theirs.shape
    worst = np.abs(ours - theirs).max() / max(np.abs(theirs).max(), 1e-12)
    assert worst < bound, worst


@pytest.fixture(params=SEEDS)
def case(request):
    r = np.random.default_rng(request.param)
    sr, frames = settings(r)
    return r, sr, frames, signal(r, sr)


def test_stft_and_istft(case):
    _, _, frames, y = case
    # Single precision: an error grows with the logarithm of n_fft.
    ours, theirs = voice.stft(y, **frames), librosa.stft(y, **frames)
    near(ours, theirs, 2e-6)
    if frames["center"]:
        near(
            voice.istft(theirs, length=len(y), **frames),
            librosa.istft(theirs, length=len(y), **frames),
            1e-5,
        )


def test_melspectrogram_and_mfcc(case):
    r, sr, frames, y = case
    mel = {
        "n_mels": int(r.integers(20, 60)),
        "fmin": float(r.uniform(0, 200)),
        "fmax": float(r.uniform(2000, sr / 2)),
        "htk": bool(r.integers(2)),
        "norm": [None, "slaney"][int(r.integers(2))],
    }
    for power in (2.0, 1.0):
        near(
            voice.feature.melspectrogram(y=y, sr=sr, power=power, **frames, **mel),
            librosa.feature.melspectrogram(y=y, sr=sr, power=power, **frames, **mel),
            5e-6,
        )
    near(
        voice.filters.mel(sr=sr, n_fft=frames["n_fft"], **mel),
        librosa.filters.mel(sr=sr, n_fft=frames["n_fft"], **mel),
        1e-6,
    )
    cepstra = {"n_mfcc": 13, "lifter": int(r.integers(0, 30)), "mel_norm": mel.pop("norm")}
    # Logarithms of powers near the floor of 80 dB magnify what single precision leaves.
    near(
        voice.feature.mfcc(y=y, sr=sr, **cepstra, **frames, **mel),
        librosa.feature.mfcc(y=y, sr=sr, **cepstra, **frames, **mel),
        1e-4,
    )


def test_shapes_of_spectra_and_levels(case):
    _, sr, frames, y = case
    for name, bound in [("centroid", 1e-4), ("bandwidth", 1e-4)]:
        ours = getattr(voice.feature, f"spectral_{name}")(y=y, sr=sr, **frames)
        theirs = getattr(librosa.feature, f"spectral_{name}")(y=y, sr=sr, **frames)
        near(ours, theirs, bound)
    ours = voice.feature.spectral_rolloff(y=y, sr=sr, **frames)
    theirs = librosa.feature.spectral_rolloff(y=y, sr=sr, **frames)
    # A sum that just reaches 85 % may do so one bin later.
    assert np.abs(ours - theirs).max() <= 1.01 * sr / frames["n_fft"]
    near(
        voice.feature.spectral_flatness(y=y, **frames),
        librosa.feature.spectral_flatness(y=y, **frames),
        1e-3,
    )
    if sr > 12800:
        near(
            voice.feature.spectral_contrast(y=y, sr=sr, **frames),
            librosa.feature.spectral_contrast(y=y, sr=sr, **frames),
            1e-3,
        )
    near(
        voice.feature.chroma_stft(y=y, sr=sr, tuning=0.0, **frames),
        librosa.feature.chroma_stft(y=y, sr=sr, tuning=0.0, **frames),
        1e-4,
    )
    sizes = {"frame_length": frames["n_fft"], "hop_length": frames["hop_length"]}
    near(voice.feature.rms(y=y, **sizes), librosa.feature.rms(y=y, **sizes), 1e-5)
    near(
        voice.feature.zero_crossing_rate(y, **sizes),
        librosa.feature.zero_crossing_rate(y, **sizes),
        1e-6,
    )


def test_pitch(case):
    r, sr, _, y = case
    sizes = {"fmin": float(r.uniform(60, 90)), "fmax": float(r.uniform(400, 900)), "sr": sr}
    sizes["frame_length"] = 2048 if sr > 16000 else 1024
    ours, theirs = voice.yin(y, **sizes), librosa.yin(y, **sizes)
    same = np.abs(1200 * np.log2(ours / theirs)) < 1
    assert same.mean() > 0.98, same.mean()
    (f0, voiced, probability), peer = voice.pyin(y, **sizes), librosa.pyin(y, **sizes)
    assert (voiced == peer[1]).mean() > 0.97
    both = voiced & peer[1]
    assert (np.abs(1200 * np.log2(f0[both] / peer[0][both])) < 15).mean() > 0.97
    assert np.abs(probability - peer[2]).mean() < 0.01


def test_onsets_delta_and_effects(case):
    r, sr, _, y = case
    hop = int(r.choice([256, 512]))
    near(
        voice.onset.onset_strength(y=y, sr=sr, hop_length=hop),
        librosa.onset.onset_strength(y=y, sr=sr, hop_length=hop),
        1e-4,
    )
    ours = voice.onset.onset_detect(y=y, sr=sr, hop_length=hop)
    assert ours.tolist() == librosa.onset.onset_detect(y=y, sr=sr, hop_length=hop).tolist()
    data = r.standard_normal((13, 60)).astype(np.float32)
    for width, order in [(9, 1), (5, 2)]:
        theirs = librosa.feature.delta(data, width=width, order=order)
        near(voice.feature.delta(data, width=width, order=order), theirs, 1e-5)
    cut, where = voice.effects.trim(y, top_db=20)
    theirs, there = librosa.effects.trim(y, top_db=20)
    assert where.tolist() == there.tolist() and (cut == theirs).all()
    near(voice.effects.preemphasis(y), librosa.effects.preemphasis(y), 1e-6)
    speed = float(r.uniform(0.6, 1.7))
    theirs = librosa.effects.time_stretch(y, rate=speed)
    near(voice.effects.time_stretch(y, rate=speed), theirs, 1e-2)


def test_constant_q(case):
    r, _, _, _ = case
    y = signal(r, 22050, 2.0)
    sizes = {"sr": 22050, "hop_length": 512, "n_bins": int(r.integers(48, 84))}
    # librosa halves the rate with soxr's filters, we with ours: 2e-3 of the largest in low octaves.
    near(voice.cqt(y, **sizes), librosa.cqt(y, tuning=0.0, **sizes), 3e-3)


def test_decibels_and_times(case):
    r, sr, _, _ = case
    S = r.uniform(0, 2, (20, 30)) ** 4
    near(voice.power_to_db(S, ref=np.max), librosa.power_to_db(S, ref=np.max), 1e-12)
    near(voice.amplitude_to_db(S, top_db=60), librosa.amplitude_to_db(S, top_db=60), 1e-12)
    near(voice.db_to_power(S), librosa.db_to_power(S), 1e-12)
    near(voice.db_to_amplitude(S), librosa.db_to_amplitude(S), 1e-12)
    near(voice.fft_frequencies(sr=sr, n_fft=512), librosa.fft_frequencies(sr=sr, n_fft=512), 1e-12)
    times = voice.frames_to_time(np.arange(9), sr=sr, hop_length=160)
    near(times, librosa.frames_to_time(np.arange(9), sr=sr, hop_length=160), 1e-12)


def test_resampling(case):
    r, _, _, _ = case
    y = signal(r, 22050)
    pytest.importorskip("soxr", reason="soxr is not installed")
    ours = voice.resample(y, orig_sr=22050, target_sr=16000)
    theirs = librosa.resample(y, orig_sr=22050, target_sr=16000)
    # Two filters of other shapes near the cut-off, and at the ends.
    assert ours.shape == theirs.shape
    middle = slice(800, -800)
    assert np.abs(ours[middle] - theirs[middle]).max() < 5e-3
