"""Kernels written in Python: compiled to CUDA and C++ without starting NVIDIA Warp, and run."""

from __future__ import annotations

import json
import warnings
from dataclasses import dataclass, field
from typing import Any, Callable, Sequence

from . import _native
from .arrays import GpuArray, is_on_gpu, on_gpu


class KernelRefused(ValueError):
    """The kernel is outside the language, or did what it must not; `findings` say why, with lines."""

    def __init__(self, text: str, findings: list[dict[str, Any]]):
        super().__init__(text)
        self.findings = findings


@dataclass(frozen=True)
class Parameter:
    """A parameter of a kernel: an array of `rank` dimensions, or a value where that is None."""

    name: str
    described: str
    rank: int | None
    dtype: str | None
    components: tuple[int, ...]

    @property
    def is_array(self) -> bool:
        return self.rank is not None


@dataclass(frozen=True)
class Kernel:
    """A compiled kernel: its texts, forward and backward, and ways to run it."""

    cuda: str = field(repr=False)
    cpu: str = field(repr=False)
    ir: str = field(repr=False)
    header: str = field(repr=False)
    parameters: tuple[Parameter, ...]
    _program: Any = field(repr=False)

    @property
    def translation_unit(self) -> str:
        """CUDA text that NVRTC compiles as it is."""
        return self.header + self.cuda

    def launch(
        self, dim: int | tuple[int, ...], *arguments: Any, device: str | None = None
    ) -> list[str]:
        """Run over the grid `dim`; arrays are changed in place. Returns what the kernel printed.

        NumPy arrays run natively on all cores, where they lie. Every index is checked: where the
        kernel leaves an array, `KernelRefused` is raised after the other threads have ended. GPU
        arrays (PyTorch, CuPy, and whatever speaks DLPack) are neither copied nor waited for: the
        kernel is queued on the stream that their library uses now. The GPU checks no index, so try a
        kernel on NumPy arrays first.

        `device="vulkan"` (or "vulkan:1") runs NumPy arrays on a GPU of any maker, and every index is
        checked. A device that shares the host's memory works on them where they lie; to others they
        are copied, and back. Threads print up to 1 MiB there. "cpu" insists
        on the CPU.

        >>> import numpy as np, warpsmith
        >>> kernel = warpsmith.compile('''
        ... import warp as wp
        ...
        ... @wp.kernel
        ... def scale(x: wp.array(dtype=float), a: float):
        ...     i = wp.tid()
        ...     x[i] = a * x[i]
        ... ''')
        >>> x = np.ones(4, np.float32)
        >>> _ = kernel.launch(4, x, 2.5)
        >>> x
        array([2.5, 2.5, 2.5, 2.5], dtype=float32)
        """
        grid = [dim] if isinstance(dim, int) else list(dim)
        if len(arguments) != len(self.parameters):
            names = ", ".join(parameter.name for parameter in self.parameters)
            raise TypeError(f"the kernel takes {names}: {len(arguments)} arguments were given")
        vulkan = _vulkan_index(device)
        if any(is_on_gpu(argument) for argument in arguments):
            if device is not None:
                raise ValueError(f"device={device!r} takes NumPy arrays; these are on a GPU already")
            self._launch_on_gpu(grid, arguments)
            return []
        return self._run_on_host(grid, arguments, vulkan)

    def _run_on_host(
        self, grid: list[int], arguments: tuple[Any, ...], vulkan: int | None
    ) -> list[str]:
        import numpy as np

        passed: list[Any] = []
        # Copies of what cannot be worked on where it lies, with what they are copies of.
        copies = []
        # What keeps the memory that is passed.
        owners = []
        for parameter, argument in zip(self.parameters, arguments):
            if not parameter.is_array:
                passed.append(_value(argument))
                continue
            array = np.asarray(argument)
            shape = _checked(parameter, array.dtype.name, array.shape)
            memory = array
            if not (array.flags.c_contiguous and array.flags.writeable):
                memory = np.array(array, order="C")
                copies.append((array, memory))
            passed.append((memory.ctypes.data, memory.nbytes, shape))
            owners.append(memory)
        printed: list[str] = []
        if vulkan is None:
            printed, found = self._program.execute(grid, passed, False, [])
        else:
            printed, lost, found = self._program.execute_on_vulkan(
                vulkan, grid, passed, False, owners
            )
            if lost:
                warnings.warn(
                    f"{lost} more lines were printed than the device's buffer of 1 MiB takes",
                    stacklevel=3,
                )
        if found is not None:
            report = json.loads(found)
            raise KernelRefused(report["text"], report["findings"])
        for array, memory in copies:
            # What the kernel left unchanged is not written, so that an input may be read-only.
            if array.flags.writeable:
                array[...] = memory
            elif array.tobytes() != memory.tobytes():
                raise ValueError("the kernel writes an array that is read-only")
        return printed

    def _launch_on_gpu(self, grid: list[int], arguments: tuple[Any, ...]) -> None:
        passed: list[Any] = []
        arrays: list[GpuArray] = []
        for parameter, argument in zip(self.parameters, arguments):
            if not parameter.is_array:
                passed.append(_value(argument))
                continue
            if not is_on_gpu(argument):
                raise ValueError(f"{parameter.name} is not on the GPU, where others are")
            array = on_gpu(argument)
            passed.append((array.address, _checked(parameter, array.dtype, array.shape)))
            arrays.append(array)
        if len({array.gpu for array in arrays}) > 1:
            raise ValueError("the arrays are on different GPUs")
        self._program.launch(arrays[0].gpu, arrays[0].stream, grid, passed)


def _vulkan_index(device: str | None) -> int | None:
    """The number of a Vulkan device, or None for the CPU and for wherever the arrays are."""
    if device is None or device == "cpu":
        return None
    name, _, index = device.partition(":")
    if name != "vulkan" or not (index or "0").isdecimal():
        raise ValueError(f"device is {device!r}; it is 'cpu', 'vulkan' or 'vulkan:N'")
    return int(index or "0")


def _value(argument: Any) -> list[int | float]:
    if isinstance(argument, (int, float)):
        return [argument]
    flat = argument.ravel() if hasattr(argument, "ravel") else argument
    items = flat.tolist() if hasattr(flat, "tolist") else list(flat)
    return items if isinstance(items, list) else [items]


def _checked(parameter: Parameter, dtype: str, shape: tuple[int, ...]) -> list[int]:
    """The array's shape without the parts of its elements; TypeError where it does not fit."""
    inner = parameter.components
    if dtype != parameter.dtype:
        raise TypeError(f"{parameter.name} is {parameter.described}: an array of {dtype} was given")
    outer = shape[: len(shape) - len(inner)]
    if len(outer) != parameter.rank or tuple(shape[len(outer) :]) != tuple(inner):
        raise TypeError(f"{parameter.name} is {parameter.described}: the shape {shape} does not fit")
    return [int(size) for size in outer]


def compile(kernel: str | Callable[..., Any], name: str | None = None) -> Kernel:
    """Compile Warp-style source text, or a function: decorated with `wp.kernel`, or bare.

    A function brings along the functions and numbers of its module that it uses.

    >>> import warpsmith
    >>> kernel = warpsmith.compile('''
    ... import warp as wp
    ...
    ... @wp.kernel
    ... def scale(x: wp.array(dtype=float), a: float):
    ...     i = wp.tid()
    ...     x[i] = a * x[i]
    ... ''')
    >>> "wp::mul" in kernel.cuda
    True
    >>> [parameter.name for parameter in kernel.parameters]
    ['x', 'a']
    """
    if isinstance(kernel, str):
        source, file, places = kernel, "kernels.py", None
    else:
        from .kernel_source import source_of

        source, file, own_name, places = source_of(kernel)
        name = name or own_name
    return compile_source(source, name, file, places)


def compile_source(
    source: str, name: str | None, file: str, places: Sequence[tuple[str, int, int] | None] | None = None
) -> Kernel:
    """Compile source text; `name` chooses the kernel, `file` is what findings show.

    Where lines of the source are those of other files, `places` has for each line that file, its line, and how far
    it is indented more."""
    program, refused = _native.compile(source, name, file, places)
    if program is None:
        report = json.loads(refused or "{}")
        raise KernelRefused(report["text"], report["findings"])
    texts = json.loads(program.texts())
    parameters = tuple(
        Parameter(**{**parameter, "components": tuple(parameter["components"])})
        for parameter in texts.pop("parameters")
    )
    return Kernel(**texts, parameters=parameters, _program=program)
