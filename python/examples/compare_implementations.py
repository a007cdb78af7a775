"""Which of several ways to compute the same thing is faster, and is the difference real?

    python compare_implementations.py
    python compare_implementations.py --compile      # torch.compile too, which takes a minute
"""

import argparse

import numpy as np

import warpsmith
from force_field import atoms, best_device, model, torch

options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
options.add_argument("--compile", action="store_true")
options.add_argument("--seconds", type=float, default=2.0)
options = options.parse_args()

device = best_device()
field = model(device=device)
positions = atoms(100, device)
candidates = {"eager": lambda: field(positions)}

if torch is None:
    half = positions.astype(np.float64)
    candidates["float64"] = lambda: field(half)
if options.compile and torch is not None:
    compiled = torch.compile(field)
    compiled(positions)
    candidates["torch.compile"] = lambda: compiled(positions)
if device == "cuda":
    # Capturing needs a warm side stream, as PyTorch's documentation says.
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(3):
            field(positions)
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        field(positions)
    candidates["CUDA graph"] = graph.replay
if len(candidates) == 1:
    wide = model(hidden=256, device=device)
    candidates["256 hidden"] = lambda: wide(positions)

print(warpsmith.compare(candidates, device=device, seconds=options.seconds).summary())
