//! Values by number: `nvmlDeviceGetFieldValues`.

use std::ffi::{c_int, c_uint};

use nvml_wrapper_sys::bindings::nvmlFieldValue_t;

use super::call::{Answer, Call, Handle, code_of, export};
use crate::machine::{self, code};

export! {
    nvmlDeviceGetFieldValues(device: Handle, count: c_int, values: *mut nvmlFieldValue_t) => {
        let call = Call::enter(device, "nvmlDeviceGetFieldValues")?;
        for nth in 0..usize::try_from(count).map_err(|_| code::INVALID_ARGUMENT)? {
            // SAFETY: the caller passes `count` entries.
            let value = unsafe { &mut *values.add(nth) };
            let answer = field(&call, value.fieldId);
            value.timestamp = machine::now_us() as i64;
            value.valueType = 3;
            value.nvmlReturn = code_of(answer.map(|number| value.value.ullVal = number));
        }
        Ok(())
    };
}

/// A field of `nvmlDeviceGetFieldValues`; the throttle counters moved with driver 580.82.
fn field(call: &Call, id: u32) -> Result<u64, u32> {
    call.machine.suffer(call.gpu, &format!("field:{id}"))?;
    let mut driver = call
        .machine
        .driver
        .split('.')
        .map(|part| part.parse().unwrap_or(0));
    let version: (u32, u32) = (driver.next().unwrap_or(0), driver.next().unwrap_or(0));
    let thermal = if version >= (580, 82) { 269 } else { 251 };
    let (state, slow) = (call.device().state(call.t), call.device().slow(call.t));
    let value = match id {
        74 => state.power_cap_ns,
        75 => state.thermal_policy_ns,
        76 => state.sync_boost_ns,
        77 => state.board_limit_ns,
        78 => state.low_utilization_ns,
        79 => state.reliability_ns,
        82 => state.memory_temperature_c,
        83 => call.device().energy(call.t).energy_mj,
        185 => state.power_mw,
        186 => state.power_instant_mw,
        197 => slow.pcie_sent_bytes,
        198 => slow.pcie_received_bytes,
        id if id == thermal => state.software_thermal_ns,
        id if id == thermal + 1 => state.hardware_thermal_ns,
        id if id == thermal + 2 => state.power_brake_ns,
        _ => None,
    };
    value
        .and_then(|value| u64::try_from(value).ok())
        .ok_or(code::NOT_SUPPORTED)
}
