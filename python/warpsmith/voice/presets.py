"""Features with the numbers of a named peer: librosa, torchaudio, Kaldi, Whisper or HTK."""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import _native
from .arguments import count, each_matrix


def mel(
    y: Any,
    sr: float,
    *,
    preset: str = "librosa",
    log: bool = True,
    n_fft: int | None = None,
    hop_length: int | None = None,
    n_mels: int | None = None,
) -> np.ndarray:
    """Mel powers or their logarithms as `preset` computes them, `(..., n_mels, frames)`.

    Whisper's are defined at 16 kHz; a signal of another rate is refused: `resample` it first.

    >>> import numpy as np
    >>> from warpsmith import voice
    >>> y = np.sin(2 * np.pi * 440 * np.arange(16000) / 16000)
    >>> voice.mel(y, 16000, preset="whisper").shape
    (80, 100)
    """
    stage = "log-mel" if log else "mel"
    return _features(y, sr, preset, stage, 0, n_fft, hop_length, n_mels)


def mfcc(
    y: Any,
    sr: float,
    *,
    preset: str = "librosa",
    n_mfcc: int = 20,
    n_fft: int | None = None,
    hop_length: int | None = None,
    n_mels: int | None = None,
) -> np.ndarray:
    """Cepstral coefficients as `preset` computes them, `(..., n_mfcc, frames)`.

    >>> import numpy as np
    >>> from warpsmith import voice
    >>> voice.mfcc(np.sin(np.arange(16000) / 5), 16000, preset="kaldi", n_mfcc=13).shape
    (13, 98)
    """
    kept = count("n_mfcc", n_mfcc)
    return _features(y, sr, preset, "cepstrum", kept, n_fft, hop_length, n_mels)


def _features(
    y: Any,
    sr: float,
    preset: str,
    stage: str,
    n_mfcc: int,
    n_fft: int | None,
    hop_length: int | None,
    n_mels: int | None,
) -> np.ndarray:
    rate, wanted = count("sr", sr), _native.preset_rate(preset)
    if wanted not in (None, rate):
        raise ValueError(
            f"the preset `{preset}` is defined at {wanted} Hz and the signal has {rate} Hz; "
            f"use `resample(y, orig_sr={rate}, target_sr={wanted})` first"
        )
    named = {"n_fft": n_fft, "hop_length": hop_length, "n_mels": n_mels}
    sizes = [None if size is None else count(name, size) for name, size in named.items()]
    return each_matrix(
        y, lambda signal: _native.preset_features(signal, rate, preset, stage, n_mfcc, *sizes)
    )
