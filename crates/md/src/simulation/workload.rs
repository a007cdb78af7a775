//! `md/lj`: steps of a Lennard-Jones fluid.
//!
//! A run is `steps` steps of a trajectory in f32 that goes on; its output is the state after them. The start
//! is a lattice that each seed shakes differently, so that parity sees irregular neighbours from the
//! first step on.

use warpsmith_core::{Bytes, Flops};
use warpsmith_device::{CpuDevice, Device, Stream};
use warpsmith_workload::random::Random;
use warpsmith_workload::{
    About, ActsOn, ArguedTolerance, Cost, Judgement, Output, ParameterSpec, Parameters, Prepared,
    Ready, Technique, Workload, WorkloadError,
};

use super::Simulation;
use crate::engine::Engine;
use crate::error::Result;
use crate::gpu::CudaSimulation;
use crate::periodic_box::PeriodicBox;
use crate::settings::Settings;
use crate::start::{Atoms, FCC_ATOMS, fcc_lattice, maxwell_velocities};
use crate::workloads::{SIMD, failed, instructions};

pub(crate) struct LennardJonesStep;

pub(crate) const ID: &str = "md/lj";
const DENSITY: f64 = 0.8442;
const TEMPERATURE: f64 = 1.44;
/// How far each seed moves atoms off the lattice, at most; the closest pairs stay 1.4 σ apart.
const SHAKE: f64 = 0.06;

const PARAMETERS: &[ParameterSpec] = &[
    ParameterSpec::integer(
        "n",
        "atoms, rounded to a whole lattice of 4·c³",
        4000,
        500,
        1 << 28,
    ),
    ParameterSpec::integer("steps", "steps of a run", 1, 1, 1 << 20),
    ParameterSpec::choice(
        "list",
        "neighbour lists kept until an atom has moved half the skin, or made every step",
        &["keep", "every-step"],
    ),
    SIMD,
    ParameterSpec::choice(
        "order",
        "atoms in memory in the order of their cells, or of the start (CPU)",
        &["cells", "start"],
    ),
    ParameterSpec::choice("threads", "threads of the CPU", &["all", "one"]),
    ParameterSpec::choice("graph", "steps recorded as a graph (GPU)", &["on", "off"]),
];

const TECHNIQUES: &[Technique] = &[
    Technique {
        name: "neighbour list",
        parameter: "list",
        off: "every-step",
        on: "keep",
        meaning: "a list with a skin serves several steps",
        acts_on: ActsOn::Any,
        effort: Judgement::Medium,
        risk: Judgement::Medium,
    },
    Technique {
        name: "SIMD",
        parameter: "simd",
        off: "scalar",
        on: "best",
        meaning: "a vector of neighbours at a time (CPU)",
        acts_on: ActsOn::Cpu,
        effort: Judgement::Medium,
        risk: Judgement::Low,
    },
    Technique {
        name: "cell order",
        parameter: "order",
        off: "start",
        on: "cells",
        meaning: "atoms that are near each other are near in memory (CPU)",
        acts_on: ActsOn::Cpu,
        effort: Judgement::Medium,
        risk: Judgement::Low,
    },
    Technique {
        name: "threads",
        parameter: "threads",
        off: "one",
        on: "all",
        meaning: "blocks of atoms on all cores (CPU)",
        acts_on: ActsOn::Cpu,
        effort: Judgement::Medium,
        risk: Judgement::Medium,
    },
    Technique {
        name: "graph",
        parameter: "graph",
        off: "off",
        on: "on",
        meaning: "seven launches of a step recorded once and launched as one (GPU)",
        acts_on: ActsOn::Gpu,
        effort: Judgement::Medium,
        risk: Judgement::Medium,
    },
];

/// Unit cells to a side of the lattice that is nearest to `atoms`.
fn cells_for(atoms: u64) -> usize {
    ((atoms as f64 / FCC_ATOMS as f64).cbrt().round() as usize).max(5)
}

fn settings(parameters: &Parameters, device: &Device) -> Settings {
    Settings {
        instructions: instructions(parameters),
        sort: parameters.choice("order") != "start",
        reuse_list: parameters.choice("list") != "every-step",
        ..Settings::for_device(device)
    }
}

/// What a trajectory of these parameters holds on the CPU.
pub(crate) fn held_bytes(parameters: &Parameters) -> Result<u64, WorkloadError> {
    let atoms = start(cells_for(parameters.integer("n")), 1).map_err(failed(ID))?;
    let cpu = CpuDevice::with_threads(1)?;
    let settings = settings(parameters, &Device::Cpu(cpu.clone()));
    let simulation = Simulation::<f32>::new(&cpu, &atoms, settings).map_err(failed(ID))?;
    Ok(simulation.memory_bytes())
}

fn start(cells: usize, seed: u64) -> Result<Atoms> {
    let (cell, mut positions) = fcc_lattice(cells, DENSITY)?;
    let mut random = Random::seeded(seed);
    for x in positions.iter_mut().flatten() {
        *x += SHAKE * (2.0 * random.unit() - 1.0);
    }
    let velocities = maxwell_velocities(positions.len(), TEMPERATURE, seed)?;
    Ok(Atoms {
        cell,
        positions,
        velocities,
    })
}

impl Workload for LennardJonesStep {
    fn about(&self) -> About {
        About::new(
            ID,
            "steps of a Lennard-Jones fluid: neighbour lists, forces, velocity Verlet",
            PARAMETERS,
        )
        .sizes(
            "n",
            &[
                "500", "864", "1372", "2048", "4000", "10976", "32000", "108000",
            ],
        )
        .techniques(TECHNIQUES)
        .passes("steps")
    }

    fn cost(&self, parameters: &Parameters) -> Cost {
        let atoms = (FCC_ATOMS * cells_for(parameters.integer("n")).pow(3)) as u64;
        let updates = atoms * parameters.integer("steps");
        // 55 neighbours within the cut-off, 23 operations each, each pair once; positions,
        // velocities and forces read and written once.
        Cost {
            bytes: Bytes(updates * 3 * 3 * 2 * 4),
            flops: Flops(updates * 55 * 23 / 2),
            units: updates,
            unit: "atom-step",
        }
    }

    fn tolerance(&self, parameters: &Parameters) -> ArguedTolerance {
        let atoms = FCC_ATOMS * cells_for(parameters.integer("n")).pow(3);
        let side = (atoms as f64 / DENSITY).cbrt();
        let steps = parameters.integer("steps") as f64;
        // A coordinate's rounding, times the slope of the steepest pairs, times the time step.
        let per_step = side * f64::from(f32::EPSILON) * 1000.0 * 0.005;
        ArguedTolerance::within(
            4.0 * per_step * steps.sqrt() * (steps / 100.0).exp(),
            0.0,
            "coordinates in f32 are rounded to the side of the box times 1.2e-7 each step, \
                      and the steepest pairs have forces with slopes of a thousand; roundings add up \
                      at random, trajectories part by e in a hundred steps where atoms collide, and \
                      the largest of a hundred thousand values lies at four standard deviations",
        )
    }

    fn prepare(&self, device: &Device, parameters: &Parameters, seed: u64) -> Ready {
        let settings = settings(parameters, device);
        let atoms = start(cells_for(parameters.integer("n")), seed).map_err(failed(ID))?;
        let steps = parameters.integer("steps");
        match device {
            Device::Cpu(cpu) => {
                let cpu = match parameters.choice("threads") {
                    "one" => CpuDevice::with_threads(1)?,
                    _ => cpu.clone(),
                };
                let simulation =
                    Simulation::<f32>::new(&cpu, &atoms, settings).map_err(failed(ID))?;
                Ok(Box::new(CpuSteps { simulation, steps }))
            }
            Device::Vulkan(_) => Err(WorkloadError::not_on_vulkan(ID)),
            Device::Cuda(gpu) => {
                let graph = parameters.choice("graph") == "on";
                let simulation =
                    CudaSimulation::new(gpu, &atoms, settings, graph).map_err(failed(ID))?;
                Ok(Box::new(CudaSteps { simulation, steps }))
            }
        }
    }
}

/// What parity compares.
fn output(engine: &mut impl Engine) -> Result<Output> {
    let atoms = engine.atoms()?;
    let values = comparable(&atoms.cell, &atoms);
    Ok(Output::F32(values.iter().map(|&x| x as f32).collect()))
}

/// Coordinates as points on a circle for each axis, so that an atom that one device has just wrapped
/// and the other not yet are neighbours; then velocities.
fn comparable(cell: &PeriodicBox, atoms: &Atoms) -> Vec<f64> {
    let circles = atoms.positions.iter().flat_map(|position| {
        (0..3).flat_map(|axis| {
            let radius = cell.sides[axis] / std::f64::consts::TAU;
            let angle = position[axis] / radius;
            [radius * angle.cos(), radius * angle.sin()]
        })
    });
    circles
        .chain(atoms.velocities.iter().flatten().copied())
        .collect()
}

struct CpuSteps {
    simulation: Simulation<f32>,
    steps: u64,
}

impl Prepared for CpuSteps {
    fn run_once(&mut self) -> Result<(), WorkloadError> {
        self.simulation.advance(self.steps).map_err(failed(ID))
    }

    fn poison(&mut self) -> Result<(), WorkloadError> {
        // The output is the state that a run starts from: there is nothing that a run could forget
        // to write and that would still look right.
        Ok(())
    }

    fn output(&mut self) -> Result<Output, WorkloadError> {
        output(&mut self.simulation).map_err(failed(ID))
    }
}

struct CudaSteps {
    simulation: CudaSimulation,
    steps: u64,
}

impl Prepared for CudaSteps {
    fn run_once(&mut self) -> Result<(), WorkloadError> {
        Ok(self.simulation.queue(self.steps)?)
    }

    fn stream(&self) -> Option<&Stream> {
        Some(self.simulation.stream())
    }

    fn poison(&mut self) -> Result<(), WorkloadError> {
        Ok(self.simulation.poison_scratch()?)
    }

    fn output(&mut self) -> Result<Output, WorkloadError> {
        self.simulation.check().map_err(failed(ID))?;
        output(&mut self.simulation).map_err(failed(ID))
    }
}

#[cfg(test)]
mod tests {
    use warpsmith_device::DeviceChoice;

    use super::*;

    fn run(given: &[(&str, &str)]) -> Output {
        let given: Vec<_> = given
            .iter()
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
            .collect();
        let parameters = Parameters::resolve(PARAMETERS, &given).unwrap();
        let cpu = Device::open(DeviceChoice::Cpu).unwrap();
        let mut prepared = LennardJonesStep.prepare(&cpu, &parameters, 3).unwrap();
        prepared.run_once().unwrap();
        prepared.output().unwrap()
    }

    #[test]
    fn every_technique_gives_the_same_trajectory_within_the_tolerance() {
        let size = [("n", "4000"), ("steps", "40")];
        let full = run(&size);
        let given = size.map(|(name, value)| (name.to_owned(), value.to_owned()));
        let parameters = Parameters::resolve(PARAMETERS, &given).unwrap();
        let tolerance = LennardJonesStep.tolerance(&parameters).tolerance;
        for technique in TECHNIQUES {
            let off = run(&[size[0], size[1], (technique.parameter, technique.off)]);
            let agreement = off.compare(&full, tolerance).unwrap();
            assert!(agreement.holds(), "{}: {agreement}", technique.name);
        }
    }

    #[test]
    fn a_trajectory_holds_no_more_memory_later_than_at_its_start() {
        let cpu = CpuDevice::with_threads(1).unwrap();
        let atoms = start(5, 1).unwrap();
        let mut simulation = Simulation::<f32>::new(&cpu, &atoms, Settings::standard()).unwrap();
        let before = simulation.memory_bytes();
        simulation.advance(3000).unwrap();
        assert!(simulation.rebuilds() > 100);
        assert_eq!(simulation.memory_bytes(), before);
    }
}
