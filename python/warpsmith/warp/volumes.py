"""`Volume`: a grid of numbers in space, from a NanoVDB file."""

from __future__ import annotations

import struct
import zlib
from typing import Any

from .. import _native
from .arrays import array
from .devices import get_device
from .objects import Described

_FILE = struct.Struct("<8sIHH")
#: Sizes of the grid in memory and in the file, and, further on, the length of its name.
_GRID = struct.Struct("<QQ120xI36x")
_LARGEST = 1 << 32


class Volume:
    """A volume of `float32`, which kernels sample."""

    CLOSEST = 0
    LINEAR = 1

    device: Any
    id: int
    _described: Described

    def __init__(self, data: array, copy: bool = True):
        raise NotImplementedError("Volume(array) is not in warpsmith.warp: use Volume.load_from_nvdb")

    @classmethod
    def load_from_nvdb(cls, file_or_buffer: Any, device: Any = None) -> Volume:
        """The first grid of a NanoVDB file: an open file, or its bytes."""
        read = getattr(file_or_buffer, "read", None)
        data = bytes(read() if read is not None else file_or_buffer)
        made = cls.__new__(cls)
        made.device = get_device(device)
        made._described = Described(made.device, made)
        made._described.put(_native.volume(_first_grid(data)))
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

