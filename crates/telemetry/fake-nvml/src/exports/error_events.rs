//! Critical errors as events (Xid).

use std::ffi::{c_uint, c_ulonglong};

use nvml_wrapper_sys::bindings::{nvmlEventData_t, nvmlEventTypeXidCriticalError};

use super::call::{Answer, Call, Handle, code_of, export, handle, put, system};
use crate::machine::code;

/// The errors that somebody listens to: each GPU with how many were handed out, and since when.
struct EventSet {
    gpus: Vec<(usize, usize, f64)>,
}

const XID: u64 = nvmlEventTypeXidCriticalError as u64;

export! {
    nvmlDeviceGetSupportedEventTypes(device: Handle, kinds: *mut c_ulonglong) => {
        Call::enter(device, "nvmlDeviceGetSupportedEventTypes")?;
        put(kinds, XID)
    };
    nvmlEventSetCreate(set: *mut *mut EventSet) => {
        system()?.suffer_alone("nvmlEventSetCreate")?;
        put(set, Box::into_raw(Box::new(EventSet { gpus: Vec::new() })))
    };
    nvmlDeviceRegisterEvents(device: Handle, kinds: c_ulonglong, set: *mut EventSet) => {
        let call = Call::enter(device, "nvmlDeviceRegisterEvents")?;
        // SAFETY: the caller passes what `nvmlEventSetCreate` gave out.
        let set = unsafe { set.as_mut() }.ok_or(code::INVALID_ARGUMENT)?;
        if kinds & !XID != 0 {
            return Err(code::NOT_SUPPORTED);
        }
        set.gpus.push((call.gpu, 0, call.t));
        Ok(())
    };
    nvmlEventSetWait_v2(set: *mut EventSet, data: *mut nvmlEventData_t, _timeout: c_uint) => {
        let machine = system()?;
        machine.suffer_alone("nvmlEventSetWait_v2")?;
        // SAFETY: the caller passes what `nvmlEventSetCreate` gave out.
        let set = unsafe { set.as_mut() }.ok_or(code::INVALID_ARGUMENT)?;
        let now = machine.seconds();
        for (gpu, given, since) in &mut set.gpus {
            let mut errors = machine.devices[*gpu].xids(now);
            errors.retain(|(at, _)| *at > *since);
            if let Some((_, number)) = errors.get(*given) {
                *given += 1;
                return put(data, nvmlEventData_t {
                    device: handle(*gpu, 0).cast(),
                    eventType: XID,
                    eventData: *number as u64,
                    gpuInstanceId: u32::MAX,
                    computeInstanceId: u32::MAX,
                });
            }
        }
        Err(code::TIMEOUT)
    };
    nvmlEventSetFree(set: *mut EventSet) => {
        system()?.suffer_alone("nvmlEventSetFree")?;
        if set.is_null() {
            return Err(code::INVALID_ARGUMENT);
        }
        // SAFETY: the caller hands back what `nvmlEventSetCreate` gave out, once.
        drop(unsafe { Box::from_raw(set) });
        Ok(())
    };
}
