"""Objects that kernels name by a number: `HashGrid`, `Bvh` and `Mesh`."""

from __future__ import annotations

import weakref
from typing import Any

import numpy as np

from .. import _native
from . import graphs, types
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


class Bvh:
    """Boxes under a tree, for searches in kernels; `refit` after the boxes have changed."""

    def __init__(
        self,
        lowers: array,
        uppers: array,
        constructor: Any = None,
        groups: array | None = None,
        leaf_size: int = 1,
    ):
        given = {"lowers": lowers, "uppers": uppers}
        for name, corners in given.items():
            if corners.ndim != 1 or corners.dtype is not types.vector(3, types.float32):
                raise RuntimeError(f"{name} should be an array of wp.vec3")
        if groups is not None:
            given["groups"] = groups
            if groups.dtype is not types.int32:
                raise RuntimeError("groups should be an array of wp.int32")
        for name, one in given.items():
            if len(one) != len(lowers) or one.device != lowers.device:
                raise RuntimeError(f"{name} must be as long as lowers and on the same device")
        _check_constructor(constructor)
        if leaf_size < 1:
            raise ValueError(f"leaf_size must be at least 1, got {leaf_size}")
        self.device, self.lowers, self.uppers, self.groups = lowers.device, lowers, uppers, groups
        self._described = Described(self.device, self)
        self.id = self._described.id
        self.refit()

    def refit(self) -> None:
        """Takes the boxes as they are now."""

        def take() -> None:
            low, high = (np.ascontiguousarray(one.numpy(), np.float32).tobytes() for one in (self.lowers, self.uppers))
            groups = None if self.groups is None else np.ascontiguousarray(self.groups.numpy(), np.int32).tobytes()
            self._described.put(_native.bvh(low, high, groups))

        graphs.do(take)

    def rebuild(self, constructor: Any = None) -> None:
        """As `refit`: the tree is always built again."""
        _check_constructor(constructor)
        self.refit()

    def native(self) -> Any:
        return self._described.native()


def _check_constructor(constructor: Any) -> None:
    """There is one way to build a tree, and results do not depend on it: the names of Warp's are accepted."""
    known = ("sah", "median", "lbvh", "cubql")
    if isinstance(constructor, str) and constructor.lower() not in known:
        raise ValueError(f"Unknown BVH constructor '{constructor}', expected one of: {', '.join(known)}")


class Mesh:
    """Triangles for kernels; `refit` after the points have changed."""

    def __init__(
        self,
        points: array,
        indices: array,
        velocities: array | None = None,
        support_winding_number: bool = False,
        bvh_constructor: Any = None,
        bvh_leaf_size: int | None = None,
        groups: array | None = None,
    ):
        _check_constructor(bvh_constructor)
        if indices.size % 3 != 0:
            raise RuntimeError("a mesh has three indices for each face")
        if groups is not None and (groups.dtype is not types.int32 or 3 * len(groups) != indices.size):
            raise RuntimeError("groups should be an array of wp.int32, one for each face")
        if velocities is not None and velocities.shape != points.shape:
            raise RuntimeError("velocities should be an array of wp.vec3, one for each point")
        self.device, self.indices, self.groups = points.device, indices, groups
        self._velocities = velocities
        self._points, self._winding = points, bool(support_winding_number)
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

    @property
    def velocities(self) -> array | None:
        return self._velocities

    @velocities.setter
    def velocities(self, velocities: array | None) -> None:
        if velocities is not None and velocities.shape != self._points.shape:
            raise RuntimeError("velocities should be an array of wp.vec3, one for each point")
        self._velocities = velocities
        self.refit()

    def refit(self) -> None:
        """Takes the points and velocities as they are now."""

        def taken(values: array, dtype: Any) -> bytes:
            return bytes(np.ascontiguousarray(values.numpy(), dtype).tobytes())

        def take() -> None:
            points, indices = taken(self._points, np.float32), taken(self.indices, np.int32)
            velocities = None if self._velocities is None else taken(self._velocities, np.float32)
            groups = None if self.groups is None else taken(self.groups, np.int32)
            self._described.put(_native.mesh(points, indices, self._winding, velocities, groups))

        graphs.do(take)

    def native(self) -> Any:
        return self._described.native()


class BvhQuery:
    """In signatures: a search through a tree."""


class HashGridQuery:
    """In signatures: a search for near points."""


class MeshQuery:
    """In signatures: a search for faces."""


class MeshQueryAABB(MeshQuery):
    """In signatures: a search for faces by a box."""


class MeshQueryPoint:
    """In signatures: the nearest point of a mesh."""


class MeshQueryRay:
    """In signatures: where a ray meets a mesh."""
