"""Apache Otava on the projects that come as JSON on standard input: [step, medians] each."""

import json
import sys

from otava.analysis import compute_change_points

projects = json.load(sys.stdin)
named = right = beside = false = second = 0
delays = []
for step, medians in projects:
    first, last = None, []
    for seen in range(10, len(medians) + 1):
        found, _ = compute_change_points(medians[:seen], window_len=50, max_pvalue=0.001, min_magnitude=0.01)
        slower = [p.index for p in found if p.stats.mean_2 > p.stats.mean_1]
        second += len(slower) > 1
        if seen <= step:
            false += bool(slower)
        elif slower and first is None:
            first = seen - step
        last = slower
    if first is not None:
        delays.append(first)
    off = min((abs(index - step) for index in last), default=None)
    right += off == 0
    beside += off == 1
delays.sort()
print(
    f"  Otava: {len(delays)} named (median delay {delays[len(delays) // 2] if delays else 0} commits); at the end the "
    f"right commit {right}, one beside {beside}, none or farther {len(projects) - right - beside}; "
    f"false alarms {false}; looks with a second suspect {second}"
)
