//! The kernel on Vulkan, four elements to a thread.

use std::time::Duration;

use bytemuck::cast_slice;
use warpsmith_device::VulkanDevice;
use warpsmith_execution::{
    FUSED_MULTIPLY_ADD, VulkanFunction, VulkanWork, WorkArgument, WorkLaunch,
};
use warpsmith_workload::{Output, Prepared, WorkloadError};

use super::workload::{A, ID};
use crate::vulkan::{failed, padded_to_16};

pub(super) struct VulkanSaxpy {
    work: VulkanWork,
    elements: usize,
}

/// Where the result lies among the buffers.
const OUT: usize = 2;

impl VulkanSaxpy {
    pub(super) fn new(device: &VulkanDevice, x: &[f32], y: &[f32]) -> Result<Self, WorkloadError> {
        let source = format!(
            "import warp as wp\n\n{FUSED_MULTIPLY_ADD}\n{}",
            include_str!("saxpy.py")
        );
        let function = VulkanFunction::compile(device, &source, "saxpy").map_err(failed(ID))?;
        let (x_bytes, y_bytes) = (padded_to_16(cast_slice(x)), padded_to_16(cast_slice(y)));
        let vectors = x_bytes.len() / 16;
        let buffers = vec![
            device.upload(&x_bytes)?,
            device.upload(&y_bytes)?,
            device.buffer(x_bytes.len())?,
        ];
        let array = |at| WorkArgument::Array(at, vec![vectors]);
        let launch = WorkLaunch {
            function: &function,
            dim: vec![vectors],
            arguments: vec![
                array(0),
                array(1),
                array(OUT),
                WorkArgument::Float(f64::from(A)),
            ],
        };
        let work = VulkanWork::new(device, buffers, &[launch], &[0]);
        Ok(Self {
            work: work.map_err(failed(ID))?,
            elements: x.len(),
        })
    }
}

impl Prepared for VulkanSaxpy {
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
        self.work.poison(OUT).map_err(failed(ID))
    }

    fn output(&mut self) -> Result<Output, WorkloadError> {
        let mut sums: Vec<f32> = self.work.output(OUT).map_err(failed(ID))?;
        sums.truncate(self.elements);
        Ok(Output::F32(sums))
    }
}
