"""Arrays of PyTorch, CuPy, JAX and others on a GPU, analysed where they lie."""

from __future__ import annotations

import sys
from typing import Any, Callable

from .. import _native
from ..arrays import GpuArray, is_on_gpu, on_gpu


class Several:
    """Signals of any lengths on one GPU, which are analysed together."""

    def __init__(self, signals: list[Any]) -> None:
        self.signals = signals


def computes_there(y: Any, device: str | None) -> bool:
    """Whether the work is that of the GPU on which `y` lies; an error where it cannot be."""
    there = isinstance(y, Several) or is_on_gpu(y)
    if device in (None, "cpu"):
        if there:
            raise ValueError("y lies on a GPU: give device=\"cuda\" to compute there")
        return False
    name, _, index = str(device).partition(":")
    if name != "cuda" or not (index == "" or index.isdecimal()):
        raise ValueError(f"device = {device!r} is unknown: 'cpu', 'cuda' and 'cuda:N' are known")
    if not there:
        _native.open_gpu(int(index or 0))
        raise ValueError(
            "y lies in the host's memory: device=\"cuda\" takes arrays on the GPU, such as "
            "torch.as_tensor(y, device=\"cuda\") or cupy.asarray(y)"
        )
    return True


def compute(y: Any, device: str | None, work: Callable[[Any], Any]) -> Any:
    """What `work` makes of the place of `y`, as arrays of the library that `y` comes from.

    Results that belong together are a tuple; those of several signals are a list of what each has.
    """
    if not isinstance(y, Several):
        lies = _place(y, device)
        found = work((lies.gpu, lies.stream, [(lies.address, list(lies.shape))], False))
        if isinstance(found, tuple):
            return tuple(_as_of(y, values) for values in found)
        return _as_of(y, found)
    places = [_place(signal, device) for signal in y.signals]
    for lies in places:
        if len(lies.shape) != 1:
            raise ValueError(f"a signal of the list has shape {lies.shape}; give flat ones")
        if (lies.gpu, lies.stream) != (places[0].gpu, places[0].stream):
            raise ValueError("the signals of a list must lie on one GPU, and on one stream")
    arrays = [(lies.address, list(lies.shape)) for lies in places]
    found = work((places[0].gpu, places[0].stream, arrays, True))
    if isinstance(found, tuple):
        each = zip(y.signals, *found)
        return [tuple(_as_of(signal, part) for part in parts) for signal, *parts in each]
    return [_as_of(signal, values) for signal, values in zip(y.signals, found)]


def _place(y: Any, device: str | None) -> GpuArray:
    lies = on_gpu(y)
    index = str(device).partition(":")[2]
    if index and int(index) != lies.gpu:
        raise ValueError(f"device = {device!r}, but y lies on cuda:{lies.gpu}")
    if lies.dtype != "float32" or not lies.shape:
        raise ValueError(
            f"y holds {lies.dtype} of shape {lies.shape}; signals of float32 with full scale at 1 "
            "are needed"
        )
    if 0 in lies.shape[:-1]:
        raise ValueError(f"y has shape {lies.shape}: there is no signal in it")
    return lies


def _as_of(y: Any, found: Any) -> Any:
    """The values, where they lie, as an array of the library of `y`, if it is one that we know.

    Others take them by `__dlpack__` or `__cuda_array_interface__`.
    """
    torch, cupy, jax = (sys.modules.get(name) for name in ("torch", "cupy", "jax"))
    if torch is not None and isinstance(y, torch.Tensor):
        return torch.from_dlpack(found)
    if cupy is not None and isinstance(y, cupy.ndarray):
        return cupy.from_dlpack(found)
    if jax is not None and isinstance(y, jax.Array):
        return jax.dlpack.from_dlpack(found)
    return found
