//! The CUDA driver's C functions, loaded at run time.
//!
//! Our own binding of the functions we call, instead of a crate that binds them all: a missing
//! library or symbol is an error here and never a panic, nothing is tracked behind the caller's
//! back, and the build needs neither CUDA nor a minute.
//!
//! Invariant: a [`Driver`] exists only after `cuInit` succeeded, and it is never unloaded.

use std::ffi::{CStr, c_char, c_int, c_uint, c_void};
use std::sync::OnceLock;

use libloading::Library;

use crate::error::{DeviceError, loader_words};

macro_rules! opaque_handles {
    ($($(#[$doc:meta])* $name:ident)*) => {$(
        $(#[$doc])*
        pub type $name = *mut c_void;
    )*};
}
opaque_handles! {
    /// `CUcontext`.
    ContextHandle
    /// `CUmodule`.
    ModuleHandle
    /// `CUfunction`.
    FunctionHandle
    /// `CUstream`.
    StreamHandle
    /// `CUevent`.
    EventHandle
    /// `CUgraph`.
    GraphHandle
    /// `CUgraphExec`.
    GraphExecHandle
}

/// `CUresult`: 0 is success.
pub type Status = c_int;
/// `CUdevice`.
pub type Ordinal = c_int;
/// `CUdeviceptr`.
pub type DevicePointer = u64;

/// `CUgraphExecUpdateResultInfo`.
#[repr(C)]
#[derive(Debug)]
pub struct GraphUpdateInfo {
    /// `CUgraphExecUpdateResult`: 0 is success.
    pub result: c_int,
    /// The node that does not fit.
    pub error_node: *mut c_void,
    /// The node it depends on.
    pub error_from_node: *mut c_void,
}

macro_rules! driver_functions {
    ($($field:ident = $symbol:literal ($($parameter:ty),*);)*) => {
        /// The driver's functions. Each returns a [`Status`] and is as unsafe as C.
        #[derive(Debug)]
        #[allow(missing_docs)] // Each is NVIDIA's function of the name in quotes.
        pub struct Driver {
            $(pub $field: unsafe extern "C" fn($($parameter),*) -> Status,)*
            version: i32,
            _library: Library,
        }

        impl Driver {
            fn bind(library: Library) -> Result<Self, libloading::Error> {
                // SAFETY: the signatures below are those of cuda.h for the same symbols, version
                // suffix included; the pointers stay valid because `_library` moves along.
                unsafe {
                    Ok(Self {
                        $($field: *library.get(concat!($symbol, "\0").as_bytes())?,)*
                        version: 0,
                        _library: library,
                    })
                }
            }
        }
    };
}

driver_functions! {
    init = "cuInit" (c_uint);
    driver_get_version = "cuDriverGetVersion" (*mut c_int);
    get_error_name = "cuGetErrorName" (Status, *mut *const c_char);
    get_error_string = "cuGetErrorString" (Status, *mut *const c_char);
    device_get_count = "cuDeviceGetCount" (*mut c_int);
    device_get = "cuDeviceGet" (*mut Ordinal, c_int);
    device_get_name = "cuDeviceGetName" (*mut c_char, c_int, Ordinal);
    device_get_uuid = "cuDeviceGetUuid_v2" (*mut [u8; 16], Ordinal);
    device_total_mem = "cuDeviceTotalMem_v2" (*mut usize, Ordinal);
    device_get_attribute = "cuDeviceGetAttribute" (*mut c_int, c_int, Ordinal);
    device_get_pci_bus_id = "cuDeviceGetPCIBusId" (*mut c_char, c_int, Ordinal);
    primary_ctx_retain = "cuDevicePrimaryCtxRetain" (*mut ContextHandle, Ordinal);
    ctx_set_current = "cuCtxSetCurrent" (ContextHandle);
    ctx_synchronize = "cuCtxSynchronize" ();
    profiler_start = "cuProfilerStart" ();
    profiler_stop = "cuProfilerStop" ();
    mem_get_info = "cuMemGetInfo_v2" (*mut usize, *mut usize);
    mem_alloc = "cuMemAlloc_v2" (*mut DevicePointer, usize);
    mem_free = "cuMemFree_v2" (DevicePointer);
    mem_host_alloc = "cuMemHostAlloc" (*mut *mut c_void, usize, c_uint);
    mem_host_get_device_pointer = "cuMemHostGetDevicePointer_v2" (*mut DevicePointer, *mut c_void, c_uint);
    mem_free_host = "cuMemFreeHost" (*mut c_void);
    memcpy_htod = "cuMemcpyHtoD_v2" (DevicePointer, *const c_void, usize);
    memcpy_dtoh = "cuMemcpyDtoH_v2" (*mut c_void, DevicePointer, usize);
    memcpy_htod_async = "cuMemcpyHtoDAsync_v2" (DevicePointer, *const c_void, usize, StreamHandle);
    memcpy_dtoh_async = "cuMemcpyDtoHAsync_v2" (*mut c_void, DevicePointer, usize, StreamHandle);
    memcpy_dtod_async = "cuMemcpyDtoDAsync_v2" (DevicePointer, DevicePointer, usize, StreamHandle);
    memset_d8_async = "cuMemsetD8Async" (DevicePointer, u8, usize, StreamHandle);
    memset_d2d8_async = "cuMemsetD2D8Async" (DevicePointer, usize, u8, usize, usize, StreamHandle);
    memset_d2d16_async = "cuMemsetD2D16Async" (DevicePointer, usize, u16, usize, usize, StreamHandle);
    memset_d2d32_async = "cuMemsetD2D32Async" (DevicePointer, usize, u32, usize, usize, StreamHandle);
    stream_create = "cuStreamCreate" (*mut StreamHandle, c_uint);
    stream_destroy = "cuStreamDestroy_v2" (StreamHandle);
    stream_synchronize = "cuStreamSynchronize" (StreamHandle);
    stream_query = "cuStreamQuery" (StreamHandle);
    stream_wait_event = "cuStreamWaitEvent" (StreamHandle, EventHandle, c_uint);
    stream_begin_capture = "cuStreamBeginCapture_v2" (StreamHandle, c_int);
    stream_end_capture = "cuStreamEndCapture" (StreamHandle, *mut GraphHandle);
    stream_is_capturing = "cuStreamIsCapturing" (StreamHandle, *mut c_int);
    event_create = "cuEventCreate" (*mut EventHandle, c_uint);
    event_destroy = "cuEventDestroy_v2" (EventHandle);
    event_record = "cuEventRecord" (EventHandle, StreamHandle);
    event_synchronize = "cuEventSynchronize" (EventHandle);
    event_query = "cuEventQuery" (EventHandle);
    event_elapsed_time = "cuEventElapsedTime" (*mut f32, EventHandle, EventHandle);
    module_load_data_ex = "cuModuleLoadDataEx" (*mut ModuleHandle, *const c_void, c_uint, *const c_int, *const *mut c_void);
    module_unload = "cuModuleUnload" (ModuleHandle);
    module_get_function = "cuModuleGetFunction" (*mut FunctionHandle, ModuleHandle, *const c_char);
    func_get_attribute = "cuFuncGetAttribute" (*mut c_int, c_int, FunctionHandle);
    func_set_attribute = "cuFuncSetAttribute" (FunctionHandle, c_int, c_int);
    occupancy_max_active_blocks = "cuOccupancyMaxActiveBlocksPerMultiprocessor" (*mut c_int, FunctionHandle, c_int, usize);
    launch_cooperative_kernel = "cuLaunchCooperativeKernel" (FunctionHandle, c_uint, c_uint, c_uint, c_uint, c_uint, c_uint, c_uint, StreamHandle, *mut *mut c_void);
    launch_kernel = "cuLaunchKernel" (FunctionHandle, c_uint, c_uint, c_uint, c_uint, c_uint, c_uint, c_uint, StreamHandle, *mut *mut c_void, *mut *mut c_void);
    tensor_map_encode_tiled = "cuTensorMapEncodeTiled" (*mut c_void, c_int, c_uint, DevicePointer, *const u64, *const u64, *const c_uint, *const c_uint, c_int, c_int, c_int, c_int);
    graph_instantiate = "cuGraphInstantiateWithFlags" (*mut GraphExecHandle, GraphHandle, u64);
    graph_exec_update = "cuGraphExecUpdate_v2" (GraphExecHandle, GraphHandle, *mut GraphUpdateInfo);
    graph_launch = "cuGraphLaunch" (GraphExecHandle, StreamHandle);
    graph_get_nodes = "cuGraphGetNodes" (GraphHandle, *mut *mut c_void, *mut usize);
    graph_destroy = "cuGraphDestroy" (GraphHandle);
    graph_exec_destroy = "cuGraphExecDestroy" (GraphExecHandle);
}

const LIBRARY: &str = if cfg!(windows) {
    "nvcuda.dll"
} else {
    "libcuda.so.1"
};

impl Driver {
    /// The driver, loaded and initialised by the first call.
    pub fn get() -> Result<&'static Self, DeviceError> {
        static DRIVER: OnceLock<Result<Driver, LoadFailure>> = OnceLock::new();
        match DRIVER.get_or_init(Self::load) {
            Ok(driver) => Ok(driver),
            Err(LoadFailure::Missing(seen)) => Err(DeviceError::NoDriver { seen: seen.clone() }),
            Err(LoadFailure::NoDevice) => Err(DeviceError::NoGpu),
            Err(LoadFailure::Broken(name, description)) => Err(DeviceError::BrokenDriver {
                name: name.clone(),
                description: description.clone(),
            }),
        }
    }

    fn load() -> Result<Self, LoadFailure> {
        // SAFETY: loading the system's CUDA driver runs its initialisers, as every CUDA program
        // does; nothing of ours depends on their order.
        let library = unsafe { Library::new(LIBRARY) }.map_err(|error| {
            let seen = loader_words(&error);
            // A library that is there and cannot be loaded is a broken driver, not a missing GPU.
            match seen.contains("No such file") || cfg!(windows) {
                true => LoadFailure::Missing(seen),
                false => LoadFailure::Broken("the library cannot be loaded".into(), seen),
            }
        })?;
        let mut driver = Self::bind(library).map_err(|error| {
            LoadFailure::Broken(
                "driver too old".into(),
                format!("{error}; 525 or newer is needed"),
            )
        })?;
        // SAFETY: cuInit takes only flags, which must be 0.
        let status = unsafe { (driver.init)(0) };
        if status == error_code::NO_DEVICE {
            return Err(LoadFailure::NoDevice);
        }
        if status != 0 {
            let (name, description) = driver.describe(status);
            return Err(LoadFailure::Broken(name, description));
        }
        // SAFETY: the pointer is to a live i32.
        unsafe { (driver.driver_get_version)(&raw mut driver.version) };
        Ok(driver)
    }

    /// The newest CUDA version that the driver speaks, e.g. 13000 for 13.0.
    pub fn cuda_version(&self) -> i32 {
        self.version
    }

    /// CUDA's name of and sentence about a status.
    pub fn describe(&self, status: Status) -> (String, String) {
        let text = |lookup: unsafe extern "C" fn(Status, *mut *const c_char) -> Status| {
            let mut pointer = std::ptr::null();
            // SAFETY: on success the driver stores a pointer to a static C string.
            unsafe {
                if lookup(status, &raw mut pointer) == 0 && !pointer.is_null() {
                    CStr::from_ptr(pointer).to_string_lossy().into_owned()
                } else {
                    format!("error {status}")
                }
            }
        };
        (text(self.get_error_name), text(self.get_error_string))
    }

    /// Turns a status into a result; `attempted` completes "cannot …".
    pub fn check(&self, status: Status, attempted: &str) -> Result<(), DeviceError> {
        if status == 0 {
            return Ok(());
        }
        let (name, description) = self.describe(status);
        Err(DeviceError::Driver {
            attempted: attempted.to_owned(),
            code: status,
            name,
            description,
        })
    }
}

#[derive(Debug)]
enum LoadFailure {
    Missing(String),
    NoDevice,
    Broken(String, String),
}

/// Values of `CUresult` that we tell apart.
pub mod error_code {
    /// `CUDA_ERROR_OUT_OF_MEMORY`.
    pub const OUT_OF_MEMORY: i32 = 2;
    /// `CUDA_ERROR_NO_DEVICE`.
    pub const NO_DEVICE: i32 = 100;
    /// `CUDA_ERROR_NOT_READY`: not an error, work is still running.
    pub const NOT_READY: i32 = 600;
    /// `CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE`.
    pub const GRAPH_UPDATE_FAILURE: i32 = 910;
}

/// Values of `CUdevice_attribute` that we read.
#[allow(missing_docs)] // NVIDIA's names without the prefix.
pub mod attribute {
    pub const MAX_THREADS_PER_BLOCK: i32 = 1;
    pub const WARP_SIZE: i32 = 10;
    pub const CLOCK_RATE: i32 = 13;
    pub const MULTIPROCESSOR_COUNT: i32 = 16;
    pub const INTEGRATED: i32 = 18;
    pub const ECC_ENABLED: i32 = 32;
    pub const MEMORY_CLOCK_RATE: i32 = 36;
    pub const GLOBAL_MEMORY_BUS_WIDTH: i32 = 37;
    pub const L2_CACHE_SIZE: i32 = 38;
    pub const MAX_THREADS_PER_MULTIPROCESSOR: i32 = 39;
    pub const COMPUTE_CAPABILITY_MAJOR: i32 = 75;
    pub const COMPUTE_CAPABILITY_MINOR: i32 = 76;
    pub const MAX_SHARED_MEMORY_PER_MULTIPROCESSOR: i32 = 81;
    pub const MAX_REGISTERS_PER_MULTIPROCESSOR: i32 = 82;
    pub const MAX_SHARED_MEMORY_PER_BLOCK_OPTIN: i32 = 97;
}
