"""Audio analysis over NumPy arrays, with librosa's names, shapes and defaults.

Features come before frames, batches before both: a signal of shape `(..., samples)` gives
`(..., features, frames)`. Samples are floats with full scale at 1. Work happens outside the
interpreter's lock, so that threads run side by side.

>>> import numpy as np
>>> from warpsmith import voice
>>> y = np.sin(2 * np.pi * 440 * np.arange(22050) / 22050)
>>> voice.feature.melspectrogram(y=y, sr=22050).shape
(128, 44)
"""

from . import effects, feature, filters, gpu, onset, stream, transforms
from .batches import batch
from .decibels import amplitude_to_db, db_to_amplitude, db_to_power, power_to_db
from .files import load, resample
from .pitch import pitch, pyin, yin
from .presets import mel, mfcc
from .quality import (
    Perturbation,
    cpps,
    formants,
    harmonicity,
    perturbation,
    pulses,
    vibrato,
)
from .spectra import (
    cqt,
    estimate_tuning,
    fft_frequencies,
    frames_to_time,
    griffinlim,
    istft,
    spectrogram,
    stft,
    vqt,
)
from .speech import Loudness, loudness, picture, segments, vad

__all__ = [
    "Loudness",
    "Perturbation",
    "amplitude_to_db",
    "batch",
    "cpps",
    "cqt",
    "db_to_amplitude",
    "db_to_power",
    "effects",
    "estimate_tuning",
    "feature",
    "fft_frequencies",
    "filters",
    "formants",
    "frames_to_time",
    "griffinlim",
    "harmonicity",
    "istft",
    "load",
    "loudness",
    "mel",
    "mfcc",
    "onset",
    "perturbation",
    "picture",
    "pitch",
    "power_to_db",
    "pulses",
    "pyin",
    "resample",
    "segments",
    "spectrogram",
    "stft",
    "stream",
    "transforms",
    "vad",
    "vibrato",
    "vqt",
    "yin",
]
