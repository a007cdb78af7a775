"""Masks over features, for training (Park and others 2019), with torchaudio's draws."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..arguments import count, number
from .checks import floats
from .tensors import tensors, uniform


def _checked(values: np.ndarray, mask_param: int, axis: int, p: float, least: int) -> int:
    """The widest mask."""
    if values.ndim < least:
        raise ValueError(f"the features have {values.ndim} dimensions; {least} are needed")
    if axis not in (values.ndim - 2, values.ndim - 1):
        raise ValueError(
            f"axis = {axis} cannot be used: {values.ndim - 2} (features) and {values.ndim - 1} (frames) "
            "are known"
        )
    if not 0.0 <= number("p", p) <= 1.0:
        raise ValueError(f"p = {p} cannot be used: it goes from 0 to 1")
    widest = count("mask_param", mask_param, 0)
    return widest if p == 1.0 else min(widest, int(values.shape[axis] * p))


@tensors
def mask_along_axis_iid(
    specgrams: Any, mask_param: int, mask_value: float, axis: int, p: float = 1.0
) -> Any:
    """Features with `mask_value` in some neighbouring rows or columns, drawn for each item."""
    values = floats(specgrams, "specgrams")
    widest = _checked(values, mask_param, axis, p, 3)
    if widest < 1:
        return values
    size = values.shape[axis]
    width = uniform(values.shape[:-2]) * np.float32(widest)
    start = uniform(values.shape[:-2]) * (np.float32(size) - width)
    first, after = start.astype(np.int64), start.astype(np.int64) + width.astype(np.int64)
    at = np.arange(size)
    masked = (at >= first[..., None]) & (at < after[..., None])
    masked = masked[..., None, :] if axis == values.ndim - 1 else masked[..., :, None]
    return np.where(masked, values.dtype.type(mask_value), values)


@tensors
def mask_along_axis(
    specgram: Any, mask_param: int, mask_value: float, axis: int, p: float = 1.0
) -> Any:
    """Features with `mask_value` in some neighbouring rows or columns, the same in all items."""
    values = floats(specgram, "specgram")
    widest = _checked(values, mask_param, axis, p, 2)
    if widest < 1:
        return values
    size = values.shape[axis]
    width = uniform((1,)) * np.float32(widest)
    start = uniform((1,)) * (np.float32(size) - width)
    at = np.arange(size)
    masked = (at >= int(start[0])) & (at < int(start[0]) + int(width[0]))
    masked = masked if axis == values.ndim - 1 else masked[:, None]
    return np.where(masked, values.dtype.type(mask_value), values)
