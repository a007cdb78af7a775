//! Why a kernel could not be run, or what it did instead of ending.

use thiserror::Error;
use warpsmith_core::Finding;
use warpsmith_device::DeviceError;
use warpsmith_execution::{RunError, VulkanError};

use crate::document::CaseError;
use crate::reference::WorkerError;

/// Why a run gave no result.
#[derive(Debug, Error)]
pub enum Fault {
    /// This machine has no GPU, and the kernel needs one.
    #[error("the kernel needs a GPU; there is none here, or `--device cpu` was given")]
    NoGpu,
    /// A mistake in the case.
    #[error(transparent)]
    Case(#[from] CaseError),
    /// The GPU or its compiler failed, or the kernel faulted on it.
    #[error(transparent)]
    Device(#[from] DeviceError),
    /// The kernel's text is refused, or the interpreter found a fault in a run.
    #[error("{}", first(.0))]
    Findings(Vec<Finding>),
    /// The Python function that is the reference failed.
    #[error(transparent)]
    Worker(#[from] WorkerError),
    /// The case's own Python function failed.
    #[error(transparent)]
    Function(WorkerError),
    /// What cannot be done here.
    #[error("{0}")]
    Unsupported(String),
    /// The file cannot be read.
    #[error("cannot read `{file}`: {seen}")]
    Unreadable {
        /// The file.
        file: String,
        /// What was seen.
        seen: String,
    },
}

fn first(findings: &[Finding]) -> String {
    match findings.first() {
        Some(finding) => finding.to_string(),
        None => "it failed without a reason".into(),
    }
}

impl From<RunError> for Fault {
    fn from(error: RunError) -> Self {
        match error {
            RunError::Device(error) => Self::Device(error),
            other => Self::Unsupported(other.to_string()),
        }
    }
}

impl From<VulkanError> for Fault {
    fn from(error: VulkanError) -> Self {
        match error {
            VulkanError::Device(error) => Self::Device(error),
            VulkanError::Refused(findings) => Self::Findings(findings),
            other => Self::Unsupported(other.to_string()),
        }
    }
}

impl Fault {
    /// Whether the context on the GPU is of no more use: the kernel never ended, or faulted in a way
    /// that ends everything in it.
    pub fn ends_context(&self) -> bool {
        match self {
            // A launch that was refused leaves the context alone.
            Self::Device(error) => error.is_fault() || error.is_never_ended(),
            _ => false,
        }
    }
}
