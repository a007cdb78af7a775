"""machine/copy against PyTorch's device-to-device copy, alternating in one run.

    python3 crates/machine/benches/copy_against_torch.py target/release/warpsmith
"""

import json
import statistics
import subprocess
import sys

import torch

BYTES = 1 << 30
ROUNDS = 5


def warpsmith_seconds(program):
    command = [program, "bench", "machine/copy", "--device", "cuda", "--set", f"bytes={BYTES}",
               "--samples", "50", "--format", "json"]
    report = json.loads(subprocess.run(command, check=True, capture_output=True).stdout)
    return report["body"][0]["measurement"]["seconds"]


def torch_seconds():
    source = torch.randint(0, 255, (BYTES,), dtype=torch.uint8, device="cuda")
    target = torch.empty_like(source)
    samples = []
    for index in range(55):
        start, stop = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        start.record()
        target.copy_(source)
        stop.record()
        stop.synchronize()
        if index >= 5:
            samples.append(start.elapsed_time(stop) * 1e-3)
    return samples


def main():
    program = sys.argv[1]
    ours, theirs = [], []
    torch_seconds()  # opens the context and raises the clocks
    for _ in range(ROUNDS):
        ours += warpsmith_seconds(program)
        theirs += torch_seconds()

    def rate(samples):
        return 2 * BYTES / statistics.median(samples) / 1e12

    print(f"{torch.cuda.get_device_name()}, torch {torch.__version__}, {len(ours)} copies of 1 GiB each")
    print(f"machine/copy {rate(ours):.3f} TB/s, torch {rate(theirs):.3f} TB/s, "
          f"ratio {rate(ours) / rate(theirs):.4f} (target >= 0.98)")


main()
