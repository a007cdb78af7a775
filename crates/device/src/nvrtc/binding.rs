//! NVRTC's C functions, loaded at run time; versions 12 and 13 have the same ones.

use std::ffi::{CStr, c_char, c_int, c_void};
use std::fmt;
use std::path::{Path, PathBuf};

use libloading::Library;

use super::search;
use crate::error::{DeviceError, loader_words};

pub(super) type Program = *mut c_void;
type Status = c_int;

/// Names the library where it is not found, or another one is wanted.
const VARIABLE: &str = "WARPSMITH_NVRTC";

macro_rules! nvrtc_functions {
    ($($field:ident = $symbol:literal ($($parameter:ty),*);)*) => {
        /// A loaded NVRTC.
        pub struct Nvrtc {
            $(pub(super) $field: unsafe extern "C" fn($($parameter),*) -> Status,)*
            error_string: unsafe extern "C" fn(Status) -> *const c_char,
            path: PathBuf,
            version: (i32, i32),
            _library: Library,
        }

        impl Nvrtc {
            fn bind(library: Library, path: PathBuf) -> Result<Self, libloading::Error> {
                // SAFETY: the signatures below are those of nvrtc.h for the same symbols; the
                // pointers stay valid because `_library` moves along.
                unsafe {
                    Ok(Self {
                        $($field: *library.get(concat!($symbol, "\0").as_bytes())?,)*
                        error_string: *library.get(b"nvrtcGetErrorString\0")?,
                        path,
                        version: (0, 0),
                        _library: library,
                    })
                }
            }
        }
    };
}

nvrtc_functions! {
    get_version = "nvrtcVersion" (*mut c_int, *mut c_int);
    create_program = "nvrtcCreateProgram" (*mut Program, *const c_char, *const c_char, c_int, *const *const c_char, *const *const c_char);
    destroy_program = "nvrtcDestroyProgram" (*mut Program);
    compile_program = "nvrtcCompileProgram" (Program, c_int, *const *const c_char);
    get_log_size = "nvrtcGetProgramLogSize" (Program, *mut usize);
    get_log = "nvrtcGetProgramLog" (Program, *mut c_char);
    get_ptx_size = "nvrtcGetPTXSize" (Program, *mut usize);
    get_ptx = "nvrtcGetPTX" (Program, *mut c_char);
    get_cubin_size = "nvrtcGetCUBINSize" (Program, *mut usize);
    get_cubin = "nvrtcGetCUBIN" (Program, *mut c_char);
}

impl fmt::Debug for Nvrtc {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "Nvrtc({}.{} at {})",
            self.version.0,
            self.version.1,
            self.path.display()
        )
    }
}

impl Nvrtc {
    /// Finds and loads NVRTC: what `WARPSMITH_NVRTC` names; else the active Python environment first, then
    /// the toolkit, then the system's search path.
    pub fn find() -> Result<Self, DeviceError> {
        if let Some(named) = std::env::var_os(VARIABLE) {
            return Self::open(Path::new(&named));
        }
        let candidates = search::candidates();
        for path in &candidates {
            if let Ok(nvrtc) = Self::open(path) {
                return Ok(nvrtc);
            }
        }
        let looked: Vec<_> = candidates
            .iter()
            .map(|path| path.display().to_string())
            .collect();
        Err(DeviceError::NoCompiler {
            seen: format!("tried {}", looked.join(", ")),
        })
    }

    /// Loads the library at `path`.
    pub fn open(path: &Path) -> Result<Self, DeviceError> {
        let problem = |seen: String| DeviceError::NoCompiler {
            seen: format!("`{}`: {seen}", path.display()),
        };
        // SAFETY: loading NVRTC runs its initialisers, which touch nothing of ours.
        let library =
            unsafe { Library::new(path) }.map_err(|error| problem(loader_words(&error)))?;
        let mut nvrtc = Self::bind(library, path.to_owned()).map_err(|error| {
            problem(format!(
                "is not NVRTC 12 or newer: {}",
                loader_words(&error)
            ))
        })?;
        let (mut major, mut minor) = (0, 0);
        // SAFETY: both pointers are to live integers.
        let status = unsafe { (nvrtc.get_version)(&raw mut major, &raw mut minor) };
        nvrtc.check(status).map_err(problem)?;
        nvrtc.version = (major, minor);
        Ok(nvrtc)
    }

    /// Where it was found.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Major and minor version, e.g. `(12, 9)`.
    pub fn version(&self) -> (i32, i32) {
        self.version
    }

    pub(super) fn check(&self, status: Status) -> Result<(), String> {
        if status == 0 {
            return Ok(());
        }
        // SAFETY: NVRTC returns a static C string for every status.
        let text = unsafe { CStr::from_ptr((self.error_string)(status)) };
        Err(text.to_string_lossy().into_owned())
    }
}
