"""Where does the time of a call go? PyTorch's profiler around a call that is already warm.

    python torch_profile.py --trace trace.json      # open it in a browser at ui.perfetto.dev

`nsys profile --trace=cuda,nvtx python quick_benchmark.py` shows the same from outside of PyTorch.
"""

import argparse

import torch
from torch.profiler import ProfilerActivity, profile

import warpsmith
from force_field import atoms, best_device, model

options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
options.add_argument("--trace", help="write a Chrome trace")
options = options.parse_args()

device = best_device()
field = model(device=device)
positions = atoms(100, device)
warpsmith.warmup(field, positions)
activities = [ProfilerActivity.CPU] + [ProfilerActivity.CUDA] * (device == "cuda")
with profile(activities=activities, profile_memory=True) as profiler:
    for _ in range(20):
        field(positions)
order = "self_cuda_time_total" if device == "cuda" else "self_cpu_time_total"
print(profiler.key_averages().table(sort_by=order, row_limit=8))
if options.trace:
    profiler.export_chrome_trace(options.trace)
    print(f"wrote {options.trace}")
