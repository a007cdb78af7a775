//! Loading kernels: the matching cubin where the program carries one, else the PTX.
//!
//! Invariant: an image is loaded once however many of its functions are requested; a driver that
//! compiles PTX takes tens of milliseconds each time.

use std::collections::hash_map::DefaultHasher;
use std::ffi::{CString, c_void};
use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::{Arc, PoisonError};
use std::time::Instant;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use warpsmith_core::{KernelImage, Parameter, Seconds};

use super::context::Context;
use super::cubin;
use super::raw::{FunctionHandle, ModuleHandle};
use crate::error::DeviceError;

/// A kernel that is loaded on one GPU.
pub struct Kernel {
    function: FunctionHandle,
    loaded: Arc<Module>,
    image: KernelImage,
    load_time: Seconds,
    context: Arc<Context>,
}

/// A loaded image, which the kernels in it share.
struct Module {
    handle: ModuleHandle,
    loaded_from: LoadedFrom,
    context: Arc<Context>,
}

/// What the machine code was made from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LoadedFrom {
    /// Machine code for this architecture: the program carries it, or the kernel came as such.
    Cubin {
        /// The architecture: 90 for `sm_90`.
        sm: u32,
    },
    /// PTX, compiled by the driver (or found in its cache).
    Ptx,
}

impl fmt::Display for LoadedFrom {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Cubin { sm } => write!(f, "cubin sm_{sm}"),
            Self::Ptx => f.write_str("PTX"),
        }
    }
}

/// Identity of a loaded kernel: names, and a hash of the PTX.
pub(super) type ModuleKey = (String, String, u64);

// SAFETY: module and function handles may be used from any thread; the driver locks.
unsafe impl Send for Kernel {}
// SAFETY: as above.
unsafe impl Sync for Kernel {}
// SAFETY: as above.
unsafe impl Send for Module {}
// SAFETY: as above.
unsafe impl Sync for Module {}

impl fmt::Debug for Kernel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "Kernel({} from {})",
            self.image.entry(),
            self.loaded.loaded_from
        )
    }
}

impl Drop for Module {
    fn drop(&mut self) {
        if self.context.bind().is_ok() {
            // SAFETY: the handle is ours, and the last kernel of the module is gone.
            unsafe { (self.context.driver.module_unload)(self.handle) };
        }
    }
}

impl Kernel {
    pub(super) fn load(
        context: &Arc<Context>,
        image: &KernelImage,
    ) -> Result<Arc<Self>, DeviceError> {
        let mut hasher = DefaultHasher::new();
        image.identity().hash(&mut hasher);
        let key = (
            image.module().to_owned(),
            image.entry().to_owned(),
            hasher.finish(),
        );
        let mut kernels = context
            .kernels
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        if let Some(loaded) = kernels.get(&key) {
            return Ok(Arc::clone(loaded));
        }
        let shared = kernels
            .iter()
            .find(|(other, _)| (other.2, &other.0) == (key.2, &key.0))
            .map(|(_, kernel)| Arc::clone(&kernel.loaded));
        let kernel = Arc::new(Self::load_anew(context, image, shared)?);
        kernels.insert(key, Arc::clone(&kernel));
        Ok(kernel)
    }

    fn load_anew(
        context: &Arc<Context>,
        image: &KernelImage,
        shared: Option<Arc<Module>>,
    ) -> Result<Self, DeviceError> {
        let start = Instant::now();
        let loaded = match shared {
            Some(module) => module,
            None => Arc::new(Module::load(context, image)?),
        };
        let no_such_function = || DeviceError::NoSuchFunction {
            module: image.module().to_owned(),
            entry: image.entry().to_owned(),
        };
        let entry = CString::new(image.entry()).map_err(|_| no_such_function())?;
        let mut function = std::ptr::null_mut();
        // SAFETY: the module is loaded, the name ends in a zero, the pointer is to a live handle.
        let status = unsafe {
            (context.driver.module_get_function)(&raw mut function, loaded.handle, entry.as_ptr())
        };
        let kernel = Self {
            function,
            loaded,
            image: image.clone(),
            load_time: Seconds(start.elapsed().as_secs_f64()),
            context: Arc::clone(context),
        };
        if status != 0 {
            return Err(no_such_function());
        }
        Ok(kernel)
    }

    pub(super) fn function(&self) -> FunctionHandle {
        self.function
    }

    /// The driver's handle, for measuring what this layer costs. It lives as long as the kernel.
    pub fn handle(&self) -> FunctionHandle {
        self.function
    }

    /// `owner/stem` of its image.
    pub fn module(&self) -> &str {
        self.image.module()
    }

    /// SHA-256 of the PTX, as `kernels.lock` has it.
    pub fn ptx_sha256(&self) -> String {
        let hash = Sha256::digest(self.image.ptx().as_bytes());
        hash.iter().map(|byte| format!("{byte:02x}")).collect()
    }

    /// The function's name in its image.
    pub fn entry(&self) -> &str {
        self.image.entry()
    }

    /// The parameters, each buffer counted once.
    pub fn parameters(&self) -> &[Parameter] {
        self.image.parameters()
    }

    /// What the machine code was made from.
    pub fn loaded_from(&self) -> LoadedFrom {
        self.loaded.loaded_from
    }

    /// How long loading took, JIT included; next to nothing where the image was there already.
    pub fn load_time(&self) -> Seconds {
        self.load_time
    }

    /// How many blocks of `threads` the device can hold at once, which is the most that a
    /// cooperative launch can have.
    pub fn resident_blocks(&self, threads: u32, shared_bytes: u32) -> Result<u32, DeviceError> {
        self.context.bind()?;
        let threads = i32::try_from(threads).unwrap_or(i32::MAX);
        let mut blocks = 0;
        // SAFETY: the function is loaded and the pointer is to a live i32.
        let status = unsafe {
            (self.context.driver.occupancy_max_active_blocks)(
                &raw mut blocks,
                self.function,
                threads,
                shared_bytes as usize,
            )
        };
        self.context.check(
            status,
            &format!("ask how many blocks of `{}` fit", self.entry()),
        )?;
        Ok(u32::try_from(blocks).unwrap_or(0) * self.context.facts.multiprocessors)
    }

    /// Allows blocks of this kernel more than 48 KiB of dynamic shared memory.
    pub fn allow_shared_bytes(&self, bytes: u32) -> Result<(), DeviceError> {
        const MAX_DYNAMIC_SHARED_SIZE_BYTES: i32 = 8;
        self.context.bind()?;
        let bytes = i32::try_from(bytes).unwrap_or(i32::MAX);
        // SAFETY: the function is loaded.
        let status = unsafe {
            (self.context.driver.func_set_attribute)(
                self.function,
                MAX_DYNAMIC_SHARED_SIZE_BYTES,
                bytes,
            )
        };
        self.context.check(
            status,
            &format!("allow `{}` {bytes} B of shared memory", self.entry()),
        )
    }
}

impl Module {
    fn load(context: &Arc<Context>, image: &KernelImage) -> Result<Self, DeviceError> {
        let sm = context.facts.sm();
        let (handle, loaded_from) = match (image.elf(), cubin::find(image, sm)) {
            (Some(elf), _) => (load_module(context, image, elf)?, LoadedFrom::Cubin { sm }),
            (None, Some(cubin)) => (
                load_module(context, image, cubin.bytes)?,
                LoadedFrom::Cubin { sm: cubin.sm },
            ),
            (None, None) => {
                // The driver reads PTX up to the first zero byte.
                let text = [image.ptx().as_bytes(), &[0]].concat();
                (load_module(context, image, &text)?, LoadedFrom::Ptx)
            }
        };
        Ok(Self {
            handle,
            loaded_from,
            context: Arc::clone(context),
        })
    }
}

fn load_module(
    context: &Context,
    image: &KernelImage,
    bytes: &[u8],
) -> Result<ModuleHandle, DeviceError> {
    const ERROR_LOG_BUFFER: i32 = 5;
    const ERROR_LOG_BUFFER_SIZE_BYTES: i32 = 6;
    context.bind()?;
    let mut log = vec![0u8; 8192];
    let options = [ERROR_LOG_BUFFER, ERROR_LOG_BUFFER_SIZE_BYTES];
    // The driver takes the size by value in a pointer's place.
    let values = [
        log.as_mut_ptr().cast::<c_void>(),
        std::ptr::without_provenance_mut(log.len() - 1),
    ];
    let mut module = std::ptr::null_mut();
    // SAFETY: `bytes` is an ELF image with its own length or a PTX text that ends in a zero; the
    // log buffer outlives the call.
    let status = unsafe {
        (context.driver.module_load_data_ex)(
            &raw mut module,
            bytes.as_ptr().cast(),
            options.len() as u32,
            options.as_ptr(),
            values.as_ptr(),
        )
    };
    if status == 0 {
        return Ok(module);
    }
    let (name, _) = context.driver.describe(status);
    log.truncate(log.iter().position(|&byte| byte == 0).unwrap_or(0));
    Err(DeviceError::BadImage {
        module: image.module().to_owned(),
        gpu: context.facts.name.clone(),
        name,
        log: String::from_utf8_lossy(&log).into_owned(),
    })
}
