"""PyTorch's tensors of the CPU in and out of functions of NumPy arrays."""

from __future__ import annotations

import functools
import sys
from typing import Any, Callable, TypeVar, cast

import numpy as np

F = TypeVar("F", bound=Callable[..., Any])


def torch_module() -> Any:
    """PyTorch, where the program has imported it."""
    return sys.modules.get("torch")


def is_tensor(value: Any) -> bool:
    """Whether a value is a tensor."""
    torch = torch_module()
    return torch is not None and isinstance(value, torch.Tensor)


def array(value: Any) -> Any:
    """A tensor as the array that it is; anything else as it is."""
    if not is_tensor(value):
        return value
    if value.device.type != "cpu":
        raise ValueError(
            f'the tensor lies on `{value.device}`: move it with `.cpu()`, or use voice.stft(…, device="cuda")'
        )
    if value.requires_grad and torch_module().is_grad_enabled():
        raise ValueError(
            "the tensor asks for gradients, and these functions give none: call `.detach()` first, "
            "or work under `torch.no_grad()`"
        )
    if value.is_sparse or value.dtype in _NOT_NUMPYS():
        raise ValueError(f"a tensor of {value.dtype} cannot be used: convert it with `.float()`")
    return value.detach().resolve_conj().resolve_neg().numpy()


def _NOT_NUMPYS() -> tuple[Any, ...]:
    torch = torch_module()
    return (torch.bfloat16,)


def tensor(value: Any) -> Any:
    """An array as a tensor over the same memory; tuples item by item."""
    if isinstance(value, tuple):
        return tuple(tensor(one) for one in value)
    if isinstance(value, (np.ndarray, np.generic)):
        return torch_module().from_numpy(np.require(value, requirements=["C", "W"]))
    return value


def tensors(function: F) -> F:
    """The function for tensors too: it gives tensors where it was given one."""

    @functools.wraps(function)
    def wrapped(*arguments: Any, **options: Any) -> Any:
        given = [*arguments, *options.values()]
        if not any(is_tensor(value) for value in given):
            return function(*arguments, **options)
        found = function(
            *[array(value) for value in arguments],
            **{name: array(value) for name, value in options.items()},
        )
        return tensor(found)

    return cast(F, wrapped)


def uniform(shape: tuple[int, ...]) -> np.ndarray:
    """Numbers from 0 to below 1, as PyTorch draws them where the program uses it."""
    torch = torch_module()
    if torch is not None:
        return np.asarray(torch.rand(shape).numpy())
    return np.random.random_sample(shape).astype(np.float32)


def whole(below: int) -> int:
    """A whole number from 0 to below `below`, drawn like `uniform`."""
    torch = torch_module()
    return int(torch.randint(below, ())) if torch is not None else int(np.random.randint(below))
