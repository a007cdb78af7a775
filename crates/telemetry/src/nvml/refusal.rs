//! Why NVML did not give a value.

use nvml_wrapper_sys::bindings::{self as nvml, nvmlReturn_t};

/// What a call answered instead of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// This GPU, or its mode (MIG), has no such value: it never will in this session.
    #[error("not supported on this GPU")]
    NotSupported,
    /// The loaded library has no such function: as final as not supported.
    #[error("the driver's NVML has no such function")]
    NoSuchFunction,
    /// Nothing new since the last time, or no such thing now.
    #[error("nothing found")]
    NotFound,
    /// This user may not ask.
    #[error("no permission")]
    NoPermission,
    /// The answer does not fit into the space that was offered.
    #[error("more to tell than there was room for")]
    InsufficientSize,
    /// The GPU is gone.
    #[error("the GPU is lost")]
    Lost,
    /// The value is outside of what its kind can be.
    #[error("the value is out of range")]
    OutOfRange,
    /// Anything else, by NVML's number.
    #[error("NVML error {0}")]
    Other(u32),
}

/// A value or why there is none.
pub type Reading<T> = Result<T, Refusal>;

impl Refusal {
    /// Whether asking again in this session is a waste.
    pub fn is_final(self) -> bool {
        matches!(self, Self::NotSupported | Self::NoSuchFunction)
    }
}

/// Turns NVML's return value into a result.
pub(super) fn answer(code: nvmlReturn_t) -> Reading<()> {
    Err(match code {
        nvml::nvmlReturn_enum_NVML_SUCCESS => return Ok(()),
        nvml::nvmlReturn_enum_NVML_ERROR_NOT_SUPPORTED => Refusal::NotSupported,
        nvml::nvmlReturn_enum_NVML_ERROR_FUNCTION_NOT_FOUND => Refusal::NoSuchFunction,
        nvml::nvmlReturn_enum_NVML_ERROR_NOT_FOUND | nvml::nvmlReturn_enum_NVML_ERROR_NO_DATA => {
            Refusal::NotFound
        }
        nvml::nvmlReturn_enum_NVML_ERROR_NO_PERMISSION => Refusal::NoPermission,
        nvml::nvmlReturn_enum_NVML_ERROR_INSUFFICIENT_SIZE => Refusal::InsufficientSize,
        nvml::nvmlReturn_enum_NVML_ERROR_GPU_IS_LOST
        | nvml::nvmlReturn_enum_NVML_ERROR_GPU_NOT_FOUND
        | nvml::nvmlReturn_enum_NVML_ERROR_RESET_REQUIRED => Refusal::Lost,
        other => Refusal::Other(other),
    })
}
