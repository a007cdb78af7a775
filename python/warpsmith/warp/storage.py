"""Memory of an array on a GPU, with the copy of it on the host that NumPy works on.

The copy is made when something on the host asks for values, and goes back before the next launch. Everything that
is queued on a GPU happens in the order of the calls, in the default stream, where PyTorch works, too.
"""

from __future__ import annotations

import contextlib
from typing import Any, Iterator

import numpy as np

from .. import _native


class Storage:
    """Bytes on a GPU. Arrays and their views share one; `mirror` is the host's copy."""

    def __init__(self, gpu: int, size: int, address: int | None = None, owner: Any = None):
        self.gpu, self.size = gpu, size
        #: What keeps the memory alive: ours, or another library's array.
        self.owner = owner if address is not None else _native.DeviceMemory(gpu, size)
        self._address = self.owner.address if address is None else address
        #: Whether another library knows the memory, too, and may change it at any time.
        self.shared = address is not None
        # Pages of memory that nobody touches cost nothing.
        self.mirror = np.empty(size, np.uint8)
        self._stale = True
        self._ahead = False

    def _at(self, view: Any) -> int:
        return int(view.__array_interface__["data"][0] - self.mirror.__array_interface__["data"][0])

    def pointer(self, view: Any) -> int:
        """The device's address of what `view` shows of the mirror, whatever the host has done."""
        return self._address + self._at(view)

    def flush(self) -> None:
        """Brings what the host wrote to the device."""
        if self._ahead:
            _native.cuda_upload(self.gpu, self._address, self.mirror.ctypes.data, self.size)
            self._ahead = False

    def address(self, view: Any) -> int:
        """The address for work on the device, which has the host's values first."""
        self.flush()
        return self.pointer(view)

    def changed(self) -> None:
        """The device may have written it."""
        self._stale = True

    def read(self) -> None:
        """Brings the mirror up to date, after everything that is queued."""
        if (self._stale or self.shared) and self.size:
            _native.cuda_download(self.gpu, self._address, self.mirror.ctypes.data, self.size)
        self._stale = False

    @contextlib.contextmanager
    def writing(self, view: Any, whole: bool = False) -> Iterator[Any]:
        """`view`, to be written by the host; with `whole` nothing of it is read."""
        if not whole or view.nbytes != self.size:
            self.read()
        yield view
        self._stale, self._ahead = False, True
        if self.shared:
            self.address(view)

    def clear(self, view: Any) -> None:
        """Sets the bytes of a contiguous view to zero."""
        if view.nbytes:
            _native.cuda_clear(self.gpu, self.address(view), view.nbytes)
            self.changed()

    def fill(self, view: Any, element: bytes) -> None:
        """Sets the elements of a contiguous view to the bytes of one."""
        if view.nbytes:
            _native.cuda_fill(self.gpu, self.address(view), view.nbytes, element)
            self.changed()

    def take(self, view: Any, values: Any) -> None:
        """Copies contiguous host memory to a contiguous view."""
        if view.nbytes:
            _native.cuda_upload(self.gpu, self.address(view), values.ctypes.data, view.nbytes)
            self.changed()

    def give(self, view: Any, out: Any) -> None:
        """Copies a contiguous view to contiguous host memory."""
        if view.nbytes:
            _native.cuda_download(self.gpu, self.address(view), out.ctypes.data, view.nbytes)

    def copy(self, view: Any, source: Storage, values: Any) -> None:
        """Copies between contiguous views on one GPU."""
        if view.nbytes:
            _native.cuda_copy(self.gpu, self.address(view), source.address(values), view.nbytes)
            self.changed()


def foreign(data: Any, gpu: int | None = None) -> tuple[Storage, Any]:
    """The memory of another library's array on a GPU, and the view that is the array."""
    described = data.__cuda_array_interface__
    found = np.dtype(described["typestr"])
    shape = tuple(described["shape"])
    strides = described.get("strides")
    size = found.itemsize
    if strides is None:
        size *= int(np.prod(shape, dtype=np.int64))
    elif any(stride < 0 for stride in strides):
        raise NotImplementedError("arrays that run backwards in a GPU's memory are not in warpsmith.warp")
    elif 0 in shape:
        size = 0
    else:
        size += sum((count - 1) * stride for count, stride in zip(shape, strides))
    if gpu is None:
        gpu = int(getattr(getattr(data, "device", None), "index", None) or 0)
    storage = Storage(gpu, size, int(described["data"][0]), data)
    return storage, np.ndarray(shape, found, storage.mirror, 0, strides)
