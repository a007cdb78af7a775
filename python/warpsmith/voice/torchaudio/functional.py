"""torchaudio's functions: `from warpsmith.voice.torchaudio import functional as F`.

They take NumPy arrays or PyTorch tensors of the CPU and give what they were given.

>>> import numpy as np
>>> from warpsmith.voice.torchaudio import functional as F
>>> F.lowpass_biquad(np.ones((1, 800), np.float32), 8000, 100.0).shape
(1, 800)
"""

from .activity import vad
from .features import (
    compute_deltas,
    create_dct,
    detect_pitch_frequency,
    linear_fbanks,
    melscale_fbanks,
    sliding_window_cmn,
)
from .filtering import (
    allpass_biquad,
    band_biquad,
    bandpass_biquad,
    bandreject_biquad,
    bass_biquad,
    biquad,
    convolve,
    deemph_biquad,
    deemphasis,
    equalizer_biquad,
    fftconvolve,
    filtfilt,
    highpass_biquad,
    lfilter,
    lowpass_biquad,
    overdrive,
    preemphasis,
    riaa_biquad,
    treble_biquad,
)
from .levels import (
    DB_to_amplitude,
    add_noise,
    amplitude_to_DB,
    contrast,
    dcshift,
    gain,
    loudness,
    mu_law_decoding,
    mu_law_encoding,
)
from .masks import mask_along_axis, mask_along_axis_iid
from .resampling import resample, speed
from .spectra import (
    griffinlim,
    inverse_spectrogram,
    phase_vocoder,
    pitch_shift,
    spectral_centroid,
    spectrogram,
)

__all__ = [
    "DB_to_amplitude",
    "add_noise",
    "allpass_biquad",
    "amplitude_to_DB",
    "band_biquad",
    "bandpass_biquad",
    "bandreject_biquad",
    "bass_biquad",
    "biquad",
    "compute_deltas",
    "contrast",
    "convolve",
    "create_dct",
    "dcshift",
    "deemph_biquad",
    "deemphasis",
    "detect_pitch_frequency",
    "equalizer_biquad",
    "fftconvolve",
    "filtfilt",
    "gain",
    "griffinlim",
    "highpass_biquad",
    "inverse_spectrogram",
    "lfilter",
    "linear_fbanks",
    "loudness",
    "lowpass_biquad",
    "mask_along_axis",
    "mask_along_axis_iid",
    "melscale_fbanks",
    "mu_law_decoding",
    "mu_law_encoding",
    "overdrive",
    "phase_vocoder",
    "pitch_shift",
    "preemphasis",
    "resample",
    "riaa_biquad",
    "sliding_window_cmn",
    "spectral_centroid",
    "spectrogram",
    "speed",
    "treble_biquad",
    "vad",
]
