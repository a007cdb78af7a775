"""`map`: a function over the elements of arrays, by a kernel that is made for it."""

from __future__ import annotations

import ast
import builtins
import inspect
import json
from typing import Any, Callable

import numpy as np

from ..kernel_source import SourceText
from ..kernels import compile_source
from . import types
from .array_type import ArrayType
from .arrays import array, empty
from .builtin_calls import composite, names
from .definitions import Function, Kernel, type_of_argument
from .launching import launch
from .structs import Struct, StructInstance


def map(
    func: Any,
    *inputs: Any,
    out: Any = None,
    return_kernel: bool = False,
    block_dim: int | None = None,
    device: Any = None,
) -> Any:
    """Calls `func` for each element of the arrays among `inputs`, whose shapes are broadcast as NumPy's.

    `func` is a `wp.func`, a function of the kernel language, a Python function or a lambda; what is no array is
    handed to every call. The results go to `out`, or to arrays that are made for them: one, or a list of several.
    """
    arrays = [one for one in inputs if isinstance(one, array)]
    if not arrays:
        raise ValueError("map requires at least one warp.array input")
    called = _Called.of(func)
    if called.parameters is not None and len(inputs) != len(called.parameters):
        raise TypeError(
            f"Number of input arguments ({len(inputs)}) does not match expected number of function arguments "
            f"({len(called.parameters)})"
        )
    key = (called.identity, *[_described(one) for one in inputs])
    kernel = _kernels.get(key)
    if kernel is None:
        kernel = _kernels[key] = MapKernel(called, inputs)
    if return_kernel:
        return kernel
    shape = np.broadcast_shapes(*[one.shape for one in arrays])
    outputs = _outputs(kernel, arrays, shape, out, arrays[0].device if device is None else device)
    block_dim = 256 if block_dim is None else block_dim
    launch(kernel, dim=shape, inputs=list(inputs), outputs=outputs, device=outputs[0].device, block_dim=block_dim)
    return outputs[0] if len(outputs) == 1 else outputs


def _outputs(kernel: MapKernel, arrays: list[array], shape: tuple[int, ...], out: Any, device: Any) -> list[array]:
    kinds = kernel.results
    if out is None:
        wanted = any(one.requires_grad for one in arrays)
        return [empty(shape, dtype=kind, device=device, requires_grad=wanted and _is_float(kind)) for kind in kinds]
    given = list(out) if isinstance(out, (tuple, list)) else [out]
    if len(given) != len(kinds):
        raise TypeError(f"{kernel.key} gives {len(kinds)} results: out has {len(given)} arrays")
    for one, kind in zip(given, kinds):
        if one.dtype is not kind:
            raise TypeError(f"Output array dtype {_name(one.dtype)} does not match expected dtype {_name(kind)}")
        if one.shape != shape:
            raise TypeError(f"Output array shape {one.shape} does not match expected shape {shape}")
    return given


def _is_float(kind: Any) -> bool:
    if isinstance(kind, Struct):
        return True
    return bool(issubclass(np.dtype(types.element_of(kind)[0].numpy_type).type, np.floating))


def _name(kind: Any) -> str:
    return str(getattr(kind, "__name__", kind))


def _described(value: Any) -> Any:
    """What a kernel depends on: the type, and of an array which dimensions have one element."""
    if isinstance(value, array):
        return value.dtype, tuple(size == 1 for size in value.shape)
    return value._struct if isinstance(value, StructInstance) else type(value)


class _Called:
    """What is mapped: a function of the language by its name, or a function with its source."""

    def __init__(self, name: str, identity: Any, parameters: list[str] | None, results: int, place: Any):
        self.name, self.identity, self.parameters, self.results = name, identity, parameters, results
        #: Puts the function into a text, given the types of its arguments, and gives its name there.
        self.place = place

    @classmethod
    def of(cls, func: Any) -> _Called:
        name = getattr(func, "__name__", type(func).__name__)
        builtin = getattr(func, "_builtin", None)
        if builtin in names():
            return cls(builtin, builtin, None, 1, lambda text, kinds: f"wp.{builtin}")
        if isinstance(func, Function):
            own = func.func
            place = lambda text, kinds: text.function(func)  # noqa: E731
        elif inspect.isfunction(func):
            own = func
            place = lambda text, kinds: text.plain_function(func, kinds)  # noqa: E731
        else:
            raise TypeError("func must be a callable function or a warp.Function")
        code = own.__code__
        return cls(name, func, list(code.co_varnames[: code.co_argcount]), _result_count(own), place)


def _result_count(function: Callable[..., Any]) -> int:
    """How many values a function returns, by its source."""
    from ..kernel_source import definition_of

    for node in ast.walk(definition_of(function)):
        if isinstance(node, ast.Return) and isinstance(node.value, ast.Tuple):
            return len(node.value.elts)
    return 1


class MapKernel(Kernel):
    """The kernel that calls a function for each element."""

    def __init__(self, called: _Called, inputs: tuple[Any, ...]):
        key = f"map_{called.name}" if called.name.isidentifier() else "map_lambda"
        super().__init__(map, key=key)
        # Options are those of the module that defines the function.
        self.func = called.identity.func if isinstance(called.identity, Function) else map
        self._called = called
        self._inputs: list[Any] = []
        self._shapes: list[tuple[bool, ...] | None] = []
        for one in inputs:
            self._inputs.append(type_of_argument(one))
            self._shapes.append(tuple(size == 1 for size in one.shape) if isinstance(one, array) else None)
        self._rank = builtins.max(len(shape) for shape in self._shapes if shape is not None)
        #: The types of what the function returns.
        self.results = self._result_types()
        given = {f"a{n}": kind for n, kind in enumerate(self._inputs)}
        self._parameters = {**given, **{f"out{n}": ArrayType(kind, self._rank) for n, kind in enumerate(self.results)}}

    def _elements(self) -> list[Any]:
        """The types of the function's arguments."""
        return [kind.dtype if isinstance(kind, ArrayType) else kind for kind in self._inputs]

    def _result_types(self) -> list[Any]:
        text = SourceText()
        kinds = [text.type(kind, "Any") for kind in self._elements()]
        given = ", ".join(f"a{n}" for n in range(len(kinds)))
        typed = ", ".join(f"a{n}: {kind}" for n, kind in enumerate(kinds))
        called = self._called.place(text, kinds)
        if called.startswith("wp."):
            text.add(f"@wp.func\ndef called({typed}):\n    return {called}({given})")
            called = "called"
        results = ", ".join(f"r{n}" for n in range(self._called.results))
        text.add(f"@wp.kernel\ndef probe({typed}):\n    {results} = {called}({given})")
        returned = json.loads(compile_source(text.text(), "probe", "map.py")._program.returned())
        if not returned:
            raise TypeError("The provided function must return a value")
        structs = {kind.key: kind for kind in self._elements() if isinstance(kind, Struct)}
        return [_result_type(one, structs) for one in returned]

    def compiled_for(self, arguments: list[Any], adjoint: bool) -> Any:
        found = self._compiled.get((adjoint,))
        if found is None:
            text = SourceText(custom_gradients=adjoint)
            source = self._source(text)
            found = self._compiled[(adjoint,)] = compile_source(source, self.key, "map.py")
            if not text.has_custom_gradients:
                self._compiled[(not adjoint,)] = found
        return found

    def _source(self, text: SourceText) -> str:
        kinds = [text.type(kind, "Any") for kind in self._elements()]
        called = self._called.place(text, kinds)
        at = [f"i{n}" for n in range(self._rank)]
        lines, given, typed = [f"    {', '.join(at)} = wp.tid()"], [], []
        for n, shape in enumerate(self._shapes):
            given.append(f"a{n}")
            typed.append(f"a{n}: {text.type(self._inputs[n], 'Any')}")
            if shape is not None:
                own = ["0" if single else index for single, index in zip(shape, at[self._rank - len(shape) :])]
                lines.append(f"    x{n} = a{n}[{', '.join(own)}]")
                given[-1] = f"x{n}"
        results = [f"r{n}" for n in range(len(self.results))]
        lines.append(f"    {', '.join(results)} = {called}({', '.join(given)})")
        for n, kind in enumerate(self.results):
            typed.append(f"out{n}: {text.type(ArrayType(kind, self._rank), 'Any')}")
            lines.append(f"    out{n}[{', '.join(at)}] = r{n}")
        text.add(f"@wp.kernel\ndef {self.key}({', '.join(typed)}):\n" + "\n".join(lines))
        return text.text()


def _result_type(described: dict[str, Any], structs: dict[str, Struct]) -> Any:
    if described["rank"] is None and described["dtype"] is not None:
        dtype = getattr(types, described["dtype"])
        shape = tuple(described["components"])
        return composite(described["described"], shape, dtype) if shape else dtype
    for name, struct in structs.items():
        if name in described["described"]:
            return struct
    raise NotImplementedError(f"map with a result of {described['described']} is not in warpsmith.warp")


#: By function and types. The key keeps the function alive, so that no other has its identity.
_kernels: dict[Any, MapKernel] = {}
