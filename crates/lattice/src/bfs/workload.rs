//! `lattice/bfs`: shortest paths from a corner as a workload.

use warpsmith_core::{Bytes, Flops};
use warpsmith_device::{Device, Stream};
use warpsmith_workload::{
    About, ActsOn, ArguedTolerance, Cost, Judgement, Output, ParameterSpec, Parameters, Prepared,
    Ready, Technique, Workload, WorkloadError,
};

use super::cpu::TileSearch;
use super::cuda::CudaSearch;
use super::labels::{Labels, Reach};
use super::maze::Maze;
use super::queue::QueueSearch;
use crate::error::failed;
use crate::shape::{Cell, Shape};
use crate::switches::{ALL_THREADS, THREADS, on_threads};

const ID: &str = "lattice/bfs";
const CORNER: Cell = Cell([0, 0, 0]);

/// The shortest-path workload.
#[derive(Clone, Copy, Debug)]
pub struct BfsWorkload;

const PARAMETERS: &[ParameterSpec] = &[
    ParameterSpec::integer("n", "cells along each edge of the cube", 128, 1, 4096),
    ParameterSpec::integer(
        "blocked",
        "percent of the cells that are blocked",
        30,
        0,
        100,
    ),
    ParameterSpec::choice(
        "tiles",
        "CPU: words of 64 cells, or a queue of single cells with 4-byte distances",
        &["on", "off"],
    ),
    THREADS,
];

const TECHNIQUES: &[Technique] = &[
    Technique {
        name: "bit tiles",
        parameter: "tiles",
        off: "off",
        on: "on",
        meaning: "64 cells to a word instead of a queue of cells (CPU)",
        acts_on: ActsOn::Any,
        effort: Judgement::High,
        risk: Judgement::Medium,
    },
    ALL_THREADS,
];

impl Workload for BfsWorkload {
    fn about(&self) -> About {
        About::new(
            ID,
            "shortest paths from a corner of a cube with blocked cells, on bit tiles",
            PARAMETERS,
        )
        .sizes("n", &["8", "16", "32", "64", "128"])
        .techniques(TECHNIQUES)
    }

    fn cost(&self, parameters: &Parameters) -> Cost {
        let cells = parameters.integer("n").pow(3);
        Cost {
            // Free bits in, two label bits out.
            bytes: Bytes(3 * cells / 8),
            flops: Flops(0),
            units: cells,
            unit: "cell",
        }
    }

    fn tolerance(&self, _: &Parameters) -> ArguedTolerance {
        ArguedTolerance::exact("distances are integers and do not depend on the order of visits")
    }

    fn prepare(&self, device: &Device, parameters: &Parameters, seed: u64) -> Ready {
        let shape = Shape::cube(parameters.size("n")).map_err(failed(ID))?;
        let blocked = parameters.integer("blocked") as f64;
        let maze = Maze::random(shape, blocked, seed).map_err(failed(ID))?;
        Ok(match device {
            Device::Cpu(_) if parameters.choice("tiles") == "off" => Box::new(Queued {
                search: QueueSearch::new(maze).map_err(failed(ID))?,
            }),
            Device::Cpu(cpu) => Box::new(OnCpu {
                search: match on_threads(parameters, cpu) {
                    true => TileSearch::on_threads(cpu, maze),
                    false => TileSearch::new(maze),
                }
                .map_err(failed(ID))?,
                reach: Reach::default(),
            }),
            Device::Cuda(gpu) => Box::new(OnGpu {
                search: CudaSearch::new(gpu, maze, 1).map_err(failed(ID))?,
            }),
            Device::Vulkan(_) => return Err(WorkloadError::not_on_vulkan(ID)),
        })
    }
}

fn output(reach: Reach, labels: Labels) -> Output {
    let summary = [reach.cells, u64::from(reach.eccentricity)];
    Output::U64([&labels.low[..], &labels.high, &summary].concat())
}

struct OnCpu {
    search: TileSearch,
    reach: Reach,
}

impl Prepared for OnCpu {
    fn run_once(&mut self) -> Result<(), WorkloadError> {
        self.reach = self.search.run(CORNER, None).map_err(failed(ID))?;
        Ok(())
    }

    fn poison(&mut self) -> Result<(), WorkloadError> {
        // A run resets all labels before it starts; its summary is what could be stale.
        self.reach = Reach {
            cells: u64::MAX,
            eccentricity: u32::MAX,
        };
        Ok(())
    }

    fn output(&mut self) -> Result<Output, WorkloadError> {
        Ok(output(self.reach, self.search.labels()))
    }
}

struct Queued {
    search: QueueSearch,
}

impl Prepared for Queued {
    fn run_once(&mut self) -> Result<(), WorkloadError> {
        self.search.run(CORNER).map_err(failed(ID))
    }

    fn poison(&mut self) -> Result<(), WorkloadError> {
        self.search.poison();
        Ok(())
    }

    fn output(&mut self) -> Result<Output, WorkloadError> {
        Ok(output(self.search.reach(), self.search.labels()))
    }
}

struct OnGpu {
    search: CudaSearch,
}

impl Prepared for OnGpu {
    fn run_once(&mut self) -> Result<(), WorkloadError> {
        self.search.queue(CORNER, None).map_err(failed(ID))
    }

    fn stream(&self) -> Option<&Stream> {
        Some(self.search.stream())
    }

    fn poison(&mut self) -> Result<(), WorkloadError> {
        Ok(self.search.poison()?)
    }

    fn output(&mut self) -> Result<Output, WorkloadError> {
        Ok(output(self.search.reach()?, self.search.labels()?))
    }
}
