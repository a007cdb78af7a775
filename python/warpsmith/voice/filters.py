"""Filters over the bins of a spectrum."""

from __future__ import annotations

import numpy as np

from .. import _native
from .arguments import bank, count


def mel(
    *,
    sr: float,
    n_fft: int,
    n_mels: int = 128,
    fmin: float = 0.0,
    fmax: float | None = None,
    htk: bool = False,
    norm: str | None = "slaney",
) -> np.ndarray:
    """The weights of mel filters, `(n_mels, 1 + n_fft/2)`.

    Slaney's curve (Auditory Toolbox, 1998), or HTK's `2595·log10(1 + f/700)`; with `norm="slaney"`
    every triangle has unit area.

    >>> from warpsmith import voice
    >>> voice.filters.mel(sr=16000, n_fft=512, n_mels=40).shape
    (40, 257)
    """
    of = bank(n_mels, fmin, fmax, htk, norm)
    return np.asarray(_native.mel_bank(count("sr", sr), count("n_fft", n_fft), of))
