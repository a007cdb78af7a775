"""Arrays of other libraries, as they describe themselves: nothing is copied, nobody is imported.

A GPU array shows where it lies by `__cuda_array_interface__` (PyTorch, CuPy, Numba) or by DLPack
(JAX and others). Work on it goes to the stream that its library works on now.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass, field
from typing import Any

from . import _native

#: DLPack's number for CUDA memory.
_DLPACK_CUDA = 2


@dataclass(frozen=True)
class GpuArray:
    """Where an array lies on a GPU. `owner` keeps its memory alive."""

    address: int
    shape: tuple[int, ...]
    dtype: str
    gpu: int
    stream: int
    owner: Any = field(repr=False)


def is_on_gpu(value: Any) -> bool:
    """Whether `value` is an array in CUDA memory.

    >>> from warpsmith.arrays import is_on_gpu
    >>> is_on_gpu([1, 2, 3])
    False
    """
    if getattr(value, "is_cuda", None) is False:
        # PyTorch's host tensors have the attribute, and raise when it is read.
        return False
    if hasattr(value, "__cuda_array_interface__"):
        return True
    device = getattr(value, "__dlpack_device__", None)
    return device is not None and int(device()[0]) == _DLPACK_CUDA


def on_gpu(value: Any) -> GpuArray:
    """The array's place on its GPU, and the stream that its library uses now.

    Raises ValueError where the array is not contiguous or may not be written.
    """
    described = getattr(value, "__cuda_array_interface__", None)
    if described is not None:
        return _from_interface(value, described)
    gpu = int(value.__dlpack_device__()[1])
    stream = current_stream(value)
    # The producer makes its own work visible to this stream; 1 is DLPack's legacy default stream.
    capsule = value.__dlpack__(stream=stream or 1)
    address, shape, dtype, _ = _native.dlpack_facts(capsule)
    return GpuArray(address, tuple(shape), dtype, gpu, stream, (value, capsule))


def _from_interface(value: Any, described: dict[str, Any]) -> GpuArray:
    address, read_only = described["data"]
    if read_only:
        raise ValueError("the array may not be written")
    shape = tuple(int(size) for size in described["shape"])
    dtype = _dtype(described["typestr"])
    strides = described.get("strides")
    if strides is not None and not _contiguous(shape, strides, int(described["typestr"][2:])):
        raise ValueError("the array is not contiguous: make a contiguous copy first")
    return GpuArray(int(address), shape, dtype, _gpu_of(value), current_stream(value), value)


def _contiguous(shape: tuple[int, ...], strides: Any, size: int) -> bool:
    step = size
    for length, stride in zip(reversed(shape), reversed(tuple(strides))):
        if length > 1 and stride != step:
            return False
        step *= length
    return True


def _dtype(typestr: str) -> str:
    kinds = {"f": "float", "i": "int", "u": "uint", "b": "bool"}
    kind = kinds.get(typestr[1])
    if kind is None or typestr[0] == ">":
        raise ValueError(f"an array of type {typestr!r} is not one of numbers that kernels take")
    return "bool" if kind == "bool" else f"{kind}{8 * int(typestr[2:])}"


def _gpu_of(value: Any) -> int:
    device = getattr(value, "device", None)
    # PyTorch has `index`, CuPy has `id`.
    for name in ("index", "id"):
        index = getattr(device, name, None)
        if isinstance(index, int):
            return index
    return 0


def current_stream(value: Any) -> int:
    """The driver's handle of the stream that the library of `value` uses now; 0 is the default."""
    torch, cupy = sys.modules.get("torch"), sys.modules.get("cupy")
    if torch is not None and isinstance(value, torch.Tensor):
        return int(torch.cuda.current_stream(value.device).cuda_stream)
    if cupy is not None and isinstance(value, cupy.ndarray):
        return int(cupy.cuda.get_current_stream().ptr)
    described = getattr(value, "__cuda_array_interface__", None) or {}
    # 1 and 2 name the legacy and the per-thread default stream, which the driver takes as handles.
    return int(described.get("stream") or 0)
