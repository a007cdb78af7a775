//! What a driver that gives no devices means, as a finding.

use warpsmith_core::{Family, Finding, Severity};

use crate::DeviceError;

/// What each code about the CUDA driver means.
pub static FAMILY: Family = Family::new(include_str!("stories/D.md"));

/// What a driver that gives no devices means: nothing where there is no GPU, trouble otherwise.
pub fn driver_finding(error: &DeviceError) -> Finding {
    let (code, severity) = if error.is_missing_hardware() {
        ("D001", Severity::Info)
    } else {
        ("D002", Severity::Error)
    };
    let mut finding = Finding::new(code, severity, error.to_string());
    finding.hint = error.hint().map(str::to_owned);
    finding
}
