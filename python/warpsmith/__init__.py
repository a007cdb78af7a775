"""Warpsmith: numbers that can be trusted, for GPU engineers.

>>> import warpsmith
>>> result = warpsmith.benchmark(sorted, list(range(1000)), seconds=0.2)
>>> result.median > 0
True
"""

from ._native import __version__
from .benchmarking import (
    Benchmark,
    Comparison,
    Timer,
    Trajectory,
    benchmark,
    benchmark_trajectory,
    compare,
    warmup,
)
from .kernels import Kernel, KernelRefused, Parameter, compile
from .machine import audit, baseline, check
from .memory import LeakReport, MemoryUse, check_leak, track_memory
from .reporting import Report, report


def __getattr__(name: str) -> object:
    # NumPy takes longer to import than everything else here together.
    if name in ("corpus", "synth", "voice"):
        import importlib

        return importlib.import_module(f".{name}", __name__)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


__all__ = [
    "Benchmark",
    "Comparison",
    "Kernel",
    "KernelRefused",
    "LeakReport",
    "MemoryUse",
    "Parameter",
    "Report",
    "Timer",
    "Trajectory",
    "__version__",
    "audit",
    "baseline",
    "benchmark",
    "benchmark_trajectory",
    "check",
    "check_leak",
    "compare",
    "compile",
    "corpus",
    "report",
    "synth",
    "track_memory",
    "voice",
    "warmup",
]
