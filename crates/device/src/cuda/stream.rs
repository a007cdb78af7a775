//! Queues of device work, and recording them as graphs.
//!
//! Invariants: a stream is made non-blocking, so work on it is never ordered against the legacy
//! default stream; while a stream records, whatever its launches refer to is kept alive by the
//! graph that comes out.

use std::any::Any;
use std::ffi::c_void;
use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use super::argument::{Argument, DeviceElement, LaunchShape, PackedArguments};
use super::buffer::DeviceBuffer;
use super::context::Context;
use super::event::Event;
use super::graph::{Graph, RecordedGraph};
use super::kernel::Kernel;
use super::pinned::PinnedBuffer;
use super::raw::{StreamHandle, error_code};
use crate::error::DeviceError;

const NON_BLOCKING: u32 = 1;
/// Calls of other threads that would break a recording (an allocation, say) stay allowed.
const CAPTURE_THREAD_LOCAL: i32 = 1;

/// A queue of device work. Clones are the same queue.
#[derive(Clone)]
pub struct Stream {
    inner: Arc<Inner>,
}

struct Inner {
    handle: StreamHandle,
    /// Whether the stream is another library's, which ends it.
    borrowed: bool,
    context: Arc<Context>,
    recording: AtomicBool,
    kept: Mutex<Vec<Arc<dyn Any + Send + Sync>>>,
}

// SAFETY: a stream's handle may be used from any thread; the driver locks.
unsafe impl Send for Inner {}
// SAFETY: as above; our own state is atomic or behind a lock.
unsafe impl Sync for Inner {}

impl fmt::Debug for Stream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Stream({:?})", self.inner.context)
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        if !self.borrowed && self.context.bind().is_ok() {
            // SAFETY: the handle is ours and this is its last use; queued work still finishes.
            unsafe { (self.context.driver.stream_destroy)(self.handle) };
        }
    }
}

impl Stream {
    pub(super) fn new(context: &Arc<Context>) -> Result<Self, DeviceError> {
        context.bind()?;
        let mut handle = std::ptr::null_mut();
        // SAFETY: the pointer is to a live handle.
        let status = unsafe { (context.driver.stream_create)(&raw mut handle, NON_BLOCKING) };
        context.check(status, "create a stream")?;
        Ok(Self::of(context, handle, false))
    }

    /// Another library's stream of the same context; null is the legacy default stream.
    ///
    /// # Safety
    /// The handle is null or a stream of this context that outlives every use of the result.
    pub(super) unsafe fn borrowed(context: &Arc<Context>, handle: StreamHandle) -> Self {
        Self::of(context, handle, true)
    }

    fn of(context: &Arc<Context>, handle: StreamHandle, borrowed: bool) -> Self {
        let inner = Inner {
            handle,
            borrowed,
            context: Arc::clone(context),
            recording: AtomicBool::new(false),
            kept: Mutex::default(),
        };
        Self {
            inner: Arc::new(inner),
        }
    }

    /// The driver's handle, for other libraries and for measuring what this layer costs. It lives
    /// as long as the stream.
    pub fn handle(&self) -> StreamHandle {
        self.inner.handle
    }

    pub(super) fn context(&self) -> &Arc<Context> {
        &self.inner.context
    }

    /// Queues a kernel.
    pub fn launch(
        &self,
        kernel: &Kernel,
        shape: LaunchShape,
        arguments: &[Argument<'_>],
    ) -> Result<(), DeviceError> {
        let mut packed = PackedArguments::check(kernel, self.context(), shape, arguments)?;
        // SAFETY: `packed` holds one pointer per parameter, each to a value of the parameter's type,
        // because `check` compared them with the image's signature; that the kernel stays inside its
        // buffers is the promise of `KernelImage::trusted`.
        unsafe { self.enqueue(kernel, shape, packed.pointers(), std::ptr::null_mut())? };
        self.keep_arguments(arguments);
        Ok(())
    }

    /// Queues a kernel whose blocks wait for each other: all of them are on the device at once, or
    /// the launch is refused. [`Kernel::resident_blocks`] says how many there can be.
    pub fn launch_cooperative(
        &self,
        kernel: &Kernel,
        shape: LaunchShape,
        arguments: &[Argument<'_>],
    ) -> Result<(), DeviceError> {
        let mut packed = PackedArguments::check(kernel, self.context(), shape, arguments)?;
        self.context().bind()?;
        let ([gx, gy, gz], [bx, by, bz]) = (shape.grid, shape.block);
        // SAFETY: as for `launch`; the driver refuses a grid that does not fit on the device.
        let status = unsafe {
            (self.context().driver.launch_cooperative_kernel)(
                kernel.function(),
                gx,
                gy,
                gz,
                bx,
                by,
                bz,
                shape.shared_bytes,
                self.inner.handle,
                packed.pointers(),
            )
        };
        self.context()
            .check(status, &format!("launch `{}` as one", kernel.entry()))?;
        self.context().launched(kernel);
        self.keep_arguments(arguments);
        Ok(())
    }

    /// Queues a kernel whose parameters lie packed in `parameters`, as C lays them out. For kernels
    /// that were compiled at run time and have no signature to check against.
    ///
    /// # Safety
    /// The bytes are what the kernel's parameters are, in number, order, type and alignment; every
    /// address among them is of memory that outlives the launch; the kernel stays inside it.
    pub unsafe fn launch_packed(
        &self,
        kernel: &Kernel,
        shape: LaunchShape,
        parameters: &mut [u8],
    ) -> Result<(), DeviceError> {
        const END: *mut c_void = std::ptr::null_mut();
        const BUFFER_POINTER: *mut c_void = std::ptr::without_provenance_mut(1);
        const BUFFER_SIZE: *mut c_void = std::ptr::without_provenance_mut(2);
        let mut size = parameters.len();
        let mut extra = [
            BUFFER_POINTER,
            parameters.as_mut_ptr().cast(),
            BUFFER_SIZE,
            (&raw mut size).cast(),
            END,
        ];
        // SAFETY: the buffer and its size are passed in the driver's own form; that they fit the kernel
        // is the caller's promise.
        unsafe { self.enqueue(kernel, shape, std::ptr::null_mut(), extra.as_mut_ptr()) }
    }

    /// Queues a kernel with its parameters in one of the driver's two forms.
    ///
    /// # Safety
    /// One of `values` and `extra` is null. The other is in the driver's form and holds what the kernel's
    /// parameters are; every address among them is of memory that outlives the launch, and the kernel
    /// stays inside it.
    unsafe fn enqueue(
        &self,
        kernel: &Kernel,
        shape: LaunchShape,
        values: *mut *mut c_void,
        extra: *mut *mut c_void,
    ) -> Result<(), DeviceError> {
        self.context().bind()?;
        let ([gx, gy, gz], [bx, by, bz]) = (shape.grid, shape.block);
        // SAFETY: function and stream are alive and of this context; the rest is the caller's promise.
        let status = unsafe {
            (self.context().driver.launch_kernel)(
                kernel.function(),
                gx,
                gy,
                gz,
                bx,
                by,
                bz,
                shape.shared_bytes,
                self.inner.handle,
                values,
                extra,
            )
        };
        // The text is made only where it is needed: a launch takes some two microseconds in all.
        if status == 0 {
            self.context().launched(kernel);
            return Ok(());
        }
        self.context()
            .check(status, &format!("launch `{}`", kernel.entry()))
    }

    /// Keeps the memory of a launch that is being recorded.
    fn keep_arguments(&self, arguments: &[Argument<'_>]) {
        if self.is_recording() {
            for memory in arguments.iter().filter_map(Argument::memory) {
                self.keep(memory);
            }
        }
    }

    /// Queues a copy from device to device.
    pub fn copy<T: DeviceElement>(
        &self,
        from: &DeviceBuffer<T>,
        to: &mut DeviceBuffer<T>,
    ) -> Result<(), DeviceError> {
        same_length("copy on the device", from.len(), to.len())?;
        self.context().bind()?;
        // SAFETY: both ranges are allocations of this many bytes, kept alive by their buffers;
        // freeing one waits for the device.
        let status = unsafe {
            (self.context().driver.memcpy_dtod_async)(
                to.pointer(),
                from.pointer(),
                from.bytes(),
                self.inner.handle,
            )
        };
        self.context().check(status, "copy on the device")?;
        self.keep_if_recording(from.memory());
        self.keep_if_recording(to.memory());
        Ok(())
    }

    /// Queues a copy from pinned host memory to the device.
    pub fn copy_to_device<T: DeviceElement>(
        &self,
        from: &PinnedBuffer<T>,
        to: &mut DeviceBuffer<T>,
    ) -> Result<(), DeviceError> {
        same_length("copy to the device", from.len(), to.len())?;
        from.before_transfer(self)?;
        // SAFETY: the pinned memory is not written by the host until the transfer is over, which
        // `before_transfer` and `after_transfer` see to; sizes are equal.
        let status = unsafe {
            (self.context().driver.memcpy_htod_async)(
                to.pointer(),
                from.pointer().cast_const(),
                to.bytes(),
                self.inner.handle,
            )
        };
        self.context().check(status, "copy to the device")?;
        self.keep_if_recording(to.memory());
        from.after_transfer(self)
    }

    /// Queues a copy from the device to pinned host memory.
    pub fn copy_to_host<T: DeviceElement>(
        &self,
        from: &DeviceBuffer<T>,
        to: &mut PinnedBuffer<T>,
    ) -> Result<(), DeviceError> {
        same_length("copy to the host", from.len(), to.len())?;
        to.before_transfer(self)?;
        // SAFETY: the host neither reads nor writes the pinned memory until the transfer is over,
        // which `before_transfer` and `after_transfer` see to; sizes are equal.
        let status = unsafe {
            (self.context().driver.memcpy_dtoh_async)(
                to.pointer(),
                from.pointer(),
                from.bytes(),
                self.inner.handle,
            )
        };
        self.context().check(status, "copy to the host")?;
        self.keep_if_recording(from.memory());
        to.after_transfer(self)
    }

    /// Queues a time stamp.
    pub fn record(&self, event: &Event) -> Result<(), DeviceError> {
        self.context().bind()?;
        // SAFETY: both handles are alive.
        let status =
            unsafe { (self.context().driver.event_record)(event.handle(), self.inner.handle) };
        self.context().check(status, "record an event")
    }

    /// Holds back what is queued from here on until `event` has happened.
    pub fn wait_for(&self, event: &Event) -> Result<(), DeviceError> {
        self.context().bind()?;
        // SAFETY: both handles are alive; the flags must be 0.
        let status = unsafe {
            (self.context().driver.stream_wait_event)(self.inner.handle, event.handle(), 0)
        };
        self.context()
            .check(status, "wait for an event on a stream")
    }

    /// Waits on the host until everything queued so far is done.
    pub fn synchronize(&self) -> Result<(), DeviceError> {
        self.context().bind()?;
        // SAFETY: the handle is alive.
        let status = unsafe { (self.context().driver.stream_synchronize)(self.inner.handle) };
        if status == 0 {
            Ok(())
        } else {
            self.context().check(status, "wait for a stream")
        }
    }

    /// Waits on the host until everything queued so far is done, but not longer than `limit`:
    /// then the context is given up, because nothing can stop a kernel that runs.
    pub fn synchronize_within(&self, limit: Duration) -> Result<(), DeviceError> {
        let begun = Instant::now();
        // Most waits are short, and a sleeping thread wakes up tens of microseconds late.
        const SPIN: Duration = Duration::from_millis(2);
        while !self.is_idle()? {
            let waited = begun.elapsed();
            if waited > limit {
                self.context().give_up();
                return Err(DeviceError::NeverEnded {
                    attempted: "wait for a stream",
                    seconds: limit.as_secs_f64(),
                });
            }
            if waited > SPIN {
                std::thread::sleep(Duration::from_micros(50));
            } else {
                std::hint::spin_loop();
            }
        }
        Ok(())
    }

    /// Whether everything queued so far is done.
    pub fn is_idle(&self) -> Result<bool, DeviceError> {
        self.context().bind()?;
        // SAFETY: the handle is alive.
        match unsafe { (self.context().driver.stream_query)(self.inner.handle) } {
            error_code::NOT_READY => Ok(false),
            status => self
                .context()
                .check(status, "query a stream")
                .map(|()| true),
        }
    }

    /// Records what `work` queues on this stream, without running it, as a graph.
    pub fn capture(
        &self,
        work: impl FnOnce(&Self) -> Result<(), DeviceError>,
    ) -> Result<Graph, DeviceError> {
        Graph::instantiate(self.record_graph(work)?)
    }

    pub(super) fn record_graph(
        &self,
        work: impl FnOnce(&Self) -> Result<(), DeviceError>,
    ) -> Result<RecordedGraph, DeviceError> {
        let context = self.context();
        context.bind()?;
        // SAFETY: the handle is alive; the driver refuses a stream that already records.
        let status = unsafe {
            (context.driver.stream_begin_capture)(self.inner.handle, CAPTURE_THREAD_LOCAL)
        };
        context.check(status, "begin to record a graph")?;
        self.inner.recording.store(true, Ordering::Release);
        let worked = work(self);
        self.inner.recording.store(false, Ordering::Release);
        let kept = std::mem::take(&mut *self.kept());
        let mut handle = std::ptr::null_mut();
        // SAFETY: this stream records since the call above, and the pointer is to a live handle.
        let status =
            unsafe { (context.driver.stream_end_capture)(self.inner.handle, &raw mut handle) };
        // Owns the graph from here on, so that it is destroyed on every path.
        let recorded = RecordedGraph::new(Arc::clone(context), handle, kept);
        worked?;
        context.check(status, "record a graph")?;
        Ok(recorded)
    }

    pub(super) fn is_recording(&self) -> bool {
        self.inner.recording.load(Ordering::Acquire)
    }

    pub(super) fn keep(&self, thing: Arc<dyn Any + Send + Sync>) {
        self.kept().push(thing);
    }

    fn keep_if_recording(&self, thing: Arc<dyn Any + Send + Sync>) {
        if self.is_recording() {
            self.keep(thing);
        }
    }

    fn kept(&self) -> std::sync::MutexGuard<'_, Vec<Arc<dyn Any + Send + Sync>>> {
        self.inner
            .kept
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

fn same_length(attempted: &'static str, from: usize, to: usize) -> Result<(), DeviceError> {
    if from == to {
        return Ok(());
    }
    let problem = format!("the source has {from} elements, the destination {to}");
    Err(DeviceError::BadSize { attempted, problem })
}
