//! CUPTI's C functions, loaded at run time from wherever NVRTC would be found too.
//!
//! Invariant: a [`Cupti`] is never unloaded: its own threads call back into this program.

use std::ffi::{c_int, c_void};
use std::path::PathBuf;
use std::sync::OnceLock;

use libloading::Library;

use crate::error::{DeviceError, loader_words};
use crate::installed;

/// `CUptiResult`: 0 is success.
pub(super) type Status = c_int;
pub(super) type Requested = extern "C" fn(*mut *mut u8, *mut usize, *mut usize);
pub(super) type Completed = extern "C" fn(*mut c_void, u32, *mut u8, usize, usize);

macro_rules! functions {
    ($($field:ident = $symbol:literal ($($parameter:ty),*);)*) => {
        /// CUPTI's functions. Each returns a [`Status`] and is as unsafe as C.
        pub(super) struct Cupti {
            $(pub(super) $field: unsafe extern "C" fn($($parameter),*) -> Status,)*
            _library: Library,
        }

        impl Cupti {
            fn bind(library: Library) -> Result<Self, libloading::Error> {
                // SAFETY: the signatures are those of cupti_activity.h for the same symbols, which
                // have not changed from CUDA 11 to 13; `_library` moves along.
                unsafe {
                    Ok(Self {
                        $($field: *library.get(concat!($symbol, "\0").as_bytes())?,)*
                        _library: library,
                    })
                }
            }
        }
    };
}
functions! {
    register_callbacks = "cuptiActivityRegisterCallbacks" (Requested, Completed);
    enable = "cuptiActivityEnable" (c_int);
    disable = "cuptiActivityDisable" (c_int);
    flush_all = "cuptiActivityFlushAll" (u32);
    next_record = "cuptiActivityGetNextRecord" (*mut u8, usize, *mut *mut u8);
    timestamp = "cuptiGetTimestamp" (*mut u64);
}

impl Cupti {
    /// CUPTI, loaded by the first call.
    pub(super) fn get() -> Result<&'static Self, DeviceError> {
        static CUPTI: OnceLock<Result<Cupti, String>> = OnceLock::new();
        CUPTI
            .get_or_init(Self::load)
            .as_ref()
            .map_err(|seen| DeviceError::NoProfiler { seen: seen.clone() })
    }

    fn load() -> Result<Self, String> {
        let mut seen = "nowhere found".to_owned();
        for path in candidates() {
            // SAFETY: loading CUPTI runs its initialisers, as every profiled program does.
            match unsafe { Library::new(&path) }.and_then(Self::bind) {
                Ok(cupti) => return Ok(cupti),
                Err(error) if path.is_absolute() => {
                    seen = format!("`{}`: {}", path.display(), loader_words(&error));
                }
                Err(_) => {}
            }
        }
        Err(seen)
    }
}

/// Files that may be CUPTI, best first. The last ones are bare names for the system's loader.
fn candidates() -> Vec<PathBuf> {
    let names = ["libcupti.so.13", "libcupti.so.12", "libcupti.so"];
    let mut folders = Vec::new();
    for site in installed::python_sites() {
        folders.push(site.join("nvidia/cu13/lib"));
        folders.push(site.join("nvidia/cuda_cupti/lib"));
    }
    for root in installed::toolkit_roots() {
        folders.push(root.join("extras/CUPTI/lib64"));
        folders.push(root.join("lib64"));
        folders.push(root.join("targets/x86_64-linux/lib"));
    }
    let files = folders
        .iter()
        .flat_map(|folder| names.map(|name| folder.join(name)))
        .filter(|path| path.exists());
    files.chain(names.map(PathBuf::from)).collect()
}
