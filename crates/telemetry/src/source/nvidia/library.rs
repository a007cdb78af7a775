//! Loading NVML and finding its devices.
//!
//! The library is the driver's `libnvidia-ml.so.1`, or the one that the user names: in the
//! settings or in `WARPSMITH_NVML_LIBRARY` (a driver in an unusual place, or a test's own).

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use nvml_wrapper::Nvml;
use nvml_wrapper::error::NvmlError;

use super::calls;
use super::device::GpuHandle;
use crate::event::GpuIdentity;
use crate::pulse;
use crate::source::{Gpu, Reading, Source};

/// Names the library to load instead of the driver's own.
const LIBRARY_VARIABLE: &str = "WARPSMITH_NVML_LIBRARY";

/// Why NVML cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum LibraryError {
    /// There is no library: no driver on this machine, or not in this container.
    #[error("no NVML library `{path}` ({cause})")]
    NotFound {
        /// What was looked for.
        path: String,
        /// What the loader said.
        cause: String,
    },
    /// The library is there and does not start.
    #[error("NVML in `{path}` does not start: {cause}")]
    NotStarted {
        /// What was loaded.
        path: String,
        /// What it said.
        cause: String,
    },
}

/// NVML, loaded and initialised; shut down when the last holder lets go.
#[derive(Clone)]
pub(crate) struct Library {
    nvml: Arc<Nvml>,
}

impl Library {
    /// Loads and initialises NVML; `path` beats the environment, which beats the driver's own.
    pub(crate) fn load(path: Option<&Path>) -> Result<Self, LibraryError> {
        let named: Option<PathBuf> = path
            .map(Path::to_owned)
            .or_else(|| std::env::var_os(LIBRARY_VARIABLE).map(PathBuf::from));
        let shown = named.as_deref().map_or_else(
            || "libnvidia-ml.so.1".to_owned(),
            |path| path.display().to_string(),
        );
        let loaded = pulse::inside("nvmlInit_v2", || match named {
            Some(path) => Nvml::builder().lib_path(&OsString::from(path)).init(),
            None => Nvml::init(),
        });
        match loaded {
            Ok(nvml) => Ok(Self {
                nvml: Arc::new(nvml),
            }),
            Err(NvmlError::LibloadingError(cause)) => Err(LibraryError::NotFound {
                path: shown,
                cause: cause.to_string(),
            }),
            Err(source) => Err(LibraryError::NotStarted {
                path: shown,
                cause: source.to_string(),
            }),
        }
    }

    pub(super) fn nvml(&self) -> &Nvml {
        &self.nvml
    }

    /// The driver's version.
    pub(crate) fn driver_version(&self) -> Option<String> {
        pulse::inside("nvmlSystemGetDriverVersion", || {
            self.nvml.sys_driver_version().ok()
        })
    }

    /// NVML's own version.
    pub(crate) fn nvml_version(&self) -> Option<String> {
        pulse::inside("nvmlSystemGetNVMLVersion", || {
            self.nvml.sys_nvml_version().ok()
        })
    }

    /// How many GPUs the driver counts.
    pub(crate) fn gpu_count(&self) -> Reading<u32> {
        calls::device_count(self.nvml.lib())
    }

    /// Opens a GPU by index.
    pub(crate) fn gpu(&self, index: u32) -> Reading<GpuHandle> {
        GpuHandle::open(self.clone(), index)
    }
}

/// More GPUs than any machine has: what a driver that counts more says is no count.
const MOST_GPUS: u32 = 1024;

impl Source for Library {
    fn count(&self) -> u32 {
        self.gpu_count().unwrap_or(0).min(MOST_GPUS)
    }

    fn open(&self, nth: u32) -> Reading<(Box<dyn Gpu>, GpuIdentity)> {
        let handle = self.gpu(nth)?;
        let identity = handle.identity()?;
        Ok((Box::new(handle), identity))
    }
}
