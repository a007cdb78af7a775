"""The type of an array in a signature: what its elements are, and how many dimensions it has."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from . import types


@dataclass(frozen=True)
class ArrayType:
    """`wp.array(dtype=…, ndim=…)` and `wp.array[…]` where no data is given."""

    dtype: Any
    ndim: int

    def __or__(self, other: Any) -> Any:
        return Any

    __ror__ = __or__

    def __repr__(self) -> str:
        name = getattr(self.dtype, "__name__", self.dtype)
        return f"wp.array{'' if self.ndim == 1 else f'{self.ndim}d'}[{name}]"


def array_type(dtype: Any, ndim: int | None) -> ArrayType:
    """The type with its element type spelled in one way."""
    if dtype is not Any and not hasattr(dtype, "numpy_dtype") and not types.is_composite(dtype):
        try:
            dtype = types.scalar_type(dtype)
        except TypeError:
            # Generic vectors, and what only the compiler can refuse.
            pass
    return ArrayType(dtype, 1 if ndim is None else ndim)
