"""`kernel`, `func` and what goes with them: functions that the compiler reads when they are launched."""

from __future__ import annotations

import inspect
import typing
from typing import Any, Callable

from ..kernel_source import SourceText
from ..kernels import Kernel as Compiled
from ..kernels import compile_source
from . import types
from .array_type import ArrayType
from .structs import Struct, StructInstance


class Function:
    """A function that kernels call; from Python it runs as Python."""

    def __init__(self, func: Callable[..., Any]):
        self.func = func
        self.key = self.__name__ = func.__name__
        self.__doc__ = func.__doc__
        self.__module__ = func.__module__
        self.definitions: list[Callable[..., Any]] = [func]
        self.custom_grad: Callable[..., Any] | None = None
        self.custom_replay: Callable[..., Any] | None = None
        self.native_snippet: str | None = None
        self.adj_snippet: str | None = None
        self.replay_snippet: str | None = None

    def __call__(self, *arguments: Any, **named: Any) -> Any:
        return self.func(*arguments, **named)

    def __repr__(self) -> str:
        return f"<function {self.key}>"


_functions: dict[tuple[str, str], Function] = {}


def func(f: Callable[..., Any] | None = None, *, name: str | None = None, module: Any = None) -> Any:
    """Makes a function one that kernels call. One more of the same name is an overload."""
    if f is None:
        return lambda given: func(given, name=name, module=module)
    made = Function(f)
    if "<locals>" not in f.__qualname__:
        before = _functions.get((f.__module__, f.__qualname__))
        if before is not None and _signature(before.func) != _signature(f):
            made.definitions = [*before.definitions, f]
        _functions[(f.__module__, f.__qualname__)] = made
    return made


def _signature(function: Callable[..., Any]) -> str:
    return str({name: repr(kind) for name, kind in function.__annotations__.items()})


def func_grad(forward: Function) -> Any:
    """Makes a function the gradient of `forward`."""

    def note(own: Callable[..., Any]) -> Callable[..., Any]:
        forward.custom_grad = own
        return own

    return note


def func_replay(forward: Function) -> Any:
    """Makes a function what is called instead of `forward` in the backward pass."""

    def note(own: Callable[..., Any]) -> Callable[..., Any]:
        forward.custom_replay = own
        return own

    return note


def func_native(snippet: str, adj_snippet: str | None = None, replay_snippet: str | None = None) -> Any:
    """A function in C++: it runs on a GPU, and a launch on the CPU says that it does not."""

    def note(f: Callable[..., Any]) -> Function:
        made = Function(f)
        made.native_snippet, made.adj_snippet, made.replay_snippet = snippet, adj_snippet, replay_snippet
        return made

    return note


class Kernel:
    """A function that is launched over a grid. It is compiled when it is launched first."""

    def __init__(
        self,
        func: Callable[..., Any],
        key: str | None = None,
        module: Any = None,
        options: dict[str, Any] | None = None,
        overload: list[Any] | None = None,
        **_: Any,
    ):
        self.func = func
        self.key = self.__name__ = key or func.__name__
        self.__doc__ = func.__doc__
        self.__module__ = func.__module__
        self.options = dict(options or {})
        self._overload = overload
        self._parameters: dict[str, Any] | None = None
        self._compiled: dict[tuple[Any, ...], Compiled] = {}
        self._fused: tuple[int, bool] | None = None

    def __call__(self, *_: Any) -> Any:
        raise RuntimeError(f"{self.key} is a kernel: launch it")

    def __repr__(self) -> str:
        return f"<kernel {self.key}>"

    def _option(self, name: str, default: Any) -> bool:
        own = self.options.get(name)
        if own is None:
            own = get_module_options(self.func.__module__).get(name)
        return bool(default if own is None else own)

    @property
    def enable_backward(self) -> bool:
        from . import config

        return self._option("enable_backward", config.enable_backward)

    @property
    def fuse_fp(self) -> bool:
        """Whether a GPU may round a product and a sum once. On the CPU each is rounded."""
        return self._option("fuse_fp", True)

    @property
    def fused(self) -> bool:
        """`fuse_fp`, looked up when options have changed."""
        if self._fused is None or self._fused[0] != _changes[0]:
            self._fused = _changes[0], self.fuse_fp
        return self._fused[1]

    @property
    def parameters(self) -> dict[str, Any]:
        """The parameters' types by name."""
        if self._parameters is None:
            code = self.func.__code__
            names = code.co_varnames[: code.co_argcount]
            hints = _hints(self.func)
            missing = [name for name in names if name not in hints]
            if missing:
                raise TypeError(f"the kernel {self.key} needs a type for {', '.join(missing)}")
            self._parameters = {name: hints[name] for name in names}
            if self._overload is not None:
                self._parameters = dict(zip(names, self._overload))
        return self._parameters

    @property
    def ready(self) -> Compiled | None:
        """The compiled kernel, where it is not generic and was compiled before."""
        return None if self._overload is not None else self._compiled.get((False,))

    def compiled_for(self, arguments: list[Any], adjoint: bool) -> Compiled:
        """The compiled kernel; a generic one for the types of these arguments."""
        kinds: list[Any] | None = None
        if self._overload is not None or any(_is_generic(kind) for kind in self.parameters.values()):
            kinds = [
                type_of_argument(argument) if _is_generic(kind) else kind
                for kind, argument in zip(self.parameters.values(), arguments)
            ]
        found = self._compiled.get((adjoint, *map(str, kinds or ())))
        if found is None:
            text = SourceText(custom_gradients=adjoint)
            overload = None if kinds is None else [text.type(kind, "Any") for kind in kinds]
            source, name = text.kernel(self.func, overload)
            file = inspect.getsourcefile(self.func) or "kernels.py"
            found = compile_source(source, name, file, text.places())
            self._compiled[(adjoint, *map(str, kinds or ()))] = found
            if not text.has_custom_gradients:
                self._compiled[(not adjoint, *map(str, kinds or ()))] = found
        return found


def _hints(function: Callable[..., Any]) -> dict[str, Any]:
    """Annotations as values; strings are looked up where the function is defined."""
    scope = dict(function.__globals__)
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or ()):
        try:
            scope[name] = cell.cell_contents
        except ValueError:
            pass
    hints = dict(function.__annotations__)
    return {
        name: eval(kind, scope) if isinstance(kind, str) else kind  # noqa: S307 - the program's own annotation
        for name, kind in hints.items()
    }


def _is_generic(kind: Any) -> bool:
    if isinstance(kind, ArrayType):
        return _is_generic(kind.dtype)
    return kind is Any or isinstance(kind, typing.TypeVar)


def type_of_argument(argument: Any) -> Any:
    """The type that a generic parameter takes from an argument."""
    from .arrays import array

    if isinstance(argument, array):
        return ArrayType(argument.dtype, argument.ndim)
    if isinstance(argument, StructInstance):
        return argument._struct
    if types.is_composite(type(argument)) or isinstance(argument, types.scalar):
        return type(argument)
    return types.scalar_type(type(argument))


def kernel(f: Callable[..., Any] | None = None, **options: Any) -> Any:
    """Makes a function a kernel."""
    if f is None:
        return lambda given: Kernel(given, options=options)
    return Kernel(f, options=options)


def overload(kernel: Kernel, arg_types: Any = None) -> Any:
    """A generic kernel for one choice of types: a list, or a dictionary by name."""
    if not isinstance(kernel, Kernel) or arg_types is None:
        raise NotImplementedError("overload as a decorator is not in warpsmith.warp: use overload(kernel, [types])")
    if isinstance(arg_types, dict):
        unknown = set(arg_types) - set(kernel.parameters)
        if unknown:
            raise ValueError(f"{kernel.key} has no parameter {', '.join(sorted(unknown))}")
        chosen = [arg_types.get(name, kind) for name, kind in kernel.parameters.items()]
    else:
        chosen = list(arg_types)
    if len(chosen) != len(kernel.parameters):
        raise ValueError(f"{kernel.key} has {len(kernel.parameters)} parameters: got {len(chosen)} types")
    return Kernel(kernel.func, kernel.key, options=kernel.options, overload=chosen)


def constant(x: Any) -> Any:
    """A value that kernels may use by its name: numbers, vectors and matrices."""
    if isinstance(x, (int, float, bool, types.scalar)) or types.is_composite(type(x)) or isinstance(x, Struct):
        return x
    raise TypeError(f"a constant is a number, a vector or a matrix, not {type(x).__name__}")


def static(expr: Any) -> Any:
    """In a kernel: an expression that is evaluated when the kernel is compiled."""
    return expr


_options: dict[str, dict[str, Any]] = {}
#: How often options have changed.
_changes = [0]


def set_module_options(options: dict[str, Any], module: Any = None) -> None:
    """Options for the kernels of the calling module, or of `module`."""
    _options.setdefault(_module_name(module), {}).update(options)
    _changes[0] += 1


def get_module_options(module: Any = None) -> dict[str, Any]:
    return _options.get(_module_name(module), {})


def _module_name(module: Any) -> str:
    if isinstance(module, str):
        return module
    if module is not None:
        return str(module.__name__)
    frame = inspect.currentframe()
    caller = frame.f_back.f_back if frame and frame.f_back else None
    return str(caller.f_globals.get("__name__", "")) if caller else ""


def load_module(*_: Any, **__: Any) -> None:
    """Kernels are compiled when they are launched: nothing to do."""


force_load = clear_kernel_cache = load_module
