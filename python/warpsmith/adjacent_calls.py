"""Calls of two callables that followed one another: what compares them on a machine that others use too.

Two calls a moment apart meet the same clock and the same neighbours. Which of them came first after the scheduler took
the core away is kept, because that one refills the caches.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import median

from . import _native
from .timing_loop import Samples

#: Where the core was taken away during more than this share of the samples, CPU time decides.
_BUSY = 0.01

#: ln(other/base), whether the base came first, whether the earlier and the later call followed a switch.
Pair = tuple[float, bool, bool, bool]


@dataclass(frozen=True)
class AdjacentCalls:
    """One pair for every turn, and the clock that they are by."""

    pairs: list[Pair]
    by_cpu_time: bool

    def levels(self, count: int) -> list[float]:
        """The centre of each of `count` parts, in the order taken; fewer where there are fewer pairs."""
        size = len(self.pairs)
        parts = (self.pairs[size * k // count : size * (k + 1) // count] for k in range(count))
        found = []
        for part in parts:
            estimate = _native.estimate_pairs(part)
            if estimate is not None:
                found.append(estimate[0])
            elif part:
                # Too few to sort them by what came before.
                found.append(median(pair[0] for pair in part))
        return found


def adjacent_calls(base: Samples, other: Samples) -> AdjacentCalls | None:
    """The pairs of two callables that took turns; None of samples that do not say when they were taken (a GPU's)."""
    count = len(base.seconds)
    sides = (base, other)
    if count == 0 or any(len(side.turns) != count for side in sides):
        return None
    busy = any(len(side.preempted) > _BUSY * count for side in sides)
    cpu = [side.cpu() for side in sides]
    by_cpu_time = busy and None not in cpu
    first, second = (side.cpu_seconds if by_cpu_time else side.seconds for side in sides)
    # A wall time during which others had the core says nothing.
    left_out: set[int] = set() if by_cpu_time else set(base.interrupted) | set(other.interrupted)
    pairs = []
    for index in range(count):
        a, b = first[index], second[index]
        if index in left_out or a <= 0.0 or b <= 0.0:
            continue
        base_first = base.turns[index] < other.turns[index]
        earlier, later = sides if base_first else (other, base)
        pairs.append(
            (math.log(b / a), base_first, earlier.after_switch[index], later.after_switch[index])
        )
    return AdjacentCalls(pairs, by_cpu_time)
