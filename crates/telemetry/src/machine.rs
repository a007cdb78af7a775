//! Opening a machine for sampling: its drivers, the chosen GPUs, what they are.
//!
//! A machine without a GPU is not an error: its inventory says why there is none, and the host is
//! sampled alone. Neither is a driver that does not answer. Asking for a GPU that is not there is one.

use std::path::PathBuf;
use std::time::Duration;

use crate::event::Inventory;
use crate::opening::Opening;
use crate::schedule::Schedule;
use crate::source::{Gpu, Refusal, cards};

/// What to sample and how.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Indices as the inventory counts; every GPU where this is empty.
    pub gpus: Vec<u32>,
    /// The period of each tier.
    pub schedule: Schedule,
    /// NVML to load instead of the driver's.
    pub library: Option<PathBuf>,
    /// Where the kernel shows devices: cards that are not read through NVML.
    pub sys_root: PathBuf,
    /// Where the kernel shows processes and the host's state.
    pub proc_root: PathBuf,
    /// Whether to keep command lines of processes, which can hold secrets.
    pub command_lines: bool,
    /// Whether to ask how busy each process keeps its GPU: 2.4 ms of CPU each time on an H200.
    pub process_use: bool,
    /// How long a call may take before its GPU counts as stale.
    pub stale_after: Duration,
    /// How long to wait for NVML and its GPUs to open. Without persistence mode the driver wakes each
    /// GPU first, which takes seconds.
    pub patience: Duration,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            gpus: Vec::new(),
            schedule: Schedule::default(),
            library: None,
            sys_root: cards::root(),
            proc_root: PathBuf::from("/proc"),
            command_lines: false,
            process_use: false,
            stale_after: Duration::from_millis(1_500),
            patience: Duration::from_secs(10),
        }
    }
}

/// Why a machine cannot be sampled as asked.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// A GPU was requested by an index that none has.
    #[error("no GPU {asked}: this machine has {count} (hint: `warpsmith watch --once` lists them)")]
    NoSuchGpu {
        /// The index requested.
        asked: u32,
        /// How many there are.
        count: u32,
    },
    /// A GPU was requested and there is none.
    #[error("GPU {asked} was requested, but {reason}")]
    NoNvml {
        /// The index requested.
        asked: u32,
        /// Why there is no NVML.
        reason: String,
    },
    /// A GPU was requested and the driver does not open it.
    #[error("GPU {asked} does not open: {refusal}")]
    Unreachable {
        /// The index requested.
        asked: u32,
        /// What the driver said.
        refusal: Refusal,
    },
    /// A GPU was requested and the driver does not answer.
    #[error(
        "GPU {asked} was requested, but the driver hangs: {reason} (hint: look for Xid lines in `dmesg`)"
    )]
    Silent {
        /// The index requested.
        asked: u32,
        /// The call that does not return.
        reason: String,
    },
}

/// A machine that is ready to be sampled.
pub struct Machine {
    pub(crate) handles: Vec<Box<dyn Gpu>>,
    pub(crate) inventory: Inventory,
}

impl Machine {
    /// Loads NVML, lists the kernel's cards and opens the GPUs; goes on without what has not answered after
    /// [`Settings::patience`].
    pub fn open(settings: &Settings) -> Result<Self, OpenError> {
        let mut opening = Opening::begin(settings);
        opening.wait(settings.patience);
        opening.finish()
    }

    /// What there is.
    pub fn inventory(&self) -> &Inventory {
        &self.inventory
    }
}

impl Drop for Machine {
    /// Closing calls the driver too, which may hang: it is nobody's to wait for.
    fn drop(&mut self) {
        let handles = std::mem::take(&mut self.handles);
        if !handles.is_empty() {
            std::thread::spawn(move || drop(handles));
        }
    }
}
