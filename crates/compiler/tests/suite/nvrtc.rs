//! NVRTC from a wheel: compiles CUDA text to PTX without a GPU or a driver.

use std::ffi::{CString, c_char, c_int, c_void};
use std::path::Path;

use libloading::Library;
use warpsmith_compiler::launch_abi::nvrtc_options;

type Program = *mut c_void;

/// The options that a version (`12.9.86`) needs besides the architecture.
pub fn options(version: &str) -> Vec<String> {
    let mut numbers = version
        .split('.')
        .map(|number| number.parse().expect("a version is numbers"));
    let version = (
        numbers.next().unwrap_or_default(),
        numbers.next().unwrap_or_default(),
    );
    nvrtc_options(version)
        .into_iter()
        .map(str::to_owned)
        .collect()
}

/// A loaded NVRTC.
pub struct Nvrtc {
    library: Library,
    // NVRTC opens this one by name; loading it first spares the search path.
    _builtins: Library,
}

impl Nvrtc {
    /// Loads the wheel of a version (`12.9.86`) from its folder; none where it is not installed.
    pub fn open(folder: &Path, version: &str) -> Option<Self> {
        let libraries = folder.join("nvidia/cuda_nvrtc/lib");
        let minor = version.rsplit_once('.')?.0;
        // SAFETY: loading NVIDIA's library runs its initialisers, which only set up its own state.
        unsafe {
            let builtins =
                Library::new(libraries.join(format!("libnvrtc-builtins.so.{minor}"))).ok()?;
            Some(Self {
                library: Library::new(libraries.join("libnvrtc.so.12")).ok()?,
                _builtins: builtins,
            })
        }
    }

    /// PTX, or the compiler's log.
    pub fn compile(&self, text: &str, options: &[String]) -> Result<String, String> {
        let text = CString::new(text).map_err(|error| error.to_string())?;
        let options: Vec<CString> = options
            .iter()
            .map(|option| CString::new(option.as_str()).expect("no NUL"))
            .collect();
        let option_pointers: Vec<*const c_char> =
            options.iter().map(|option| option.as_ptr()).collect();
        let mut program: Program = std::ptr::null_mut();
        // SAFETY: the signatures are those of nvrtc.h; every pointer outlives its call, counts match
        // the arrays, and buffers have the size that NVRTC requested just before.
        unsafe {
            let create: libloading::Symbol<
                unsafe extern "C" fn(
                    *mut Program,
                    *const c_char,
                    *const c_char,
                    c_int,
                    *const *const c_char,
                    *const *const c_char,
                ) -> c_int,
            > = self
                .library
                .get(b"nvrtcCreateProgram")
                .expect("NVRTC has it");
            let compile: libloading::Symbol<
                unsafe extern "C" fn(Program, c_int, *const *const c_char) -> c_int,
            > = self
                .library
                .get(b"nvrtcCompileProgram")
                .expect("NVRTC has it");
            let destroy: libloading::Symbol<unsafe extern "C" fn(*mut Program) -> c_int> = self
                .library
                .get(b"nvrtcDestroyProgram")
                .expect("NVRTC has it");
            let none = std::ptr::null();
            assert_eq!(
                create(
                    &mut program,
                    text.as_ptr(),
                    c"kernel.cu".as_ptr(),
                    0,
                    none,
                    none
                ),
                0
            );
            let count = c_int::try_from(options.len()).expect("few options");
            let failed = compile(program, count, option_pointers.as_ptr()) != 0;
            let answer = if failed {
                self.text(program, "ProgramLog")
            } else {
                self.text(program, "PTX")
            };
            destroy(&mut program);
            if failed { Err(answer) } else { Ok(answer) }
        }
    }

    unsafe fn text(&self, program: Program, what: &str) -> String {
        // SAFETY: as in `compile`, whose caller passes a program that is alive.
        unsafe {
            let size_of: libloading::Symbol<unsafe extern "C" fn(Program, *mut usize) -> c_int> =
                self.library
                    .get(format!("nvrtcGet{what}Size").as_bytes())
                    .expect("NVRTC has it");
            let get: libloading::Symbol<unsafe extern "C" fn(Program, *mut c_char) -> c_int> = self
                .library
                .get(format!("nvrtcGet{what}").as_bytes())
                .expect("NVRTC has it");
            let mut size = 0;
            size_of(program, &mut size);
            let mut bytes = vec![0_u8; size];
            get(program, bytes.as_mut_ptr().cast());
            bytes.pop();
            String::from_utf8_lossy(&bytes).into_owned()
        }
    }
}
