"""Calls of two callables that followed one another: what compares them on a machine that others use too.

Two calls a moment apart meet the same clock and the same neighbours. Which of them came first after the scheduler took
the core away is kept, because that one refills the caches.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from statistics import median

from . import _native
from .timing_loop import Samples

#: Where the core was taken away during more than this share of the samples, CPU time decides.
_BUSY = 0.01

#: ln(other/base), whether the base came first, whether the earlier and the later call followed a switch.
Pair = tuple[float, bool, bool, bool]


#: A moment is quiet where the base took at most this much longer than in its fastest twentieth. Wide enough for two
#: steps of a clock, and narrower than what a neighbour on the core's sibling does.
_QUIET = 1.05
#: With fewer quiet moments than this, all are taken.
_QUIET_NEEDED = 64


@dataclass(frozen=True)
class AdjacentCalls:
    """One pair for every turn, and the clock that they are by."""

    pairs: list[Pair]
    by_cpu_time: bool
    #: What the base took in each pair.
    base_seconds: list[float] = field(default_factory=list)

    def quiet(self) -> AdjacentCalls:
        """The pairs of moments at which nothing slowed the base.

        A neighbour slows one kind of work more than another, so that its coming and going moves the ratio of two
        callables between runs by some 3 %; at quiet moments that is 0.8 %, on two cores that six processes want.
        """
        fast = sorted(self.base_seconds)[len(self.base_seconds) // 20] if self.base_seconds else 0.0
        kept = [
            (pair, base) for pair, base in zip(self.pairs, self.base_seconds) if base <= _QUIET * fast
        ]
        if len(kept) < _QUIET_NEEDED:
            return self
        return AdjacentCalls([pair for pair, _ in kept], self.by_cpu_time, [base for _, base in kept])

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
    pairs: list[Pair] = []
    base_seconds: list[float] = []
    for index in range(count):
        a, b = first[index], second[index]
        if index in left_out or a <= 0.0 or b <= 0.0:
            continue
        base_first = base.turns[index] < other.turns[index]
        earlier, later = sides if base_first else (other, base)
        pairs.append(
            (math.log(b / a), base_first, earlier.after_switch[index], later.after_switch[index])
        )
        base_seconds.append(a)
    return AdjacentCalls(pairs, by_cpu_time, base_seconds)
