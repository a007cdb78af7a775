//! Launches and uploads on Vulkan.

use bytemuck::cast_slice;
use warpsmith_device::{VulkanBuffer, VulkanDevice};
use warpsmith_execution::{VulkanFunction, VulkanWork, WorkArgument, WorkLaunch};
use warpsmith_workload::{Output, Prepared, WorkloadError};

use super::{ID, expected_mark};
use crate::vulkan::{Recorded, failed};

pub(super) fn marks(
    device: &VulkanDevice,
    launches: usize,
    seed: u64,
) -> Result<Recorded, WorkloadError> {
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
    Ok(Recorded {
        workload: ID,
        work,
        result: 0,
        output: Box::new(|work| work.output(0).map(Output::U64)),
    })
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
