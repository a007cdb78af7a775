//! Failures on Vulkan as failures of a workload.

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
