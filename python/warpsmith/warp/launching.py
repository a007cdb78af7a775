"""`launch`: arguments are checked against the kernel's signature, and the kernel runs on their memory.

On the CPU it has ended when the call returns; on a GPU it is queued.
"""

from __future__ import annotations

import json
import numbers
from typing import Any, NamedTuple, Sequence

import numpy as np

from ..kernels import KernelRefused
from . import direct, graphs, tape, types
from .array_type import ArrayType
from .arrays import array, is_record, numpy_type
from .definitions import Kernel, _is_generic
from .devices import Device, get_device, used
from .indexed_arrays import IndexedArrayType, indexedarray
from .objects import live_objects
from .structs import Struct, StructInstance
from .textures import Texture


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

    An active tape notes the launch down. The device is that of the stream where one is given, or the current one.
    """
    unsupported = [name for name, value in unknown.items() if value] if unknown else None
    if unsupported:
        raise NotImplementedError(f"launch({', '.join(unsupported)}=…) is not in warpsmith.warp")
    where = get_device(stream.device if device is None and stream is not None else device)
    if not isinstance(kernel, Kernel):
        raise RuntimeError("Error launching kernel, can only launch functions decorated with @wp.kernel.")
    grid = [dim] if type(dim) is int else _grid(dim)
    arguments = [*inputs, *outputs]
    if len(arguments) != len(kernel.parameters):
        raise RuntimeError(
            f"Error launching kernel '{kernel.key}', passed {len(arguments)} arguments but kernel requires "
            f"{len(kernel.parameters)}."
        )
    gradients = [*adj_inputs, *adj_outputs]
    target = Target(where, block_dim)
    if record_cmd:
        return Launch(kernel, grid, arguments, gradients, adjoint, target)
    run(kernel, grid, arguments, gradients, adjoint, target)
    if record_tape and not adjoint and tape.is_recording():
        tape.record_launch(kernel, grid, list(inputs), list(outputs), target)
    return None


def _grid(dim: Any) -> list[int]:
    return [int(dim)] if isinstance(dim, numbers.Integral) else [int(size) for size in dim]


def launch_tiled(kernel: Kernel, dim: Any, *arguments: Any, **options: Any) -> Any:
    """As `launch`, with one block of `block_dim` threads for each element of `dim`; on the CPU a block is one thread."""
    grid = _grid(dim)
    if len(grid) > 3:
        raise RuntimeError("launch_tiled takes grids of up to 3 dimensions")
    if "block_dim" not in options:
        raise RuntimeError("launch_tiled needs block_dim")
    stream = options.get("stream")
    where = get_device(stream.device if options.get("device") is None and stream is not None else options.get("device"))
    return launch(kernel, [*grid, int(options["block_dim"]) if where.is_cuda else 1], *arguments, **options)


def get_suggested_block_size(kernel: Kernel, device: Any = None) -> tuple[int, int]:
    """A block size, and how many such blocks a GPU runs at once: on the CPU both are 1.

    The kernel's registers and shared memory are not looked at.
    """
    if not isinstance(kernel, Kernel):
        raise TypeError(f"get_suggested_block_size takes a kernel, not a {type(kernel).__name__}")
    where = get_device(device)
    return (256, 8 * where.sm_count) if where.is_cuda else (1, 1)


class Target(NamedTuple):
    """Where a launch goes."""

    device: Device
    #: Threads in a block; on the CPU a block has one.
    block_dim: int


class Launch:
    """A launch that is made again and again."""

    def __init__(
        self,
        kernel: Kernel,
        dim: list[int],
        arguments: list[Any],
        gradients: list[Any],
        adjoint: bool,
        target: Target,
    ):
        self.kernel, self.dim, self.params, self.gradients, self.adjoint = kernel, dim, arguments, gradients, adjoint
        self.target = target

    def set_dim(self, dim: Any) -> None:
        self.dim = _grid(dim)

    def set_param_at_index(self, index: int, value: Any, adjoint: bool = False) -> None:
        (self.gradients if adjoint else self.params)[index] = value

    def set_param_by_name(self, name: str, value: Any, adjoint: bool = False) -> None:
        self.set_param_at_index(list(self.kernel.parameters).index(name), value, adjoint)

    def set_params(self, values: Sequence[Any]) -> None:
        self.params = list(values)

    def launch(self, stream: Any = None) -> None:
        run(self.kernel, self.dim, self.params, self.gradients, self.adjoint, self.target)


def run(
    kernel: Kernel, grid: list[int], arguments: list[Any], gradients: list[Any], adjoint: bool, target: Target
) -> None:
    """Packs the arguments as they are now, and runs the kernel now or with the graph that is captured."""
    if adjoint and not kernel.enable_backward:
        raise RuntimeError(f"the kernel {kernel.key} has no gradient: enable_backward is False")
    if 0 in grid:
        return
    if not adjoint and not gradients and not graphs.is_noting():
        if target.device.is_cuda:
            if direct.run_on_gpu(kernel, grid, arguments, target.device, target.block_dim):
                return
        else:
            ran = direct.run_on_cpu(kernel, grid, arguments)
            if ran is not None:
                _report(*ran)
                return
    packed = PackedForGpu(target, kernel.fuse_fp) if target.device.is_cuda else Packed()
    gradients = [*gradients, *[None] * (len(arguments) - len(gradients))]
    for (name, kind), argument, gradient in zip(kernel.parameters.items(), arguments, gradients):
        packed.add(f"kernel '{kernel.key}', argument '{name}'", kind, argument, gradient)
    compiled = kernel.compiled_for(packed.arguments, adjoint)
    if not graphs.is_noting():
        packed.run(compiled, grid, adjoint)
        return
    gpu, storages, prepare = packed.on_gpu(compiled, adjoint)
    graphs.do(lambda: packed.run(compiled, grid, adjoint), gpu, storages, prepare)


def _report(printed: list[str], found: str | None) -> None:
    """Prints what a kernel printed, and raises what was found."""
    for line in printed:
        print(line, end="")
    if found is not None:
        report = json.loads(found)
        raise KernelRefused(report["text"], report["findings"])


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
        if isinstance(kind, IndexedArrayType) or isinstance(argument, indexedarray):
            self.arguments.append(argument)
            self._makers.append(self._indexed_maker(where, kind, argument))
            return
        if isinstance(kind, ArrayType) or (kind is Any and _is_array(argument)):
            argument = self._on_device(where, _array_argument(where, kind, argument))
        self.arguments.append(argument)
        self._makers.append(self._maker(where, kind, argument, gradient))

    def _on_device(self, where: str, argument: Any) -> Any:
        """The argument, where the kernel can reach it."""
        if isinstance(argument, array) and argument.device.is_cuda:
            raise RuntimeError(
                f"Error launching {where} is on {argument.device}, and the launch on cpu: "
                f"give launch the device, or copy the array with to('cpu')"
            )
        return argument

    def on_gpu(self, compiled: Any, adjoint: bool) -> tuple[int | None, tuple[Any, ...], Any]:
        """The GPU of the launch, the memory that it uses there, and what loads the kernel; on the CPU nothing."""
        return None, (), None

    def run(self, compiled: Any, grid: list[int], adjoint: bool) -> None:
        given = [make() for make in self._makers]
        printed, found = compiled._program.execute(grid, given, adjoint, live_objects())
        copies, self._copies = self._copies, []
        _report(printed, found)
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
                    value = self._on_device(f"{where}.{field}", _array_argument(f"{where}.{field}", inner, value))
                fields.append(self._maker(f"{where}.{field}", inner, value, own))
            return lambda: ("struct", [make() for make in fields])
        numbers_given = _value(where, kind, argument)
        return lambda: numbers_given

    def _indexed_maker(self, where: str, kind: Any, argument: Any) -> Any:
        """The array and its lists of indices. Nothing is added to the gradients of such arrays, as with Warp."""
        if not isinstance(kind, IndexedArrayType):
            raise RuntimeError(f"Error launching {where} expects {kind}, but got an indexedarray")
        if not isinstance(argument, indexedarray):
            raise RuntimeError(f"Error launching {where} expects an indexedarray, but got a {type(argument).__name__}")
        self._on_device(where, _array_argument(where, kind.elements, argument.data))
        makers = [self._array_maker(argument.data.detached(), None)]
        makers += [self._array_maker(one.detached(), None) for one in argument.indices]
        return lambda: ("struct", [make() for make in makers])

    def _array_maker(self, argument: array | None, gradient: Any) -> Any:
        if argument is None:
            return lambda: None
        if gradient is None:
            gradient = argument.grad
        memory = argument._host
        dual = None if gradient is None else gradient._host
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


class PackedForGpu(Packed):
    """Arguments for a launch on a GPU: addresses of memory there."""

    def __init__(self, target: Target, fused: bool) -> None:
        super().__init__()
        self._target, self._fused = target, fused
        self._storages: list[Any] = []

    def _indexed_maker(self, where: str, kind: Any, argument: Any) -> Any:
        raise NotImplementedError(f"{where} is an indexedarray, which warpsmith.warp has on the CPU alone")

    def _on_device(self, where: str, argument: Any) -> Any:
        if isinstance(argument, array) and argument.device != self._target.device:
            raise RuntimeError(
                f"Error launching {where} is on {argument.device}, and the launch on {self._target.device}: "
                f"make the array there, or copy it with to({str(self._target.device)!r})"
            )
        return argument

    def on_gpu(self, compiled: Any, adjoint: bool) -> tuple[int | None, tuple[Any, ...], Any]:
        gpu, block = self._target.device.ordinal, self._target.block_dim
        storages = tuple(one for one in self._storages if one is not None)
        return gpu, storages, lambda: compiled._program.load(gpu, adjoint, block, self._fused)

    def run(self, compiled: Any, grid: list[int], adjoint: bool) -> None:
        gpu = self._target.device.ordinal
        given = [make() for make in self._makers]
        used(gpu)
        compiled._program.launch(gpu, 0, grid, given, adjoint, self._target.block_dim, self._fused)
        for storage in self._storages:
            storage.changed()

    def _array_maker(self, argument: array | None, gradient: Any) -> Any:
        if argument is None:
            return lambda: None
        dual = argument.grad if gradient is None else gradient
        if dual is not None and dual.strides != argument.strides:
            raise NotImplementedError("a gradient with other strides than its array is not in warpsmith.warp")
        shape, strides = list(argument.shape), list(argument.strides)
        self._storages += [one._storage for one in (argument, dual) if one is not None]

        def address(one: array | None) -> int:
            return 0 if one is None or one._storage is None else one._storage.address(one._host)

        return lambda: (address(argument), shape, strides, address(dual))


def _is_array(argument: Any) -> bool:
    known = ("__array_interface__", "__cuda_array_interface__")
    return isinstance(argument, array) or any(hasattr(argument, name) for name in known)


def _same(one: Any, other: Any) -> bool:
    if one is None or other is None:
        return one is other
    mine, theirs = one.__array_interface__, other.__array_interface__
    return bool(mine["data"][0] == theirs["data"][0] and one.shape == other.shape and one.strides == other.strides)


def _array_argument(where: str, kind: Any, argument: Any) -> Any:
    if argument is None:
        return None
    if not isinstance(argument, array):
        if not _is_array(argument) and not hasattr(argument, "__dlpack__"):
            raise RuntimeError(f"Error launching {where} expects an array, but got a {type(argument).__name__}")
        dtype = Any if _is_generic(kind) else kind.dtype
        on_gpu = hasattr(argument, "__cuda_array_interface__")
        if not on_gpu and dtype is not Any and not is_record(dtype):
            view = np.asarray(argument) if hasattr(argument, "__array_interface__") else np.from_dlpack(argument)
            wanted = numpy_type(dtype)[0]
            if view.dtype != wanted:
                # A converted copy would take the kernel's results with it.
                raise RuntimeError(
                    f"Error launching {where} expects an array with dtype={dtype} but passed array has "
                    f"NumPy's dtype {view.dtype}: convert it to {np.dtype(wanted)} first."
                )
        argument = array(argument, dtype=dtype, copy=False, device=None if on_gpu else "cpu")
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
    if isinstance(argument, Texture):
        if not isinstance(argument, kind):
            raise RuntimeError(f"Error launching {where} expects a {kind.__name__}, but got a {type(argument).__name__}")
        components: list[Any] = argument.components()
        return components
    if isinstance(kind, type) and issubclass(kind, Texture):
        raise RuntimeError(f"Error launching {where} expects a {kind.__name__}, but got a {type(argument).__name__}")
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
