//! The kernel on Vulkan.

use bytemuck::cast_slice;
use warpsmith_device::VulkanDevice;
use warpsmith_execution::{
    FUSED_MULTIPLY_ADD, VulkanFunction, VulkanWork, WorkArgument, WorkLaunch, WorkStep,
};
use warpsmith_workload::{Output, Prepared, WorkloadError};

use super::workload::{A, ID};
use crate::vulkan::failed;

pub(super) struct VulkanSaxpy {
    work: VulkanWork,
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
        let n = x.len();
        let buffers = vec![
            device.upload(cast_slice(x))?,
            device.upload(cast_slice(y))?,
            device.buffer(4 * n)?,
        ];
        let array = |at| WorkArgument::Array(at, vec![n]);
        let launch = WorkLaunch {
            function: &function,
            dim: vec![n],
            arguments: vec![
                array(0),
                array(1),
                array(OUT),
                WorkArgument::Float(f64::from(A)),
            ],
        };
        let work = VulkanWork::new(device, buffers, &[launch], &[WorkStep::Launch(0)]);
        Ok(Self {
            work: work.map_err(failed(ID))?,
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

    fn poison(&mut self) -> Result<(), WorkloadError> {
        self.work.poison(OUT).map_err(failed(ID))
    }

    fn output(&mut self) -> Result<Output, WorkloadError> {
        self.work.output(OUT).map(Output::F32).map_err(failed(ID))
    }
}
