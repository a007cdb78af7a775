//! Time stamps on a stream.

use std::fmt;
use std::sync::Arc;

use warpsmith_core::Seconds;

use super::context::{Context, CudaDevice};
use super::raw::{EventHandle, error_code};
use crate::error::DeviceError;

/// A time stamp that a stream writes when it gets there. Resolution on current GPUs is 32 ns.
pub struct Event {
    handle: EventHandle,
    context: Arc<Context>,
}

// SAFETY: an event's handle may be used from any thread; the driver locks.
unsafe impl Send for Event {}
// SAFETY: as above.
unsafe impl Sync for Event {}

impl fmt::Debug for Event {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Event({:?})", self.context)
    }
}

impl Drop for Event {
    fn drop(&mut self) {
        if self.context.bind().is_ok() {
            // SAFETY: the handle is ours and this is its last use.
            unsafe { (self.context.driver.event_destroy)(self.handle) };
        }
    }
}

impl Event {
    /// An event that has not been recorded.
    pub fn new(device: &CudaDevice) -> Result<Self, DeviceError> {
        Self::in_context(device.context())
    }

    pub(super) fn in_context(context: &Arc<Context>) -> Result<Self, DeviceError> {
        context.bind()?;
        let mut handle = std::ptr::null_mut();
        // SAFETY: the pointer is to a live handle; flags 0 ask for timing.
        let status = unsafe { (context.driver.event_create)(&raw mut handle, 0) };
        context.check(status, "create an event")?;
        Ok(Self {
            handle,
            context: Arc::clone(context),
        })
    }

    pub(super) fn handle(&self) -> EventHandle {
        self.handle
    }

    /// Waits on the host until the event has happened; returns at once if it was never recorded.
    pub fn synchronize(&self) -> Result<(), DeviceError> {
        self.context.bind()?;
        // SAFETY: the handle is alive.
        let status = unsafe { (self.context.driver.event_synchronize)(self.handle) };
        self.context.check(status, "wait for an event")
    }

    /// Whether the event has happened.
    pub fn has_happened(&self) -> Result<bool, DeviceError> {
        self.context.bind()?;
        // SAFETY: the handle is alive.
        match unsafe { (self.context.driver.event_query)(self.handle) } {
            error_code::NOT_READY => Ok(false),
            status => self.context.check(status, "query an event").map(|()| true),
        }
    }

    /// Device time from `earlier` to this event; both must have happened.
    pub fn since(&self, earlier: &Self) -> Result<Seconds, DeviceError> {
        self.context.bind()?;
        let mut milliseconds = 0.0f32;
        // SAFETY: the pointer is to a live f32 and both handles are alive.
        let status = unsafe {
            (self.context.driver.event_elapsed_time)(
                &raw mut milliseconds,
                earlier.handle,
                self.handle,
            )
        };
        self.context
            .check(status, "read the time between two events")?;
        Ok(Seconds(f64::from(milliseconds) * 1e-3))
    }
}
