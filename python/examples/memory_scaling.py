"""Latency and memory over the number of atoms, and what each atom costs.

    python memory_scaling.py --sizes 50,100,200,500,1000
"""

import argparse

import warpsmith
from force_field import atoms, best_device, model

options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
options.add_argument("--sizes", default="50,100,200,500,1000")
options.add_argument("--seconds", type=float, default=1.0)
options = options.parse_args()

device = best_device()
field = model(device=device)
print(f"on {device}\n{'atoms':>6} {'median ms':>10} {'± %':>6} {'peak MiB':>9} {'µs/atom':>8}")
for count in map(int, options.sizes.split(",")):
    positions = atoms(count, device)
    result = warpsmith.benchmark(field, positions, seconds=options.seconds, memory=True)
    low, high = result.interval
    print(
        f"{count:6} {result.median * 1e3:10.3f} {50 * (high - low) / result.median:6.2f} "
        f"{result.memory.peak / 2**20:9.1f} {result.median * 1e6 / count:8.2f}"
    )
