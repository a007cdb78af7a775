"""`Tape`: launches in their order, and the gradients of a result by going back through them."""

from __future__ import annotations

from typing import Any, Callable

from . import graphs
from .arrays import array
from .devices import get_device
from .structs import StructInstance

_tapes: list[Tape] = []


class Tape:
    """Notes down launches and copies inside `with`; `backward` runs their gradients in reverse."""

    def __init__(self) -> None:
        self.launches: list[Callable[[], None]] = []
        self.gradients: dict[array, array] = {}
        self.const_gradients: set[array] = set()
        self.loss: array | None = None

    def __enter__(self) -> Tape:
        if _tapes:
            raise RuntimeError("a tape is active already: tapes cannot be nested")
        _tapes.append(self)
        return self

    def __exit__(self, *_: Any) -> None:
        _tapes.pop()

    def backward(self, loss: array | None = None, grads: dict[array, array] | None = None) -> None:
        """Carries the gradient of `loss`, or `grads` of given arrays, back to the inputs."""
        if loss is not None:
            if loss.size > 1 or loss.grad is None:
                raise RuntimeError("the loss is an array of one element with requires_grad=True")
            loss.grad.fill_(1.0)
        for target, source in (grads or {}).items():
            if target.grad is None:
                target.requires_grad = True
                self._know(target)
            target.grad.assign(source)  # type: ignore[union-attr]
        for step in reversed(self.launches):
            step()

    def record_func(self, backward: Callable[[], None], arrays: list[array]) -> None:
        """Calls `backward` in its place of the backward pass."""
        self.launches.append(backward)
        for one in arrays:
            self._know(one)

    def record_launch(
        self,
        kernel: Any,
        dim: Any,
        max_blocks: int,
        inputs: Any,
        outputs: Any,
        device: Any = None,
        block_dim: int = 256,
        **_: Any,
    ) -> None:
        from .launching import Target

        self._note(kernel, dim, list(inputs), list(outputs), Target(get_device(device), block_dim))

    def _note(self, kernel: Any, grid: Any, inputs: list[Any], outputs: list[Any], target: Any) -> None:
        from .launching import run

        if not kernel.enable_backward:
            return
        arguments = [*inputs, *outputs]
        for argument in arguments:
            self._know(argument)
        self.launches.append(lambda: run(kernel, grid, arguments, [], True, target))

    def _know(self, argument: Any) -> None:
        if isinstance(argument, StructInstance):
            for value in argument._fields.values():
                self._know(value)
        elif isinstance(argument, array) and argument.grad is not None:
            self.gradients[argument] = argument.grad

    def zero(self) -> None:
        """Sets the gradients of all arrays that were used to zero."""
        for one in list(self.gradients):
            if one.grad is not None:
                one.grad.zero_()

    def reset(self) -> None:
        """Forgets what was noted down, and zeroes the gradients."""
        self.zero()
        self.launches.clear()
        self.gradients.clear()

    def visualize(self, *_: Any, **__: Any) -> Any:
        raise NotImplementedError("Tape.visualize is not in warpsmith.warp")


def record_launch(kernel: Any, grid: Any, inputs: list[Any], outputs: list[Any], target: Any) -> None:
    """Notes a launch down where a tape is active."""
    if _tapes:
        _tapes[-1]._note(kernel, grid, inputs, outputs, target)


def record_copy(dest: array, src: array) -> None:
    """A copy hands its gradient on to where the values came from."""
    if not _tapes or dest.grad is None or src.grad is None:
        return
    into, back = src.grad, dest.grad
    if into.shape != back.shape:
        return
    tape = _tapes[-1]
    for one in (dest, src):
        tape._know(one)

    def carry() -> None:
        values = back._memory
        with into._writing() as memory:
            memory[...] += values
        back._clear()

    tape.launches.append(lambda: graphs.do(carry))


def is_recording() -> bool:
    """Whether launches are noted down now."""
    return bool(_tapes)
