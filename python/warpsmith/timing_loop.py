"""The loop inside a sample: calls with their arguments in place, and nothing else.

As in `timeit`, the loop is compiled for the call: no lambda, no unpacking of arguments is inside the time. What
the empty loop costs is measured and taken off.
"""

from __future__ import annotations

import gc
import keyword
import resource
import time
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import count, repeat
from typing import Any, Callable, Iterator, Mapping

#: A sample lasts at least this long: the clock's own cost is a thousandth of it.
SHORTEST_SAMPLE = 50e-6
_THREAD = getattr(resource, "RUSAGE_THREAD", None)


@dataclass
class Samples:
    """Seconds per call by two clocks, in the order taken."""

    seconds: list[float] = field(default_factory=list)
    cpu_seconds: list[float] = field(default_factory=list)
    #: Indices of samples during which the scheduler took the core away.
    preempted: list[int] = field(default_factory=list)
    #: Those of them that were interrupted half-way; the others lost the core at their very end.
    interrupted: list[int] = field(default_factory=list)
    #: Whether each sample began on a core that others had just before, or was interrupted itself.
    after_switch: list[bool] = field(default_factory=list)
    #: A number that grows with every sample of any callable: which of two came first.
    turns: list[int] = field(default_factory=list)
    #: Samples in which the thread waited for something.
    waits: int = 0

    @property
    def waited(self) -> bool:
        """Whether CPU times say nothing about the work: a page that was fetched once is not what it does."""
        return self.waits > 0.02 * len(self.seconds)

    def cpu(self) -> list[float] | None:
        """The CPU times, where they can stand in for the wall times."""
        complete = len(self.cpu_seconds) == len(self.seconds)
        return self.cpu_seconds if complete and not self.waited else None

    def undisturbed(self) -> list[float]:
        """What decides when to stop: undisturbed samples, else CPU times, else all."""
        if not self.preempted:
            return self.seconds
        tagged = set(self.preempted)
        kept = [value for index, value in enumerate(self.seconds) if index not in tagged]
        if 10 * len(kept) >= 3 * len(self.seconds):
            return kept
        return self.cpu() or self.seconds

    def extend(self, other: Samples) -> None:
        first = len(self.seconds)
        self.seconds.extend(other.seconds)
        self.cpu_seconds.extend(other.cpu_seconds)
        self.preempted.extend(first + index for index in other.preempted)
        self.interrupted.extend(first + index for index in other.interrupted)
        self.after_switch.extend(other.after_switch)
        self.turns.extend(other.turns)
        self.waits += other.waits


def compiled_loop(
    fn: Callable[..., Any] | None, args: tuple[Any, ...], kwargs: Mapping[str, Any], inner: int
) -> Callable[[], None]:
    """A function that calls `fn(*args, **kwargs)` `inner` times; of `None`, the empty loop."""
    names = {f"a{index}": value for index, value in enumerate(args)}
    words = list(names)
    for index, (key, value) in enumerate(kwargs.items()):
        if not key.isidentifier() or keyword.iskeyword(key):
            # Only unpacking can pass such a name.
            names["kwargs"] = kwargs
            words = [word for word in words if "=" not in word] + ["**kwargs"]
            break
        names[f"k{index}"] = value
        words.append(f"{key}=k{index}")
    call = "pass" if fn is None else f"fn({', '.join(words)})"
    body = f"        for _ in repeat(None, {inner}):\n            {call}\n"
    if inner == 1:
        body = f"        {call}\n"
    source = f"def make(fn, repeat, {', '.join(names)}):\n    def loop():\n{body}    return loop\n"
    space: dict[str, Any] = {}
    exec(compile(source, "<warpsmith timing loop>", "exec"), space)  # noqa: S102 (our own text)
    loop: Callable[[], None] = space["make"](fn, repeat, *names.values())
    return loop


_turn = count(1)
#: Switches when the sample before this one began, unless it was interrupted itself and has refilled the caches.
_switches_before = 0


def take(loop: Callable[[], None], inner: int, samples_wanted: int, overhead: float = 0.0) -> Samples:
    """Samples of a compiled loop; `overhead` is taken off each of them."""
    global _switches_before
    wall, on_core = time.perf_counter_ns, time.thread_time_ns
    samples = Samples()
    for index in range(samples_wanted):
        before = resource.getrusage(_THREAD) if _THREAD is not None else None
        core_start = on_core()
        start = wall()
        loop()
        stop = wall()
        core_stop = on_core()
        elapsed, core = (stop - start) * 1e-9, (core_stop - core_start) * 1e-9
        # A switch is noted where the thread comes back, often after the stamps: the times tell whether it was inside.
        interrupted = elapsed > 1.05 * core + 5e-6
        if before is not None and _THREAD is not None:
            after = resource.getrusage(_THREAD)
            switched = after.ru_nivcsw > before.ru_nivcsw
            if switched:
                samples.preempted.append(index)
            if switched and interrupted:
                samples.interrupted.append(index)
            if after.ru_nvcsw > before.ru_nvcsw and core < 0.95 * elapsed:
                samples.waits += 1
            cold = before.ru_nivcsw > _switches_before or (switched and interrupted)
            _switches_before = after.ru_nivcsw if interrupted else before.ru_nivcsw
            samples.after_switch.append(cold)
            samples.turns.append(next(_turn))
        samples.seconds.append(max(elapsed - overhead, 0.0) / inner)
        samples.cpu_seconds.append(max(core - overhead, 0.0) / inner)
    return samples


@dataclass(frozen=True)
class Overhead:
    """What a sample costs without its calls, and how well that is known, in seconds."""

    seconds: float
    uncertainty: float


def empty_cost(inner: int) -> Overhead:
    """The cost of the empty loop of `inner` turns: a median with its standard error."""
    runs = 101
    loop = compiled_loop(None, (), {}, inner)
    times = sorted(take(loop, 1, runs).seconds)
    middle = times[runs // 2]
    spread = sorted(abs(value - middle) for value in times)[runs // 2]
    # The error of a median is 1.25 of that of a mean; 1.48 makes a MAD a standard deviation.
    return Overhead(middle, 1.25 * 1.48 * spread / runs**0.5)


def inner_count(loop_of: Callable[[int], Callable[[], None]], shortest: float) -> int:
    """Calls that make a sample long enough."""
    inner = 1
    while True:
        once = min(take(loop_of(inner), 1, 3).seconds)
        if once >= 0.5 * shortest or inner >= 1 << 24:
            return max(1, round(inner * shortest / once)) if once < shortest else inner
        inner *= 4 if once > 0.05 * shortest else 16


@contextmanager
def without_collection(collect: bool) -> Iterator[None]:
    """The garbage collector off inside, as `timeit` does; left as it is where `collect` says so."""
    enabled = gc.isenabled()
    if not collect:
        gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()
