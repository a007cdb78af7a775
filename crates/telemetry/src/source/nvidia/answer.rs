//! What NVML's return values mean.

use nvml_wrapper_sys::bindings::{self as nvml, nvmlReturn_t};

use crate::source::{Reading, Refusal};

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
