"""How long does one call of a model take, and how sure is that?

    python quick_benchmark.py
"""

import warpsmith
from force_field import atoms, best_device, model

device = best_device()
field = model(device=device)
positions = atoms(100, device)

warpsmith.warmup(field, positions)
result = warpsmith.benchmark(field, positions, name="force field", seconds=2, memory=True)
print(result.summary())
print(f"{result.throughput:.0f} calls a second")
