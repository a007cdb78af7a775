//! The driver's critical errors (Xid) as they happen, through an event set of its own per GPU.

use nvml_wrapper_sys::bindings::{
    nvmlDevice_t, nvmlEventData_t, nvmlEventSet_t, nvmlEventTypeXidCriticalError,
};

use super::answer::answer;
use super::calls::invoke;
use super::library::Library;
use crate::source::{Reading, Refusal};

const XID: u64 = nvmlEventTypeXidCriticalError as u64;

/// A GPU's errors since this was opened.
pub(super) struct XidEvents {
    library: Library,
    set: nvmlEventSet_t,
}

impl XidEvents {
    /// Listens to a GPU; refused where it reports no such events.
    pub(super) fn open(library: Library, device: nvmlDevice_t) -> Reading<Self> {
        let nvml = library.nvml().lib();
        let mut kinds = 0;
        invoke!(nvml, nvmlDeviceGetSupportedEventTypes, device, &mut kinds)?;
        if kinds & XID == 0 {
            return Err(Refusal::NotSupported);
        }
        let mut set = std::ptr::null_mut();
        invoke!(nvml, nvmlEventSetCreate, &mut set)?;
        let events = Self {
            library: library.clone(),
            set,
        };
        invoke!(nvml, nvmlDeviceRegisterEvents, device, XID, set)?;
        Ok(events)
    }

    /// The next error that waits, by its number; never waits for one.
    pub(super) fn next(&self) -> Option<i64> {
        let nvml = self.library.nvml().lib();
        loop {
            let mut data = nvmlEventData_t {
                device: std::ptr::null_mut(),
                eventType: 0,
                eventData: 0,
                gpuInstanceId: 0,
                computeInstanceId: 0,
            };
            match invoke!(nvml, nvmlEventSetWait_v2, self.set, &mut data, 0) {
                Ok(()) if data.eventType == XID => return i64::try_from(data.eventData).ok(),
                // Another kind of event, which nobody requested: ignored.
                Ok(()) => {}
                // Timed out: there is none. Any other refusal comes to the same for the caller.
                Err(_) => return None,
            }
        }
    }
}

impl Drop for XidEvents {
    fn drop(&mut self) {
        // Nothing can be done about a set that cannot be given back.
        let _ = invoke!(self.library.nvml().lib(), nvmlEventSetFree, self.set);
    }
}
