//! What the workloads share on Vulkan.

use std::borrow::Cow;

use warpsmith_execution::VulkanError;
use warpsmith_workload::WorkloadError;

/// A failure of `workload`, as its callers see it.
pub(crate) fn failed(workload: &'static str) -> impl Fn(VulkanError) -> WorkloadError {
    move |error| match (error.unsupported(), error) {
        (Some(reason), _) => WorkloadError::Unsupported { workload, reason },
        (None, VulkanError::Device(error)) => error.into(),
        (None, error) => WorkloadError::failed(workload, error),
    }
}

/// Bytes that whole vectors of four words hold, zeros at the end.
pub(crate) fn padded_to_16(bytes: &[u8]) -> Cow<'_, [u8]> {
    if bytes.len().is_multiple_of(16) {
        return Cow::Borrowed(bytes);
    }
    let mut padded = bytes.to_vec();
    padded.resize(bytes.len().next_multiple_of(16), 0);
    Cow::Owned(padded)
}
