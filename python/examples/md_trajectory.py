"""A trajectory calls the model once per step: latency of every step, drift, and leaks.

    python md_trajectory.py --steps 1000
    python md_trajectory.py --leak         # keeps every step's distances, and is found out
"""

import argparse

import warpsmith
from force_field import atoms, best_device, model

options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
options.add_argument("--steps", type=int, default=1000)
options.add_argument("--atoms", type=int, default=100)
options.add_argument("--leak", action="store_true", help="keep the distances of every step")
options = options.parse_args()

device = best_device()
field = model(device=device)
positions = atoms(options.atoms, device)
velocities = positions * 0
kept = []


def step():
    """Half a kick, a drift, half a kick, in place."""
    global velocities
    forces = field(positions)
    velocities += 1e-5 * forces
    positions.__iadd__(1e-5 * velocities)
    if options.leak:
        kept.append(positions[:, None] - positions[None])


warpsmith.warmup(step)
kept.clear()
trajectory = warpsmith.benchmark_trajectory(step, options.steps, device=device, name="step")
print(trajectory.summary())
verdicts = {report.verdict for report in trajectory.leaks.values()}
stable = "memory is stable" if verdicts == {"OK"} else "no leak was shown; more steps can tell more"
print("LEAKING" if trajectory.leaking else stable)
raise SystemExit(1 if trajectory.leaking else 0)
