//! The devices of the machine.

use serde::Serialize;
use warpsmith_device::{CpuFacts, GpuFacts, VulkanFacts, VulkanKind};

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
    /// The GPU that the workloads ran on by CUDA; absent where they ran elsewhere.
    pub measured_gpu: Option<usize>,
    /// The device that the workloads ran on by Vulkan.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub measured_vulkan: Option<VulkanFacts>,
    /// GPU driver.
    pub driver: Option<String>,
    /// Operating system, e.g. `Ubuntu 24.04`.
    pub system: String,
}

impl MachineFacts {
    /// The GPU that the workloads ran on by CUDA.
    pub fn gpu(&self) -> Option<&GpuFacts> {
        let index = self.measured_gpu?;
        self.gpus.iter().find(|gpu| gpu.index == index)
    }

    /// Whether the workloads ran on a GPU, which a Vulkan driver for the CPU is not.
    pub fn is_gpu(&self) -> bool {
        let vulkan = self.measured_vulkan.as_ref();
        self.gpu().is_some() || vulkan.is_some_and(|device| device.kind != VulkanKind::Software)
    }

    /// Whether the workloads ran on the CPU, timed by its clock.
    pub fn on_cpu(&self) -> bool {
        self.gpu().is_none() && self.measured_vulkan.is_none()
    }

    /// What a CPU time is over: threads and instruction set.
    pub fn cpu_words(&self) -> String {
        match self.threads {
            1 => format!("1 thread {}", self.instructions),
            threads => format!("{threads} threads {}", self.instructions),
        }
    }
}
