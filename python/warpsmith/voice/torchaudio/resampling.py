"""Another rate by a windowed sinc, with torchaudio's numbers."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any

import numpy as np

from ..arguments import count, number
from .checks import one_of, sound
from .tensors import tensors

_METHODS = {
    "sinc_interp_hann": "hann",
    "sinc_interp_kaiser": "kaiser",
    "sinc_interpolation": "hann",
    "kaiser_window": "kaiser",
}
#: Values of the filters of all phases, at most: 64 MiB.
_LARGEST = 1 << 24
#: Values of filters that are a matrix, which the samples between two phases of one are part of.
_MATRIX = 1 << 18
#: Samples that are multiplied at once.
_AT_ONCE = 1 << 22


@tensors
def resample(
    waveform: Any,
    orig_freq: int,
    new_freq: int,
    lowpass_filter_width: int = 6,
    rolloff: float = 0.99,
    resampling_method: str = "sinc_interp_hann",
    beta: float | None = None,
) -> Any:
    """A signal at another rate, `ceil(samples · new_freq / orig_freq)` long.

    A sinc of `lowpass_filter_width` zero crossings on either side, cut off at `rolloff` of the
    lower Nyquist frequency, under a Hann or a Kaiser window (`beta` 14.77): torchaudio's numbers.
    The standard one keeps aliases some 40 dB down; `voice.resample` has filters of 80 to 120 dB.

    >>> import numpy as np
    >>> from warpsmith.voice.torchaudio import functional
    >>> functional.resample(np.zeros((2, 441), np.float32), 44100, 16000).shape
    (2, 160)
    """
    rates = count("orig_freq", orig_freq), count("new_freq", new_freq)
    width = count("lowpass_filter_width", lowpass_filter_width)
    share = number("rolloff", rolloff)
    one_of("resampling_method", resampling_method, tuple(_METHODS))
    if not 0 < share <= 1:
        raise ValueError(f"rolloff = {rolloff} cannot be used: it is above 0 and at most 1")
    signal = sound(waveform)
    if rates[0] == rates[1]:
        return waveform
    shape = None
    if _METHODS[resampling_method] == "kaiser":
        shape = 14.769656459379492 if beta is None else number("beta", beta)
    common = math.gcd(*rates)
    before, after = rates[0] // common, rates[1] // common
    reach = math.ceil(width * before / (min(before, after) * share))
    if after * (2 * reach + 2) > _LARGEST:
        raise ValueError(
            f"from {rates[0]} to {rates[1]} Hz the filters would take more than "
            f"{_LARGEST >> 18} MiB: use voice.resample, or rates with a common divisor"
        )
    how = before, after, width, share, shape, reach, signal.dtype.str
    rows = signal.reshape(-1, signal.shape[-1])
    wanted = math.ceil(after * signal.shape[-1] / before)
    made = np.empty((len(rows), wanted), signal.dtype)
    small = after * (2 * reach + before) <= _MATRIX
    for row, line in zip(made, rows):
        padded = np.pad(line, (reach, reach + before))
        if small:
            _by_matrix(padded, before, after, _matrix(*how), row)
        else:
            _by_sample(padded, before, after, _table(*how), row)
    return made.reshape(signal.shape[:-1] + (wanted,))


def _values(
    at: np.ndarray, before: int, after: int, width: int, share: float, beta: float | None
) -> np.ndarray:
    """The filter, so many samples (of one over `before · after`) from its middle."""
    base = min(before, after) * share
    t = np.clip(at / (before * after) * base, -width, width)
    if beta is None:
        window = np.cos(t * math.pi / width / 2) ** 2
    else:
        window = np.i0(beta * np.sqrt(np.maximum(0, 1 - (t / width) ** 2))) / np.i0(beta)
    found: np.ndarray = np.sinc(t) * window * (base / before)
    return found


@lru_cache(maxsize=16)
def _matrix(
    before: int, after: int, width: int, share: float, beta: float | None, reach: int, dtype: str
) -> np.ndarray:
    """The filter of every phase over the samples that all phases see, `(samples, phases)`."""
    at = np.arange(-reach, reach + before)[:, None] * after - np.arange(after) * before
    return np.ascontiguousarray(_values(at, before, after, width, share, beta).astype(dtype))


@lru_cache(maxsize=16)
def _table(
    before: int, after: int, width: int, share: float, beta: float | None, reach: int, dtype: str
) -> np.ndarray:
    """The filter of every phase over the samples around it, `(phases, samples)`."""
    phase = np.arange(after)[:, None] * before % after
    at = np.arange(-reach, reach + 2) * after - phase
    return np.ascontiguousarray(_values(at, before, after, width, share, beta).astype(dtype))


def _by_matrix(
    padded: np.ndarray, before: int, after: int, filters: np.ndarray, row: np.ndarray
) -> None:
    """All phases at once: a product of matrices, where rates have a large common divisor."""
    taps = len(filters)
    steps = -(-len(row) // after)
    frames = np.lib.stride_tricks.sliding_window_view(padded, taps)[::before][:steps]
    step = max(1, _AT_ONCE // taps)
    for first in range(0, steps, step):
        part = np.ascontiguousarray(frames[first : first + step]) @ filters
        place = row[first * after : (first + len(part)) * after]
        place[:] = part.ravel()[: len(place)]


def _by_sample(
    padded: np.ndarray, before: int, after: int, filters: np.ndarray, row: np.ndarray
) -> None:
    """Each sample by the filter of its phase."""
    taps = filters.shape[1]
    # The last samples see one more than the padding has.
    frames = np.lib.stride_tricks.sliding_window_view(np.pad(padded, (0, 1)), taps)
    step = max(1, _AT_ONCE // taps)
    for first in range(0, len(row), step):
        at = np.arange(first, min(first + step, len(row)), dtype=np.int64)
        part = frames[at * before // after]
        row[first : first + len(at)] = np.einsum("ij,ij->i", part, filters[at % after])


@tensors
def speed(waveform: Any, orig_freq: int, factor: float, lengths: Any = None) -> Any:
    """A signal `factor` times as fast and as high, and the `lengths` that signals have then."""
    quick = count("orig_freq · factor", int(number("factor", factor) * orig_freq))
    common = math.gcd(quick, count("orig_freq", orig_freq))
    source, target = quick // common, int(orig_freq) // common
    later = None
    if lengths is not None:
        given = np.asarray(lengths)
        later = np.ceil(given * target / source).astype(given.dtype)
    return resample(waveform, source, target), later
