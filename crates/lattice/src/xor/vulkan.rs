//! The keyed XOR on Vulkan, eight bytes to a thread.

use std::time::Duration;

use warpsmith_device::VulkanDevice;
use warpsmith_execution::{VulkanFunction, VulkanWork, WorkArgument, WorkLaunch};
use warpsmith_workload::{Output, Prepared, WorkloadError};

use super::cpu::Key;
use super::workload::ID;
use crate::vulkan::failed;

/// Where the data lie among the buffers.
const DATA: usize = 0;

/// Data and key on a Vulkan device.
#[derive(Debug)]
pub struct VulkanXor {
    work: VulkanWork,
    original: Vec<u8>,
    /// Length of the data; the buffer ends with a whole word.
    bytes: usize,
    applied: bool,
}

impl VulkanXor {
    /// Uploads data and key.
    pub fn new(device: &VulkanDevice, key: &Key, mut data: Vec<u8>) -> Result<Self, WorkloadError> {
        let function = VulkanFunction::compile(device, include_str!("xor.py"), "xor_keyed")
            .map_err(failed(ID))?;
        let bytes = data.len();
        data.resize(bytes.next_multiple_of(8), 0);
        let (words, period) = (data.len() / 8, key.pattern().len() / 8);
        let buffers = vec![device.upload(&data)?, device.upload(key.pattern())?];
        let launch = WorkLaunch {
            function: &function,
            dim: vec![words],
            arguments: vec![
                WorkArgument::Array(DATA, vec![words]),
                WorkArgument::Array(1, vec![period]),
            ],
        };
        let work = VulkanWork::new(device, buffers, &[launch], &[0]);
        Ok(Self {
            work: work.map_err(failed(ID))?,
            original: data,
            bytes,
            applied: false,
        })
    }

    /// The data as they are now.
    pub fn data(&self) -> Result<Vec<u8>, WorkloadError> {
        let mut data: Vec<u8> = self.work.output(DATA).map_err(failed(ID))?;
        data.truncate(self.bytes);
        Ok(data)
    }
}

impl Prepared for VulkanXor {
    fn run_once(&mut self) -> Result<(), WorkloadError> {
        self.work.run().map_err(failed(ID))?;
        self.applied = !self.applied;
        Ok(())
    }

    fn device_seconds(&self) -> Option<f64> {
        self.work.seconds()
    }

    fn set_limit(&mut self, limit: Duration) {
        self.work.set_limit(limit);
    }

    fn poison(&mut self) -> Result<(), WorkloadError> {
        self.work.write(DATA, &self.original).map_err(failed(ID))?;
        self.applied = false;
        Ok(())
    }

    fn output(&mut self) -> Result<Output, WorkloadError> {
        if !self.applied {
            self.run_once()?;
        }
        Ok(Output::U8(self.data()?))
    }
}
