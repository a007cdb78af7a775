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

from . import (
    beat,
    core,
    decompose,
    effects,
    exceptions,
    feature,
    filters,
    gpu,
    onset,
    stream,
    torchaudio,
    util,
)
from .batches import batch
from .beat import Key, beat_track, key, tempo, tempogram
from .decibels import amplitude_to_db, db_to_amplitude, db_to_power, power_to_db
from .effects import harmonic, hpss, percussive, split
from .files import get_samplerate, load, resample
from .pitch import pitch, pyin, yin
from .presets import mel, mfcc
from .quality import (
    Perturbation,
    cpps,
    formants,
    harmonicity,
    perturbation,
    pulses,
    quality,
    vibrato,
)
from .sounds import (
    autocorrelate,
    chirp,
    clicks,
    lpc,
    mu_compress,
    mu_expand,
    tone,
    zero_crossings,
)
from .spectra import (
    cqt,
    estimate_tuning,
    griffinlim,
    istft,
    magphase,
    phase_vocoder,
    spectrogram,
    stft,
    vqt,
)
from .speech import Loudness, loudness, picture, segments, turns, vad
from .summary import analyze, egemaps
from .torchaudio import functional, transforms
from .tuning import piptrack, pitch_tuning
from .units import (
    A_weighting,
    cqt_frequencies,
    fft_frequencies,
    frames_to_samples,
    frames_to_time,
    get_duration,
    hz_to_mel,
    hz_to_midi,
    hz_to_note,
    mel_frequencies,
    mel_to_hz,
    midi_to_hz,
    midi_to_note,
    note_to_hz,
    note_to_midi,
    samples_like,
    samples_to_frames,
    samples_to_time,
    time_to_frames,
    time_to_samples,
    times_like,
    to_mono,
)

__all__ = [
    "A_weighting",
    "Key",
    "Loudness",
    "Perturbation",
    "amplitude_to_db",
    "analyze",
    "autocorrelate",
    "batch",
    "beat",
    "beat_track",
    "chirp",
    "clicks",
    "core",
    "cpps",
    "cqt",
    "cqt_frequencies",
    "db_to_amplitude",
    "db_to_power",
    "decompose",
    "effects",
    "egemaps",
    "estimate_tuning",
    "exceptions",
    "feature",
    "fft_frequencies",
    "filters",
    "formants",
    "frames_to_samples",
    "frames_to_time",
    "functional",
    "get_duration",
    "get_samplerate",
    "griffinlim",
    "harmonic",
    "harmonicity",
    "hpss",
    "hz_to_mel",
    "hz_to_midi",
    "hz_to_note",
    "istft",
    "key",
    "load",
    "loudness",
    "lpc",
    "magphase",
    "mel",
    "mel_frequencies",
    "mel_to_hz",
    "mfcc",
    "midi_to_hz",
    "midi_to_note",
    "mu_compress",
    "mu_expand",
    "note_to_hz",
    "note_to_midi",
    "onset",
    "percussive",
    "perturbation",
    "phase_vocoder",
    "picture",
    "piptrack",
    "pitch",
    "pitch_tuning",
    "power_to_db",
    "pulses",
    "pyin",
    "quality",
    "resample",
    "samples_like",
    "samples_to_frames",
    "samples_to_time",
    "segments",
    "spectrogram",
    "split",
    "stft",
    "stream",
    "tempo",
    "tempogram",
    "time_to_frames",
    "time_to_samples",
    "times_like",
    "to_mono",
    "tone",
    "torchaudio",
    "transforms",
    "turns",
    "util",
    "vad",
    "vibrato",
    "vqt",
    "yin",
    "zero_crossings",
]
