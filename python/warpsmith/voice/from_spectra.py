"""Features of given spectra, `(..., bins, frames)`, by librosa's definitions."""

from __future__ import annotations

from typing import Any

import numpy as np

from .arguments import count, number
from .units import fft_frequencies


def matrix(S: Any, name: str = "S") -> np.ndarray:
    """Values of bins by frames."""
    array = np.asarray(S)
    if array.ndim < 2 or array.dtype.kind not in "iuf" or 0 in array.shape:
        raise ValueError(
            f"{name} has shape {array.shape} of {array.dtype}; real bins by frames are needed"
        )
    array = array if array.dtype.kind == "f" else array.astype(np.float32)
    if not np.isfinite(array).all():
        raise ValueError(f"{name} holds a value that is not finite")
    return array


def magnitudes(S: Any) -> np.ndarray:
    """Magnitudes, none of which is negative."""
    array = matrix(S)
    if (array < 0).any():
        raise ValueError("S holds a negative value; magnitudes are needed")
    return array


def cosines(n: int, kept: int, kind: int = 2, norm: str | None = "ortho") -> np.ndarray:
    """The first rows of a discrete cosine transform of `n` values, of type 1 to 3."""
    if kept > n:
        raise ValueError(f"n_mfcc = {kept} cannot be used: there are {n} filters")
    k, at = np.arange(kept)[:, None], np.arange(n)[None]
    if kind == 2:
        rows: np.ndarray = 2 * np.cos(np.pi / n * (at + 0.5) * k)
        if norm == "ortho":
            rows *= np.sqrt(1 / (2 * n))
            rows[0] /= np.sqrt(2)
    elif kind == 3:
        rows = 2 * np.cos(np.pi / n * (k + 0.5) * at)
        rows[:, 0] = 1
        if norm == "ortho":
            rows *= np.sqrt(1 / (2 * n))
            rows[:, 0] *= np.sqrt(2)
    else:
        if n < 2:
            raise ValueError("a DCT of type 1 needs two filters or more")
        rows = 2 * np.cos(np.pi / (n - 1) * k * at)
        rows[:, [0, -1]] /= 2
        if norm == "ortho":
            rows[:, [0, -1]] *= np.sqrt(2)
            rows *= np.sqrt(1 / (2 * (n - 1)))
            rows[k[:, 0] % (n - 1) == 0] /= np.sqrt(2)
    return rows


def cepstra(
    S: Any, n_mfcc: int, lifter: float, kind: int = 2, norm: str | None = "ortho"
) -> np.ndarray:
    """Cepstra of levels in dB."""
    levels = matrix(S)
    # As librosa's slice of a transform: no more coefficients than filters.
    kept = min(n_mfcc, levels.shape[-2])
    rows = cosines(levels.shape[-2], kept, kind, norm)
    if lifter > 0:
        rows *= 1 + lifter / 2 * np.sin(np.pi * np.arange(1, kept + 1) / lifter)[:, None]
    found: np.ndarray = rows.astype(levels.dtype) @ levels
    return found


def rms(S: Any, frame_length: int) -> np.ndarray:
    """The level of frames by Parseval's theorem."""
    spectra = magnitudes(S)
    length = count("frame_length", frame_length)
    if length // 2 + 1 != spectra.shape[-2]:
        raise ValueError(
            f"{spectra.shape[-2]} bins do not come from frames of frame_length = {length} samples"
        )
    power = np.square(spectra)
    power[..., 0, :] *= 0.5
    if length % 2 == 0:
        power[..., -1, :] *= 0.5
    level: np.ndarray = np.sqrt(2 * power.sum(axis=-2, keepdims=True) / length**2)
    return level


def frequencies(S: np.ndarray, sr: float, freq: Any) -> np.ndarray:
    """The frequencies of the bins as a column, given or those of a transform."""
    bins = S.shape[-2]
    if freq is None:
        return fft_frequencies(sr=sr, n_fft=2 * (bins - 1) if bins > 1 else 1)[:, None]
    found = np.asarray(freq, np.float64)
    if found.shape != (bins,) or not np.isfinite(found).all():
        raise ValueError(f"freq has shape {found.shape}; one frequency to each of {bins} bins")
    return found[:, None]


def _shares(S: np.ndarray) -> np.ndarray:
    total = S.sum(axis=-2, keepdims=True)
    shares: np.ndarray = S / np.where(total < np.finfo(S.dtype).tiny, 1, total)
    return shares


def centroid(S: Any, sr: float, freq: Any = None) -> np.ndarray:
    spectra = magnitudes(S)
    found: np.ndarray = (frequencies(spectra, sr, freq) * _shares(spectra)).sum(-2, keepdims=True)
    return found


def bandwidth(S: Any, sr: float, freq: Any = None, p: float = 2.0) -> np.ndarray:
    power = number("p", p)
    if power <= 0:
        raise ValueError(f"p = {p} cannot be used: it must be above 0")
    spectra = magnitudes(S)
    away = np.abs(frequencies(spectra, sr, freq) - centroid(spectra, sr, freq))
    found: np.ndarray = (_shares(spectra) * away**power).sum(-2, keepdims=True) ** (1 / power)
    return found


def rolloff(S: Any, sr: float, freq: Any = None, share: float = 0.85) -> np.ndarray:
    part = number("roll_percent", share)
    if not 0 < part < 1:
        raise ValueError(f"roll_percent = {share} cannot be used: it lies between 0 and 1")
    spectra = magnitudes(S)
    total = np.cumsum(spectra, axis=-2)
    reached = total >= part * total[..., -1:, :]
    column = frequencies(spectra, sr, freq)
    found: np.ndarray = np.where(reached, column, np.inf).min(axis=-2, keepdims=True)
    return found


def flatness(S: Any, amin: float = 1e-10, power: float = 2.0) -> np.ndarray:
    floor = number("amin", amin)
    if floor <= 0:
        raise ValueError(f"amin = {amin} cannot be used: it must be above 0")
    powers = np.maximum(floor, magnitudes(S) ** number("power", power))
    geometric = np.exp(np.log(powers).mean(axis=-2, keepdims=True))
    found: np.ndarray = geometric / powers.mean(axis=-2, keepdims=True)
    return found


def contrast(
    S: Any, sr: float, freq: Any, fmin: float, n_bands: int, quantile: float, linear: bool
) -> np.ndarray:
    lowest, share, bands = number("fmin", fmin), number("quantile", quantile), count(
        "n_bands", n_bands
    )
    if lowest <= 0 or not 0 < share < 1 or bands > 64:
        raise ValueError(
            f"fmin = {fmin}, n_bands = {n_bands}, quantile = {quantile}: fmin must be above 0, "
            "n_bands at most 64, and quantile between 0 and 1"
        )
    edges = np.concatenate([[0.0], lowest * np.exp2(np.arange(bands + 1))])
    if edges[-2] >= 0.5 * sr:
        raise ValueError(f"the top band from {edges[-2]:g} Hz lies above half of sr = {sr:g}")
    spectra = magnitudes(S)
    column = frequencies(spectra, sr, freq)[:, 0]
    rows = []
    for band, (low, high) in enumerate(zip(edges[:-1], edges[1:])):
        inside = (column >= low) & (column <= high)
        places = np.flatnonzero(inside)
        if len(places) == 0:
            raise ValueError(f"no bin lies between {low:g} and {high:g} Hz; n_fft is too small")
        if band > 0:
            inside[max(places[0] - 1, 0)] = True
        if band == bands:
            inside[places[-1] + 1 :] = True
        part = spectra[..., inside, :]
        if band < bands:
            part = part[..., :-1, :]
        # As librosa counts them, of the bins before the last one was left out.
        few = int(max(np.rint(share * inside.sum()), 1))
        ordered = np.sort(part, axis=-2)
        rows.append((ordered[..., -few:, :].mean(-2), ordered[..., :few, :].mean(-2)))
    peaks = np.stack([peak for peak, _ in rows], axis=-2)
    valleys = np.stack([valley for _, valley in rows], axis=-2)
    if linear:
        difference: np.ndarray = peaks - valleys
        return difference

    def level(values: np.ndarray) -> np.ndarray:
        decibels: np.ndarray = 10 * np.log10(np.maximum(1e-10, values))
        bounded: np.ndarray = np.maximum(decibels, decibels.max() - 80.0)
        return bounded

    found: np.ndarray = level(peaks) - level(valleys)
    return found


def rises(S: Any, n_fft: int, hop_length: int) -> np.ndarray:
    """The mean over bands of the rise in dB, moved by half a frame."""
    levels = matrix(S)
    rise = np.maximum(0, np.diff(levels, axis=-1)).mean(axis=-2)
    shift = 1 + n_fft // (2 * hop_length)
    frames = levels.shape[-1]
    found = np.zeros(rise.shape[:-1] + (frames,), rise.dtype)
    kept = max(0, frames - shift)
    found[..., frames - kept :] = rise[..., :kept]
    return found
