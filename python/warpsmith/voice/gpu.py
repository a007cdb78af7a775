"""Arrays of PyTorch, CuPy and others on a GPU, analysed where they lie."""

from __future__ import annotations

import sys
from typing import Any, Callable

from .. import _native
from ..arrays import is_on_gpu, on_gpu



def computes_there(y: Any, device: str | None) -> bool:
    """Whether the work is that of the GPU on which `y` lies; an error where it cannot be."""
    if device in (None, "cpu"):
        if is_on_gpu(y):
            raise ValueError("y lies on a GPU: give device=\"cuda\" to compute there")
        return False
    name, _, index = str(device).partition(":")
    if name != "cuda" or not (index == "" or index.isdecimal()):
        raise ValueError(f"device = {device!r} is unknown: 'cpu', 'cuda' and 'cuda:N' are known")
    if not is_on_gpu(y):
        _native.open_gpu(int(index or 0))
        raise ValueError(
            "y lies in the host's memory: device=\"cuda\" takes arrays on the GPU, such as "
            "torch.as_tensor(y, device=\"cuda\") or cupy.asarray(y)"
        )
    return True


def compute(y: Any, device: str | None, work: Callable[[Any], Any]) -> Any:
    """What `work` makes of the place of `y`, as an array of the library that `y` comes from."""
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
    found = work((lies.gpu, lies.stream, lies.address, list(lies.shape)))
    torch, cupy = sys.modules.get("torch"), sys.modules.get("cupy")
    if torch is not None and isinstance(y, torch.Tensor):
        return torch.as_tensor(found, device=y.device)
    if cupy is not None and isinstance(y, cupy.ndarray):
        return cupy.asarray(found)
    return found
