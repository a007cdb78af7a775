"""Filters over the bins of a spectrum, and windows."""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import _native
from .arguments import bank, count, number
from .units import mel_frequencies, note_to_hz, rate_of
from .util import normalize
from .windows import Window, sum_of_squares, values

__all__ = [
    "chroma",
    "cq_to_chroma",
    "get_window",
    "mel",
    "mel_frequencies",
    "window_sumsquare",
]

#: Values of a bank of filters, at most.
_LARGEST = 1 << 26


def mel(
    *,
    sr: float,
    n_fft: int,
    n_mels: int = 128,
    fmin: float = 0.0,
    fmax: float | None = None,
    htk: bool = False,
    norm: Any = "slaney",
    dtype: Any = np.float32,
) -> np.ndarray:
    """The weights of mel filters, `(n_mels, 1 + n_fft/2)`.

    Slaney's curve (Auditory Toolbox, 1998), or HTK's `2595·log10(1 + f/700)`; with `norm="slaney"`
    every triangle has unit area, with a number that norm is 1, with `None` its top.

    >>> from warpsmith import voice
    >>> voice.filters.mel(sr=16000, n_fft=512, n_mels=40).shape
    (40, 257)
    """
    area = norm == "slaney" if isinstance(norm, str) else False
    if isinstance(norm, str) and not area:
        raise ValueError(f"norm = {norm!r} cannot be used: 'slaney', None and numbers are known")
    of = bank(n_mels, fmin, fmax, htk, "slaney" if area else None)
    weights = np.asarray(_native.mel_bank(count("sr", sr), count("n_fft", n_fft), of))
    if norm is not None and not area:
        weights = normalize(weights, norm=norm, axis=-1)
    return weights.astype(dtype, copy=False)


def get_window(window: Window, Nx: int, *, fftbins: bool = True) -> np.ndarray:
    """The values of a window: one period of a periodic function, or symmetric (`fftbins=False`).

    >>> from warpsmith import voice
    >>> voice.filters.get_window("hann", 4).round(6).tolist()
    [0.0, 0.5, 1.0, 0.5]
    """
    return values(window, count("Nx", Nx), fftbins)


def window_sumsquare(
    *,
    window: Window,
    n_frames: int,
    hop_length: int = 512,
    win_length: int | None = None,
    n_fft: int = 2048,
    dtype: Any = np.float32,
    norm: float | None = None,
) -> np.ndarray:
    """The summed squares of windows `hop_length` samples apart, `n_fft + hop·(n_frames − 1)`."""
    size, hop = count("n_fft", n_fft), count("hop_length", hop_length)
    length = size if win_length is None else count("win_length", win_length)
    if length > size:
        raise ValueError(f"win_length = {length} is above n_fft = {size}")
    if count("n_frames", n_frames) * max(hop, size) > _LARGEST:
        raise ValueError(f"n_frames = {n_frames} of n_fft = {size} are too many")
    return sum_of_squares(window, n_frames, hop, length, size, norm).astype(dtype)


def chroma(
    *,
    sr: float,
    n_fft: int,
    n_chroma: int = 12,
    tuning: float = 0.0,
    ctroct: float = 5.0,
    octwidth: float | None = 2,
    norm: float | None = 2,
    base_c: bool = True,
    dtype: Any = np.float32,
) -> np.ndarray:
    """How much of each bin belongs to each pitch class, `(n_chroma, 1 + n_fft/2)` (Ellis 2007).

    Gaussians of a semitone, weighted around the octave `ctroct` with the width `octwidth`.

    >>> from warpsmith import voice
    >>> voice.filters.chroma(sr=22050, n_fft=4096).shape
    (12, 2049)
    """
    size, classes = count("n_fft", n_fft, 2), count("n_chroma", n_chroma)
    if size * classes > _LARGEST:
        raise ValueError(f"{classes} classes over n_fft = {size} would take too much memory")
    hertz = np.linspace(0, rate_of(sr), size, endpoint=False)[1:]
    reference = 440.0 * 2.0 ** (number("tuning", tuning) / classes)
    steps = classes * np.log2(hertz / (reference / 16))
    steps = np.concatenate([[steps[0] - 1.5 * classes], steps])
    widths = np.concatenate([np.maximum(np.diff(steps), 1.0), [1]])
    away = steps[None] - np.arange(classes)[:, None]
    half = np.round(classes / 2)
    away = np.remainder(away + half + 10 * classes, classes) - half
    weights = normalize(np.exp(-0.5 * (2 * away / widths) ** 2), norm=norm, axis=0)
    if octwidth is not None:
        middle, spread = number("ctroct", ctroct), number("octwidth", octwidth)
        weights = weights * np.exp(-0.5 * ((steps / classes - middle) / spread) ** 2)
    if base_c:
        weights = np.roll(weights, -3 * (classes // 12), axis=0)
    return np.ascontiguousarray(weights[:, : 1 + size // 2], dtype)


def cq_to_chroma(
    n_input: int,
    *,
    bins_per_octave: int = 12,
    n_chroma: int = 12,
    fmin: float | None = None,
    base_c: bool = True,
    dtype: Any = np.float32,
) -> np.ndarray:
    """Which constant-Q bins from `fmin` (C1) on belong to each pitch class, `(n_chroma, n_input)`."""
    bins, octave = count("n_input", n_input), count("bins_per_octave", bins_per_octave)
    classes = count("n_chroma", n_chroma)
    if octave % classes or bins * classes > _LARGEST:
        raise ValueError(
            f"bins_per_octave = {octave} must be a multiple of n_chroma = {classes}, and both small"
        )
    several = octave // classes
    lowest = float(note_to_hz("C1")) if fmin is None else number("fmin", fmin)
    belongs = np.roll(np.repeat(np.eye(classes), several, axis=1), -(several // 2), axis=1)
    belongs = np.tile(belongs, -(-bins // octave))[:, :bins]
    midi = np.mod(12 * np.log2(lowest / 440.0) + 69, 12)
    turned = midi if base_c else midi - 9
    return np.roll(belongs, int(np.round(turned * (classes / 12.0))), axis=0).astype(dtype)
