"""Functions of the kernel language called from Python: `wp.quat_rpy(…)`, `wp.normalize(…)`.

Each is compiled for the types of its arguments and run by the interpreter, so that it gives what a
kernel gives.
"""

from __future__ import annotations

import json
from functools import lru_cache
from typing import Any

import numpy as np

from .. import _native
from ..kernel_source import type_text
from ..kernels import KernelRefused, compile_source
from . import types
from .definitions import type_of_argument


@lru_cache(None)
def names() -> frozenset[str]:
    """What the language has."""
    return frozenset(_native.builtin_names())


def call(name: str, arguments: tuple[Any, ...], named: dict[str, Any]) -> Any:
    """The function's result, as a number or a value of a kernel type."""
    if named:
        raise NotImplementedError(f"{name} with keywords outside kernels is not in warpsmith.warp")
    kinds = tuple(_kind(name, argument) for argument in arguments)
    compiled, scalar, shape, result = _compiled(name, kinds)
    given: list[Any] = [types.component_list(argument) for argument in arguments]
    memory = np.zeros(shape, scalar)
    _, found = compiled._program.execute([1], [*given, (memory.ctypes.data, memory.nbytes, [1])], False, [])
    if found is not None:
        report = json.loads(found)
        raise KernelRefused(report["text"], report["findings"])
    return memory.reshape(-1)[0].item() if result is None else result._of(memory)


def _kind(name: str, argument: Any) -> str:
    try:
        return str(type_text(type_of_argument(argument)))
    except TypeError:
        raise NotImplementedError(
            f"{name} of {type(argument).__name__} outside kernels is not in warpsmith.warp"
        ) from None


@lru_cache(None)
def _compiled(name: str, kinds: tuple[str, ...]) -> tuple[Any, Any, Any, Any]:
    """The kernel that makes the call, and what comes out of it."""
    parameters = [f"a{n}: {kind}" for n, kind in enumerate(kinds)]
    called = f"wp.{name}({', '.join(f'a{n}' for n in range(len(kinds)))})"
    given = ", ".join(parameters)
    names = ", ".join(f"a{n}" for n in range(len(kinds)))
    probe = f"import warp as wp\n\n@wp.func\ndef f({given}):\n    return {called}\n\n"
    probe += f"@wp.kernel\ndef call({given}):\n    result = f({names})\n"
    returned = json.loads(compile_source(probe, "call", "call.py")._program.returned())
    described = returned[0] if returned else {}
    if described.get("dtype") is None or described["rank"] is not None:
        raise NotImplementedError(f"{name} outside kernels is not in warpsmith.warp: it gives no number")
    dtype = getattr(types, described["dtype"])
    result = None
    if described["components"]:
        result = composite(described["described"], tuple(described["components"]), dtype)
    spelled = type_text(result or dtype)
    parameters.append(f"out: wp.array(dtype={spelled})")
    source = f"import warp as wp\n\n@wp.kernel\ndef call({', '.join(parameters)}):\n    out[0] = {called}\n"
    return compile_source(source, "call", "call.py"), np.dtype(dtype.numpy_type), tuple(described["components"]), result


def composite(described: str, shape: tuple[int, ...], dtype: Any) -> Any:
    """The type of a value with components, by what the compiler calls it."""
    if "quat" in described:
        return types.quaternion(dtype)
    if "transform" in described:
        return types.transformation(dtype)
    return types.vector(shape[0], dtype) if len(shape) == 1 else types.matrix(shape, dtype)
