"""Arrays cut, padded and scaled: the parts of `librosa.util` that programs use."""

from __future__ import annotations

from typing import Any, Callable

import numpy as np

from .arguments import count, number
from .exceptions import ParameterError

__all__ = [
    "MAX_MEM_BLOCK",
    "ParameterError",
    "abs2",
    "buf_to_float",
    "exceptions",
    "fix_frames",
    "fix_length",
    "frame",
    "normalize",
    "pad_center",
    "peak_pick",
    "softmask",
    "sync",
    "tiny",
    "valid_audio",
]

from . import exceptions

#: The bytes that librosa works on at once; programs read it, nothing here does.
MAX_MEM_BLOCK = 2**18
#: Values that are added to one side, at most.
_LONGEST = 1 << 28


def pad_center(data: Any, *, size: int, axis: int = -1, **kwargs: Any) -> np.ndarray:
    """`data` in the middle of zeros, `size` long; `kwargs` are those of `numpy.pad`.

    >>> from warpsmith import voice
    >>> voice.util.pad_center([1, 2], size=5).tolist()
    [0, 1, 2, 0, 0]
    """
    array = _along(data, axis)
    missing = count("size", size, 0) - array.shape[axis]
    if missing < 0:
        raise ParameterError(f"size = {size} is below the {array.shape[axis]} values of data")
    return _padded(array, axis, missing // 2, missing - missing // 2, kwargs)


def fix_length(data: Any, *, size: int, axis: int = -1, **kwargs: Any) -> np.ndarray:
    """`data` cut off at `size` values, or with zeros after it up to so many.

    >>> from warpsmith import voice
    >>> voice.util.fix_length([1, 2, 3], size=5).tolist()
    [1, 2, 3, 0, 0]
    """
    array = _along(data, axis)
    several = array.shape[axis]
    wanted = count("size", size, 0)
    if several > wanted:
        return np.take(array, np.arange(wanted), axis=axis)
    return _padded(array, axis, 0, wanted - several, kwargs)


def _along(data: Any, axis: int) -> np.ndarray:
    """Data that have the axis."""
    array = np.asarray(data)
    if not -array.ndim <= axis < array.ndim:
        raise ParameterError(f"axis = {axis} cannot be used: there are {array.ndim} dimensions")
    return array


def _padded(
    array: np.ndarray, axis: int, before: int, after: int, kwargs: dict[str, Any]
) -> np.ndarray:
    if after > _LONGEST:
        raise ParameterError(f"{after} values more cannot be used: at most {_LONGEST}")
    room = [(0, 0)] * array.ndim
    room[axis] = (before, after)
    found: np.ndarray = np.pad(array, room, **{"mode": "constant", **kwargs})
    return found


def frame(
    x: Any, *, frame_length: int, hop_length: int, axis: int = -1, writeable: bool = False
) -> np.ndarray:
    """Frames of `x` as a view: `(..., frame_length, frames)`, or frames first with `axis=0`.

    >>> import numpy as np
    >>> from warpsmith import voice
    >>> voice.util.frame(np.arange(6), frame_length=4, hop_length=2).tolist()
    [[0, 2], [1, 3], [2, 4], [3, 5]]
    """
    array = _along(x, axis)
    length, hop = count("frame_length", frame_length), count("hop_length", hop_length)
    if array.shape[axis] < length:
        raise ParameterError(f"x has {array.shape[axis]} values; a frame of {length} is needed")
    windows = np.lib.stride_tricks.sliding_window_view(
        array, length, axis=axis, writeable=writeable
    )
    place = axis % array.ndim
    frames = np.moveaxis(windows, -1, place if axis < 0 else place + 1)
    chosen = [slice(None)] * frames.ndim
    chosen[place + 1 if axis < 0 else place] = slice(None, None, hop)
    view: np.ndarray = frames[tuple(chosen)]
    return view


def normalize(
    S: Any,
    *,
    norm: float | None = np.inf,
    axis: int | None = 0,
    threshold: float | None = None,
    fill: bool | None = None,
) -> np.ndarray:
    """`S` with a norm of 1 along `axis`.

    What has a norm below `threshold` stays as it is, or becomes zeros (`fill=False`), or values of
    one size with a norm of 1 (`fill=True`).

    >>> from warpsmith import voice
    >>> voice.util.normalize([0.5, -0.25]).tolist()
    [1.0, -0.5]
    """
    array = np.asarray(S)
    if array.dtype.kind not in "iufc":
        raise ParameterError(f"S holds {array.dtype}; numbers are needed")
    if array.dtype.kind in "iu":
        array = array.astype(np.float64)
    if not np.isfinite(array).all():
        raise ParameterError("S holds a value that is not finite")
    if norm is None:
        return array
    sizes = np.abs(array).astype(np.float64)
    if axis is not None:
        _along(array, axis)
    many = sizes.size if axis is None else sizes.shape[axis]
    filled = 1.0
    if norm == np.inf:
        length = sizes.max(axis=axis, keepdims=True)
    elif norm == -np.inf:
        length = sizes.min(axis=axis, keepdims=True)
    elif norm == 0:
        if fill:
            raise ParameterError("norm = 0 cannot be filled")
        length = (sizes > 0).sum(axis=axis, keepdims=True).astype(np.float64)
    elif number("norm", norm) > 0:
        length = (sizes**norm).sum(axis=axis, keepdims=True) ** (1.0 / norm)
        filled = many ** (-1.0 / norm)
    else:
        raise ParameterError(f"norm = {norm!r} cannot be used: 0, above 0, inf and -inf are known")
    small = length < (tiny(array) if threshold is None else number("threshold", threshold))
    found = array / np.where(small, 1.0, length)
    if fill is not None:
        found = np.where(small, filled if fill else 0.0, found)
    return found.astype(array.dtype)


def tiny(x: Any) -> Any:
    """The smallest normal number of the type of `x`."""
    dtype = np.asarray(x).dtype
    return np.finfo(dtype if dtype.kind in "fc" else np.float32).tiny


def abs2(x: Any, dtype: Any = None) -> Any:
    """The squared magnitude."""
    values = np.asarray(x)
    found = values.real**2 + values.imag**2 if values.dtype.kind == "c" else np.square(values)
    return found if dtype is None else found.astype(dtype)


def buf_to_float(x: Any, *, n_bytes: int = 2, dtype: Any = np.float32) -> np.ndarray:
    """Signed whole numbers of `n_bytes` as floats with full scale at 1.

    >>> import numpy as np
    >>> from warpsmith import voice
    >>> voice.util.buf_to_float(np.array([-32768, 16384], "<i2")).tolist()
    [-1.0, 0.5]
    """
    if n_bytes not in (1, 2, 4, 8):
        raise ParameterError(f"n_bytes = {n_bytes!r} cannot be used: 1, 2, 4 and 8 are known")
    values = np.frombuffer(x, f"<i{n_bytes}").astype(dtype)
    scaled: np.ndarray = values / dtype(1 << (8 * n_bytes - 1))
    return scaled


def valid_audio(y: Any, *, mono: bool | None = None) -> bool:
    """Whether `y` is a signal; what it is not is an error."""
    if not isinstance(y, np.ndarray) or y.dtype.kind != "f" or y.ndim == 0:
        raise ParameterError("audio is a NumPy array of floats with a dimension of samples")
    if mono and y.ndim != 1:
        raise ParameterError(f"audio has {y.ndim} dimensions; one signal is needed")
    if not np.isfinite(y).all():
        raise ParameterError("audio holds a value that is not finite")
    return True


def fix_frames(
    frames: Any, *, x_min: int | None = 0, x_max: int | None = None, pad: bool = True
) -> np.ndarray:
    """Places in order, each once, within `x_min` and `x_max`, which `pad` adds."""
    places = np.asarray(frames)
    if (places < 0).any():
        raise ParameterError("a place is below 0")
    ends = [end for end in (x_min, x_max) if end is not None]
    if pad and ends:
        places = np.concatenate([np.clip(places, x_min, x_max), ends])
    low = -np.inf if x_min is None else x_min
    high = np.inf if x_max is None else x_max
    return np.unique(places[(places >= low) & (places <= high)]).astype(int)


def sync(
    data: Any,
    idx: Any,
    *,
    aggregate: Callable[..., Any] | None = None,
    pad: bool = True,
    axis: int = -1,
) -> np.ndarray:
    """What `aggregate` (the mean) makes of the stretches between places along an axis."""
    array = np.asarray(data)
    combine = np.mean if aggregate is None else aggregate
    stretches: list[slice]
    if all(isinstance(one, slice) for one in idx):
        stretches = list(idx)
    else:
        end = array.shape[axis]
        places = fix_frames(np.asarray(idx), x_min=0, x_max=end, pad=pad)
        stretches = [slice(int(a), int(b)) for a, b in zip(places[:-1], places[1:])]
    lines = np.moveaxis(array, axis, 0)
    parts = [np.asarray(combine(lines[one], axis=0)) for one in stretches]
    if not parts:
        raise ParameterError("there are no stretches between the places")
    return np.moveaxis(np.stack(parts), 0, axis).astype(array.dtype)


def softmask(
    X: Any, X_ref: Any, *, power: float = 1, split_zeros: bool = False
) -> np.ndarray:
    """The share of `X` to a power beside `X_ref` to it; with `power=inf` whether it is larger."""
    one, other = np.asarray(X), np.asarray(X_ref)
    if one.shape != other.shape or (one < 0).any() or (other < 0).any() or power <= 0:
        raise ParameterError("X and X_ref have one shape and no negative value; power is above 0")
    if np.isinf(power):
        return np.asarray(one > other)
    dtype = one.dtype if one.dtype.kind == "f" else np.dtype(np.float32)
    largest = np.maximum(one, other).astype(dtype)
    silent = largest < np.finfo(dtype).tiny
    largest[silent] = 1
    shares = [(part / largest) ** power for part in (one, other)]
    total = np.where(silent, 1, shares[0] + shares[1])
    found: np.ndarray = np.where(silent, 0.5 if split_zeros else 0.0, shares[0] / total)
    return found.astype(dtype)


def peak_pick(
    x: Any,
    *,
    pre_max: int,
    post_max: int,
    pre_avg: int,
    post_avg: int,
    delta: float,
    wait: int,
) -> np.ndarray:
    """Places that are the largest around, `delta` above the mean around, and `wait` apart.

    >>> from warpsmith import voice
    >>> how = dict(pre_max=2, post_max=3, pre_avg=2, post_avg=3, delta=0.1, wait=1)
    >>> voice.util.peak_pick([0.0, 1.0, 0.0, 0.0, 3.0, 0.0], **how).tolist()
    [1, 4]
    """
    values = np.asarray(x, np.float64)
    if values.ndim != 1:
        raise ParameterError(f"x has {values.ndim} dimensions; one line of values is needed")
    before = count("pre_max", np.ceil(pre_max), 0), count("pre_avg", np.ceil(pre_avg), 0)
    after = count("post_max", np.ceil(post_max)), count("post_avg", np.ceil(post_avg))
    pause, above = count("wait", np.ceil(wait), 0), number("delta", delta)
    found: list[int] = []
    for n, value in enumerate(values):
        if found and n <= found[-1] + pause:
            continue
        largest = values[max(0, n - before[0]) : n + after[0]].max()
        mean = values[max(0, n - before[1]) : n + after[1]].mean()
        if value == largest and value >= mean + above:
            found.append(n)
    return np.array(found, np.int64)
