"""Spectra taken apart."""

from __future__ import annotations

from typing import Any

import numpy as np

from .arguments import count, number
from .spectra import magphase
from .util import softmask

__all__ = ["hpss"]

#: Values that are sorted at once.
_AT_ONCE = 1 << 22


def hpss(
    S: Any,
    *,
    kernel_size: Any = 31,
    power: float = 2.0,
    mask: bool = False,
    margin: Any = 1.0,
) -> tuple[np.ndarray, np.ndarray]:
    """The tones and the clicks of spectra `(..., bins, frames)`; with `mask`, the shares of both.

    Medians along time and along frequency (Fitzgerald 2010; margins after Driedger 2014).
    `kernel_size` and `margin` are those of both parts, or a pair.

    >>> import numpy as np
    >>> from warpsmith import voice
    >>> tones, clicks = voice.decompose.hpss(np.ones((5, 40)), kernel_size=3)
    >>> bool(np.allclose(tones + clicks, 1))
    True
    """
    spectra = np.asarray(S)
    if spectra.ndim < 2 or 0 in spectra.shape:
        raise ValueError(f"S has shape {spectra.shape}; bins and frames are needed")
    phases: Any = 1
    if np.iscomplexobj(spectra):
        spectra, phases = magphase(spectra)
    along = [count("kernel_size", one) for one in _pair(kernel_size)]
    beside = [number("margin", one) for one in _pair(margin)]
    if min(beside) < 1:
        raise ValueError(f"margin = {margin!r} cannot be used: margins are at least 1")
    harmonic = _medians(spectra, along[0])
    percussive = np.swapaxes(_medians(np.swapaxes(spectra, -1, -2), along[1]), -1, -2)
    how: dict[str, Any] = {"power": power, "split_zeros": beside == [1, 1]}
    shares = (
        softmask(harmonic, percussive * beside[0], **how),
        softmask(percussive, harmonic * beside[1], **how),
    )
    if mask:
        return shares
    return spectra * shares[0] * phases, spectra * shares[1] * phases


def _pair(value: Any) -> tuple[Any, Any]:
    if isinstance(value, (tuple, list)):
        if len(value) != 2:
            raise ValueError(f"{value!r} cannot be used: give one value, or two")
        return value[0], value[1]
    return value, value


def _medians(values: np.ndarray, size: int) -> np.ndarray:
    """Medians of `size` neighbours along the last axis, mirrored at the ends."""
    before = size // 2
    room = [(0, 0)] * (values.ndim - 1) + [(before, size - 1 - before)]
    lines = np.pad(values, room, mode="symmetric").reshape(-1, values.shape[-1] + size - 1)
    found = np.empty((len(lines), values.shape[-1]), values.dtype)
    step = max(1, _AT_ONCE // (size * values.shape[-1]))
    for first in range(0, len(lines), step):
        near = np.lib.stride_tricks.sliding_window_view(lines[first : first + step], size, axis=-1)
        # The upper of the two in the middle, as SciPy's filter of ranks.
        found[first : first + step] = np.partition(near, before, axis=-1)[..., before]
    return found.reshape(values.shape)
