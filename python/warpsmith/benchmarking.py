"""Timing with statistics: when to stop, what the samples support, and whether two calls differ."""

from __future__ import annotations

import json
import math
import os
import random
import tempfile
import time
from array import array
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Callable, Iterable, Mapping

from . import _native
from .adjacent_calls import adjacent_calls
from .devices import CpuClock, EventClock, HeldClock, clock_for
from .memory import LeakReport, MemoryUse, check_leak_of, measure_memory, memory_readers
from .progress import Progress
from .timing_loop import (
    SHORTEST_SAMPLE,
    Overhead,
    Samples,
    compiled_loop,
    empty_cost,
    inner_count,
    take,
    without_collection,
)


@dataclass(frozen=True)
class Benchmark:
    """Samples of one callable, in seconds per call, and what follows from them."""

    name: str
    samples: list[float]
    device: str
    stop: str
    inner: int
    figures: dict[str, Any] = field(repr=False)
    memory: MemoryUse | None = None
    #: CPU seconds per call, where they stand for the work: None on a GPU and for calls that wait.
    cpu_samples: list[float] | None = field(default=None, repr=False)
    #: Samples during which the scheduler took the core away.
    preempted: list[int] = field(default_factory=list, repr=False)
    #: Taken off every call for the loop around it, with how well that is known.
    overhead: float = 0.0
    overhead_uncertainty: float = 0.0
    #: ln(time / time of a loop that is the same everywhere) of parts of the run, where that loop ran in turns with the call:
    #: what compares results of two days, because a machine that is slower for both says nothing about the call.
    relative: list[float] = field(default_factory=list, repr=False)
    #: How a GPU was timed: "gpu-cold" and "gpu-hot" behind a held stream, "end-to-end" by two events.
    mode: str = "end-to-end"

    @property
    def clock(self) -> str:
        """What the figures rest on: "wall" time, or "cpu" time where the core was taken away."""
        return "cpu" if self.figures["basis"] == "cpu-time" else "wall"

    @property
    def median(self) -> float:
        return float(self.figures["interval"]["median"])

    @property
    def interval(self) -> tuple[float, float]:
        """The 95 % interval of the median; from 0 to infinity where the samples give none."""
        low, high = self.figures["interval"]["low"], self.figures["interval"]["high"]
        return (0.0 if low is None else low, math.inf if high is None else high)

    @property
    def mean(self) -> float:
        return float(self.figures["summary"]["mean"])

    @property
    def std(self) -> float:
        return float(self.figures["summary"]["standard_deviation"])

    @property
    def throughput(self) -> float:
        """Calls per second at the median."""
        return 1.0 / self.median

    def quantile(self, p: float) -> float | None:
        """A quantile, or None where the samples do not support it.

        P5, P25, P75, P90, P95, P99 and P99.9 are kept; a P99 needs some 300 samples.
        """
        for estimate in self.figures["summary"]["quantiles"]:
            if math.isclose(estimate["probability"], p):
                point: float | None = estimate["point"]
                return point
        return None

    def summary(self) -> str:
        """A few lines for people.

        >>> import warpsmith
        >>> print(warpsmith.benchmark(abs, -1, seconds=0.1).summary())  # doctest: +ELLIPSIS
        abs on cpu: median ...
        """
        low, high = self.interval
        half = 50.0 * (high - low) / self.median if self.median else math.inf
        spread = f"±{half:.2f} %" if math.isfinite(half) else "(too few samples for an interval)"
        lines = [
            f"{self.name} on {self.device}: median {_time(self.median)} {spread}, "
            f"{len(self.samples)} samples, {self.stop}",
            f"  mean {_time(self.mean)}, std {_time(self.std)}, "
            f"P95 {_time(self.quantile(0.95))}, P99 {_time(self.quantile(0.99))}",
        ]
        if self.memory is not None:
            lines.append(f"  {self.memory}")
        return "\n".join(lines)

    def to_dict(self) -> dict[str, Any]:
        """Everything, samples included, as plain values."""
        return {
            "name": self.name,
            "device": self.device,
            "stop": self.stop,
            "inner": self.inner,
            "samples": self.samples,
            "cpu_samples": self.cpu_samples,
            "overhead": self.overhead,
            "overhead_uncertainty": self.overhead_uncertainty,
            **self.figures,
        }

    def measurement(self) -> dict[str, Any]:
        """The samples as `warpsmith compare` and `warpsmith history add` read them."""
        result: dict[str, Any] = {
            "name": self.name,
            "seconds": self.samples,
            "round_starts": [0],
            "conditions": {
                "mode": "cpu-closure" if self.device == "cpu" else self.mode,
                "inner_count": self.inner,
                "overhead_seconds": self.overhead,
                "stop": self.stop,
                "device": self.device,
            },
        }
        if self.cpu_samples is not None:
            result["cpu_seconds"] = self.cpu_samples
        if self.preempted:
            result["preempted"] = self.preempted
        if self.relative:
            result["relative"] = self.relative
        return result

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write a file that `warpsmith compare` and `warpsmith history add` read."""
        save_measurements(path, [self.measurement()])

    def __repr__(self) -> str:
        return f"<Benchmark {self.summary().splitlines()[0]}>"

    def _repr_html_(self) -> str:
        return _view(self.summary(), _native.histogram(self.name, self.samples))


def save_measurements(path: str | os.PathLike[str], measurements: list[dict[str, Any]]) -> None:
    """Write what `warpsmith compare` and `warpsmith history add` read."""
    replace_file(path, json.dumps({"verb": "benchmark", "body": measurements}))


def replace_file(path: str | os.PathLike[str], text: str) -> None:
    """Replace `path` in one step."""
    target = Path(path)
    handle, name = tempfile.mkstemp(dir=target.parent, prefix=target.name)
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text)
        os.replace(name, target)
    except BaseException:
        os.unlink(name)
        raise


def _view(text: str, *pictures: str) -> str:
    """What a notebook shows: the summary above its pictures."""
    shown = "".join(f"<div style='max-width:40em'>{picture}</div>" for picture in pictures)
    return f"<pre>{html_escape(text)}</pre>{shown}"


def html_escape(text: str) -> str:
    """Text that may hold any name, inside a page."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def benchmark(
    fn: Callable[..., Any],
    *args: Any,
    name: str | None = None,
    device: str = "auto",
    seconds: float = 5.0,
    precision: float = 0.005,
    memory: bool = False,
    collect: bool = False,
    mode: str = "cold",
    **kwargs: Any,
) -> Benchmark:
    """Time `fn(*args, **kwargs)` until the median is known to `precision`, or `seconds` are over.

    On a CPU nothing but the call is inside the time: what the loop around it costs is taken off, and the garbage
    collector is off unless `collect` is true. Where the scheduler took the core away in most samples, the figures
    rest on the CPU time of calls that only compute (`clock` says so).

    On a GPU the time is the device's, by the
    program's own timer on the current stream: a kernel holds the stream until the call is queued, and with
    `mode="cold"` the L2 cache is flushed before each call, as `warpsmith bench` does; "warm" leaves it alone, and
    "events" puts two events around the call and nothing else.

    >>> import warpsmith
    >>> warpsmith.benchmark(sum, range(100), seconds=0.1).device
    'cpu'
    """
    _check_budget(seconds, precision)
    clock = clock_for(device, (fn, *args, *kwargs.values()), mode)
    call = _bound(fn, args, kwargs)
    use = measure_memory(call, clock) if memory else None
    if isinstance(clock, EventClock):
        taken, stop = _sample_events(call, clock, seconds, precision)
        return _result(_name(fn, name), taken, clock.name, stop, 1, None, [], use, clock)
    with without_collection(collect):
        taken, stop, inner, overhead = _sample(fn, args, kwargs, seconds, precision)
    return _result(_name(fn, name), taken, clock.name, stop, inner, overhead, [], use)


def benchmark_beside_reference(
    fn: Callable[..., Any], *args: Any, seconds: float = 2.0, name: str | None = None, **kwargs: Any
) -> Benchmark:
    """As [`benchmark`][warpsmith.benchmark] on a CPU, with a loop of our own in turns: `relative` has the ratios."""
    _check_budget(seconds, 0.0)
    clock = CpuClock()
    begun = time.perf_counter()
    takers = {
        "reference": _taker(_reference, (300,), {}, clock),
        "call": _taker(fn, args, kwargs, clock),
    }
    share = max(seconds - (time.perf_counter() - begun), 0.5 * seconds) / _REFERENCE_ROUNDS
    reference, samples = Samples(), Samples()
    starts = []
    with without_collection(False), Progress(f"measuring {_name(fn, name)}", seconds) as show:
        for _ in range(_REFERENCE_ROUNDS):
            taken = _round(takers, share)
            starts.append(len(samples.seconds))
            reference.extend(taken["reference"])
            samples.extend(taken["call"])
            elapsed = time.perf_counter() - begun
            show.update(elapsed)
            if elapsed >= seconds and len(samples.seconds) >= _FEWEST_TURNS:
                break
    beside = adjacent_calls(reference, samples)
    relative = beside.quiet().levels(_PARTS) if beside else []
    call = takers["call"]
    result = _result(
        _name(fn, name), samples, clock.name, "count-reached", call.inner, call.overhead, starts
    )
    # A call that waits has no rate that a loop could be compared with.
    return replace(result, relative=[] if samples.waited else relative)


_REFERENCE_ROUNDS = 24
#: Parts of a run whose ratios to the loop are stored: how much they differ is how much two runs may.
_PARTS = 8


def _reference(turns: int) -> int:
    """Some of what interpreters do: calls, numbers, a list, a table. Never change it: stored results rest on it."""
    table: dict[int, int] = {}
    parts = []
    for i in range(turns):
        table[i & 63] = i
        parts.append(str(i))
    return len(",".join(parts)) + len(table)


def bench(
    fn: Callable[..., Any], *args: Any, mode: str = "cold", seconds: float = 2.0, **kwargs: Any
) -> Benchmark:
    """What `warpsmith bench` does for a kernel, for any callable: `benchmark` under the verb's name.

    A call on GPU arrays is timed cold behind a held stream (`mode`), so that its time is that of the
    kernel and not of the launch; a call on the host is timed by the host's clock.

    >>> import warpsmith
    >>> result = warpsmith.bench(sorted, list(range(1000)), seconds=0.2)
    >>> result.interval[0] <= result.median <= result.interval[1]
    True
    """
    return benchmark(fn, *args, mode=mode, seconds=seconds, **kwargs)


def _check_budget(seconds: float, precision: float) -> None:
    if not 0.0 < seconds < 1e6:
        raise ValueError(f"seconds is {seconds!r}; it is a positive number")
    if not 0.0 <= precision < 1.0:
        raise ValueError(f"precision is {precision!r}; it is a share from 0 to 1")


def _result(
    name: str,
    taken: Samples,
    device: str,
    stop: str,
    inner: int,
    overhead: Overhead | None,
    round_starts: list[int],
    memory: MemoryUse | None = None,
    clock: CpuClock | EventClock | None = None,
) -> Benchmark:
    held = clock if isinstance(clock, HeldClock) else None
    modes = {"cold": "gpu-cold", "warm": "gpu-hot"}
    return Benchmark(
        name,
        taken.seconds,
        device,
        stop,
        inner,
        _figures(taken.seconds, round_starts, taken.cpu(), taken.preempted),
        memory,
        taken.cpu(),
        taken.preempted,
        overhead.seconds / inner if overhead else held.overhead if held else 0.0,
        overhead.uncertainty / inner if overhead else 0.0,
        mode=modes.get(held.mode, "end-to-end") if held else "end-to-end",
    )


def _figures(
    samples: list[float],
    round_starts: list[int],
    cpu: list[float] | None = None,
    preempted: list[int] | None = None,
) -> dict[str, Any]:
    text = _native.summarise(samples, round_starts, cpu or [], preempted or [])
    if text is None:
        raise ValueError("no sample was taken")
    figures: dict[str, Any] = json.loads(text)
    return figures


def _bound(fn: Callable[..., Any], args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Callable[[], Any]:
    if not args and not kwargs:
        return fn
    return lambda: fn(*args, **kwargs)


def _name(fn: Callable[..., Any], name: str | None) -> str:
    return name or getattr(fn, "__name__", None) or type(fn).__name__


def warmup(fn: Callable[..., Any], *args: Any, seconds: float = 0.1, **kwargs: Any) -> int:
    """Call `fn` for a while, so that compilation and allocation are over; returns the count.

    >>> import warpsmith
    >>> warpsmith.warmup(abs, -1, seconds=0.01) > 0
    True
    """
    clock = clock_for("auto", (fn, *args, *kwargs.values()))
    call = _bound(fn, args, kwargs)
    end = time.perf_counter() + seconds
    count = 0
    while count < 3 or time.perf_counter() < end:
        call()
        count += 1
    clock.wait()
    return count


def _sample(
    fn: Callable[..., Any],
    args: tuple[Any, ...],
    kwargs: Mapping[str, Any],
    seconds: float,
    precision: float,
) -> tuple[Samples, str, int, Overhead]:
    """Samples on the CPU; everything, warm-up and looks included, within `seconds`."""
    begun = time.perf_counter()
    for _ in range(3):
        fn(*args, **kwargs)
    # Some ten thousand samples say what there is to say, and a look at more takes long.
    shortest = max(SHORTEST_SAMPLE, seconds / 10_000)
    inner = inner_count(lambda count: compiled_loop(fn, args, kwargs, count), shortest)
    overhead = empty_cost(inner)
    loop = compiled_loop(fn, args, kwargs, inner)
    rule = _native.Stop(precision, seconds, 64, 1_000_000)
    samples = Samples()
    group = 8
    with Progress(f"measuring {_name(fn, None)}", seconds) as show:
        while True:
            start = time.perf_counter()
            samples.extend(take(loop, inner, group, overhead.seconds))
            now = time.perf_counter()
            # Groups of some 5 ms: rare looks at the clock, and a prompt end.
            group = max(1, min(1024, int(group * 5e-3 / max(now - start, 1e-9)) or 1))
            show.update(now - begun)
            if rule.is_due(len(samples.seconds), now - begun):
                stop = rule.look(samples.undisturbed(), now - begun)
                if stop is not None:
                    return samples, stop, inner, overhead


def _sample_events(
    call: Callable[[], Any], clock: EventClock, seconds: float, precision: float
) -> tuple[Samples, str]:
    for _ in range(3):
        call()
    clock.wait()
    rule = _native.Stop(precision, seconds, 64, 1_000_000)
    samples = Samples()
    begun = time.perf_counter()
    group = 8
    while True:
        start = time.perf_counter()
        samples.seconds.extend(clock.time_many(call, group))
        now = time.perf_counter()
        group = max(1, min(1024, int(group * 5e-3 / max(now - start, 1e-9)) or 1))
        if rule.is_due(len(samples.seconds), now - begun):
            stop = rule.look(samples.seconds, now - begun)
            if stop is not None:
                return samples, stop


@dataclass(frozen=True)
class Trajectory:
    """One call per step, as a simulation makes them: latency, drift and memory over the steps."""

    latency: Benchmark
    leaks: dict[str, LeakReport]
    traces: dict[str, list[float]] = field(repr=False)

    @property
    def leaking(self) -> bool:
        return any(report.verdict == "LEAK" for report in self.leaks.values())

    def summary(self) -> str:
        lines = [self.latency.summary()]
        drift = self.latency.figures["summary"]["drift"]
        if drift is not None:
            change = 100.0 * drift["relative_change"]
            lines.append(f"  drift over the run: {change:+.1f} % (p = {drift['p_value']:.2g})")
        lines += [f"  {kind}: {report}" for kind, report in self.leaks.items()]
        return "\n".join(lines)

    def to_dict(self) -> dict[str, Any]:
        return {
            "latency": self.latency.to_dict(),
            "leaks": {kind: report.to_dict() for kind, report in self.leaks.items()},
            "traces": self.traces,
        }

    def __repr__(self) -> str:
        return f"<Trajectory {self.latency.summary().splitlines()[0]}>"

    def _repr_html_(self) -> str:
        micro = [seconds * 1e6 for seconds in self.latency.samples]
        pictures = [_native.trace(f"{self.latency.name}, µs", micro, "µs")]
        for kind, values in self.traces.items():
            mebi = [value / 2**20 for value in values]
            pictures.append(_native.trace(f"{kind} memory, MiB", mebi, "MiB"))
        return _view(self.summary(), *pictures)


def benchmark_trajectory(
    fn: Callable[..., Any],
    steps: Iterable[Any] | int,
    *,
    name: str | None = None,
    device: str = "auto",
) -> Trajectory:
    """Call `fn` once per step (`fn(step)`, or `fn()` where `steps` is a number).

    Every step is timed, and memory is read after each.

    >>> import warpsmith
    >>> warpsmith.benchmark_trajectory(lambda: sum(range(100)), 300).leaking
    False
    """
    inputs = [()] * steps if isinstance(steps, int) else [(step,) for step in steps]
    if not inputs:
        raise ValueError("a trajectory needs at least one step")
    clock = clock_for(device, (fn, *inputs[0]))
    # All of it beforehand: a list that grows while memory is read would look like a leak.
    samples = array("d", bytes(8 * len(inputs)))
    memory = memory_readers(clock)
    columns = {kind: array("d", bytes(8 * len(inputs))) for kind in memory}
    for index, step in enumerate(inputs):
        samples[index] = clock.time(_bound(fn, step, {}))
        for kind, read in memory.items():
            columns[kind][index] = read()
    taken = samples.tolist()
    traces = {kind: column.tolist() for kind, column in columns.items()}
    figures = _figures(taken, [])
    latency = Benchmark(_name(fn, name), taken, clock.name, "count-reached", 1, figures)
    leaks = {kind: check_leak_of(trace, kind) for kind, trace in traces.items()}
    return Trajectory(latency, leaks, traces)


@dataclass(frozen=True)
class Comparison:
    """Callables against the first of them: ratio, interval and verdict."""

    base: str
    results: dict[str, Benchmark]
    verdicts: dict[str, dict[str, Any]]
    margin: float

    def summary(self) -> str:
        lines = [f"{self.base}: {_time(self.results[self.base].median)} (the base)"]
        for name, verdict in self.verdicts.items():
            lines.append(
                f"{name}: {_time(self.results[name].median)}, {verdict['verdict']}, "
                f"×{verdict['ratio']:.3f} ({verdict['low']:.3f} to {verdict['high']:.3f}) "
                f"by {verdict['clock'].replace('cpu', 'CPU')} time"
            )
        return "\n".join(lines)

    def to_dict(self) -> dict[str, Any]:
        results = {name: result.to_dict() for name, result in self.results.items()}
        return {"base": self.base, "results": results, "verdicts": self.verdicts}

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write a file with the samples of all, which `warpsmith compare` and `warpsmith history add` read."""
        save_measurements(path, [result.measurement() for result in self.results.values()])

    def __repr__(self) -> str:
        return f"<Comparison {self.summary()}>"

    def _repr_html_(self) -> str:
        rows = [(name, v["ratio"], v["low"], v["high"]) for name, v in self.verdicts.items()]
        return _view(self.summary(), _native.forest(f"time / {self.base}", rows, self.margin))


def compare(
    candidates: Mapping[str, Callable[..., Any]],
    *args: Any,
    device: str = "auto",
    rounds: int = 24,
    seconds: float = 1.0,
    margin: float = 0.01,
    mode: str = "cold",
    **kwargs: Any,
) -> Comparison:
    """Time callables in rounds that take turns; say SLOWER, FASTER, SAME or UNDECIDED of each.

    The first is the base. Turns cancel what changes slowly (clocks, load); a ratio inside `margin`
    is no difference. `mode` is that of `bench`, for calls on a GPU.

    >>> import warpsmith
    >>> def one(): return sum(range(1000))
    >>> def two(): return sum(range(4000))
    >>> warpsmith.compare({"one": one, "two": two}, seconds=0.5).verdicts["two"]["verdict"]
    'SLOWER'
    """
    if len(candidates) < 2:
        raise ValueError("a comparison needs two callables or more")
    if not 0.0 <= margin < 1.0:
        raise ValueError(f"margin is {margin!r}; it is a share from 0 to 1")
    _check_budget(seconds, 0.0)
    values = (*args, *kwargs.values())
    clock = clock_for(device, (*candidates.values(), *values), mode)
    begun = time.perf_counter()
    names = list(candidates)
    takers = {name: _taker(fn, args, kwargs, clock) for name, fn in candidates.items()}
    samples = {name: Samples() for name in names}
    starts: dict[str, list[int]] = {name: [] for name in names}
    ratios: dict[str, list[float]] = {name: [] for name in names[1:]}
    show = Progress(f"comparing {', '.join(names)}", seconds)
    share = max(seconds - (time.perf_counter() - begun), 0.5 * seconds) / rounds
    with without_collection(False), show:
        for done in range(rounds):
            taken = _round(takers, share)
            for name in names:
                starts[name].append(len(samples[name].seconds))
                samples[name].extend(taken[name])
            for name in names[1:]:
                sides = (taken[names[0]], taken[name])
                ratio, _ = _native.round_log_ratio(
                    *[(side.seconds, side.cpu() or [], side.preempted) for side in sides]
                )
                ratios[name].append(ratio)
            elapsed = time.perf_counter() - begun
            show.update(elapsed)
            on_gpu = isinstance(clock, EventClock)
            enough = done + 1 >= _FEWEST_ROUNDS if on_gpu else len(samples[names[0]].seconds) >= _FEWEST_TURNS
            if elapsed >= seconds and enough:
                break
    results = {
        name: _result(
            name,
            samples[name],
            clock.name,
            "count-reached",
            takers[name].inner,
            takers[name].overhead,
            starts[name],
            None,
            clock,
        )
        for name in names
    }
    verdicts = {}
    for name in names[1:]:
        # One false verdict in a hundred, also where noise is far above the margin; and Bonferroni over the candidates:
        # a dozen rivals must not produce a winner by luck.
        alpha = 0.01 / len(ratios)
        paired = adjacent_calls(samples[names[0]], samples[name])
        if paired is None:
            verdict = json.loads(_native.evaluate_rounds(ratios[name], margin, alpha))
            verdict["clock"] = "wall"
        else:
            verdict = json.loads(_native.evaluate_pairs(paired.pairs, margin, alpha))
            verdict["clock"] = "cpu" if paired.by_cpu_time else "wall"
        verdicts[name] = verdict
    return Comparison(names[0], results, verdicts, margin)


#: Less gives no interval worth having: a machine that is too slow for it gets more time.
_FEWEST_ROUNDS = 8
_FEWEST_TURNS = 96


@dataclass(frozen=True)
class _Taker:
    """What takes samples of one callable: a few, one after another."""

    take: Callable[[], Samples]
    inner: int
    overhead: Overhead | None


def _round(takers: Mapping[str, _Taker], share: float) -> dict[str, Samples]:
    """One round of some `share` seconds. Candidates take turns sample by sample, in an order that chance decides: what
    disturbs the machine for a while disturbs all of them."""
    taken = {name: Samples() for name in takers}
    order = list(takers)
    end = time.perf_counter() + share
    turns = 0
    while turns < 4 or time.perf_counter() < end:
        random.shuffle(order)
        for name in order:
            taken[name].extend(takers[name].take())
        turns += 1
    return taken


def _taker(
    fn: Callable[..., Any],
    args: tuple[Any, ...],
    kwargs: Mapping[str, Any],
    clock: CpuClock | EventClock,
) -> _Taker:
    warmup(fn, *args, seconds=0.02, **kwargs)
    if isinstance(clock, EventClock):
        call, events = _bound(fn, args, kwargs), clock
        # Groups, because waiting for the device costs as much as a short kernel.
        return _Taker(lambda: Samples(events.time_many(call, 8)), 1, None)
    inner = inner_count(lambda count: compiled_loop(fn, args, kwargs, count), SHORTEST_SAMPLE)
    cost = empty_cost(inner)
    loop = compiled_loop(fn, args, kwargs, inner)
    return _Taker(lambda: take(loop, inner, 1, cost.seconds), inner, cost)


class Timer:
    """A context manager that times its block, on the device where the work runs.

    >>> import warpsmith
    >>> with warpsmith.Timer() as timer:
    ...     total = sum(range(1000))
    >>> timer.seconds > 0
    True
    """

    def __init__(self, device: str = "cpu"):
        self._clock = clock_for(device)
        self.seconds: float | None = None

    def __enter__(self) -> Timer:
        self._clock.wait()
        if isinstance(self._clock, EventClock):
            self._start, self._stop = self._clock._event(), self._clock._event()
            self._start.record()
        else:
            self._start = time.perf_counter_ns()
        return self

    def __exit__(self, *_: Any) -> None:
        if isinstance(self._clock, EventClock):
            self._stop.record()
            self._clock.wait()
            self.seconds = self._clock._seconds(self._start, self._stop)
        else:
            self.seconds = (time.perf_counter_ns() - self._start) * 1e-9


def _time(seconds: float | None) -> str:
    if seconds is None:
        return "–"
    for size, unit in ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs")):
        if seconds >= size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds / 1e-9:.3g} ns"
