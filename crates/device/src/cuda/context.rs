//! A GPU with its context, opened lazily and once.
//!
//! Invariants: one primary context per GPU for the life of the process, shared with other
//! libraries in it (PyTorch, say); every driver call happens with that context current on the
//! calling thread.

use std::cell::Cell;
use std::collections::{BTreeMap, HashMap};
use std::ffi::c_void;
use std::fmt;
use std::panic::Location;
use std::sync::atomic::{AtomicBool, AtomicPtr, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};
use warpsmith_core::KernelImage;

use super::argument::DeviceElement;
use super::buffer::DeviceBuffer;
use super::facts::{self, GpuFacts, cuda_devices};
use super::kernel::{Kernel, ModuleKey};
use super::pool::BufferPool;
use super::raw::{ContextHandle, Driver, StreamHandle};
use super::stream::Stream;
use crate::error::DeviceError;
use crate::ledger::Ledger;

/// An open GPU. Clones share the context and the stream.
#[derive(Clone, Debug)]
pub struct CudaDevice {
    context: Arc<Context>,
    stream: Stream,
}

/// The driver's view of device memory, all processes included.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MemoryInfo {
    /// Bytes free.
    pub free: u64,
    /// Bytes in all.
    pub total: u64,
}

pub(super) struct Context {
    pub(super) driver: &'static Driver,
    pub(super) facts: GpuFacts,
    pub(super) ledger: Arc<Ledger>,
    pub(super) kernels: Mutex<HashMap<ModuleKey, Arc<Kernel>>>,
    /// The function of the kernel that was queued last.
    pub(super) last_launched: AtomicPtr<c_void>,
    given_up: AtomicBool,
    handle: ContextHandle,
}

// SAFETY: the handle is a primary context that is never released, and the driver's functions may
// be called from any thread.
unsafe impl Send for Context {}
// SAFETY: as above; the mutable parts are behind locks.
unsafe impl Sync for Context {}

impl fmt::Debug for Context {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Context(cuda:{} {})", self.facts.index, self.facts.name)
    }
}

static ANY_GIVEN_UP: AtomicBool = AtomicBool::new(false);

/// Whether work on any GPU never ended. The driver's own clean-up at exit could then wait without
/// end: leave the process by `_exit`.
pub fn any_context_given_up() -> bool {
    ANY_GIVEN_UP.load(Ordering::Relaxed)
}

thread_local! {
    // Setting the current context costs a driver call; most threads meet one context only.
    static CURRENT: Cell<ContextHandle> = const { Cell::new(std::ptr::null_mut()) };
}

impl Context {
    /// Makes the context current on this thread.
    pub(super) fn bind(&self) -> Result<(), DeviceError> {
        if self.given_up.load(Ordering::Relaxed) {
            return Err(DeviceError::GivenUp {
                gpu: self.facts.name.clone(),
            });
        }
        if CURRENT.get() != self.handle {
            // SAFETY: the handle is a live primary context.
            let status = unsafe { (self.driver.ctx_set_current)(self.handle) };
            self.check(status, "make a context current")?;
            CURRENT.set(self.handle);
        }
        Ok(())
    }

    /// Makes every later call an error instead of a wait without end; what lies in the context is
    /// left to the end of the process.
    pub(super) fn give_up(&self) {
        self.given_up.store(true, Ordering::Relaxed);
        ANY_GIVEN_UP.store(true, Ordering::Relaxed);
    }

    pub(super) fn check(&self, status: i32, attempted: &str) -> Result<(), DeviceError> {
        match self.fault(status) {
            Some(fault) => Err(fault),
            None => self.driver.check(status, attempted),
        }
    }

    pub(super) fn memory(&self) -> Result<MemoryInfo, DeviceError> {
        self.bind()?;
        let (mut free, mut total) = (0usize, 0usize);
        // SAFETY: both pointers are to live values.
        let status = unsafe { (self.driver.mem_get_info)(&raw mut free, &raw mut total) };
        self.check(status, "query free device memory")?;
        Ok(MemoryInfo {
            free: free as u64,
            total: total as u64,
        })
    }

    pub(super) fn synchronize(&self) -> Result<(), DeviceError> {
        self.bind()?;
        // SAFETY: a context is current.
        self.check(
            unsafe { (self.driver.ctx_synchronize)() },
            "wait for the device",
        )
    }
}

impl CudaDevice {
    /// Opens the GPU of this index.
    pub fn open(index: usize) -> Result<Self, DeviceError> {
        static OPEN: Mutex<BTreeMap<usize, CudaDevice>> = Mutex::new(BTreeMap::new());
        let mut open = OPEN.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(device) = open.get(&index) {
            return Ok(device.clone());
        }
        let driver = Driver::get()?;
        let ordinal = facts::ordinal(driver, index)?;
        let facts = GpuFacts::read(driver, index)?;
        let mut handle = std::ptr::null_mut();
        // SAFETY: the pointer is to a live handle and `ordinal` came from the driver.
        let status = unsafe { (driver.primary_ctx_retain)(&raw mut handle, ordinal) };
        driver.check(
            status,
            &format!("open a context on cuda:{index} ({})", facts.name),
        )?;
        let context = Arc::new(Context {
            driver,
            facts,
            ledger: Arc::new(Ledger::for_this_build()),
            kernels: Mutex::default(),
            last_launched: AtomicPtr::default(),
            given_up: AtomicBool::new(false),
            handle,
        });
        let device = Self {
            stream: Stream::new(&context)?,
            context,
        };
        open.insert(index, device.clone());
        Ok(device)
    }

    /// Opens the GPU of the newest architecture, the one with most memory among equals. Free
    /// memory is not requested: that would open a context on each.
    pub(crate) fn open_best() -> Result<Self, DeviceError> {
        Self::open(Self::best()?.index)
    }

    /// What [`Self::open_best`] opens.
    pub(crate) fn best() -> Result<GpuFacts, DeviceError> {
        cuda_devices()?
            .into_iter()
            .rev() // the first among equals wins
            .max_by_key(|facts| (facts.compute_capability, facts.memory_bytes))
            .ok_or(DeviceError::NoGpu)
    }

    /// What the GPU is.
    pub fn facts(&self) -> &GpuFacts {
        &self.context.facts
    }

    /// The stream that work goes to unless the caller makes another.
    pub fn stream(&self) -> &Stream {
        &self.stream
    }

    /// A stream of its own, which runs beside the others.
    pub fn new_stream(&self) -> Result<Stream, DeviceError> {
        Stream::new(&self.context)
    }

    /// Another library's stream on this GPU as ours, so that our work is in order with its own. Null
    /// is the legacy default stream.
    ///
    /// # Safety
    /// The handle is null or a live stream of this GPU's primary context, and outlives every use of
    /// the result.
    pub unsafe fn borrow_stream(&self, handle: StreamHandle) -> Stream {
        // SAFETY: the caller's promise is the one that is required.
        unsafe { Stream::borrowed(&self.context, handle) }
    }

    /// A pool of buffers for work on `stream`.
    pub fn pool(&self, stream: &Stream) -> BufferPool {
        BufferPool::new(&self.context, stream.clone())
    }

    /// A buffer whose contents are whatever was there.
    #[track_caller]
    pub fn alloc<T: DeviceElement>(&self, length: usize) -> Result<DeviceBuffer<T>, DeviceError> {
        DeviceBuffer::alloc(&self.context, length, Location::caller())
    }

    /// Memory of another library on this GPU as a buffer; it is not counted as ours, nor given back.
    ///
    /// # Safety
    /// `address` is that of `length` elements in this GPU's memory, aligned to them, which live as long as the
    /// result, all work that is queued with it included, and which nobody writes meanwhile.
    #[track_caller]
    pub unsafe fn borrow_memory<T: DeviceElement>(
        &self,
        address: u64,
        length: usize,
    ) -> Result<DeviceBuffer<T>, DeviceError> {
        DeviceBuffer::borrowed(&self.context, address, length, Location::caller())
    }

    /// A buffer with a copy of `data`.
    #[track_caller]
    pub fn upload<T: DeviceElement>(&self, data: &[T]) -> Result<DeviceBuffer<T>, DeviceError> {
        let mut buffer = DeviceBuffer::alloc(&self.context, data.len(), Location::caller())?;
        buffer.upload(&self.stream, data)?;
        Ok(buffer)
    }

    /// The kernel of an image, loaded by the first call.
    pub fn kernel(&self, image: &KernelImage) -> Result<Arc<Kernel>, DeviceError> {
        Kernel::load(&self.context, image)
    }

    /// Every kernel that this process has loaded here.
    pub fn loaded_kernels(&self) -> Vec<Arc<Kernel>> {
        let kernels = self
            .context
            .kernels
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        let mut loaded: Vec<_> = kernels.values().cloned().collect();
        loaded.sort_by(|a, b| (a.module(), a.entry()).cmp(&(b.module(), b.entry())));
        loaded
    }

    /// Free and total memory as the driver sees it, all processes included.
    pub fn memory(&self) -> Result<MemoryInfo, DeviceError> {
        self.context.memory()
    }

    /// What this process holds through this crate.
    pub fn ledger(&self) -> &Arc<Ledger> {
        &self.context.ledger
    }

    /// Runs `work` to its end under the eyes of a profiler that was told to wait, as
    /// `ncu --profile-from-start off` does. Without a profiler it only runs.
    pub fn under_profiler<T, E: From<DeviceError>>(
        &self,
        work: impl FnOnce() -> Result<T, E>,
    ) -> Result<T, E> {
        self.synchronize()?;
        // SAFETY: `synchronize` made a context current.
        let status = unsafe { (self.context.driver.profiler_start)() };
        self.context.check(status, "start the profiler")?;
        let done = work();
        let waited = self.synchronize();
        // SAFETY: as above.
        let status = unsafe { (self.context.driver.profiler_stop)() };
        let done = done?;
        waited?;
        self.context.check(status, "stop the profiler")?;
        Ok(done)
    }

    /// Waits for everything that was queued on the device.
    pub fn synchronize(&self) -> Result<(), DeviceError> {
        self.context.synchronize()
    }

    /// Keeps the device busy for some 50 ms, so that clocks are up and lazy parts are loaded.
    pub fn warm_up(&self) -> Result<(), DeviceError> {
        let mut scratch = self.alloc::<u8>(64 << 20)?;
        let start = Instant::now();
        while start.elapsed() < Duration::from_millis(50) {
            for _ in 0..16 {
                scratch.fill_bytes(&self.stream, 0)?;
            }
            self.stream.synchronize()?;
        }
        Ok(())
    }

    pub(super) fn context(&self) -> &Arc<Context> {
        &self.context
    }

    /// The driver's functions, for measuring what this layer costs.
    pub fn driver(&self) -> &'static Driver {
        self.context.driver
    }
}
