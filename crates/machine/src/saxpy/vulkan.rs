//! The kernel on Vulkan, four elements to a thread.

use bytemuck::cast_slice;
use warpsmith_device::VulkanDevice;
use warpsmith_execution::{
    FUSED_MULTIPLY_ADD, VulkanFunction, VulkanWork, WorkArgument, WorkLaunch,
};
use warpsmith_workload::{Output, WorkloadError};

use super::workload::{A, ID};
use crate::vulkan::{Recorded, failed, padded_to_16};

/// Where the result lies among the buffers.
const OUT: usize = 2;

pub(super) fn saxpy(
    device: &VulkanDevice,
    x: &[f32],
    y: &[f32],
) -> Result<Recorded, WorkloadError> {
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
    let elements = x.len();
    Ok(Recorded {
        workload: ID,
        work: work.map_err(failed(ID))?,
        result: OUT,
        output: Box::new(move |work| {
            let mut sums: Vec<f32> = work.output(OUT)?;
            sums.truncate(elements);
            Ok(Output::F32(sums))
        }),
    })
}
