"""Identical and slowed Python callables compared by `warpsmith.compare`; counts as JSON."""

import json
import random
import sys
import time

import warpsmith

pairs, effect, margin, seconds = int(sys.argv[1]), *map(float, sys.argv[2:5])


def adds(count):
    total = 0
    for i in range(count):
        total += i
    return total


chance = random.Random(1)
counts = {"identical": {}, "slowed": {}}
begun = time.perf_counter()
for pair in range(2 * pairs):
    steps = chance.randrange(300, 6000)
    slow = pair % 2 == 1
    other = round(steps * (1 + effect)) if slow else steps
    sides = {"a": lambda: adds(steps), "b": lambda: adds(other)}
    verdict = warpsmith.compare(sides, seconds=seconds, margin=margin).verdicts["b"]["verdict"]
    kind = counts["slowed" if slow else "identical"]
    kind[verdict] = kind.get(verdict, 0) + 1
counts["seconds"] = (time.perf_counter() - begun) / (2 * pairs)
print(json.dumps(counts))
