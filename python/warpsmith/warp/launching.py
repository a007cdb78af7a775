"""`launch`: arguments are checked against the kernel's signature, and the kernel runs on their memory."""

from __future__ import annotations

import json
import numbers
from typing import Any, Sequence

import numpy as np

from ..kernels import KernelRefused
from . import graphs, tape, types
from .array_type import ArrayType
from .arrays import array, numpy_type
from .definitions import Kernel, _is_generic
from .devices import get_device
from .objects import live_objects
from .structs import Struct, StructInstance


def launch(
    kernel: Kernel,
    dim: Any,
    inputs: Sequence[Any] = (),
    outputs: Sequence[Any] = (),
    adj_inputs: Sequence[Any] = (),
    adj_outputs: Sequence[Any] = (),
    device: Any = None,
    stream: Any = None,
    adjoint: bool = False,
    record_tape: bool = True,
    record_cmd: bool = False,
    max_blocks: int = 0,
    block_dim: int = 256,
    **unknown: Any,
) -> Any:
    """Runs a kernel over the grid `dim`; with `adjoint` its gradient, from `adj_outputs` to `adj_inputs`.

    An active tape notes the launch down. Threads run on the CPU and have ended when this returns.
    """
    unsupported = [name for name, value in unknown.items() if value]
    if unsupported:
        raise NotImplementedError(f"launch({', '.join(unsupported)}=…) is not in warpsmith.warp")
    get_device(device)
    if not isinstance(kernel, Kernel):
        raise RuntimeError("Error launching kernel, can only launch functions decorated with @wp.kernel.")
    grid = [int(dim)] if isinstance(dim, numbers.Integral) else [int(size) for size in dim]
    arguments = [*inputs, *outputs]
    if len(arguments) != len(kernel.parameters):
        raise RuntimeError(
            f"Error launching kernel '{kernel.key}', passed {len(arguments)} arguments but kernel requires "
            f"{len(kernel.parameters)}."
        )
    gradients = [*adj_inputs, *adj_outputs]
    if record_cmd:
        return Launch(kernel, grid, arguments, gradients, adjoint)
    run(kernel, grid, arguments, gradients, adjoint)
    if record_tape and not adjoint:
        tape.record_launch(kernel, grid, list(inputs), list(outputs))
    return None


def launch_tiled(kernel: Kernel, dim: Any, *arguments: Any, **options: Any) -> Any:
    """As `launch`, with one block for each element of `dim`; on the CPU a block is one thread."""
    grid = [int(dim)] if isinstance(dim, numbers.Integral) else [int(size) for size in dim]
    if len(grid) > 3:
        raise RuntimeError("launch_tiled takes grids of up to 3 dimensions")
    if "block_dim" not in options:
        raise RuntimeError("launch_tiled needs block_dim")
    return launch(kernel, [*grid, 1], *arguments, **options)


class Launch:
    """A launch that is made again and again."""

    def __init__(self, kernel: Kernel, dim: list[int], arguments: list[Any], gradients: list[Any], adjoint: bool):
        self.kernel, self.dim, self.params, self.gradients, self.adjoint = kernel, dim, arguments, gradients, adjoint

    def set_dim(self, dim: Any) -> None:
        self.dim = [int(dim)] if isinstance(dim, numbers.Integral) else [int(size) for size in dim]

    def set_param_at_index(self, index: int, value: Any, adjoint: bool = False) -> None:
        (self.gradients if adjoint else self.params)[index] = value

    def set_param_by_name(self, name: str, value: Any, adjoint: bool = False) -> None:
        self.set_param_at_index(list(self.kernel.parameters).index(name), value, adjoint)

    def set_params(self, values: Sequence[Any]) -> None:
        self.params = list(values)

    def launch(self, stream: Any = None) -> None:
        run(self.kernel, self.dim, self.params, self.gradients, self.adjoint)


def run(kernel: Kernel, grid: list[int], arguments: list[Any], gradients: list[Any], adjoint: bool) -> None:
    """Packs the arguments as they are now, and runs the kernel now or with the graph that is captured."""
    if adjoint and not kernel.enable_backward:
        raise RuntimeError(f"the kernel {kernel.key} has no gradient: enable_backward is False")
    if any(size == 0 for size in grid):
        return
    packed = Packed()
    gradients = [*gradients, *[None] * (len(arguments) - len(gradients))]
    for (name, kind), argument, gradient in zip(kernel.parameters.items(), arguments, gradients):
        packed.add(f"kernel '{kernel.key}', argument '{name}'", kind, argument, gradient)
    compiled = kernel.compiled_for(packed.arguments, adjoint)
    graphs.do(lambda: packed.run(compiled, grid, adjoint))


class Packed:
    """Arguments in the form that the kernel takes."""

    def __init__(self) -> None:
        self.arguments: list[Any] = []
        self._makers: list[Any] = []
        #: Memory of values and gradients of the arrays, in the kernel's order.
        self._arrays: list[tuple[Any, Any]] = []
        #: Copies of memory that is not contiguous, with what they are copies of, while the kernel runs.
        self._copies: list[tuple[Any, Any]] = []

    def add(self, where: str, kind: Any, argument: Any, gradient: Any) -> None:
        if isinstance(kind, ArrayType) or (kind is Any and hasattr(argument, "__array_interface__")):
            argument = _array_argument(where, kind, argument)
        self.arguments.append(argument)
        self._makers.append(self._maker(where, kind, argument, gradient))

    def run(self, compiled: Any, grid: list[int], adjoint: bool) -> None:
        given = [make() for make in self._makers]
        printed, found = compiled._program.execute(grid, given, adjoint, live_objects())
        copies, self._copies = self._copies, []
        for line in printed:
            print(line, end="")
        if found is not None:
            report = json.loads(found)
            raise KernelRefused(report["text"], report["findings"])
        for memory, copy in copies:
            if memory.flags.writeable:
                memory[...] = copy
            elif memory.tobytes() != copy.tobytes():
                raise ValueError("the kernel writes an array that is read-only")

    def _contiguous(self, memory: Any) -> Any:
        """The memory itself, or a copy that `run` writes back."""
        if memory.flags.c_contiguous and memory.flags.writeable:
            return memory
        copy = np.array(memory, order="C")
        self._copies.append((memory, copy))
        return copy

    def _maker(self, where: str, kind: Any, argument: Any, gradient: Any) -> Any:
        if isinstance(argument, array) or isinstance(kind, ArrayType):
            return self._array_maker(argument, gradient)
        if isinstance(kind, Struct) or isinstance(argument, StructInstance):
            if not isinstance(argument, StructInstance) or (isinstance(kind, Struct) and argument._struct is not kind):
                raise RuntimeError(f"Error launching {where} expects {kind.key}, got {argument!r}")
            fields = []
            for field, inner in argument._struct.vars.items():
                value = argument._fields[field]
                own = None if not isinstance(gradient, StructInstance) else gradient._fields[field]
                if isinstance(inner, ArrayType):
                    value = _array_argument(f"{where}.{field}", inner, value)
                fields.append(self._maker(f"{where}.{field}", inner, value, own))
            return lambda: ("struct", [make() for make in fields])
        numbers_given = _value(where, kind, argument)
        return lambda: numbers_given

    def _array_maker(self, argument: array | None, gradient: Any) -> Any:
        if argument is None:
            return lambda: None
        if gradient is None:
            gradient = argument.grad
        memory = argument._memory
        dual = None if gradient is None else gradient._memory
        for position, (other, other_dual) in enumerate(self._arrays):
            if _same(memory, other) and _same(dual, other_dual):
                return lambda: (position,)
            if np.may_share_memory(memory, other) and np.shares_memory(memory, other):
                # Threads run many at a time: what one reads of another's array would depend on that.
                if not _same(memory, other):
                    raise NotImplementedError("arguments that overlap in part are not in warpsmith.warp")
        self._arrays.append((memory, dual))
        shape = list(argument.shape)

        def make() -> Any:
            values = self._contiguous(memory)
            if dual is None:
                return values.ctypes.data, values.nbytes, shape
            gradients = self._contiguous(dual)
            return values.ctypes.data, values.nbytes, shape, gradients.ctypes.data, gradients.nbytes

        return make


def _same(one: Any, other: Any) -> bool:
    if one is None or other is None:
        return one is other
    mine, theirs = one.__array_interface__, other.__array_interface__
    return bool(mine["data"][0] == theirs["data"][0] and one.shape == other.shape and one.strides == other.strides)


def _array_argument(where: str, kind: Any, argument: Any) -> Any:
    if argument is None:
        return None
    if not isinstance(argument, array):
        if not hasattr(argument, "__array_interface__") and not hasattr(argument, "__dlpack__"):
            raise RuntimeError(f"Error launching {where} expects an array, but got a {type(argument).__name__}")
        dtype = Any if _is_generic(kind) else kind.dtype
        argument = array(argument, dtype=dtype, copy=False)
    if _is_generic(kind):
        return argument
    wanted, given = numpy_type(kind.dtype), numpy_type(argument.dtype)
    if wanted != given:
        raise RuntimeError(
            f"Error launching {where} expects an array with dtype={kind.dtype} but passed array has "
            f"dtype={argument.dtype}."
        )
    if argument.ndim != kind.ndim:
        raise RuntimeError(
            f"Error launching {where} expects an array with {kind.ndim} dimension(s) but the passed array has "
            f"{argument.ndim} dimension(s)."
        )
    return argument


def _value(where: str, kind: Any, argument: Any) -> list[Any]:
    if types.is_composite(kind) or types.is_composite(type(argument)):
        wanted = kind if types.is_composite(kind) else type(argument)
        if not isinstance(argument, wanted):
            argument = wanted(*argument) if isinstance(argument, (list, tuple)) else wanted(argument)
        return types.component_list(argument)
    number = types._plain(argument)
    if isinstance(number, np.ndarray):
        number = number.item() if number.ndim == 0 else number
    if hasattr(number, "item"):
        number = number.item()
    wanted = types.scalar_type(type(number) if _is_generic(kind) else kind)
    whole = not issubclass(wanted.numpy_type, np.floating)
    if not isinstance(number, (int, float)) or (whole and isinstance(number, float)):
        raise RuntimeError(f"Error launching {where} expects {wanted.__name__}, but got {argument!r}")
    return [int(number) if whole else float(number)]
