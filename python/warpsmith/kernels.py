"""Kernels written in Python, compiled to CUDA and C++ without starting NVIDIA Warp."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any, Callable

from . import _native


class KernelRefused(ValueError):
    """The kernel is outside the language; `findings` say why, with lines."""

    def __init__(self, text: str, findings: list[dict]):
        super().__init__(text)
        self.findings = findings


@dataclass(frozen=True)
class Kernel:
    """A kernel's texts, forward and backward."""

    cuda: str = field(repr=False)
    cpu: str = field(repr=False)
    ir: str = field(repr=False)
    header: str = field(repr=False)

    @property
    def translation_unit(self) -> str:
        """CUDA text that NVRTC compiles as it is."""
        return self.header + self.cuda


def compile(kernel: str | Callable[..., Any], name: str | None = None) -> Kernel:
    """Compile Warp-style source text, or a function decorated with `wp.kernel`.

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
    """
    if isinstance(kernel, str):
        source, file = kernel, "kernels.py"
    else:
        # Here, because importing it takes longer than importing everything else.
        import inspect
        import textwrap

        # Warp's decorator keeps the function in `func`.
        function = inspect.unwrap(getattr(kernel, "func", kernel))
        source = "import warp as wp\n\n" + textwrap.dedent(inspect.getsource(function))
        file = inspect.getsourcefile(function) or "kernels.py"
        name = name or function.__name__
    compiled, refused = _native.compile(source, name, file)
    if compiled is None:
        report = json.loads(refused or "{}")
        raise KernelRefused(report["text"], report["findings"])
    return Kernel(**json.loads(compiled))
