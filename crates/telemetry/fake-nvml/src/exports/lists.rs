//! Functions that hand out lists: processes, and the driver's rings of samples.

use std::ffi::{c_uint, c_ulonglong};

use nvml_wrapper_sys::bindings::{nvmlProcessInfo_t, nvmlProcessUtilizationSample_t, nvmlSample_t};

use super::call::{Answer, Call, Handle, code_of, export, put};
use crate::machine::code;

export! {
    nvmlDeviceGetComputeRunningProcesses_v3(
        device: Handle, count: *mut c_uint, list: *mut nvmlProcessInfo_t
    ) => list_processes(device, "nvmlDeviceGetComputeRunningProcesses_v3", true, count, list);
    nvmlDeviceGetGraphicsRunningProcesses_v3(
        device: Handle, count: *mut c_uint, list: *mut nvmlProcessInfo_t
    ) => list_processes(device, "nvmlDeviceGetGraphicsRunningProcesses_v3", false, count, list);
    nvmlDeviceGetProcessUtilization(
        device: Handle, list: *mut nvmlProcessUtilizationSample_t, count: *mut c_uint,
        after: c_ulonglong
    ) => {
        let call = Call::enter(device, "nvmlDeviceGetProcessUtilization")?;
        call.not_in_mig()?;
        let now = call.machine.stamp(call.t);
        let uses = call.device().processes(call.t).into_iter();
        let values: Vec<nvmlProcessUtilizationSample_t> = uses
            .filter_map(|process| {
                let share = process.busy_percent.filter(|share| *share > 0)?;
                Some(nvmlProcessUtilizationSample_t {
                    pid: process.pid,
                    timeStamp: now,
                    smUtil: share as c_uint,
                    memUtil: 0,
                    encUtil: 0,
                    decUtil: 0,
                })
            })
            .collect();
        if values.is_empty() || after >= now {
            return Err(code::NOT_FOUND);
        }
        put_list(count, list, values)
    };
    nvmlDeviceGetSamples(
        device: Handle, kind: c_uint, after: c_ulonglong, tag: *mut c_uint, count: *mut c_uint,
        samples: *mut nvmlSample_t
    ) => {
        let call = Call::enter(device, "nvmlDeviceGetSamples")?;
        call.machine.suffer(call.gpu, &format!("ring:{kind}"))?;
        if kind > 2 {
            return Err(code::NOT_FOUND);
        }
        if kind > 0 {
            call.not_in_mig()?;
        }
        let ring = call.device().ring(kind, call.machine.unstamp(after), call.t);
        if ring.is_empty() {
            return Err(code::NOT_FOUND);
        }
        put(tag, 1)?;
        let values = ring.iter().map(|(at, value)| {
            let mut sample = nvmlSample_t {
                timeStamp: call.machine.stamp(*at),
                sampleValue: nvml_wrapper_sys::bindings::nvmlValue_t { ullVal: 0 },
            };
            sample.sampleValue.uiVal = *value as u32;
            sample
        });
        put_list(count, samples, values.collect())
    };
}

/// Hands out a list: as much as there is room for, or how much room it takes.
fn put_list<T>(count: *mut c_uint, list: *mut T, values: Vec<T>) -> Answer {
    if count.is_null() {
        return Err(code::INVALID_ARGUMENT);
    }
    // SAFETY: not null, and the caller passes a readable and writable count.
    let room = unsafe { count.replace(values.len() as c_uint) } as usize;
    if list.is_null() || room < values.len() {
        return if values.is_empty() {
            Ok(())
        } else {
            Err(code::INSUFFICIENT_SIZE)
        };
    }
    for (nth, value) in values.into_iter().enumerate() {
        // SAFETY: `nth` is below `room`, the number of entries that the caller has.
        unsafe { list.add(nth).write(value) };
    }
    Ok(())
}

fn list_processes(
    device: Handle,
    name: &str,
    compute: bool,
    count: *mut c_uint,
    list: *mut nvmlProcessInfo_t,
) -> Answer {
    let call = Call::enter(device, name)?;
    let values = call.device().processes(call.t);
    let values = values
        .into_iter()
        .filter(|process| process.compute == compute)
        .map(|process| nvmlProcessInfo_t {
            pid: process.pid,
            // All ones is NVML's "not available".
            usedGpuMemory: process.memory_bytes.map_or(u64::MAX, |bytes| bytes as u64),
            gpuInstanceId: process.gpu_instance.unwrap_or(u32::MAX),
            computeInstanceId: u32::MAX,
        });
    put_list(count, list, values.collect())
}
