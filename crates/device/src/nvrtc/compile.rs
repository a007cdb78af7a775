//! Compiling CUDA C++ to PTX or to machine code.

use std::ffi::{CString, c_char};
use std::fmt;

use super::binding::{Nvrtc, Program};
use crate::error::DeviceError;

/// What to compile for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Target {
    /// PTX for this virtual architecture and everything newer: 70 for `compute_70`.
    Ptx(u32),
    /// Machine code for this architecture: 90 for `sm_90`.
    Cubin(u32),
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Ptx(arch) => write!(f, "compute_{arch}"),
            Self::Cubin(arch) => write!(f, "sm_{arch}"),
        }
    }
}

/// How to compile.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct CompileOptions {
    /// What to compile for.
    pub target: Target,
    /// Further options as NVRTC takes them, e.g. `--use_fast_math`. `--gpu-architecture` stands in for the
    /// target's own, for what only one architecture has: `compute_90a`.
    pub flags: Vec<String>,
    /// Texts that the source can `#include`, as name and contents.
    pub headers: Vec<(String, String)>,
}

impl CompileOptions {
    /// C++17 for `target`, nothing else.
    pub fn new(target: Target) -> Self {
        Self {
            target,
            flags: vec!["--std=c++17".into()],
            headers: Vec::new(),
        }
    }

    pub(super) fn arguments(&self) -> Vec<String> {
        let mut arguments = self.flags.clone();
        if !arguments
            .iter()
            .any(|flag| flag.starts_with("--gpu-architecture="))
        {
            arguments.insert(0, format!("--gpu-architecture={}", self.target));
        }
        arguments
    }
}

/// What came out.
#[derive(Debug)]
pub struct Compiled {
    /// PTX text or an ELF image, as the target says.
    pub code: Vec<u8>,
    /// Warnings.
    pub log: String,
    /// Whether the code came from the cache.
    pub from_cache: bool,
    /// What went wrong with the cache; the code is right all the same.
    pub cache_trouble: Option<DeviceError>,
}

impl Compiled {
    /// The code as text, where it is PTX.
    pub fn ptx(&self) -> Option<&str> {
        std::str::from_utf8(&self.code)
            .ok()
            .map(|text| text.trim_end_matches('\0'))
    }
}

impl Nvrtc {
    /// Compiles `source`, which messages call `file`.
    pub fn compile(
        &self,
        file: &str,
        source: &str,
        options: &CompileOptions,
    ) -> Result<Compiled, DeviceError> {
        let failed = |log: String| DeviceError::Compile {
            file: file.to_owned(),
            target: options.target.to_string(),
            log,
        };
        let c_string = |text: &str| {
            CString::new(text).map_err(|_| failed("the text has a zero byte in it".into()))
        };
        let name = c_string(file)?;
        let text = c_string(source)?;
        let flags = options
            .arguments()
            .iter()
            .map(|flag| c_string(flag))
            .collect::<Result<Vec<_>, _>>()?;
        let mut header_names = Vec::new();
        let mut header_texts = Vec::new();
        for (name, text) in &options.headers {
            header_names.push(c_string(name)?);
            header_texts.push(c_string(text)?);
        }
        let pointers =
            |strings: &[CString]| strings.iter().map(|text| text.as_ptr()).collect::<Vec<_>>();
        let (names, texts) = (pointers(&header_names), pointers(&header_texts));
        let count = |length: usize| i32::try_from(length).map_err(|_| failed("too many".into()));

        let mut program = OwnedProgram {
            nvrtc: self,
            handle: std::ptr::null_mut(),
        };
        // SAFETY: every pointer is to a C string or a list of as many as the count says, alive
        // until the program is destroyed at the end of this function.
        let status = unsafe {
            (self.create_program)(
                &raw mut program.handle,
                text.as_ptr(),
                name.as_ptr(),
                count(names.len())?,
                texts.as_ptr(),
                names.as_ptr(),
            )
        };
        self.check(status).map_err(failed)?;
        let arguments = pointers(&flags);
        // SAFETY: the program is alive; the list holds as many C strings as the count says.
        let status = unsafe {
            (self.compile_program)(program.handle, count(arguments.len())?, arguments.as_ptr())
        };
        let log = program
            .text(self.get_log_size, self.get_log)
            .unwrap_or_default();
        let log = String::from_utf8_lossy(&log)
            .trim_end_matches('\0')
            .trim_end()
            .to_owned();
        if let Err(error) = self.check(status) {
            return Err(failed(if log.is_empty() { error } else { log }));
        }
        let code = match options.target {
            Target::Ptx(_) => program.text(self.get_ptx_size, self.get_ptx),
            Target::Cubin(_) => program.text(self.get_cubin_size, self.get_cubin),
        }
        .map_err(failed)?;
        Ok(Compiled {
            code,
            log,
            from_cache: false,
            cache_trouble: None,
        })
    }
}

struct OwnedProgram<'a> {
    nvrtc: &'a Nvrtc,
    handle: Program,
}

impl OwnedProgram<'_> {
    fn text(
        &self,
        size: unsafe extern "C" fn(Program, *mut usize) -> i32,
        get: unsafe extern "C" fn(Program, *mut c_char) -> i32,
    ) -> Result<Vec<u8>, String> {
        let mut length = 0;
        // SAFETY: the program is alive and the pointer is to a live integer.
        let status = unsafe { size(self.handle, &raw mut length) };
        self.nvrtc.check(status)?;
        let mut bytes = vec![0u8; length];
        // SAFETY: the buffer has the length that NVRTC requested.
        let status = unsafe { get(self.handle, bytes.as_mut_ptr().cast()) };
        self.nvrtc.check(status)?;
        Ok(bytes)
    }
}

impl Drop for OwnedProgram<'_> {
    fn drop(&mut self) {
        if !self.handle.is_null() {
            // SAFETY: the handle is ours and this is its last use.
            unsafe { (self.nvrtc.destroy_program)(&raw mut self.handle) };
        }
    }
}
