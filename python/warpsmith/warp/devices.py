"""Devices: the CPU, and the GPUs of CUDA where there are any.

As with Warp, the first GPU is the current device where there is one, and the CPU elsewhere.
"""

from __future__ import annotations

import functools
from typing import Any

from .. import _native


class Device:
    """A processor that kernels run on."""

    is_primary = is_uva = True
    is_capturing = False
    is_ipc_supported = False

    def __init__(self, alias: str, ordinal: int, name: str, facts: tuple[int, int, int, str, str] | None = None):
        self.alias, self.ordinal, self.name = alias, ordinal, name
        self.is_cuda = ordinal >= 0
        self.is_cpu = not self.is_cuda
        self.is_mempool_supported = self.is_mempool_enabled = self.is_cuda
        #: Architecture (90 for sm_90), multiprocessors and bytes of memory; 0 on the CPU.
        self.arch, self.sm_count, self.total_memory, self.uuid, self.pci_bus_id = facts or (0, 0, 0, "", "")

    @property
    def free_memory(self) -> int:
        """Bytes that no process has."""
        return int(_native.cuda_memory(self.ordinal)[0]) if self.is_cuda else 0

    @property
    def stream(self) -> Any:
        from .graphs import get_stream

        return get_stream(self)

    def can_access(self, other: Any) -> bool:
        return bool(get_device(other) == self)

    def __str__(self) -> str:
        return self.alias

    __repr__ = __str__

    def __eq__(self, other: object) -> bool:
        if isinstance(other, str) and other == "cuda":
            return self.is_cuda and self == _default_gpu()
        return str(other) == self.alias

    def __hash__(self) -> int:
        return hash(self.alias)


_CPU = Device("cpu", -1, "cpu")
_current: list[Device] = []
_current_gpu: list[Device] = []


@functools.lru_cache(None)
def _gpus() -> tuple[Device, ...]:
    found = enumerate(_native.cuda_gpus())
    return tuple(Device(f"cuda:{n}", n, name, tuple(facts)) for n, (name, *facts) in found)  # type: ignore[arg-type]


def _default_gpu() -> Device:
    if _current_gpu:
        return _current_gpu[-1]
    if not _gpus():
        raise RuntimeError("there is no CUDA device here: use the device 'cpu'")
    return _gpus()[0]


def get_device(ident: Any = None) -> Device:
    """The device by its name: `cpu`, `cuda` or `cuda:0`; the current one where there is no name."""
    if isinstance(ident, Device):
        return ident
    if ident is None:
        return _current[-1] if _current else get_preferred_device()
    if ident == "cpu":
        return _CPU
    if ident == "cuda":
        return _default_gpu()
    for gpu in _gpus():
        if ident == gpu.alias:
            return gpu
    there = ", ".join(str(device) for device in get_devices())
    raise RuntimeError(f"there is no device {str(ident)!r} here: there is {there}")


def _make_current(device: Device) -> None:
    _current[:] = [device]
    if device.is_cuda:
        _current_gpu[:] = [device]


def set_device(ident: Any) -> None:
    """Makes a device the current one."""
    _make_current(get_device(ident))


def get_preferred_device() -> Device:
    """The first GPU, or the CPU where there is none."""
    return _gpus()[0] if _gpus() else _CPU


def get_devices() -> list[Device]:
    return [_CPU, *_gpus()]


def get_cuda_devices() -> list[Device]:
    return list(_gpus())


def get_cuda_device_count() -> int:
    return len(_gpus())


def get_cuda_device(ordinal: int | None = None) -> Device:
    return _default_gpu() if ordinal is None else get_device(f"cuda:{ordinal}")


def is_cpu_available() -> bool:
    return True


def is_cuda_available() -> bool:
    return bool(_gpus())


def is_device_available(device: Any) -> bool:
    return any(device == one for one in get_devices())


def is_conditional_graph_supported() -> bool:
    return False


def is_mempool_enabled(device: Any) -> bool:
    return get_device(device).is_cuda


def is_mempool_supported(device: Any) -> bool:
    return get_device(device).is_cuda


def set_mempool_enabled(device: Any, enable: bool) -> None:
    """Arrays on a GPU always come from a pool: nothing to do."""


def get_mempool_used_mem_current(device: Any) -> int:
    """Bytes that arrays have on a GPU now."""
    return int(_native.cuda_memory(_gpu(device))[1])


def get_mempool_used_mem_high(device: Any) -> int:
    """The most bytes that arrays had on a GPU at once."""
    return int(_native.cuda_memory(_gpu(device))[2])


def _gpu(device: Any) -> int:
    found = get_device(device)
    if not found.is_cuda:
        raise ValueError(f"{found} has no pool of memory: it is not a CUDA device")
    return found.ordinal


class ScopedDevice:
    """Makes a device the current one inside `with`."""

    def __init__(self, device: Any):
        self.device = get_device(device)

    def __enter__(self) -> Device:
        self._before = list(_current), list(_current_gpu)
        _make_current(self.device)
        return self.device

    def __exit__(self, *_: Any) -> None:
        _current[:], _current_gpu[:] = self._before


def init() -> None:
    """Nothing to do: the package is ready when it is imported."""


def synchronize(*_: Any) -> None:
    """Waits for everything that was queued on any GPU."""
    for gpu in _used:
        _native.cuda_synchronize(gpu)


def synchronize_device(device: Any = None) -> None:
    """Waits for everything that was queued on a device; the CPU's launches have ended when they return."""
    found = get_device(device)
    if found.ordinal in _used:
        _native.cuda_synchronize(found.ordinal)


synchronize_stream = synchronize_event = synchronize

#: GPUs that something was queued on.
_used: set[int] = set()


def used(gpu: int) -> None:
    """Something is queued on a GPU."""
    _used.add(gpu)
