"""Tops of spectra between bins, and the tuning that they agree on, as librosa finds them."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .arguments import count, number
from .framing import frames
from .framing import spectra as framed
from .windows import Window


def piptrack(
    *,
    y: Any = None,
    sr: float = 22050,
    S: Any = None,
    n_fft: int = 2048,
    hop_length: int | None = None,
    fmin: float = 150.0,
    fmax: float = 4000.0,
    threshold: float = 0.1,
    win_length: int | None = None,
    window: Window = "hann",
    center: bool = True,
    pad_mode: str = "constant",
    ref: Any = None,
) -> tuple[np.ndarray, np.ndarray]:
    """Frequencies (Hz) and magnitudes of the tops of spectra, 0 elsewhere: `(..., bins, frames)`.

    Parabolas through three bins; tops count from `threshold` of the frame's largest on, or from
    `ref`, a level or a function of the magnitudes.

    >>> import numpy as np
    >>> from warpsmith import voice
    >>> y = np.sin(2 * np.pi * 440 * np.arange(22050) / 22050)
    >>> hertz, levels = voice.piptrack(y=y, sr=22050)
    >>> round(float(hertz[levels[:, 20].argmax(), 20]))
    440
    """
    if S is None:
        S = framed(y, frames(n_fft, hop_length, win_length, window, center, pad_mode), "magnitude")
    levels = np.abs(np.asarray(S))
    if levels.ndim < 2 or levels.shape[-2] < 3 or not np.isfinite(levels).all():
        raise ValueError(f"S has shape {levels.shape}; three finite bins or more are needed")
    size = n_fft if n_fft // 2 + 1 == levels.shape[-2] else 2 * (levels.shape[-2] - 1)
    hertz = np.arange(levels.shape[-2]) * (number("sr", sr) / size)
    inside = (hertz >= max(number("fmin", fmin), 0)) & (hertz < min(number("fmax", fmax), sr / 2))
    if ref is None:
        least = number("threshold", threshold) * levels.max(axis=-2, keepdims=True)
    elif callable(ref):
        least = number("threshold", threshold) * np.expand_dims(ref(levels, axis=-2), -2)
    else:
        least = np.abs(ref)
    below, above = levels[..., :-2, :], levels[..., 2:, :]
    curve = above + below - 2 * levels[..., 1:-1, :]
    slope = (above - below) / 2
    shift = np.zeros_like(levels)
    with np.errstate(divide="ignore", invalid="ignore"):
        shift[..., 1:-1, :] = np.where(np.abs(slope) >= np.abs(curve), 0, -slope / curve)
    loud = levels * (levels > least)
    top = np.zeros(levels.shape, bool)
    top[..., 1:-1, :] = (loud[..., 1:-1, :] > loud[..., :-2, :]) & (
        loud[..., 1:-1, :] >= loud[..., 2:, :]
    )
    top[..., -1, :] = loud[..., -1, :] > loud[..., -2, :]
    top &= inside[:, None]
    bins = np.arange(levels.shape[-2], dtype=levels.dtype)[:, None]
    pitches = np.where(top, (bins + shift) * levels.dtype.type(sr / size), 0)
    rises = np.gradient(levels, axis=-2)
    heights = np.where(top, levels + levels.dtype.type(0.5) * rises * shift, 0)
    return pitches.astype(levels.dtype), heights.astype(levels.dtype)


def pitch_tuning(
    frequencies: Any, *, resolution: float = 0.01, bins_per_octave: int = 12
) -> float:
    """How far frequencies are from equal steps from A4 = 440 Hz, most of them, in steps.

    >>> from warpsmith import voice
    >>> round(voice.pitch_tuning([442.0, 884.0]), 2)
    0.07
    """
    hertz = np.atleast_1d(np.asarray(frequencies, np.float64))
    hertz = hertz[hertz > 0]
    if len(hertz) == 0:
        return 0.0
    fine = number("resolution", resolution)
    if not 1e-6 <= fine <= 1:
        raise ValueError(f"resolution = {resolution} cannot be used: it goes from 1e-6 to 1")
    steps = np.mod(count("bins_per_octave", bins_per_octave) * np.log2(hertz / 27.5), 1.0)
    steps[steps >= 0.5] -= 1.0
    edges = np.linspace(-0.5, 0.5, math.ceil(1 / fine) + 1)
    several, _ = np.histogram(steps, edges)
    return float(edges[np.argmax(several)])


def tuning_of(pitches: np.ndarray, heights: np.ndarray, resolution: float, octave: int) -> float:
    """The tuning that the higher half of the tops agrees on."""
    there = pitches > 0
    least = np.median(heights[there]) if there.any() else 0.0
    chosen = pitches[(heights >= least) & there]
    return pitch_tuning(chosen, resolution=resolution, bins_per_octave=octave)
