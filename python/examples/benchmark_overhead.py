"""What measuring a call costs beside `torch.utils.benchmark`, on an operation that does nothing.

    python benchmark_overhead.py            # on the CPU
    python benchmark_overhead.py --cuda     # on the GPU

Two costs, each the wall time of the whole measurement over the calls that it made, taken in turns:
`sample` asks both for the distribution of single calls; `call` lets both choose how they go about it.
"""

import argparse
import statistics
import time

import torch
import torch.utils.benchmark

import warpsmith

ROUNDS = 9


def cost(run):
    """Wall time per call of `run`, which returns how many it made."""
    start = time.perf_counter()
    calls = run()
    return (time.perf_counter() - start) / calls


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--cuda", action="store_true")
    options = parser.parse_args()
    device = "cuda" if options.cuda else "cpu"
    x = torch.zeros(1, device=device)

    def nothing():
        x.view(1)

    clock = warpsmith.benchmarking.clock_for(device)
    timer = torch.utils.benchmark.Timer("nothing()", globals={"nothing": nothing})
    timer.timeit(100)

    def our_samples():
        return len(clock.time_many(nothing, 300))

    def their_samples():
        for _ in range(300):
            timer.timeit(1)
        return 300

    def our_calls():
        result = warpsmith.benchmark(nothing, device=device, seconds=0.3, precision=0.0)
        return len(result.samples) * result.inner

    def their_calls():
        measured = timer.blocked_autorange(min_run_time=0.3)
        return len(measured.times) * measured.number_per_run

    kinds = {"sample": (our_samples, their_samples), "call": (our_calls, their_calls)}
    for kind, (ours, theirs) in kinds.items():
        pairs = [(cost(ours), cost(theirs)) for _ in range(ROUNDS)]
        ratios = sorted(a / b for a, b in pairs)
        ours_us, theirs_us = (statistics.median(side) * 1e6 for side in zip(*pairs))
        print(
            f"cost of a {kind}, warpsmith / torch.utils.benchmark: median "
            f"{statistics.median(ratios):.3f} ({ratios[0]:.3f} to {ratios[-1]:.3f}, {ROUNDS} rounds; "
            f"{ours_us:.2f} µs against {theirs_us:.2f} µs)"
        )


if __name__ == "__main__":
    main()
