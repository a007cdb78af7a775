//! Runs on Vulkan: a launch per step, all of them recorded as one submission.

use bytemuck::cast_slice;
use warpsmith_device::VulkanDevice;
use warpsmith_execution::{
    FUSED_MULTIPLY_ADD, VulkanFunction, VulkanWork, WorkArgument, WorkLaunch,
};
use warpsmith_workload::{Output, Prepared, WorkloadError};

use super::field::Field;
use super::rule::Rule;
use super::workload::ID;
use crate::vulkan::failed;

/// The start, which runs leave as it is; two media that steps alternate between; the memory.
const START: [usize; 2] = [0, 1];
const MEDIA: [usize; 2] = [2, 3];
const MEMORY: usize = 4;

/// A reaction-diffusion run on a Vulkan device.
pub(super) struct VulkanRun {
    work: VulkanWork,
    /// The medium that the last step writes.
    last: usize,
}

impl VulkanRun {
    pub(super) fn new(
        device: &VulkanDevice,
        rule: Rule,
        field: &Field,
        steps: usize,
    ) -> Result<Self, WorkloadError> {
        let source = format!(
            "import warp as wp\n\n{FUSED_MULTIPLY_ADD}\n{}",
            include_str!("rd.py")
        );
        // Rows of whole vectors go four cells to a thread.
        let mut dim = field.shape.extents().to_vec();
        let mut kernel = "rd_step";
        if let Some(cells) = dim.last_mut()
            && cells.is_multiple_of(4)
        {
            *cells /= 4;
            kernel = "rd_step4";
        }
        let function = VulkanFunction::compile(device, &source, kernel).map_err(failed(ID))?;
        let bytes = 4 * field.shape.cells();
        let buffers = vec![
            device.upload(cast_slice(&field.u))?,
            device.upload(cast_slice(&field.e))?,
            device.buffer(bytes)?,
            device.buffer(bytes)?,
            device.buffer(bytes)?,
        ];
        let launch = |u: usize, e: usize, next: usize| {
            let array = |at| WorkArgument::Array(at, dim.clone());
            let number = |value| WorkArgument::Float(f64::from(value));
            WorkLaunch {
                function: &function,
                dim: dim.clone(),
                arguments: vec![
                    array(u),
                    array(e),
                    array(next),
                    array(MEMORY),
                    number(rule.centre),
                    number(rule.diffusion),
                    number(rule.reaction),
                    number(rule.damped),
                    number(rule.threshold),
                ],
            }
        };
        // A cell looks at its own memory alone, which can therefore be changed in place.
        let launches = [
            launch(START[0], START[1], MEDIA[0]),
            launch(MEDIA[0], MEMORY, MEDIA[1]),
            launch(MEDIA[1], MEMORY, MEDIA[0]),
        ];
        let which = |step: usize| match step {
            0 => 0,
            step if step % 2 == 1 => 1,
            _ => 2,
        };
        let recorded: Vec<usize> = (0..steps).map(which).collect();
        let work = VulkanWork::new(device, buffers, &launches, &recorded).map_err(failed(ID))?;
        let last = if steps % 2 == 1 { MEDIA[0] } else { MEDIA[1] };
        Ok(Self { work, last })
    }
}

impl Prepared for VulkanRun {
    fn run_once(&mut self) -> Result<(), WorkloadError> {
        self.work.run().map_err(failed(ID))
    }

    fn device_seconds(&self) -> Option<f64> {
        self.work.seconds()
    }

    fn poison(&mut self) -> Result<(), WorkloadError> {
        for buffer in [MEDIA[0], MEDIA[1], MEMORY] {
            self.work.poison(buffer).map_err(failed(ID))?;
        }
        Ok(())
    }

    fn output(&mut self) -> Result<Output, WorkloadError> {
        let u: Vec<f32> = self.work.output(self.last).map_err(failed(ID))?;
        let e: Vec<f32> = self.work.output(MEMORY).map_err(failed(ID))?;
        Ok(Output::F32([u, e].concat()))
    }
}
