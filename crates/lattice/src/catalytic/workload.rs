//! `lattice/catalytic`: walks counted in borrowed memory, as a workload.

use warpsmith_core::{Bytes, Flops};
use warpsmith_device::{Device, Graph, Stream, ensure_host_room};
use warpsmith_workload::random::Random;
use warpsmith_workload::{
    About, ArguedTolerance, Cost, Output, ParameterSpec, Parameters, Prepared, Ready, Technique,
    Workload, WorkloadError,
};

use super::cuda::CudaBorrow;
use super::programme::{CpuBorrow, Walks};
use super::vulkan::VulkanBorrow;
use crate::error::failed;
use crate::shape::Shape;
use crate::switches::{
    ALL_THREADS, ONE_GRAPH, SIMD, THREADS, WIDEST_SIMD, instruction_set, on_threads,
};

pub(super) const ID: &str = "lattice/catalytic";

/// The borrowed-memory workload.
#[derive(Clone, Copy, Debug)]
pub struct CatalyticWorkload;

const PARAMETERS: &[ParameterSpec] = &[
    ParameterSpec::integer("n", "cells along each edge of the cube", 128, 1, 2048),
    ParameterSpec::integer(
        "steps",
        "longest walk; the programme takes four passes for each",
        8,
        0,
        1 << 20,
    ),
    THREADS,
    SIMD,
    ParameterSpec::choice(
        "launch",
        "GPU: one graph, or launches of their own",
        &["graph", "each"],
    ),
];

const TECHNIQUES: &[Technique] = &[ALL_THREADS, WIDEST_SIMD, ONE_GRAPH];

impl Workload for CatalyticWorkload {
    fn about(&self) -> About {
        About::new(
            ID,
            "count walks in borrowed memory that is left bit for bit as it was",
            PARAMETERS,
        )
        .sizes("n", &["8", "16", "32", "64", "128", "200"])
        .techniques(TECHNIQUES)
        .passes("steps")
    }

    fn cost(&self, parameters: &Parameters) -> Cost {
        let passes = parameters.integer("n").pow(3) * 4 * parameters.integer("steps");
        Cost {
            bytes: Bytes(12 * passes),
            flops: Flops(0),
            units: passes,
            unit: "cell-pass",
        }
    }

    fn tolerance(&self, _: &Parameters) -> ArguedTolerance {
        ArguedTolerance::exact("integers modulo 2³²; the borrowed words are part of the output")
    }

    fn prepare(&self, device: &Device, parameters: &Parameters, seed: u64) -> Ready {
        let shape = Shape::cube(parameters.size("n")).map_err(failed(ID))?;
        ensure_host_room(8 * shape.cells() as u64)?;
        let steps = u32::try_from(parameters.integer("steps")).unwrap_or(u32::MAX);
        let source = shape.cell(shape.cells() / 2);
        // As near as a walk of this length and parity ends.
        let tap = match shape.neighbours(source).next() {
            Some(beside) if steps % 2 == 1 => beside,
            _ => source,
        };
        let walks = Walks {
            shape,
            steps,
            source,
            tap,
            obstacles: None,
        };
        let mut random = Random::seeded(seed);
        let mut words =
            || -> Vec<u32> { (0..shape.cells()).map(|_| random.bits() as u32).collect() };
        let (a, b) = (words(), words());
        Ok(match device {
            Device::Cpu(cpu) => {
                let (set, threads) = (instruction_set(parameters), on_threads(parameters, cpu));
                Box::new(OnCpu {
                    borrow: CpuBorrow::new(cpu, set, threads, shape),
                    walks,
                    a,
                    b,
                    count: 0,
                })
            }
            Device::Cuda(gpu) => {
                let mut borrow = CudaBorrow::new(gpu, walks, &a, &b).map_err(failed(ID))?;
                let stream = borrow.stream().clone();
                // A graph is kept in memory node by node.
                let graph = (parameters.choice("launch") == "graph" && steps <= 1024)
                    .then(|| stream.capture(|_| borrow.queue()))
                    .transpose()?;
                Box::new(OnGpu { borrow, graph })
            }
            Device::Vulkan(device) => Box::new(VulkanBorrow::new(device, &walks, &a, &b)?),
        })
    }
}

pub(super) fn output(count: u32, a: &[u32], b: &[u32]) -> Output {
    Output::U32([&[count], a, b].concat())
}

struct OnCpu {
    borrow: CpuBorrow,
    walks: Walks,
    a: Vec<u32>,
    b: Vec<u32>,
    count: u32,
}

impl Prepared for OnCpu {
    fn run_once(&mut self) -> Result<(), WorkloadError> {
        let counted = self.borrow.count(&self.walks, &mut self.a, &mut self.b);
        self.count = counted.map_err(failed(ID))?;
        Ok(())
    }

    fn poison(&mut self) -> Result<(), WorkloadError> {
        self.count = u32::MAX;
        Ok(())
    }

    fn output(&mut self) -> Result<Output, WorkloadError> {
        Ok(output(self.count, &self.a, &self.b))
    }
}

struct OnGpu {
    borrow: CudaBorrow,
    graph: Option<Graph>,
}

impl Prepared for OnGpu {
    fn run_once(&mut self) -> Result<(), WorkloadError> {
        match &self.graph {
            Some(graph) => Ok(graph.launch(self.borrow.stream())?),
            None => Ok(self.borrow.queue()?),
        }
    }

    fn stream(&self) -> Option<&Stream> {
        Some(self.borrow.stream())
    }

    fn poison(&mut self) -> Result<(), WorkloadError> {
        Ok(self.borrow.poison()?)
    }

    fn output(&mut self) -> Result<Output, WorkloadError> {
        let (a, b) = self.borrow.memory()?;
        Ok(output(self.borrow.count()?, &a, &b))
    }
}
