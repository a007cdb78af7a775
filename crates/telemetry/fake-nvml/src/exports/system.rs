//! The library, the driver, and which devices there are.

use std::ffi::{c_char, c_int, c_uint};

use nvml_wrapper_sys::bindings::nvmlPciInfo_t;

use super::call::{Answer, Call, Handle, code_of, export, handle, put, put_text, system};
use crate::machine::code;

fn start(call: &str) -> Answer {
    let machine = system()?;
    machine.suffer_alone(call)?;
    match machine.init_code {
        code::SUCCESS => Ok(()),
        refusal => Err(refusal),
    }
}

export! {
    nvmlInit_v2() => start("nvmlInit_v2");
    nvmlInitWithFlags(_flags: c_uint) => start("nvmlInitWithFlags");
    nvmlShutdown() => system()?.suffer_alone("nvmlShutdown");
    nvmlSystemGetDriverVersion(text: *mut c_char, length: c_uint) => {
        system()?.suffer_alone("nvmlSystemGetDriverVersion")?;
        put_text(text, length, &system()?.driver)
    };
    nvmlSystemGetNVMLVersion(text: *mut c_char, length: c_uint) => {
        system()?.suffer_alone("nvmlSystemGetNVMLVersion")?;
        put_text(text, length, &format!("13.{}", system()?.driver))
    };
    nvmlSystemGetCudaDriverVersion(version: *mut c_int) => put(version, 13_000);
    nvmlSystemGetCudaDriverVersion_v2(version: *mut c_int) => put(version, 13_000);
    nvmlSystemGetProcessName(pid: c_uint, text: *mut c_char, length: c_uint) =>
        put_text(text, length, &format!("process-{pid}"));
    nvmlDeviceGetCount_v2(count: *mut c_uint) => {
        system()?.suffer_alone("nvmlDeviceGetCount_v2")?;
        put(count, system()?.devices.len() as u32)
    };
    nvmlDeviceGetHandleByIndex_v2(index: c_uint, device: *mut Handle) => {
        let machine = system()?;
        if index as usize >= machine.devices.len() {
            return Err(code::INVALID_ARGUMENT);
        }
        machine.suffer(index as usize, "nvmlDeviceGetHandleByIndex_v2")?;
        put(device, handle(index as usize, 0))
    };
    nvmlDeviceGetName(device: Handle, text: *mut c_char, length: c_uint) => {
        let call = Call::enter(device, "nvmlDeviceGetName")?;
        let gpu = call.device().gpu();
        match call.instance {
            0 => put_text(text, length, &gpu.name),
            nth => put_text(text, length, &gpu.mig[nth - 1].name),
        }
    };
    nvmlDeviceGetUUID(device: Handle, text: *mut c_char, length: c_uint) => {
        let call = Call::enter(device, "nvmlDeviceGetUUID")?;
        let kind = if call.instance == 0 { "GPU" } else { "MIG" };
        let uuid = format!(
            "{kind}-00000000-0000-0000-{:04}-{:012}",
            call.instance, call.gpu
        );
        put_text(text, length, &uuid)
    };
    nvmlDeviceGetPciInfo_v3(device: Handle, info: *mut nvmlPciInfo_t) => {
        let call = Call::enter(device, "nvmlDeviceGetPciInfo_v3")?;
        let mut bus_id = [0; 32];
        for (to, from) in bus_id.iter_mut().zip(format!("00000000:{:02X}:00.0", call.gpu).bytes()) {
            *to = from as c_char;
        }
        put(info, nvmlPciInfo_t {
            busIdLegacy: [0; 16],
            domain: 0,
            bus: call.gpu as u32,
            device: 0,
            pciDeviceId: 0x2335_10DE,
            pciSubSystemId: 0,
            busId: bus_id,
        })
    };
    nvmlDeviceGetMigMode(device: Handle, current: *mut c_uint, pending: *mut c_uint) => {
        let call = Call::enter(device, "nvmlDeviceGetMigMode")?;
        let mode = u32::from(!call.device().gpu().mig.is_empty());
        put(current, mode)?;
        put(pending, mode)
    };
    nvmlDeviceGetMigDeviceHandleByIndex(parent: Handle, index: c_uint, device: *mut Handle) => {
        let call = Call::enter(parent, "nvmlDeviceGetMigDeviceHandleByIndex")?;
        if index as usize >= call.device().gpu().mig.len() {
            return Err(code::NOT_FOUND);
        }
        put(device, handle(call.gpu, index as usize + 1))
    };
}
