//! A launch whose arguments come in parts.

use warpsmith_device::{Argument, Kernel, LaunchShape, Stream};
use warpsmith_workload::WorkloadError;

/// More arguments than any kernel of this crate has.
const MOST: usize = 24;

/// Queues a kernel with the arguments of all parts, one after the other. Allocates nothing.
pub(crate) fn launch_parts(
    stream: &Stream,
    kernel: &Kernel,
    shape: LaunchShape,
    parts: &[&[Argument<'_>]],
) -> Result<(), WorkloadError> {
    let mut arguments = [Argument::from(0u32); MOST];
    let mut count = 0;
    for (slot, argument) in arguments.iter_mut().zip(parts.iter().copied().flatten()) {
        *slot = *argument;
        count += 1;
    }
    Ok(stream.launch(kernel, shape, &arguments[..count])?)
}
