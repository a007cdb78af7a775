"""What one sample costs beside `torch.utils.benchmark`, on an operation that does nothing.

    python benchmark_overhead.py            # on the CPU
    python benchmark_overhead.py --cuda     # on the GPU
"""

import argparse
import statistics
import time

import torch
import torch.utils.benchmark

import warpsmith


def cost(run, count):
    """Wall time per sample that `run` takes, which returns how many it took."""
    start = time.perf_counter()
    samples = run(count)
    return (time.perf_counter() - start) / samples


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cuda", action="store_true")
    options = parser.parse_args()
    x = torch.zeros(1, device="cuda" if options.cuda else "cpu")

    def nothing():
        x.view(1)

    clock = warpsmith.benchmarking.clock_for("cuda" if options.cuda else "cpu")

    def ours(count):
        return len(clock.time_many(nothing, count))

    def theirs(count):
        # One call per measurement, as a distribution needs them.
        timer = torch.utils.benchmark.Timer("nothing()", globals={"nothing": nothing})
        for _ in range(count):
            timer.timeit(1)
        return count

    ratios = []
    for _ in range(9):
        ratios.append(cost(ours, 300) / cost(theirs, 300))
    print(
        f"cost of a sample, warpsmith / torch.utils.benchmark: median {statistics.median(ratios):.3f} "
        f"({min(ratios):.3f} to {max(ratios):.3f}, 9 rounds of 300)"
    )


if __name__ == "__main__":
    main()
