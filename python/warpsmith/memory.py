"""Memory: what a block uses, and whether repeated calls leak."""

from __future__ import annotations

import json
import resource
import sys
from array import array
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Callable, Iterator

from . import _native

#: The smallest amounts by which each kind of memory can grow.
_GRAINS = {
    "resident": 4096.0,
    "allocated": 512.0,
    "reserved": 2.0 * 1024 * 1024,
    "device": 2.0 * 1024 * 1024,
}
#: One GiB in a million steps.
_BUDGET = float(1 << 30) / 1e6


def resident_bytes() -> float:
    """Resident memory of this process now."""
    with open("/proc/self/statm", encoding="ascii") as file:
        return float(int(file.read().split()[1]) * resource.getpagesize())


@dataclass(frozen=True)
class LeakReport:
    """The verdict on a memory trace: LEAK, OK or INCONCLUSIVE, with its figures."""

    verdict: str
    bytes_per_step: float
    figures: dict[str, Any]
    #: Which memory it is about: "resident" (host), "allocated" and "reserved" (pool), "device".
    kind: str = "resident"
    #: The verdict on every kind that was read, where there are several.
    parts: dict[str, LeakReport] = field(default_factory=dict, repr=False)

    def to_dict(self) -> dict[str, Any]:
        return dict(self.figures)

    def __str__(self) -> str:
        return f"{self.verdict}, {self.bytes_per_step:.1f} bytes per step"


def check_leak_of(trace: list[float], kind: str = "resident") -> LeakReport:
    """Judge a trace of bytes, one value per step."""
    figures = json.loads(_native.judge_leak(trace, _BUDGET, _GRAINS.get(kind, 1.0), None))
    return LeakReport(figures["verdict"], figures["bytes_per_step"], figures, kind)


def memory_readers(clock: Any) -> dict[str, Callable[[], float]]:
    """What can be read of memory: the process (host), and on a GPU the library's pool and the device itself."""
    from .devices import EventClock

    readers: dict[str, Callable[[], float]] = {"resident": resident_bytes}
    if not isinstance(clock, EventClock):
        return readers
    torch, cupy = sys.modules.get("torch"), sys.modules.get("cupy")
    if torch is not None and torch.cuda.is_available():
        readers["allocated"] = lambda: float(torch.cuda.memory_allocated())
        readers["reserved"] = lambda: float(torch.cuda.memory_reserved())
        readers["device"] = lambda: _used(torch.cuda.mem_get_info())
    elif cupy is not None:
        pool = cupy.get_default_memory_pool()
        readers["allocated"] = lambda: float(pool.used_bytes())
        readers["reserved"] = lambda: float(pool.total_bytes())
        readers["device"] = lambda: _used(cupy.cuda.runtime.memGetInfo())
    return readers


def _used(free_and_total: tuple[int, int]) -> float:
    free, total = free_and_total
    return float(total - free)


#: The worst comes first.
_VERDICTS = ("LEAK", "INCONCLUSIVE", "OK")


def check_leak(
    fn: Callable[..., Any], *args: Any, steps: int = 2000, **kwargs: Any
) -> LeakReport:
    """Call `fn` again and again and judge memory: the process's, and on a GPU the pool's and the device's.

    The answer is the worst of the verdicts; `parts` has the others.

    >>> import warpsmith
    >>> kept = []
    >>> warpsmith.check_leak(lambda: kept.append(bytearray(65536)), steps=600).verdict
    'LEAK'
    """
    if not isinstance(steps, int) or not 1 <= steps <= 100_000_000:
        raise ValueError(f"steps is {steps!r}; it is a whole number from 1 to 100000000")
    from .devices import clock_for

    clock = clock_for("auto", (fn, *args, *kwargs.values()))
    readers = memory_readers(clock)
    # Beforehand: a list that grows while memory is read would look like a leak.
    traces = {kind: array("d", bytes(8 * steps)) for kind in readers}
    for index in range(steps):
        fn(*args, **kwargs)
        for kind, read in readers.items():
            traces[kind][index] = read()
    parts = {kind: check_leak_of(trace.tolist(), kind) for kind, trace in traces.items()}
    kind = min(parts, key=lambda kind: _VERDICTS.index(parts[kind].verdict))
    worst = parts[kind]
    return LeakReport(worst.verdict, worst.bytes_per_step, worst.figures, kind, parts)


@dataclass
class MemoryUse:
    """Bytes that a block took: at its peak above the start, and still held at its end."""

    kind: str
    peak: int = 0
    delta: int = 0

    def __str__(self) -> str:
        return f"{self.kind} memory: peak +{self.peak} B, kept {self.delta:+} B"


@contextmanager
def track_memory() -> Iterator[MemoryUse]:
    """Track memory over a block: PyTorch's GPU memory where it is in use, else the process's.

    >>> import warpsmith
    >>> with warpsmith.track_memory() as use:
    ...     block = bytearray(64 << 20)
    >>> use.delta > 60 << 20
    True
    """
    torch = sys.modules.get("torch")
    if torch is not None and torch.cuda.is_available():
        torch.cuda.synchronize()
        torch.cuda.reset_peak_memory_stats()
        before = torch.cuda.memory_allocated()
        use = MemoryUse("GPU")
        yield use
        torch.cuda.synchronize()
        use.peak = torch.cuda.max_memory_allocated() - before
        use.delta = torch.cuda.memory_allocated() - before
    else:
        cleared = _reset_peak()
        before = resident_bytes()
        use = MemoryUse("process")
        yield use
        use.delta = int(resident_bytes() - before)
        peak = _peak_bytes() if cleared else None
        # Where the system keeps one peak for the whole life of the process, what the block still
        # holds is the most that can be said.
        use.peak = max(use.delta, 0) if peak is None else max(int(peak - before), use.delta, 0)


def _reset_peak() -> bool:
    """Begin the high-water mark of this process again; False where the system does not let us."""
    try:
        with open("/proc/self/clear_refs", "w", encoding="ascii") as file:
            file.write("5")
    except OSError:
        return False
    return True


def _peak_bytes() -> float | None:
    with open("/proc/self/status", encoding="ascii") as file:
        for line in file:
            if line.startswith("VmHWM:"):
                return 1024.0 * int(line.split()[1])
    return None


def measure_memory(call: Callable[[], Any], clock: Any) -> MemoryUse:
    call()
    clock.wait()
    with track_memory() as use:
        call()
    return use
