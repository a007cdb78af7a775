//! `lattice/rd`: reaction-diffusion as a workload.

use warpsmith_core::{Bytes, Flops};
use warpsmith_device::{CpuDevice, CudaDevice, Device, Graph, Stream};
use warpsmith_workload::{
    About, ActsOn, ArguedTolerance, Cost, Judgement, Output, ParameterSpec, Parameters, Prepared,
    Ready, Technique, Workload, WorkloadError,
};

use super::cpu::{CpuForm, CpuRun};
use super::cuda::{CudaForm, CudaRun};
use super::field::Field;
use super::rule::Rule;
use super::vulkan::VulkanRun;
use crate::error::failed;
use crate::shape::Shape;
use crate::switches::{ALL_THREADS, ONE_GRAPH, THREADS, WIDEST_SIMD, instruction_set, on_threads};

pub(super) const ID: &str = "lattice/rd";

/// The reaction-diffusion workload.
#[derive(Clone, Copy, Debug)]
pub struct RdWorkload;

const PARAMETERS: &[ParameterSpec] = &[
    ParameterSpec::integer("n", "cells along each edge of the cube", 128, 1, 2048),
    ParameterSpec::integer("steps", "steps in time", 10, 1, 1 << 20),
    ParameterSpec::choice(
        "blocking",
        "steps per pass over memory; on the CPU a wavefront on one thread",
        &["best", "1", "2", "3"],
    ),
    THREADS,
    ParameterSpec::choice(
        "simd",
        "CPU: vector instructions; those that the CPU lacks fall back to narrower ones",
        &["avx512", "avx2", "portable", "scalar"],
    ),
    ParameterSpec::choice(
        "launch",
        "GPU: launches of their own, one graph, or one launch for all steps of a lattice \
                  that the multiprocessors hold; the last where it can be, else a graph",
        &["best", "graph", "each", "resident"],
    ),
];

const TECHNIQUES: &[Technique] = &[
    Technique {
        name: "temporal blocking",
        parameter: "blocking",
        off: "1",
        on: "2",
        meaning: "two steps for one pass over memory",
        acts_on: ActsOn::Any,
        effort: Judgement::High,
        risk: Judgement::Medium,
    },
    ALL_THREADS,
    WIDEST_SIMD,
    ONE_GRAPH,
];

impl Workload for RdWorkload {
    fn about(&self) -> About {
        About::new(
            ID,
            "reaction-diffusion on a cube: a 7-point stencil with a reaction, bound by memory",
            PARAMETERS,
        )
        .sizes(
            "n",
            &[
                "4", "8", "12", "16", "24", "32", "48", "64", "100", "160", "224",
            ],
        )
        .techniques(TECHNIQUES)
        .passes("steps")
    }

    fn cost(&self, parameters: &Parameters) -> Cost {
        let cell_steps = parameters.integer("n").pow(3) * parameters.integer("steps");
        Cost {
            bytes: Bytes(16 * cell_steps),
            flops: Flops(20 * cell_steps),
            units: cell_steps,
            unit: "cell-step",
        }
    }

    fn tolerance(&self, _: &Parameters) -> ArguedTolerance {
        ArguedTolerance::exact("the same operations in the same order, each correctly rounded")
    }

    fn prepare(&self, device: &Device, parameters: &Parameters, seed: u64) -> Ready {
        let shape = Shape::cube(parameters.size("n")).map_err(failed(ID))?;
        let field = Field::noise(shape, seed).map_err(failed(ID))?;
        let steps = parameters.size("steps");
        Ok(match device {
            Device::Cpu(cpu) => Box::new(CpuPrepared::new(cpu, parameters, field, steps)?),
            Device::Cuda(gpu) => Box::new(CudaPrepared::new(gpu, parameters, &field, steps)?),
            Device::Vulkan(device) => {
                let most = parameters.choice("blocking").parse().ok();
                Box::new(VulkanRun::new(
                    device,
                    Rule::usual(shape),
                    &field,
                    steps,
                    most,
                )?)
            }
        })
    }
}

/// The private cache of a core: the largest below the last level.
fn private_cache(cpu: &CpuDevice) -> u64 {
    let caches = &cpu.facts().caches;
    let second = caches.iter().find(|cache| cache.level == 2);
    second.map_or(1 << 20, |cache| cache.bytes)
}

fn cpu_form(cpu: &CpuDevice, parameters: &Parameters, shape: Shape) -> CpuForm {
    if parameters.choice("simd") == "scalar" {
        return CpuForm::Plain;
    }
    let set = instruction_set(parameters);
    let threads = on_threads(parameters, cpu);
    match parameters.choice("blocking").parse() {
        Err(_) if threads => CpuForm::Threads { set },
        Err(_) => match CpuForm::blocked_for(shape, private_cache(cpu)) {
            CpuForm::Blocked { depth, .. } => CpuForm::Blocked { set, depth },
            other => other,
        },
        Ok(1) if threads => CpuForm::Threads { set },
        Ok(depth) => CpuForm::Blocked { set, depth },
    }
}

struct CpuPrepared {
    initial: Field,
    run: CpuRun,
    steps: usize,
}

impl CpuPrepared {
    fn new(
        cpu: &CpuDevice,
        parameters: &Parameters,
        initial: Field,
        steps: usize,
    ) -> Result<Self, WorkloadError> {
        let form = cpu_form(cpu, parameters, initial.shape);
        let rule = Rule::usual(initial.shape);
        let run = CpuRun::new(cpu, rule, form, initial.clone()).map_err(failed(ID))?;
        Ok(Self {
            initial,
            run,
            steps,
        })
    }
}

impl Prepared for CpuPrepared {
    fn run_once(&mut self) -> Result<(), WorkloadError> {
        let field = self.run.field_mut();
        field.u.copy_from_slice(&self.initial.u);
        field.e.copy_from_slice(&self.initial.e);
        self.run.advance(self.steps);
        Ok(())
    }

    fn poison(&mut self) -> Result<(), WorkloadError> {
        let field = self.run.field_mut();
        field.u.fill(f32::NAN);
        field.e.fill(f32::NAN);
        Ok(())
    }

    fn output(&mut self) -> Result<Output, WorkloadError> {
        let field = self.run.field();
        Ok(Output::F32([&field.u[..], &field.e[..]].concat()))
    }
}

/// Steps that are recorded as one graph.
const LONGEST_GRAPH: usize = 4096;

struct CudaPrepared {
    run: CudaRun,
    graph: Option<Graph>,
    steps: usize,
}

impl CudaPrepared {
    fn new(
        gpu: &CudaDevice,
        parameters: &Parameters,
        field: &Field,
        steps: usize,
    ) -> Result<Self, WorkloadError> {
        let launch = parameters.choice("launch");
        let form = match parameters.choice("blocking").parse() {
            _ if launch == "resident" => CudaForm::Resident,
            Ok(1) => CudaForm::Steps { planes: 0 },
            Ok(depth) => CudaForm::Blocked { depth, planes: 0 },
            Err(_) if launch == "best" => CudaForm::best(field.shape, steps, gpu.facts()),
            Err(_) => CudaForm::by_passes(field.shape, steps, gpu.facts()),
        };
        let mut run =
            CudaRun::new(gpu, Rule::usual(field.shape), form, field).map_err(failed(ID))?;
        // One launch is one launch already, and a graph is kept in memory node by node.
        let recorded = form != CudaForm::Resident && steps <= LONGEST_GRAPH;
        let graph = (matches!(launch, "best" | "graph") && recorded)
            .then(|| run.record(steps))
            .transpose()?;
        Ok(Self { run, graph, steps })
    }
}

impl Prepared for CudaPrepared {
    fn run_once(&mut self) -> Result<(), WorkloadError> {
        match &self.graph {
            Some(graph) => Ok(graph.launch(self.run.stream())?),
            None => {
                self.run.restart();
                Ok(self.run.advance(self.steps)?)
            }
        }
    }

    fn stream(&self) -> Option<&Stream> {
        Some(self.run.stream())
    }

    fn poison(&mut self) -> Result<(), WorkloadError> {
        Ok(self.run.poison()?)
    }

    fn output(&mut self) -> Result<Output, WorkloadError> {
        let field = self.run.field().map_err(failed(ID))?;
        Ok(Output::F32([field.u, field.e].concat()))
    }
}
