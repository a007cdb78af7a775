//! Opening a machine for sampling: NVML, the chosen GPUs, what they are.
//!
//! A machine without NVML is not an error: its inventory says why there is none, and the host is
//! sampled alone. Asking for a GPU that is not there is one.

use std::path::PathBuf;
use std::time::Duration;

use crate::event::Inventory;
use crate::host;
use crate::nvml::{GpuHandle, Library, Refusal};
use crate::schedule::Schedule;

/// What to sample and how.
#[derive(Clone, Debug)]
pub struct Settings {
    /// NVML indices; every GPU where this is empty.
    pub gpus: Vec<u32>,
    /// The period of each tier.
    pub schedule: Schedule,
    /// NVML to load instead of the driver's.
    pub library: Option<PathBuf>,
    /// Where the kernel shows processes and the host's state.
    pub proc_root: PathBuf,
    /// Whether to keep command lines of processes, which can hold secrets.
    pub command_lines: bool,
    /// How long a call may take before its GPU counts as stale.
    pub stale_after: Duration,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            gpus: Vec::new(),
            schedule: Schedule::default(),
            library: None,
            proc_root: PathBuf::from("/proc"),
            command_lines: false,
            stale_after: Duration::from_millis(1_500),
        }
    }
}

/// Why a machine cannot be sampled as asked.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// A GPU was requested by an index that the driver does not have.
    #[error(
        "no GPU {asked}: the driver counts {count} (hint: `warpsmith watch --once` lists them)"
    )]
    NoSuchGpu {
        /// The index requested.
        asked: u32,
        /// How many there are.
        count: u32,
    },
    /// A GPU was requested and there is no NVML.
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
}

/// A machine that is ready to be sampled.
pub struct Machine {
    pub(crate) handles: Vec<GpuHandle>,
    pub(crate) inventory: Inventory,
}

impl Machine {
    /// Loads NVML and opens the GPUs.
    pub fn open(settings: &Settings) -> Result<Self, OpenError> {
        let mut inventory = Inventory {
            cpu: host::cpu_name(&settings.proc_root),
            cores: host::cores(),
            host_pids: host::sees_host_pids(&settings.proc_root),
            ..Inventory::default()
        };
        let mut handles = Vec::new();
        match Library::load(settings.library.as_deref()) {
            Err(error) => {
                if let Some(&asked) = settings.gpus.first() {
                    return Err(OpenError::NoNvml {
                        asked,
                        reason: error.to_string(),
                    });
                }
                inventory.nvml_absent = Some(error.to_string());
            }
            Ok(library) => {
                inventory.driver = library.driver_version();
                inventory.nvml = library.nvml_version();
                let count = library.gpu_count().unwrap_or(0);
                if let Some(&asked) = settings.gpus.iter().find(|asked| **asked >= count) {
                    return Err(OpenError::NoSuchGpu { asked, count });
                }
                let chosen = match settings.gpus.as_slice() {
                    [] => (0..count).collect(),
                    indices => indices.to_vec(),
                };
                for index in chosen {
                    let opened = library.gpu(index).and_then(|handle| {
                        let identity = handle.identity()?;
                        Ok((handle, identity))
                    });
                    match opened {
                        Ok((handle, identity)) => {
                            handles.push(handle);
                            inventory.gpus.push(identity);
                        }
                        Err(refusal) if !settings.gpus.is_empty() => {
                            return Err(OpenError::Unreachable {
                                asked: index,
                                refusal,
                            });
                        }
                        Err(refusal) => {
                            inventory
                                .unreachable
                                .push(format!("GPU {index}: {refusal}"));
                        }
                    }
                }
            }
        }
        Ok(Self { handles, inventory })
    }

    /// What there is.
    pub fn inventory(&self) -> &Inventory {
        &self.inventory
    }
}
