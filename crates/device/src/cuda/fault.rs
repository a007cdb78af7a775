//! What a kernel did that the driver ended it for, in words, and which kernel it was.

use std::sync::TryLockError;
use std::sync::atomic::Ordering;

use super::context::Context;
use super::kernel::Kernel;
use super::raw::Status;
use crate::error::DeviceError;

/// What a status says that a running kernel did; `None` for a status that is about a call.
///
/// The driver reports it from whichever call comes next, so that the call's own name misleads.
fn misdeed(status: Status) -> Option<&'static str> {
    Some(match status {
        700 => "accessed memory outside its buffers",
        702 => "ran longer than the display driver allows",
        710 => "failed an assertion",
        714 => "overran its stack",
        715 => "met an instruction that this GPU does not have",
        716 => "accessed memory at a misaligned address",
        717 => "used an address in the wrong memory space, as after an index out of bounds",
        718 => "jumped outside its code",
        719 => "faulted: an invalid pointer, or shared memory out of bounds",
        _ => return None,
    })
}

impl Context {
    /// Notes that `kernel` is queued, so that a fault can name it: one store, no lock.
    pub(super) fn launched(&self, kernel: &Kernel) {
        self.last_launched
            .store(kernel.function(), Ordering::Relaxed);
    }

    /// The error of a kernel that faulted, where `status` is one.
    pub(super) fn fault(&self, status: Status) -> Option<DeviceError> {
        let what = misdeed(status)?;
        Some(DeviceError::KernelFault {
            kernel: self.suspect(),
            what,
            code: status,
            name: self.driver.describe(status).0,
        })
    }

    /// The kernel that was launched last, with a word on others where it need not be the one.
    fn suspect(&self) -> String {
        let last = self.last_launched.load(Ordering::Relaxed);
        // Whoever loads a kernel holds the lock, and may be the caller.
        let kernels = match self.kernels.try_lock() {
            Ok(kernels) => kernels,
            Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
            Err(TryLockError::WouldBlock) => return "a kernel".to_owned(),
        };
        let name = kernels.values().find(|kernel| kernel.function() == last);
        match (name, kernels.len()) {
            (Some(kernel), 1) => format!("kernel `{}`", kernel.entry()),
            (Some(kernel), _) => {
                format!("kernel `{}`, or one launched before it,", kernel.entry())
            }
            (None, _) => "a kernel".to_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_status_that_ends_a_context_is_told_in_words() {
        for status in [700, 702, 710, 714, 715, 716, 717, 718, 719] {
            let what = misdeed(status).expect("a fault");
            let error = DeviceError::KernelFault {
                kernel: "kernel `oob`".into(),
                what,
                code: status,
                name: "CUDA_ERROR_X".into(),
            };
            assert!(error.is_fault());
            assert_eq!(
                error.to_string(),
                format!("kernel `oob` {what} (CUDA_ERROR_X)")
            );
            assert!(error.hint().unwrap().contains("`warpsmith verify`"));
        }
        // A launch that was refused leaves the context alone.
        for status in [0, 1, 2, 600, 701, 704] {
            assert_eq!(misdeed(status), None, "{status}");
        }
    }
}
