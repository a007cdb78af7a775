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
from .kernels import Kernel, KernelRefused, compile
from .machine import audit, baseline, check
from .memory import LeakReport, MemoryUse, check_leak, track_memory


def __getattr__(name: str):
    # NumPy takes longer to import than everything else here together.
    if name == "voice":
        import importlib

        return importlib.import_module(".voice", __name__)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


__all__ = [
    "Benchmark",
    "Comparison",
    "Kernel",
    "KernelRefused",
    "LeakReport",
    "MemoryUse",
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
    "track_memory",
    "voice",
    "warmup",
]
