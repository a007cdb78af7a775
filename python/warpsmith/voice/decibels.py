"""Powers and amplitudes in decibels, as librosa has them."""

from __future__ import annotations

from typing import Any, Callable, Union

import numpy as np

Reference = Union[float, Callable[[np.ndarray], Any]]


def power_to_db(
    S: Any, *, ref: Reference = 1.0, amin: float = 1e-10, top_db: float | None = 80.0
) -> np.ndarray:
    """`10·log10(S / ref)`, with powers of at least `amin` and at most `top_db` below the largest.

    >>> from warpsmith import voice
    >>> voice.power_to_db([1.0, 0.1, 0.0]).tolist()
    [0.0, -10.0, -80.0]
    """
    power = np.asarray(S)
    if np.iscomplexobj(power):
        power = np.abs(power)
    if amin <= 0:
        raise ValueError(f"amin = {amin} cannot be used: it must be above 0")
    if top_db is not None and top_db < 0:
        raise ValueError(f"top_db = {top_db} cannot be used: it must not be below 0")
    reference = np.abs(ref(power) if callable(ref) else ref)
    level: np.ndarray = 10.0 * np.log10(np.maximum(amin, power))
    level = level - 10.0 * np.log10(np.maximum(amin, reference))
    if top_db is not None and level.size:
        level = np.maximum(level, level.max() - top_db)
    return level


def amplitude_to_db(
    S: Any, *, ref: Reference = 1.0, amin: float = 1e-5, top_db: float | None = 80.0
) -> np.ndarray:
    """`20·log10(S / ref)`; see [power_to_db](#warpsmithvoicepower_to_db)."""
    magnitude = np.abs(np.asarray(S))
    reference = np.abs(ref(magnitude) if callable(ref) else ref)
    return power_to_db(
        np.square(magnitude), ref=float(np.square(reference)), amin=amin**2, top_db=top_db
    )


def db_to_power(S_db: Any, *, ref: float = 1.0) -> np.ndarray:
    """`ref·10^(S_db / 10)`."""
    power: np.ndarray = ref * np.power(10.0, 0.1 * np.asarray(S_db))
    return power


def db_to_amplitude(S_db: Any, *, ref: float = 1.0) -> np.ndarray:
    """`ref·10^(S_db / 20)`."""
    amplitude: np.ndarray = np.sqrt(db_to_power(S_db, ref=ref**2))
    return amplitude
