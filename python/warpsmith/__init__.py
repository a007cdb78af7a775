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
    bench,
    benchmark,
    benchmark_trajectory,
    compare,
    warmup,
)
from .checking import Verification, verify
from .judging import Judgement, Judgements, judge
from .kernels import Kernel, KernelRefused, Parameter, compile
from .machine import audit, baseline, check
from .memory import LeakReport, MemoryUse, check_leak, track_memory
from .reporting import Report, report
from .tuning import Tuning, tune


def __getattr__(name: str) -> object:
    # NumPy takes longer to import than everything else here together.
    if name in ("corpus", "synth", "voice", "warp"):
        import importlib

        return importlib.import_module(f".{name}", __name__)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


__all__ = [
    "Benchmark",
    "Comparison",
    "Judgement",
    "Judgements",
    "Kernel",
    "KernelRefused",
    "LeakReport",
    "MemoryUse",
    "Parameter",
    "Report",
    "Timer",
    "Trajectory",
    "Tuning",
    "Verification",
    "__version__",
    "audit",
    "baseline",
    "bench",
    "benchmark",
    "benchmark_trajectory",
    "check",
    "check_leak",
    "compare",
    "compile",
    "corpus",
    "judge",
    "report",
    "synth",
    "track_memory",
    "tune",
    "verify",
    "voice",
    "warmup",
]
