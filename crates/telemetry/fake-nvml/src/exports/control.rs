//! What tests call beside NVML's own functions: the scenario, the clock, the count of calls.

use std::ffi::c_uint;
use std::io::Write;

use super::call::{Answer, Call, Handle, code_of, export};
use crate::machine::{self, code};

export! {
    nvmlDeviceSetGpuLockedClocks(device: Handle, low: c_uint, high: c_uint) => {
        let call = Call::enter(device, "nvmlDeviceSetGpuLockedClocks")?;
        note(&format!("lock {} {low} {high}", call.gpu))
    };
    nvmlDeviceResetGpuLockedClocks(device: Handle) => {
        let call = Call::enter(device, "nvmlDeviceResetGpuLockedClocks")?;
        note(&format!("unlock {}", call.gpu))
    };
}

/// Appends to the file that `FAKE_NVML_JOURNAL` names, where a test reads it after the process that
/// called has ended.
fn note(line: &str) -> Answer {
    let Some(path) = std::env::var_os("FAKE_NVML_JOURNAL") else {
        return Ok(());
    };
    let journal = std::fs::File::options()
        .create(true)
        .append(true)
        .open(path);
    let written = journal.and_then(|mut journal| writeln!(journal, "{line}"));
    written.map_err(|_| code::UNKNOWN)
}

/// Hands in a scenario as JSON text; returns 0, or 2 where it cannot be used.
///
/// # Safety
/// `text` points to `length` readable bytes.
#[unsafe(no_mangle)]
unsafe extern "C" fn fake_nvml_load(text: *const u8, length: usize) -> c_uint {
    if text.is_null() {
        return code::INVALID_ARGUMENT;
    }
    // SAFETY: promised by the caller.
    let bytes = unsafe { std::slice::from_raw_parts(text, length) };
    match std::str::from_utf8(bytes).map(machine::load) {
        Ok(Ok(())) => code::SUCCESS,
        _ => code::INVALID_ARGUMENT,
    }
}

/// How often the function of this name was called; names are UTF-8 of the given length.
///
/// # Safety
/// `name` points to `length` readable bytes.
#[unsafe(no_mangle)]
unsafe extern "C" fn fake_nvml_calls(name: *const u8, length: usize) -> u64 {
    // SAFETY: the caller's promise above.
    let bytes = unsafe { std::slice::from_raw_parts(name, length) };
    std::str::from_utf8(bytes).map_or(0, machine::calls)
}

/// Writes the names of the calls made so far, a line each, to the caller's buffer; returns how many
/// bytes there are in all.
///
/// # Safety
/// `text` points to `length` writable bytes.
#[unsafe(no_mangle)]
unsafe extern "C" fn fake_nvml_called(text: *mut u8, length: usize) -> usize {
    let names = machine::called();
    let fitting = names.len().min(length);
    // SAFETY: the caller's promise above, and `fitting` is within both.
    unsafe { std::ptr::copy_nonoverlapping(names.as_ptr(), text, fitting) };
    names.len()
}

/// Sets the clock in microseconds since 1970; 0 gives it back to the system.
#[unsafe(no_mangle)]
extern "C" fn fake_nvml_set_clock(micros: u64) {
    machine::set_clock(micros);
}
