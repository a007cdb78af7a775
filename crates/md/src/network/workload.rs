//! `md/network`: one call of the small neural force field.

use warpsmith_core::{Bytes, Flops};
use warpsmith_device::{Device, Graph, Stream};
use warpsmith_lanes::InstructionSet;
use warpsmith_workload::random::Random;
use warpsmith_workload::{
    About, ActsOn, ArguedTolerance, Cost, Judgement, Output, ParameterSpec, Parameters, Prepared,
    Ready, Technique, Workload, WorkloadError,
};

use super::{CudaNetwork, ForceNetwork, NetworkScratch};
use crate::workloads::{SIMD, failed, instructions};

pub(crate) struct NetworkCall;

pub(crate) const ID: &str = "md/network";

const PARAMETERS: &[ParameterSpec] = &[
    ParameterSpec::integer("n", "atoms of a call", 100, 1, 1 << 24),
    ParameterSpec::choice("hidden", "width of every layer", &["128", "64", "256"]),
    SIMD,
    ParameterSpec::choice(
        "graph",
        "the call recorded as a graph (GPU)",
        &["off", "on"],
    ),
];

const TECHNIQUES: &[Technique] = &[
    Technique {
        name: "SIMD",
        parameter: "simd",
        off: "scalar",
        on: "best",
        meaning: "a vector of outputs at a time (CPU)",
        acts_on: ActsOn::Cpu,
        effort: Judgement::Medium,
        risk: Judgement::Low,
    },
    Technique {
        name: "graph",
        parameter: "graph",
        off: "off",
        on: "on",
        meaning: "the launch recorded once (GPU)",
        acts_on: ActsOn::Gpu,
        effort: Judgement::Medium,
        risk: Judgement::Medium,
    },
];

fn hidden(parameters: &Parameters) -> usize {
    parameters.choice("hidden").parse().unwrap_or(128)
}

/// What a call of these parameters holds on the CPU.
pub(crate) fn held_bytes(parameters: &Parameters) -> Result<u64, WorkloadError> {
    let network = ForceNetwork::random(hidden(parameters), 1).map_err(failed(ID))?;
    // A byte of species, three coordinates and three forces to an atom.
    Ok(network.memory_bytes() + network.scratch().memory_bytes() + 25 * parameters.integer("n"))
}

impl Workload for NetworkCall {
    fn about(&self) -> About {
        About::new(
            ID,
            "one call of a small neural force field: latency where the work is tiny",
            PARAMETERS,
        )
        .sizes(
            "n",
            &["10", "25", "50", "100", "200", "500", "1000", "4000"],
        )
        .techniques(TECHNIQUES)
    }

    fn cost(&self, parameters: &Parameters) -> Cost {
        let (atoms, hidden) = (parameters.integer("n"), hidden(parameters) as u64);
        Cost {
            bytes: Bytes(ForceNetwork::weight_bytes(hidden) + atoms * (16 + 16)),
            flops: Flops(atoms * ForceNetwork::flops_per_atom(hidden)),
            units: atoms,
            unit: "atom",
        }
    }

    fn tolerance(&self, parameters: &Parameters) -> ArguedTolerance {
        ArguedTolerance::within(
            1e-5 * (hidden(parameters) as f64).sqrt(),
            1e-5,
            "sums of `hidden` products of order one, rounded at random in f32, through three \
                      layers: some 3e-6 times the root of the width; relative for the energy, which \
                      is a sum over atoms",
        )
    }

    fn prepare(&self, device: &Device, parameters: &Parameters, seed: u64) -> Ready {
        let atoms = parameters.size("n");
        let network = ForceNetwork::random(hidden(parameters), seed).map_err(failed(ID))?;
        let mut random = Random::seeded(seed ^ 0x5eed);
        let species: Vec<u8> = (0..atoms).map(|_| random.below(10) as u8).collect();
        let positions: Vec<[f32; 3]> = (0..atoms)
            .map(|_| std::array::from_fn(|_| random.normal() as f32))
            .collect();
        Ok(match device {
            Device::Cpu(_) => Box::new(CpuCall {
                instructions: instructions(parameters),
                scratch: network.scratch(),
                forces: vec![[0.0; 3]; atoms],
                energy: 0.0,
                network,
                species,
                positions,
            }),
            Device::Vulkan(_) => return Err(WorkloadError::not_on_vulkan(ID)),
            Device::Cuda(gpu) => {
                let mut call =
                    CudaNetwork::new(gpu, &network, &species, &positions).map_err(failed(ID))?;
                let graph = if parameters.choice("graph") == "on" {
                    let stream = call.stream().clone();
                    Some(stream.capture(|_| call.queue())?)
                } else {
                    None
                };
                Box::new(CudaCall { call, graph, atoms })
            }
        })
    }
}

struct CpuCall {
    network: ForceNetwork,
    species: Vec<u8>,
    positions: Vec<[f32; 3]>,
    scratch: NetworkScratch,
    forces: Vec<[f32; 3]>,
    energy: f64,
    instructions: InstructionSet,
}

impl Prepared for CpuCall {
    fn run_once(&mut self) -> Result<(), WorkloadError> {
        self.energy = self.network.evaluate(
            &self.species,
            &self.positions,
            &mut self.scratch,
            &mut self.forces,
            self.instructions,
        );
        Ok(())
    }

    fn poison(&mut self) -> Result<(), WorkloadError> {
        self.forces.fill([f32::NAN; 3]);
        self.energy = f64::NAN;
        Ok(())
    }

    fn output(&mut self) -> Result<Output, WorkloadError> {
        let forces = self.forces.as_flattened().iter().copied();
        Ok(Output::F32(forces.chain([self.energy as f32]).collect()))
    }
}

struct CudaCall {
    call: CudaNetwork,
    graph: Option<Graph>,
    atoms: usize,
}

impl Prepared for CudaCall {
    fn run_once(&mut self) -> Result<(), WorkloadError> {
        match &self.graph {
            Some(graph) => Ok(graph.launch(self.call.stream())?),
            None => Ok(self.call.queue()?),
        }
    }

    fn stream(&self) -> Option<&Stream> {
        Some(self.call.stream())
    }

    fn poison(&mut self) -> Result<(), WorkloadError> {
        Ok(self.call.poison()?)
    }

    fn output(&mut self) -> Result<Output, WorkloadError> {
        let results = self.call.results()?;
        let energy = results[4 * self.atoms];
        let mut values = results[..3 * self.atoms].to_vec();
        values.push(energy);
        Ok(Output::F32(values))
    }
}
