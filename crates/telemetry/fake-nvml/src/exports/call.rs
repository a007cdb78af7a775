//! A call on its way through the library: whose it is, when, and how its answer leaves.

use std::ffi::{c_char, c_uint, c_void};
use std::sync::Arc;

use crate::device::Device;
use crate::machine::{self, Machine, code};

pub(super) type Handle = *mut c_void;
pub(super) type Answer = Result<(), u32>;

/// A handle is `(gpu + 1) << 8 | instance`, with instance 0 for the GPU itself.
pub(super) fn handle(gpu: usize, instance: usize) -> Handle {
    std::ptr::without_provenance_mut((gpu + 1) << 8 | instance)
}

/// A device call on its way: the machine, the GPU and the moment.
pub(super) struct Call {
    pub(super) machine: Arc<Machine>,
    pub(super) gpu: usize,
    pub(super) instance: usize,
    pub(super) t: f64,
}

impl Call {
    pub(super) fn enter(device: Handle, name: &str) -> Result<Self, u32> {
        let machine = machine::machine().ok_or(code::UNKNOWN)?;
        let number = device as usize;
        let (gpu, instance) = ((number >> 8).wrapping_sub(1), number & 0xFF);
        if gpu >= machine.devices.len() || instance > machine.devices[gpu].gpu().mig.len() {
            return Err(code::INVALID_ARGUMENT);
        }
        machine.suffer(gpu, name)?;
        let t = machine.seconds();
        Ok(Self {
            machine,
            gpu,
            instance,
            t,
        })
    }

    pub(super) fn device(&self) -> &Device {
        &self.machine.devices[self.gpu]
    }

    /// In MIG mode the whole GPU has no utilisation.
    pub(super) fn not_in_mig(&self) -> Answer {
        if self.device().gpu().mig.is_empty() {
            Ok(())
        } else {
            Err(code::NOT_SUPPORTED)
        }
    }
}

pub(super) fn code_of(answer: Answer) -> c_uint {
    answer.err().unwrap_or(code::SUCCESS)
}

/// Writes through a pointer that a caller passed.
pub(super) fn put<T>(target: *mut T, value: T) -> Answer {
    if target.is_null() {
        return Err(code::INVALID_ARGUMENT);
    }
    // SAFETY: not null, and NVML's contract makes the caller pass a pointer to writable memory of
    // this type.
    unsafe { target.write(value) };
    Ok(())
}

/// Writes a number that may be absent.
pub(super) fn put_some(target: *mut c_uint, value: Option<i64>) -> Answer {
    let value = value.ok_or(code::NOT_SUPPORTED)?;
    put(target, u32::try_from(value).map_err(|_| code::UNKNOWN)?)
}

/// Writes a string with its zero.
pub(super) fn put_text(target: *mut c_char, length: c_uint, text: &str) -> Answer {
    if target.is_null() {
        return Err(code::INVALID_ARGUMENT);
    }
    if text.len() + 1 > length as usize {
        return Err(code::INSUFFICIENT_SIZE);
    }
    for (offset, byte) in text.bytes().chain([0]).enumerate() {
        // SAFETY: the caller's buffer has `length` bytes, and `offset` stays below it.
        unsafe { target.add(offset).write(byte as c_char) };
    }
    Ok(())
}

pub(super) fn system() -> Result<Arc<Machine>, u32> {
    machine::machine().ok_or(code::UNKNOWN)
}

macro_rules! export {
    ($($name:ident($($argument:ident: $kind:ty),*) => $body:expr;)*) => {$(
        #[unsafe(no_mangle)]
        extern "C" fn $name($($argument: $kind),*) -> c_uint {
            // A function of its own, so that `?` ends the call and not the export.
            fn body($($argument: $kind),*) -> Answer {
                $body
            }
            code_of(body($($argument),*))
        }
    )*};
}

/// Device functions with one number as their result, absent where it is `None`.
macro_rules! export_number {
    ($($name:ident => |$call:ident| $value:expr;)*) => {$(
        #[unsafe(no_mangle)]
        extern "C" fn $name(device: Handle, value: *mut c_uint) -> c_uint {
            code_of((|| -> Answer {
                let $call = Call::enter(device, stringify!($name))?;
                put_some(value, $value)
            })())
        }
    )*};
}

pub(super) use {export, export_number};
