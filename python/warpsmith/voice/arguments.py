"""Arguments as the native part takes them, checked where Python's users can read why not."""

from __future__ import annotations

import math
from typing import Any, Callable

import numpy as np

#: The largest whole number that the native part takes.
_LARGEST = 2**32 - 1


def count(name: str, value: Any, least: int = 1) -> int:
    """A whole number from `least` on."""
    try:
        number = int(value)
    except (TypeError, ValueError, OverflowError):
        number = least - 1
    if number != value or not least <= number <= _LARGEST:
        raise ValueError(
            f"{name} = {value!r} cannot be used: "
            f"a whole number from {least} to {_LARGEST} is needed"
        )
    return number


def number(name: str, value: Any) -> float:
    """A finite number."""
    try:
        found = float(value)
    except (TypeError, ValueError, OverflowError):
        found = math.nan
    if not math.isfinite(found):
        raise ValueError(f"{name} = {value!r} cannot be used: a finite number is needed")
    return found


def signals(y: Any, name: str = "y") -> np.ndarray:
    """Floats of 32 bits with the samples last; the array itself where it is that already."""
    if y is None:
        raise ValueError(f"give the signal as `{name}`")
    array = np.asarray(y)
    if array.ndim == 0:
        raise ValueError(f"{name} is one number; a signal has a dimension of samples")
    if not np.issubdtype(array.dtype, np.floating):
        raise ValueError(
            f"{name} holds {array.dtype}; floats with full scale at 1 are needed "
            "(divide 16-bit integers by 32768)"
        )
    return np.require(array, np.float32, ["C", "ALIGNED"])


def one_signal(y: Any, name: str = "y") -> np.ndarray:
    """One signal, for analyses that have no batches."""
    array = signals(y, name)
    if array.ndim != 1:
        raise ValueError(
            f"{name} has {array.ndim} dimensions; give one signal, or use `voice.batch`"
        )
    return array


def each(y: Any, compute: Callable[[np.ndarray], Any]) -> np.ndarray:
    """What `compute` makes of every signal, stacked as the signals are."""
    array = signals(y)
    leading = array.shape[:-1]
    if not leading:
        return np.asarray(compute(array))
    results = [np.asarray(compute(row)) for row in array.reshape(-1, array.shape[-1])]
    if not results:
        raise ValueError(f"y has shape {array.shape}: there is no signal in it")
    return np.stack(results).reshape(leading + results[0].shape)


def each_matrix(y: Any, compute: Callable[[np.ndarray], Any]) -> np.ndarray:
    """The same for features by frames; no frame at all is an error, as a peer would raise it."""
    found = each(y, compute)
    if found.shape[-1] == 0:
        if np.shape(y)[-1] == 0:
            raise ValueError("the signal is empty")
        raise ValueError("the signal is shorter than a frame; use center=True or a smaller n_fft")
    return found


def beyond(center: bool, pad_mode: str) -> str:
    """What frames see beyond the ends of a signal."""
    return pad_mode if center else "inside"


def bank(
    n_mels: int, fmin: float, fmax: float | None, htk: bool, norm: str | None
) -> tuple[int, float, float | None, bool, bool]:
    """The filters as the native part takes them."""
    if norm not in ("slaney", None):
        raise ValueError(f"norm = {norm!r} cannot be used: 'slaney' and None are known")
    highest = None if fmax is None else number("fmax", fmax)
    return count("n_mels", n_mels), number("fmin", fmin), highest, bool(htk), norm == "slaney"


def span(fmin: Any, fmax: Any) -> tuple[float, float]:
    """The lowest and the highest frequency."""
    return number("fmin", fmin), number("fmax", fmax)
