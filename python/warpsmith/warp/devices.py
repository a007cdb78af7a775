"""The one device: the CPU. Programs that ask for a GPU are told that there is none here."""

from __future__ import annotations

from typing import Any


class Device:
    """The processor that kernels run on."""

    alias = name = "cpu"
    ordinal = -1
    is_cpu, is_cuda = True, False
    is_capturing = is_primary = is_uva = is_mempool_supported = is_mempool_enabled = False
    arch = sm_count = 0

    def __str__(self) -> str:
        return self.alias

    __repr__ = __str__

    def __eq__(self, other: object) -> bool:
        return str(other) == self.alias

    def __hash__(self) -> int:
        return hash(self.alias)


_CPU = Device()


def get_device(ident: Any = None) -> Device:
    """The device by its name; the CPU where there is no name."""
    if ident is None or ident == _CPU:
        return _CPU
    raise RuntimeError(f"the device {ident!r} is not in warpsmith.warp: arrays and launches are on the CPU")


def set_device(ident: Any) -> None:
    get_device(ident)


def get_preferred_device() -> Device:
    return _CPU


def get_devices() -> list[Device]:
    return [_CPU]


def get_cuda_devices() -> list[Device]:
    return []


def get_cuda_device_count() -> int:
    return 0


def get_cuda_device(ordinal: int | None = None) -> Device:
    raise RuntimeError("CUDA devices are not in warpsmith.warp: arrays and launches are on the CPU")


def is_cpu_available() -> bool:
    return True


def is_cuda_available() -> bool:
    return False


def is_device_available(device: Any) -> bool:
    return bool(device == _CPU)


def is_conditional_graph_supported() -> bool:
    return False


def is_mempool_enabled(device: Any) -> bool:
    return False


def is_mempool_supported(device: Any) -> bool:
    return False


class ScopedDevice:
    """Makes a device the current one; there is one."""

    def __init__(self, device: Any):
        self.device = get_device(device)

    def __enter__(self) -> Device:
        return self.device

    def __exit__(self, *_: Any) -> None:
        pass


def init() -> None:
    """Nothing to do: the package is ready when it is imported."""


def synchronize(*_: Any) -> None:
    """Launches on the CPU have ended when they return: nothing to do."""


synchronize_device = synchronize_stream = synchronize_event = synchronize
