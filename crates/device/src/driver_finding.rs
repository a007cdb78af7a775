//! What a driver that gives no devices means, as a finding.

use warpsmith_core::{CodeDoc, Finding, Severity};

use crate::DeviceError;

/// Findings about the driver as such.
pub const CODES: &[CodeDoc] = &[
    CodeDoc {
        code: "D001",
        title: "no GPU is visible",
        explanation: "The CUDA driver library is not on this machine, or it starts and reports no \
                      device. Everything that needs no GPU works; `--device auto` uses the CPU.",
        fix: "Install an NVIDIA driver; in a container, start it with the NVIDIA container toolkit; \
              look whether `CUDA_VISIBLE_DEVICES` hides the device.",
    },
    CodeDoc {
        code: "D002",
        title: "the CUDA driver does not start",
        explanation: "The driver library is there and cannot be initialised. Nothing falls back to \
                      the CPU: a run that asked for the GPU and got the CPU is a wrong number.",
        fix: "`nvidia-smi` shows whether the driver works at all. After a driver update the kernel \
              module and the library differ until the next reboot.",
    },
    CodeDoc {
        code: "D003",
        title: "CUDA starts and computes",
        explanation: "A child process initialised CUDA, launched a kernel and compared its result \
                      with the CPU's.",
        fix: "Nothing to mend.",
    },
];

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
