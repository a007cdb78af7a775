"""Objects that kernels name by a number: `HashGrid` and `Mesh`."""

from __future__ import annotations

import weakref
from typing import Any

import numpy as np

from .. import _native
from . import graphs
from .arrays import array
from .devices import Device, get_device, used

_alive: weakref.WeakValueDictionary[int, Any] = weakref.WeakValueDictionary()
_last = [0]


def register(value: Any) -> int:
    """A number for an object, by which kernels find it while it lives."""
    _last[0] += 1
    _alive[_last[0]] = value
    return _last[0]


def live_objects() -> list[tuple[int, Any]]:
    """What kernels can ask now, by number."""
    found = ((number, value.native()) for number, value in sorted(_alive.items()))
    return [(number, native) for number, native in found if native is not None]


class Described:
    """An object of a kernel: by its number on the CPU; on a GPU by the address of a word that holds its own."""

    def __init__(self, device: Device, value: Any):
        self.device = device
        self._native: Any = None
        self._word: Any = None
        self._data: Any = None
        if device.is_cuda:
            used(device.ordinal)
            self._word = _native.DeviceMemory(device.ordinal, 8)
            self.id = int(self._word.address)
        else:
            self.id = register(value)

    def put(self, native: Any) -> None:
        """The object is this from now on."""
        self._native = native
        if self._word is None:
            return
        gpu, flat = self.device.ordinal, np.frombuffer(native.flat(), np.uint8)
        self._data = _native.DeviceMemory(gpu, flat.size)
        _native.cuda_upload(gpu, self._data.address, flat.ctypes.data, flat.size)
        word = np.array([self._data.address], np.uint64)
        _native.cuda_upload(gpu, self.id, word.ctypes.data, 8)

    def native(self) -> Any:
        return self._native


class HashGrid:
    """Points by the cells of a grid, for searches of near points in kernels."""

    def __init__(self, dim_x: int, dim_y: int, dim_z: int, device: Any = None, dtype: Any = None):
        self.device = get_device(device)
        if dtype is not None and dtype is not float and getattr(dtype, "__name__", "") != "float32":
            raise NotImplementedError("HashGrid(dtype=…) other than float32 is not in warpsmith.warp")
        self._size = (int(dim_x), int(dim_y), int(dim_z))
        self._described = Described(self.device, self)
        self.id = self._described.id

    def build(self, points: array, radius: float, groups: Any = None) -> None:
        """Sorts points into cells of the width `radius`."""
        if groups is not None:
            raise NotImplementedError("HashGrid.build(groups=…) is not in warpsmith.warp")

        def sort() -> None:
            positions = np.ascontiguousarray(points.numpy(), np.float32)
            self._described.put(_native.hash_grid(self._size, float(radius), positions.tobytes()))

        graphs.do(sort)

    def reserve(self, num_points: int) -> None:
        """Memory is taken when the grid is built: nothing to do."""

    def native(self) -> Any:
        return self._described.native()


class Mesh:
    """Triangles for kernels; `refit` after the points have changed."""

    def __init__(self, points: array, indices: array, velocities: array | None = None, **options: Any):
        unsupported = sorted(name for name, value in options.items() if value)
        if unsupported:
            raise NotImplementedError(f"Mesh({', '.join(unsupported)}=…) is not in warpsmith.warp")
        if indices.size % 3 != 0:
            raise RuntimeError("a mesh has three indices for each face")
        self.device, self.indices, self.velocities = points.device, indices, velocities
        self._points = points
        self._described = Described(self.device, self)
        self.id = self._described.id
        self.refit()

    @property
    def points(self) -> array:
        return self._points

    @points.setter
    def points(self, points: array) -> None:
        if points.shape != self._points.shape:
            raise RuntimeError("a mesh keeps its number of points")
        self._points = points
        self.refit()

    def refit(self) -> None:
        """Takes the points as they are now."""

        def take() -> None:
            points = np.ascontiguousarray(self._points.numpy(), np.float32)
            faces = np.ascontiguousarray(self.indices.numpy(), np.int32)
            self._described.put(_native.mesh(points.tobytes(), faces.tobytes()))

        graphs.do(take)

    def native(self) -> Any:
        return self._described.native()
