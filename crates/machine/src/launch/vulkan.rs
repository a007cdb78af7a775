//! Launches and uploads on Vulkan.

use std::time::Duration;

use bytemuck::cast_slice;
use warpsmith_device::{VulkanBuffer, VulkanDevice};
use warpsmith_execution::{VulkanFunction, VulkanWork, WorkArgument, WorkLaunch};
use warpsmith_workload::{Output, Prepared, WorkloadError};

use super::{ID, expected_mark};
use crate::vulkan::failed;

pub(super) struct VulkanMarks {
    work: VulkanWork,
}

impl VulkanMarks {
    pub(super) fn new(
        device: &VulkanDevice,
        launches: usize,
        seed: u64,
    ) -> Result<Self, WorkloadError> {
        let function =
            VulkanFunction::compile(device, include_str!("mark.py"), "mark").map_err(failed(ID))?;
        let buffers = vec![device.buffer(8 * launches)?];
        let launch = |index: usize| WorkLaunch {
            function: &function,
            dim: vec![1],
            arguments: vec![
                WorkArgument::Array(0, vec![launches]),
                WorkArgument::Int(index as i64),
                WorkArgument::Int(expected_mark(seed, index).cast_signed()),
            ],
        };
        let all: Vec<WorkLaunch<'_>> = (0..launches).map(launch).collect();
        let steps: Vec<usize> = (0..launches).collect();
        let work = VulkanWork::new(device, buffers, &all, &steps).map_err(failed(ID))?;
        Ok(Self { work })
    }
}

impl Prepared for VulkanMarks {
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
        self.work.poison(0).map_err(failed(ID))
    }

    fn output(&mut self) -> Result<Output, WorkloadError> {
        self.work.output(0).map(Output::U64).map_err(failed(ID))
    }
}

pub(super) struct VulkanUpload {
    host: Vec<u64>,
    target: VulkanBuffer,
}

impl VulkanUpload {
    pub(super) fn new(
        device: &VulkanDevice,
        words: usize,
        seed: u64,
    ) -> Result<Self, WorkloadError> {
        Ok(Self {
            host: (0..words).map(|index| expected_mark(seed, index)).collect(),
            target: device.buffer(8 * words)?,
        })
    }
}

impl Prepared for VulkanUpload {
    fn run_once(&mut self) -> Result<(), WorkloadError> {
        Ok(self.target.write(cast_slice(&self.host))?)
    }

    fn poison(&mut self) -> Result<(), WorkloadError> {
        Ok(self.target.write(&vec![0xff; self.target.len()])?)
    }

    fn output(&mut self) -> Result<Output, WorkloadError> {
        let mut words = vec![0_u64; self.host.len()];
        self.target.read(bytemuck::cast_slice_mut(&mut words))?;
        Ok(Output::U64(words))
    }
}
