#!/usr/bin/env python3
"""How near `warpsmith tune` comes to the best of a space, and in which share of the time that all of it takes.

    python3 tune.py [--runs 30] [--whole 3] [--size 1024] [--share SHARE] [--warpsmith PROGRAM]

A tiled matrix product with 213 choices of its tunables is measured whole `--whole` times and searched `--runs`
times, each with an empty cache of compiled kernels and without the driver's own. Needs `warpsmith` on the path,
a GPU, NVRTC, and a Python with NumPy for the reference. Ends with 0 where all but a fifteenth of the searches end
within 2 % of the best and take at most a quarter of the time. `taskset -c 0,1` shows it on two cores.
"""

import argparse
import json
import os
import pathlib
import shutil
import statistics
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent


def tune(program, folder, *options):
    """The winner of one tuning, with where its time went."""
    with tempfile.TemporaryDirectory() as cache:
        command = [program, "tune", str(folder / "matmul.toml"), "--fresh", "--format", "json", *options]
        # NVRTC keeps what it compiled in the driver's cache, where the next run would find it.
        environment = {**os.environ, "WARPSMITH_CACHE_DIR": cache, "CUDA_CACHE_DISABLE": "1"}
        done = subprocess.run(command, capture_output=True, text=True, env=environment)
    if done.returncode != 0:
        sys.exit(done.stderr)
    body = json.loads(done.stdout)["body"]
    rows = body if isinstance(body, list) else next(part for part in body.values() if isinstance(part, list))
    return rows[0]


def show(name, winner):
    phases = ", ".join(f"{phase} {seconds:.2f}" for phase, seconds in winner["phases"].items())
    took, best = winner["took"], 1e6 * winner["seconds"]
    print(f"{name}: {winner['measured']} of {winner['points']} measured in {took:.2f} s ({phases}), best {best:.1f} µs")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--runs", type=int, default=30)
    parser.add_argument("--whole", type=int, default=3)
    parser.add_argument("--size", type=int, default=1024)
    parser.add_argument("--share")
    parser.add_argument("--warpsmith", default="warpsmith")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        shutil.copytree(HERE / "tuning", folder, dirs_exist_ok=True)
        case = folder / "matmul.toml"
        case.write_text(case.read_text().replace("n = [1024]", f"n = [{options.size}]"))
        # The first fills what the driver and the system keep.
        tune(options.warpsmith, folder, "--seed", "0")
        whole = [tune(options.warpsmith, folder, "--share", "1") for _ in range(options.whole)]
        share = ["--share", options.share] if options.share else []
        searches = [tune(options.warpsmith, folder, "--seed", str(1 + run), *share) for run in range(options.runs)]
    for winner in whole:
        show("whole", winner)
    show("first search", searches[0])
    best = statistics.median(winner["seconds"] for winner in whole)
    all_of_it = statistics.median(winner["took"] for winner in whole)
    near = [winner["seconds"] <= 1.02 * best for winner in searches]
    shares = [winner["took"] / all_of_it for winner in searches]
    quick = [share <= 0.25 for share in shares]
    farthest = max(winner["seconds"] / best for winner in searches) - 1
    print(f"within 2 % of the best: {sum(near)} of {len(near)}, the farthest by {100 * farthest:.1f} %")
    print(
        f"time: {statistics.median(shares):.0%} of {all_of_it:.2f} s (from {min(shares):.0%} to {max(shares):.0%}), "
        f"at most a quarter in {sum(quick)} of {len(quick)}"
    )
    both = sum(one and other for one, other in zip(near, quick))
    return 0 if both >= len(near) - len(near) // 15 else 1


if __name__ == "__main__":
    sys.exit(main())
