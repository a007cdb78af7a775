//! The copy on Vulkan: a kernel of 16 bytes to a thread. Vulkan's own copy command reaches a fifth of the rate
//! on an H200.

use std::time::Duration;

use bytemuck::cast_slice;
use warpsmith_device::VulkanDevice;
use warpsmith_execution::{VulkanFunction, VulkanWork, WorkArgument, WorkLaunch};
use warpsmith_workload::{Output, Prepared, WorkloadError};

use super::ID;
use crate::vulkan::{failed, padded_to_16};

pub(super) struct VulkanCopy {
    work: VulkanWork,
    words: usize,
}

/// Where the copy lies among the buffers.
const TARGET: usize = 1;

impl VulkanCopy {
    pub(super) fn new(device: &VulkanDevice, source: &[u64]) -> Result<Self, WorkloadError> {
        let function =
            VulkanFunction::compile(device, include_str!("copy.py"), "copy").map_err(failed(ID))?;
        let bytes = padded_to_16(cast_slice(source));
        let vectors = bytes.len() / 16;
        let buffers = vec![device.upload(&bytes)?, device.buffer(bytes.len())?];
        let array = |at| WorkArgument::Array(at, vec![vectors]);
        let launch = WorkLaunch {
            function: &function,
            dim: vec![vectors],
            arguments: vec![array(0), array(TARGET)],
        };
        let work = VulkanWork::new(device, buffers, &[launch], &[0]);
        Ok(Self {
            work: work.map_err(failed(ID))?,
            words: source.len(),
        })
    }
}

impl Prepared for VulkanCopy {
    fn run_once(&mut self) -> Result<(), WorkloadError> {
        self.work.run().map_err(failed(ID))
    }

    fn device_seconds(&self) -> Option<f64> {
        self.work.seconds()
    }

    fn set_limit(&mut self, limit: Duration) {
        self.work.set_limit(limit);
    }

    fn poison(&mut self) -> Result<(), WorkloadError> {
        self.work.poison(TARGET).map_err(failed(ID))
    }

    fn output(&mut self) -> Result<Output, WorkloadError> {
        let mut copied: Vec<u64> = self.work.output(TARGET).map_err(failed(ID))?;
        copied.truncate(self.words);
        Ok(Output::U64(copied))
    }
}
