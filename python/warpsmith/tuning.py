"""The fastest choice of parameters for a callable: searched, checked against a reference, raced."""

from __future__ import annotations

import json
import math
import os
import time
from dataclasses import dataclass, field
from typing import Any, Callable, Mapping, Sequence

from . import _native
from .benchmarking import Benchmark, _bound, _result, _time, html_escape
from .checking import verify
from .devices import EventClock, clock_for
from .timing_loop import Samples

#: Samples of a choice before anything is concluded, of a finalist at most, and how many race at the end.
_FIRST, _MOST, _FINALISTS = 5, 160, 6


@dataclass(frozen=True)
class Tuning:
    """The winner, and what was tried."""

    best: dict[str, Any]
    #: Fresh samples of the winner, taken after it had won.
    result: Benchmark = field(repr=False)
    #: Every choice that was measured with its median in seconds, the fastest first.
    measured: list[tuple[dict[str, Any], float]] = field(repr=False)
    #: Choices that raised or were wrong, with the reason.
    refused: list[tuple[dict[str, Any], str]] = field(repr=False)
    points: int
    #: How much of the spread each parameter explains by itself.
    importance: dict[str, float] = field(repr=False)

    def summary(self) -> str:
        """A few lines for people."""
        words = ", ".join(f"{name}={value}" for name, value in self.best.items())
        lines = [
            f"{words}: {_time(self.result.median)}, {len(self.measured)} of {self.points} points measured, "
            f"{len(self.refused)} refused"
        ]
        lines += [f"  {name} explains {100 * share:.0f} %" for name, share in self.importance.items()]
        return "\n".join(lines)

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain values."""
        return {
            "best": self.best,
            "measured": self.measured,
            "refused": self.refused,
            "points": self.points,
            "importance": self.importance,
            "result": self.result.to_dict(),
        }

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the winner's samples as `warpsmith compare` and `warpsmith history add` read them."""
        self.result.save(path)

    def __repr__(self) -> str:
        return f"<Tuning {self.summary().splitlines()[0]}>"

    def _repr_html_(self) -> str:
        rows = "".join(
            f"<tr><td>{html_escape(json.dumps(choice, default=str))}</td><td>{_time(seconds)}</td></tr>"
            for choice, seconds in self.measured[:20]
        )
        return f"<pre>{html_escape(self.summary())}</pre><table>{rows}</table>"


def tune(
    make: Callable[..., Callable[..., Any]],
    space: Mapping[str, Sequence[Any]],
    *args: Any,
    reference: Callable[..., Any] | None = None,
    constraint: Callable[..., bool] | None = None,
    share: float = 0.25,
    seed: int = 1,
    mode: str = "cold",
    device: str = "auto",
) -> Tuning:
    """Find the values of `space` for which `make(**values)` returns the fastest callable for `args`.

    The same search as `warpsmith tune`: small spaces whole, of large ones a `share` chosen by a model and
    around the fastest points; with a `reference` each choice is verified before it is timed; the fastest
    race in turns, and the winner's time comes from fresh samples. `constraint(**values)` leaves points out.

    >>> import warpsmith
    >>> def make(block):
    ...     def total(values):
    ...         return sum(sum(values[at : at + block]) for at in range(0, len(values), block))
    ...     return total
    >>> tuned = warpsmith.tune(make, {"block": [1, 64]}, list(range(2000)))
    >>> tuned.best
    {'block': 64}
    """
    if not space or any(len(values) == 0 for values in space.values()):
        raise ValueError("the space needs a name with at least one value")
    if not 0.0 < share <= 1.0:
        raise ValueError(f"share is {share!r}; it is above 0 and at most 1")
    names = list(space)

    def choice_of(ordinals: Sequence[int]) -> dict[str, Any]:
        return {name: space[name][at] for name, at in zip(names, ordinals)}

    allowed = None if constraint is None else lambda ordinals: bool(constraint(**choice_of(ordinals)))
    search = _native.Search([(name, len(space[name])) for name in names], allowed, share, seed)
    if search.points == 0:
        raise ValueError("no choice satisfies the constraint")
    clock = clock_for(device, args, mode)
    calls: dict[int, Callable[[], Any]] = {}
    seconds: dict[int, float] = {}
    refused: list[tuple[dict[str, Any], str]] = []
    while batch := search.propose():
        for point in batch:
            choice = choice_of(search.ordinals(point))
            try:
                fn = make(**choice)
                if reference is not None:
                    checked = verify(fn, reference, *args, inputs=1)
                    if not checked.ok:
                        raise ValueError(checked.problems[0])
                call = _bound(fn, args, {})
                for _ in range(2):
                    call()
                clock.wait()
                samples = clock.time_many(call, _FIRST)
            except Exception as error:  # noqa: BLE001 (a choice that does not work is refused)
                refused.append((choice, f"{type(error).__name__}: {error}"[:500]))
                search.tell(point, None)
                continue
            calls[point] = call
            seconds[point] = sorted(samples)[_FIRST // 2]
            search.tell(point, seconds[point])
    if not seconds:
        raise ValueError(f"none of {len(refused)} choices works; the first: {refused[0][1]}")
    order = sorted(seconds, key=seconds.__getitem__)
    finalists = order[:_FINALISTS]
    lanes = _native.race(
        len(finalists), _FIRST, _MOST, 0.005, seed, lambda at: clock.time(calls[finalists[at]])
    )
    medians = [math.inf if out else sorted(taken)[len(taken) // 2] for taken, out in lanes]
    winner = finalists[medians.index(min(medians))]
    best = choice_of(search.ordinals(winner))
    # The smallest of many noisy medians is biased: fresh samples are not.
    begun = time.perf_counter()
    fresh: list[float] = []
    while len(fresh) < 20 or (len(fresh) < 200 and time.perf_counter() - begun < 0.5):
        fresh += clock.time_many(calls[winner], 5)
    title = ", ".join(f"{name}={value}" for name, value in best.items())
    held = clock if isinstance(clock, EventClock) else None
    result = _result(title, Samples(fresh), clock.name, "count-reached", 1, None, [], None, held)
    measured = [(choice_of(search.ordinals(point)), seconds[point]) for point in order]
    importance = dict(search.importance(list(seconds.items())))
    return Tuning(best, result, measured, refused, search.points, importance)
