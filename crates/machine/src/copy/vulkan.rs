//! The copy on Vulkan: a kernel of 16 bytes to a thread. Vulkan's own copy command reaches a fifth of the rate
//! on an H200.

use bytemuck::cast_slice;
use warpsmith_device::VulkanDevice;
use warpsmith_execution::{VulkanFunction, VulkanWork, WorkArgument, WorkLaunch};
use warpsmith_workload::{Output, WorkloadError};

use super::ID;
use crate::vulkan::{Recorded, failed, padded_to_16};

/// Where the copy lies among the buffers.
const TARGET: usize = 1;

pub(super) fn copy(device: &VulkanDevice, source: &[u64]) -> Result<Recorded, WorkloadError> {
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
    let words = source.len();
    Ok(Recorded {
        workload: ID,
        work: work.map_err(failed(ID))?,
        result: TARGET,
        output: Box::new(move |work| {
            let mut copied: Vec<u64> = work.output(TARGET)?;
            copied.truncate(words);
            Ok(Output::U64(copied))
        }),
    })
}
