//! What the workloads share on Vulkan.

use std::borrow::Cow;
use std::time::Duration;

use warpsmith_execution::{VulkanError, VulkanWork};
use warpsmith_workload::{Output, Prepared, WorkloadError};

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

/// What a run has left on the device, as the workload's output.
type ReadOutput = Box<dyn Fn(&VulkanWork) -> Result<Output, VulkanError>>;

/// Recorded launches of a workload.
pub(crate) struct Recorded {
    pub(crate) workload: &'static str,
    pub(crate) work: VulkanWork,
    /// Where the result lies among the buffers.
    pub(crate) result: usize,
    pub(crate) output: ReadOutput,
}

impl Prepared for Recorded {
    fn run_once(&mut self) -> Result<(), WorkloadError> {
        self.work.run().map_err(failed(self.workload))
    }

    fn device_seconds(&self) -> Option<f64> {
        self.work.seconds()
    }

    fn set_limit(&mut self, limit: Duration) {
        self.work.set_limit(limit);
    }

    fn poison(&mut self) -> Result<(), WorkloadError> {
        let poisoned = self.work.poison(self.result);
        poisoned.map_err(failed(self.workload))
    }

    fn output(&mut self) -> Result<Output, WorkloadError> {
        (self.output)(&self.work).map_err(failed(self.workload))
    }
}
