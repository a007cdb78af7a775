"""`indexedarray`: the elements of an array that lists of indices name, along each of its dimensions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from . import types
from .array_type import ArrayType, array_type
from .arrays import array


@dataclass(frozen=True)
class IndexedArrayType:
    """`wp.indexedarray(dtype=…, ndim=…)` where no data is given."""

    elements: ArrayType

    def __repr__(self) -> str:
        return repr(self.elements).replace("wp.array", "wp.indexedarray")


class indexedarray:
    """A selection of an array's elements. Without data it is a type, for signatures."""

    _default_ndim: int | None = None

    def __new__(cls, data: Any = None, indices: Any = None, dtype: Any = Any, ndim: int | None = None) -> Any:
        if data is None:
            return IndexedArrayType(array_type(dtype, cls._default_ndim if ndim is None else ndim))
        return object.__new__(cls)

    def __class_getitem__(cls, item: Any) -> IndexedArrayType:
        dtype, ndim = item if isinstance(item, tuple) else (item, cls._default_ndim)
        return IndexedArrayType(array_type(dtype, ndim))

    def __init__(self, data: Any = None, indices: Any = None, dtype: Any = Any, ndim: int | None = None):
        self.data: array = data if isinstance(data, array) else array(data, dtype=dtype)
        lists = list(indices) if isinstance(indices, (list, tuple)) else [indices]
        if len(lists) > self.data.ndim or any(one is not None and one.dtype is not types.int32 for one in lists):
            raise RuntimeError("indices should be arrays of wp.int32 or None, one for each dimension of the data")
        lists += [None] * (self.data.ndim - len(lists))
        self.indices = [self._whole(axis) if one is None else one for axis, one in enumerate(lists)]
        if any(one.device != self.data.device or one.ndim != 1 for one in self.indices):
            raise RuntimeError("indices should have one dimension and lie on the device of the data")
        self.dtype, self.ndim, self.device = self.data.dtype, self.data.ndim, self.data.device
        self.shape = tuple(len(one) for one in self.indices)
        self.size = int(np.prod(self.shape, dtype=np.int64))

    def _whole(self, axis: int) -> array:
        return array(np.arange(self.data.shape[axis], dtype=np.int32), dtype=types.int32, device=self.data.device)

    def numpy(self) -> Any:
        """A copy of the elements."""
        chosen = self.data.numpy()[np.ix_(*(one.numpy() for one in self.indices))]
        return np.ascontiguousarray(chosen)

    def contiguous(self) -> array:
        """An array with a copy of the elements."""
        return array(self.numpy(), dtype=self.dtype, device=self.device)

    def __len__(self) -> int:
        return self.shape[0]


class indexedarray1d(indexedarray):
    """As `indexedarray`, of one dimension."""

    _default_ndim = 1


class indexedarray2d(indexedarray):
    """As `indexedarray`, of two dimensions."""

    _default_ndim = 2


class indexedarray3d(indexedarray):
    """As `indexedarray`, of three dimensions."""

    _default_ndim = 3


class indexedarray4d(indexedarray):
    """As `indexedarray`, of four dimensions."""

    _default_ndim = 4
