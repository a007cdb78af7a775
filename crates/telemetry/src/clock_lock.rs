//! SM clocks kept at one frequency while something is measured.
//!
//! Invariant: what was locked is given back when this value is dropped, also where a later GPU
//! refused. A process that is killed drops nothing: whoever must be sure of it holds this in a
//! second process that outlives the first.

use crate::nvml::{GpuHandle, Library, LibraryError, Refusal};

/// Clocks that are locked, and given back with this value.
pub struct ClockLock {
    locked: Vec<GpuHandle>,
    mhz: Vec<u32>,
}

/// Why clocks were not locked.
#[derive(Debug, thiserror::Error)]
pub enum LockError {
    /// There is no NVML.
    #[error(transparent)]
    Library(#[from] LibraryError),
    /// NVML knows no GPU.
    #[error("there is no GPU whose clocks could be locked")]
    NoGpu,
    /// The driver does not let this user lock clocks.
    #[error("GPU {gpu}: the driver does not permit locking clocks (hint: run as root, or `sudo nvidia-smi -lgc {}` before)", .mhz.map_or("MHZ".to_owned(), |mhz| mhz.to_string()))]
    NotPermitted {
        /// Which GPU.
        gpu: u32,
        /// The frequency that was requested.
        mhz: Option<u32>,
    },
    /// The frequency is above the GPU's highest.
    #[error("GPU {gpu} has no clock of {mhz} MHz")]
    NoSuchClock {
        /// Which GPU.
        gpu: u32,
        /// The frequency that was requested.
        mhz: u32,
    },
    /// Anything else.
    #[error("GPU {gpu}: cannot lock clocks: {refusal}")]
    Refused {
        /// Which GPU.
        gpu: u32,
        /// What the driver said.
        refusal: Refusal,
    },
}

impl ClockLock {
    /// Locks every GPU's SM clock at `mhz`, or each at its highest.
    pub fn acquire(mhz: Option<u32>) -> Result<Self, LockError> {
        let library = Library::load(None)?;
        let count = library.gpu_count().unwrap_or(0);
        let mut lock = Self {
            locked: Vec::new(),
            mhz: Vec::new(),
        };
        for gpu in 0..count {
            let refused = |refusal| match (refusal, mhz) {
                (Refusal::NoPermission, _) => LockError::NotPermitted { gpu, mhz },
                (Refusal::OutOfRange, Some(mhz)) => LockError::NoSuchClock { gpu, mhz },
                _ => LockError::Refused { gpu, refusal },
            };
            let handle = library.gpu(gpu).map_err(refused)?;
            let set = handle.lock_clocks(mhz).map_err(refused)?;
            lock.locked.push(handle);
            lock.mhz.push(set);
        }
        match lock.locked.is_empty() {
            true => Err(LockError::NoGpu),
            false => Ok(lock),
        }
    }

    /// The frequency of each GPU in MHz.
    pub fn mhz(&self) -> &[u32] {
        &self.mhz
    }
}

impl Drop for ClockLock {
    fn drop(&mut self) {
        for handle in &self.locked {
            // Nothing better can be done about a driver that takes nothing back.
            let _ = handle.unlock_clocks();
        }
    }
}
