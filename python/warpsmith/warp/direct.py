"""The short way of a launch: arguments that are what the kernel takes already, handed on as they are.

Most launches are like that. Whatever needs a check, a conversion or a copy goes the long way, which also has the
words for what is wrong.
"""

from __future__ import annotations

from typing import Any

from . import types
from .array_type import ArrayType
from .arrays import array
from .definitions import Kernel
from .devices import Device, used
from .objects import live_objects

#: What Python's numbers are to kernels: a number of another type is converted the long way.
_NUMBERS: dict[Any, type] = {
    **dict.fromkeys((float, types.float16, types.float32, types.float64), float),
    **dict.fromkeys((int, types.int8, types.int16, types.int32, types.int64), int),
    **dict.fromkeys((types.uint8, types.uint16, types.uint32, types.uint64), int),
}


def _kinds(kernel: Kernel) -> list[Any] | None:
    """What each parameter takes, an array's element and rank or the type of a number; None where that is not all."""
    if "_direct_kinds" not in kernel.__dict__:
        found: list[Any] | None = []
        for kind in kernel.parameters.values():
            is_array = isinstance(kind, ArrayType)
            one = (kind.dtype, kind.ndim) if is_array else _NUMBERS.get(kind) if isinstance(kind, type) else None
            found = None if found is None or one is None else [*found, one]
        kernel.__dict__["_direct_kinds"] = found
    kinds: list[Any] | None = kernel.__dict__["_direct_kinds"]
    return kinds


def run_on_gpu(kernel: Kernel, grid: list[int], arguments: list[Any], device: Device, block_dim: int) -> bool:
    """Queues the kernel, if its arguments need nothing more."""
    kinds = _kinds(kernel)
    compiled = kernel.ready
    if kinds is None or compiled is None:
        return False
    given: list[Any] = []
    storages: list[Any] = []
    for kind, argument in zip(kinds, arguments):
        if type(kind) is tuple:
            if type(argument) is not array:
                return False
            if argument.dtype is not kind[0] or argument.ndim != kind[1] or argument.device is not device:
                return False
            described = argument._on_device()
            if described is None:
                return False
            given.append(described)
            storages.append(argument._storage)
            if argument._grad is not None:
                storages.append(argument._grad._storage)
        elif type(argument) is kind:
            given.append([argument])
        elif kind is float and type(argument) is int:
            given.append([float(argument)])
        else:
            return False
    for storage in storages:
        if storage._ahead:
            storage.flush()
    used(device.ordinal)
    compiled._program.launch(device.ordinal, 0, grid, given, False, block_dim, kernel.fused)
    for storage in storages:
        storage._stale = True
    return True


def run_on_cpu(kernel: Kernel, grid: list[int], arguments: list[Any]) -> Any:
    """Runs the kernel, if its arguments need nothing more: what it printed and found, or None."""
    kinds = _kinds(kernel)
    compiled = kernel.ready
    if kinds is None or compiled is None:
        return None
    given: list[Any] = []
    taken: list[tuple[int, int]] = []
    for kind, argument in zip(kinds, arguments):
        if type(kind) is tuple:
            if type(argument) is not array or argument._storage is not None or argument._grad is not None:
                return None
            if argument.dtype is not kind[0] or argument.ndim != kind[1]:
                return None
            flags = argument._host.flags
            if not flags.c_contiguous or not flags.writeable:
                return None
            at, size, shape = argument._span()
            # Arrays that share memory are told apart the long way.
            if any(at < end and first < at + size for first, end in taken):
                return None
            taken.append((at, at + size))
            given.append((at, size, shape))
        elif type(argument) is kind:
            given.append([argument])
        elif kind is float and type(argument) is int:
            given.append([float(argument)])
        else:
            return None
    return compiled._program.execute(grid, given, False, live_objects())
