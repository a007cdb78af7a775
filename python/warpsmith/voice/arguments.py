"""Arguments as the native part takes them, checked where Python's users can read why not."""

from __future__ import annotations

from typing import Any, Callable, Union

import numpy as np

Window = Union[str, "tuple[str, float]"]

_WINDOWS = {"hanning": "hann", "rect": "boxcar", "rectangular": "boxcar", "ones": "boxcar"}


def count(name: str, value: Any) -> int:
    """A whole number from 1 on."""
    number = int(value)
    if number != value or number < 1:
        raise ValueError(f"{name} = {value!r} cannot be used: a whole number from 1 on is needed")
    return number


def signals(y: Any, name: str = "y") -> np.ndarray:
    """Floats of 32 bits with the samples last."""
    array = np.asarray(y)
    if array.ndim == 0:
        raise ValueError(f"{name} is one number; a signal has a dimension of samples")
    if not np.issubdtype(array.dtype, np.floating):
        raise ValueError(
            f"{name} holds {array.dtype}; floats with full scale at 1 are needed "
            "(divide 16-bit integers by 32768)"
        )
    return np.ascontiguousarray(array, dtype=np.float32)


def each(y: Any, compute: Callable[[bytes], np.ndarray]) -> np.ndarray:
    """What `compute` makes of every signal, stacked as the signals are."""
    array = signals(y)
    leading = array.shape[:-1]
    if not leading:
        return compute(array.tobytes())
    results = [compute(row.tobytes()) for row in array.reshape(-1, array.shape[-1])]
    if not results:
        raise ValueError(f"y has shape {array.shape}: there is no signal in it")
    return np.stack(results).reshape(leading + results[0].shape)


def matrix(values: tuple[bytearray, int, int], dtype: Any = np.float32) -> np.ndarray:
    """Rows and frames; no frame at all is an error, as a peer would raise it."""
    data, rows, frames = values
    if frames == 0:
        raise ValueError("the signal is shorter than a frame; use center=True or a smaller n_fft")
    return np.frombuffer(data, dtype).reshape(rows, frames)


def beyond(center: bool, pad_mode: str) -> str:
    """What frames see beyond the ends of a signal."""
    return pad_mode if center else "inside"


def frames(
    n_fft: int,
    hop_length: int | None,
    win_length: int | None,
    window: Window,
    center: bool,
    pad_mode: str,
) -> tuple[int, int, int, str, float, str]:
    """Frames with librosa's defaults."""
    length = count("n_fft", n_fft)
    under = length if win_length is None else count("win_length", win_length)
    hop = max(1, under // 4) if hop_length is None else count("hop_length", hop_length)
    name, shape = (window, 0.0) if isinstance(window, str) else (window[0], float(window[1]))
    return length, hop, under, _WINDOWS.get(name, name), shape, beyond(center, pad_mode)


def bank(
    n_mels: int, fmin: float, fmax: float | None, htk: bool, norm: str | None
) -> tuple[int, float, float | None, bool, bool]:
    """The filters as the native part takes them."""
    if norm not in ("slaney", None):
        raise ValueError(f"norm = {norm!r} cannot be used: 'slaney' and None are known")
    return count("n_mels", n_mels), float(fmin), fmax, bool(htk), norm == "slaney"
