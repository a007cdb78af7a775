//! The devices of the machine.

use serde::Serialize;
use warpsmith_device::{CpuFacts, GpuFacts};

/// The devices of the machine, and what runs on them.
#[derive(Clone, Debug, Serialize)]
pub struct MachineFacts {
    /// The CPU.
    pub cpu: CpuFacts,
    /// Threads that workloads used on it.
    pub threads: usize,
    /// Widest instruction set that workloads used on it, e.g. `AVX-512`.
    pub instructions: String,
    /// Its base clock, where its name says it.
    pub cpu_clock_hz: Option<f64>,
    /// Every GPU.
    pub gpus: Vec<GpuFacts>,
    /// The GPU that the workloads ran on; absent where they ran on the CPU.
    pub measured_gpu: Option<usize>,
    /// GPU driver.
    pub driver: Option<String>,
    /// Operating system, e.g. `Ubuntu 24.04`.
    pub system: String,
}

impl MachineFacts {
    /// The GPU that the workloads ran on.
    pub fn gpu(&self) -> Option<&GpuFacts> {
        let index = self.measured_gpu?;
        self.gpus.iter().find(|gpu| gpu.index == index)
    }

    /// What a CPU time is over: threads and instruction set.
    pub fn cpu_words(&self) -> String {
        match self.threads {
            1 => format!("1 thread {}", self.instructions),
            threads => format!("{threads} threads {}", self.instructions),
        }
    }
}
