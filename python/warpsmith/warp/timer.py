"""`ScopedTimer`: how long a block took, by the clock."""

from __future__ import annotations

import builtins
import time
from typing import Any

from . import devices

TIMING_KERNEL, TIMING_KERNEL_BUILTIN, TIMING_MEMCPY, TIMING_MEMSET, TIMING_GRAPH = 1, 2, 4, 8, 16
TIMING_ALL = 0xFFFFFFFF


class ScopedTimer:
    """Prints how long the block took, where it is `active` and may `print`; with `synchronize` to the end of GPU work."""

    indent = -1

    def __init__(
        self,
        name: str,
        active: bool = True,
        print: bool = True,
        detailed: bool = False,
        dict: Any = None,
        report_func: Any = None,
        report_format: str | None = None,
        synchronize: bool = False,
        **_: Any,
    ):
        self.name, self.active, self.prints = name, active, print
        self.dict, self.report, self.format = dict, report_func, report_format
        self.elapsed, self.synchronize = 0.0, synchronize
        if active and dict is not None:
            dict.setdefault(name, [])

    def __enter__(self) -> ScopedTimer:
        if self.active:
            ScopedTimer.indent += 1
            if self.synchronize:
                devices.synchronize()
            self.start = time.perf_counter()
        return self

    def __exit__(self, *_: Any) -> None:
        if not self.active:
            return
        if self.synchronize:
            devices.synchronize()
        self.elapsed = (time.perf_counter() - self.start) * 1e3
        if self.dict is not None:
            self.dict[self.name].append(self.elapsed)
        indent = "    " * ScopedTimer.indent
        ScopedTimer.indent -= 1
        if self.report is not None:
            self.report([], indent)
        elif self.prints:
            shape = self.format or "{indent}{name} took {elapsed:.2f} ms"
            builtins.print(shape.format(name=self.name, elapsed=self.elapsed, indent=indent))
