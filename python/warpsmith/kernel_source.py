"""The source of a kernel that is a live function, with what it uses from its module."""

from __future__ import annotations

import inspect
import textwrap
from typing import Any, Callable


def source_of(kernel: Any) -> tuple[str, str, str]:
    """Source that stands on its own, the file that it comes from, and the kernel's name."""
    function = _function(kernel)
    parts: list[str] = []
    _collect(function, "kernel", parts, set())
    source = "import warp as wp\n\n" + "\n\n".join(parts)
    return source, inspect.getsourcefile(function) or "kernels.py", function.__name__


def _function(value: Any) -> Callable[..., Any]:
    # Warp's decorators keep the function in `func`.
    function: Callable[..., Any] = inspect.unwrap(getattr(value, "func", value))
    return function


def _collect(function: Callable[..., Any], kind: str, parts: list[str], seen: set[int]) -> None:
    """Appends what `function` uses, then `function` itself."""
    seen.add(id(function.__code__))
    closure = inspect.getclosurevars(function)
    for name, value in sorted({**closure.globals, **closure.nonlocals}.items()):
        if isinstance(value, (bool, int, float)):
            parts.append(f"{name} = wp.constant({value!r})")
            continue
        if inspect.ismodule(value):
            continue
        used = _function(value)
        # Functions of Warp's own are builtins of the language.
        plain = inspect.isfunction(used) and used.__module__.partition(".")[0] != "warp"
        if plain and id(used.__code__) not in seen:
            _collect(used, "func", parts, seen)
    text = textwrap.dedent(inspect.getsource(function))
    body = text[text.index("def ") :] if not text.startswith("def ") else text
    decorators = text[: len(text) - len(body)].strip()
    parts.append(f"{decorators if 'wp.' in decorators else f'@wp.{kind}'}\n{body}")
