"""Windows by SciPy's names, by functions and by values."""

from __future__ import annotations

import math
import reprlib
from typing import Any, Callable, Union

import numpy as np

from .arguments import count, number

Window = Union[str, float, "tuple[Any, ...]", Callable[[int], Any], np.ndarray]

#: Weights of the cosines of 0, 1, 2 … periods.
_COSINES = {
    "hann": (0.5, 0.5),
    "hamming": (0.54, 0.46),
    "blackman": (0.42, 0.5, 0.08),
    "nuttall": (0.3635819, 0.4891775, 0.1365995, 0.0106411),
    "blackmanharris": (0.35875, 0.48829, 0.14128, 0.01168),
    "flattop": (0.21557895, 0.41663158, 0.277263158, 0.083578947, 0.006947368),
}
_ALIASES = {
    "hanning": "hann",
    "han": "hann",
    "hamm": "hamming",
    "black": "blackman",
    "rect": "boxcar",
    "rectangular": "boxcar",
    "ones": "boxcar",
    "box": "boxcar",
    "triangle": "triang",
    "bart": "bartlett",
    "blackharr": "blackmanharris",
    "bman": "bohman",
    "sine": "cosine",
    "gauss": "gaussian",
    "tuk": "tukey",
    "ksr": "kaiser",
}
#: Windows with a number beside the name, and the number where there is a usual one.
_SHAPED: dict[str, float | None] = {
    "kaiser": None,
    "gaussian": None,
    "general_hamming": None,
    "tukey": 0.5,
}
_PLAIN = ("boxcar", "triang", "bartlett", "bohman", "cosine", "parzen", "povey")
#: What the native part makes itself.
_NATIVE = ("hann", "hamming", "blackman", "povey", "boxcar")


def values(window: Window, length: int, periodic: bool = True) -> np.ndarray:
    """The values of a window, one period of a periodic function or symmetric."""
    if callable(window):
        return _checked(window(length), length)
    named = _named(window)
    if named is None:
        return _checked(window, length)
    name, shape = named
    if length == 1:
        return np.ones(1)
    points = length + 1 if periodic else length
    made = _made(name, shape, points)[:length]
    return made


def native(window: Window, length: int) -> tuple[str, float] | None:
    """The name and the shape of a window that the native part has, or None."""
    if callable(window) or _named(window) is None:
        found = values(window, length)
        for name in _NATIVE:
            if np.allclose(found, values(name, length), rtol=0, atol=2e-7):
                return name, 0.0
        return None
    name, shape = _named(window) or ("", None)
    if name == "kaiser":
        return name, float(shape or 0.0)
    return (name, 0.0) if name in _NATIVE else None


def _checked(found: Any, length: int) -> np.ndarray:
    try:
        array = np.asarray(found, np.float64)
    except (TypeError, ValueError):
        raise ValueError(
            f"window = {reprlib.repr(found)} cannot be used: give a name such as 'hann', "
            "('kaiser', beta), a function of the length, or the values"
        ) from None
    if array.shape != (length,) or not np.isfinite(array).all():
        raise ValueError(
            f"the window has shape {array.shape}; win_length = {length} finite values are needed"
        )
    return array


def _named(window: Any) -> tuple[str, float | None] | None:
    """The name and the number of a window that is not given by its values."""
    shape = None
    if isinstance(window, (int, float)) and not isinstance(window, bool):
        name, shape = "kaiser", number("the window's shape", window)
    elif isinstance(window, str):
        name = window
    elif isinstance(window, (tuple, list)) and window and isinstance(window[0], str):
        name = window[0]
        if len(window) > 2:
            raise ValueError(f"window = {window!r} cannot be used: a name and one number")
        shape = number("the window's shape", window[1]) if len(window) == 2 else None
    else:
        return None
    name = _ALIASES.get(name, name)
    if name in _SHAPED:
        shape = _SHAPED[name] if shape is None else shape
        if shape is None:
            raise ValueError(f"window = {window!r} needs a number: give ({name!r}, number)")
        return name, shape
    if name not in _COSINES and name not in _PLAIN:
        known = ", ".join(sorted([*_COSINES, *_PLAIN, *_SHAPED]))
        raise ValueError(f"window = {reprlib.repr(window)} is unknown: {known} are known")
    return name, None


def _made(name: str, shape: float | None, points: int) -> np.ndarray:
    """A symmetric window."""
    at = np.arange(points)
    middle = (points - 1) / 2
    away = np.abs(at - middle)
    number = 0.0 if shape is None else shape
    if name in _COSINES or name == "general_hamming":
        weights = _COSINES.get(name, (number, 1 - number))
        turns = 2 * np.pi * at / (points - 1)
        return _array(sum((-1) ** k * w * np.cos(k * turns) for k, w in enumerate(weights)))
    if name == "kaiser":
        inside = np.sqrt(np.maximum(0, 1 - (away / middle) ** 2))
        return _array(np.i0(number * inside) / np.i0(number))
    if name == "gaussian":
        return _array(np.exp(-0.5 * (away / number) ** 2))
    if name == "tukey":
        if number <= 0:
            return np.ones(points)
        edge = min(number, 1.0) * middle
        beyond = np.maximum(0, away - (middle - edge)) / edge
        return _array(0.5 * (1 + np.cos(np.pi * beyond)))
    if name == "povey":
        return _array(_made("hann", None, points) ** 0.85)
    if name == "bartlett":
        return _array(1 - away / middle)
    if name == "triang":
        return _array(1 - away / (points / 2 if points % 2 == 0 else (points + 1) / 2))
    if name == "cosine":
        return _array(np.sin(np.pi / points * (at + 0.5)))
    if name == "bohman":
        share = away / middle
        made = (1 - share) * np.cos(np.pi * share) + np.sin(np.pi * share) / np.pi
        made[[0, -1]] = 0
        return _array(made)
    if name == "parzen":
        share = away / (points / 2)
        near = 1 - 6 * share**2 * (1 - share)
        return _array(np.where(away <= (points - 1) / 4, near, 2 * (1 - share) ** 3))
    return np.ones(points)


def _array(made: Any) -> np.ndarray:
    return np.asarray(made, np.float64)


def centred(window: Window, length: int, size: int) -> np.ndarray:
    """A window in the middle of zeros."""
    if length > size:
        raise ValueError(f"win_length = {length} is above n_fft = {size}")
    before = (size - length) // 2
    return np.pad(values(window, length), (before, size - length - before))


def sum_of_squares(
    window: Window, n_frames: int, hop: int, length: int, size: int, norm: float | None = None
) -> np.ndarray:
    """The summed squares of windows `hop` samples apart."""
    shape = values(window, length)
    if norm is not None:
        shape = shape / _norm(shape, norm)
    before = (size - length) // 2
    square = np.pad(shape**2, (before, size - length - before))
    return overlapped(np.broadcast_to(square, (count("n_frames", n_frames), size)), hop)


def _norm(shape: np.ndarray, norm: float) -> float:
    return float(np.abs(shape).max()) if math.isinf(norm) else float(np.linalg.norm(shape, norm))


def overlapped(frames: np.ndarray, hop: int) -> np.ndarray:
    """The sum of `(…, frames, samples)`, each `hop` samples after the one before."""
    several, size = frames.shape[-2:]
    total = np.zeros(frames.shape[:-2] + (hop * (several - 1) + size,), frames.dtype)
    # Frames that do not touch are added at once: a step for every part of a hop, not for every frame.
    apart = -(-size // hop)
    for first in range(min(apart, several)):
        chosen = frames[..., first::apart, :]
        stride = apart * hop
        room = np.zeros(chosen.shape[:-1] + (stride,), frames.dtype)
        room[..., :size] = chosen
        line = room.reshape(room.shape[:-2] + (-1,))
        start = first * hop
        end = min(start + line.shape[-1], total.shape[-1])
        total[..., start:end] += line[..., : end - start]
    return total
