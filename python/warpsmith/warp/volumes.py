"""`Volume`: a grid of numbers in space, from a NanoVDB file or an array."""

from __future__ import annotations

import struct
import zlib
from typing import Any, NamedTuple

import numpy as np

from .. import _native
from .arrays import array
from .devices import get_device
from .objects import Described

_FILE = struct.Struct("<8sIHH")
#: Sizes of the grid in memory and in the file, and, further on, the length of its name.
_GRID = struct.Struct("<QQ120xI36x")
_LARGEST = 1 << 32


class Volume:
    """A grid of numbers or vectors in space, which kernels sample and look up."""

    CLOSEST = 0
    LINEAR = 1

    device: Any
    id: int
    _described: Described

    def __init__(self, data: array, copy: bool = True):
        raise NotImplementedError("Volume(array) is not in warpsmith.warp: use Volume.load_from_nvdb or load_from_numpy")

    @classmethod
    def load_from_nvdb(cls, file_or_buffer: Any, device: Any = None) -> Volume:
        """The first grid of a NanoVDB file: an open file, or its bytes."""
        read = getattr(file_or_buffer, "read", None)
        data = bytes(read() if read is not None else file_or_buffer)
        return cls._of_grid(_first_grid(data), device)

    @classmethod
    def load_from_numpy(
        cls,
        ndarray: Any,
        min_world: Any = (0.0, 0.0, 0.0),
        voxel_size: Any = 1.0,
        bg_value: Any = 0.0,
        device: Any = None,
    ) -> Volume:
        """A volume with an array's numbers: the first lies at `min_world`, others `voxel_size` apart.

        What `bg_value` is says what voxels hold: a float `float32`, an int `int32`, three numbers `vec3f`.
        """
        values = np.asarray(ndarray)
        if hasattr(bg_value, "__len__"):
            if len(bg_value) != 3:
                raise NotImplementedError(
                    f"Volume.load_from_numpy of vectors of {len(bg_value)} is not in warpsmith.warp: bg_value has 3"
                )
            kind = _VECTOR
        else:
            kind = _INT if isinstance(bg_value, (int, np.integer)) else _FLOAT
        shape = values.shape[:3]
        if values.shape != (*shape, 3)[: values.ndim] or values.ndim != (4 if kind is _VECTOR else 3) or 0 in shape:
            wanted = "four dimensions, the last of 3," if kind is _VECTOR else "three dimensions,"
            raise RuntimeError(f"a volume is made of an array of {wanted} not of shape {values.shape}")
        sizes = np.broadcast_to(np.asarray(voxel_size, np.float64), 3)
        if not (np.isfinite(sizes) & (sizes > 0)).all():
            raise ValueError(f"a voxel has a positive size, not {voxel_size}")
        return cls._of_grid(_dense_grid(kind, values.astype(kind.dtype), min_world, sizes, bg_value), device)

    @classmethod
    def _of_grid(cls, grid: bytes, device: Any) -> Volume:
        made = cls.__new__(cls)
        made.device = get_device(device)
        made._described = Described(made.device, made)
        made._described.put(_native.volume(grid))
        made.id = made._described.id
        return made

    def native(self) -> Any:
        return self._described.native()


def _first_grid(data: bytes) -> bytes:
    if len(data) < _FILE.size + _GRID.size:
        raise RuntimeError("not a NanoVDB file: it ends in its header")
    magic, _, grids, codec = _FILE.unpack_from(data)
    if magic[:7] != b"NanoVDB" or grids < 1:
        raise RuntimeError("not a NanoVDB file: it does not begin with `NanoVDB` and a grid")
    size, stored, name = _GRID.unpack_from(data, _FILE.size)
    start = _FILE.size + _GRID.size + name
    grid = data[start : start + stored]
    if size > _LARGEST or len(grid) != stored:
        raise RuntimeError(f"the NanoVDB file has {len(grid)} bytes of a grid of {stored}")
    if codec == 0:
        return grid
    if codec != 1:
        raise NotImplementedError("NanoVDB files compressed by Blosc are not in warpsmith.warp: use ZIP or none")
    # The length of the compressed bytes comes first.
    unpacked = zlib.decompressobj().decompress(grid[8:], size)
    if len(unpacked) != size:
        raise RuntimeError(f"the NanoVDB file has a grid of {len(unpacked)} bytes, not of {size}")
    return unpacked


class _Kind(NamedTuple):
    """What voxels hold, and where NanoVDB keeps it."""

    grid_type: int
    dtype: Any
    #: 32-bit numbers of a voxel.
    words: int
    #: Bytes of the root before its entries, of an entry of a node's table, of a leaf before its values.
    root: int
    entry: int
    values: int


_FLOAT = _Kind(1, np.float32, 1, 64, 8, 96)
_INT = _Kind(4, np.int32, 1, 64, 8, 96)
_VECTOR = _Kind(6, np.float32, 3, 96, 16, 128)

#: Sizes of the grid's header with the tree's and of an entry of the root.
_HEADER, _ENTRY = 672 + 64, 32
#: Of both kinds of nodes: children along an axis, where their mask and their table lie.
_UPPER = (32, 32 + 4096, 8256)
_LOWER = (16, 32 + 512, 1088)


def _dense_grid(kind: _Kind, values: Any, origin: Any, sizes: Any, background: Any) -> bytes:
    """A NanoVDB grid with the values of an array from voxel 0 on."""
    shape = values.shape[:3]
    leaves = [-(-count // 8) for count in shape]
    padded = np.empty([*(8 * count for count in leaves), kind.words], kind.dtype)
    padded[...] = background
    padded[tuple(slice(count) for count in shape)] = values.reshape(*shape, kind.words)
    blocks = padded.reshape(leaves[0], 8, leaves[1], 8, leaves[2], 8, kind.words).transpose(0, 2, 4, 1, 3, 5, 6)
    at_leaf = np.stack(np.meshgrid(*map(np.arange, leaves), indexing="ij"), -1).reshape(-1, 3)
    lower, of_leaf = np.unique(at_leaf // 16, axis=0, return_inverse=True)
    upper, of_lower = np.unique(lower // 32, axis=0, return_inverse=True)
    of_leaf, of_lower = of_leaf.reshape(-1), of_lower.reshape(-1)
    upper_size, lower_size = (table + kind.entry * width**3 for width, _, table in (_UPPER, _LOWER))
    leaf_size = kind.values + 4 * kind.words * 512
    first_upper = _HEADER + kind.root + _ENTRY * len(upper)
    first_lower = first_upper + upper_size * len(upper)
    first_leaf = first_lower + lower_size * len(lower)
    total = first_leaf + leaf_size * len(at_leaf)
    if total > _LARGEST:
        raise RuntimeError(f"a volume of shape {values.shape} takes {total} bytes: at most {_LARGEST}")
    grid = np.zeros(total, np.uint8)

    def put(at: int, value: Any, dtype: Any) -> None:
        raw = np.asarray(value, dtype).reshape(-1).view(np.uint8)
        grid[at : at + raw.size] = raw

    def link(node: tuple[int, int, int], parents: Any, children: Any, own: Any) -> None:
        """Enters children, by their places in their parents, into the parents' tables."""
        width, mask, table = node
        places = own % width
        child = (places[:, 0] * width + places[:, 1]) * width + places[:, 2]
        np.bitwise_or.at(grid, parents + mask + child // 8, (1 << child % 8).astype(np.uint8))
        offsets = (children - parents).astype(np.int64).view(np.uint8).reshape(-1, 8)
        grid[(parents + table + kind.entry * child)[:, None] + np.arange(8)] = offsets

    # What has no child has the background for its value.
    empty = np.broadcast_to(np.asarray(background, kind.dtype), kind.words).view(np.uint8)
    for (width, _, table), first, size, count in (
        (_UPPER, first_upper, upper_size, len(upper)),
        (_LOWER, first_lower, lower_size, len(lower)),
    ):
        entries = grid[first : first + size * count].reshape(count, size)[:, table : table + kind.entry * width**3]
        entries.reshape(count, width**3, kind.entry)[:, :, : empty.size] = empty

    put(0, np.frombuffer(b"NanoVDB0", np.uint8), np.uint8)
    put(296, [np.diag(sizes), np.diag(1 / sizes)], np.float32)
    put(368, origin, np.float32)
    put(636, kind.grid_type, np.uint32)
    # The tree says where its nodes begin, and how many leaves there are.
    put(672, first_leaf - 672, np.int64)
    put(672 + 24, 64, np.int64)
    put(672 + 32, len(at_leaf), np.uint32)
    put(_HEADER + 24, len(upper), np.uint32)
    put(_HEADER + 28, background, kind.dtype)
    at_upper = first_upper + upper_size * np.arange(len(upper))
    at_lower = first_lower + lower_size * np.arange(len(lower))
    leaf = first_leaf + leaf_size * np.arange(len(at_leaf))
    for entry, (place, at) in enumerate(zip(upper, at_upper)):
        key = int(place[2]) | int(place[1]) << 21 | int(place[0]) << 42
        put(_HEADER + kind.root + _ENTRY * entry, key, np.uint64)
        put(_HEADER + kind.root + _ENTRY * entry + 8, at - _HEADER, np.int64)
    link(_UPPER, at_upper[of_lower], at_lower, lower)
    link(_LOWER, at_lower[of_leaf], leaf, at_leaf)
    numbers = np.ascontiguousarray(blocks).reshape(len(at_leaf), 512 * kind.words).view(np.uint8)
    grid[first_leaf:].reshape(len(at_leaf), leaf_size)[:, kind.values :] = numbers
    return grid.tobytes()
