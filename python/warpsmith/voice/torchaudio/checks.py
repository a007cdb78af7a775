"""Arguments of torchaudio's functions, checked where users can read why not."""

from __future__ import annotations

from typing import Any

import numpy as np


def floats(value: Any, name: str = "waveform", least: int = 1) -> np.ndarray:
    """Real floats of 32 or 64 bits with so many dimensions or more."""
    found = np.asarray(value)
    if found.dtype.kind != "f":
        raise ValueError(
            f"{name} holds {found.dtype}; floats with full scale at 1 are needed "
            "(divide 16-bit integers by 32768)"
        )
    if found.ndim < least:
        raise ValueError(f"{name} has {found.ndim} dimensions; {least} or more are needed")
    if found.dtype.itemsize < 4:
        found = found.astype(np.float32)
    return found


def sound(value: Any, name: str = "waveform") -> np.ndarray:
    """Finite samples along the last axis."""
    found = floats(value, name)
    if found.shape[-1] == 0 or found.size == 0:
        raise ValueError(f"{name} is empty: its shape is {found.shape}")
    if not np.isfinite(found).all():
        raise ValueError(f"{name} holds a value that is not finite")
    return found


def spectra(value: Any, name: str = "specgram") -> np.ndarray:
    """Real features by frames."""
    found = floats(value, name, 2)
    if 0 in found.shape:
        raise ValueError(f"{name} is empty: its shape is {found.shape}")
    return found


def one_of(name: str, value: Any, known: tuple[Any, ...]) -> Any:
    """A choice among names."""
    if value not in known:
        words = ", ".join(repr(one) for one in known)
        raise ValueError(f"{name} = {value!r} cannot be used: {words} are known")
    return value
