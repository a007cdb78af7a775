//! What a device reads at a moment, one value or a few to a call.

use std::ffi::{c_int, c_uint, c_ulonglong};

use nvml_wrapper_sys::bindings::{
    nvmlMarginTemperature_t, nvmlMemory_t, nvmlMemory_v2_t, nvmlUtilization_t,
};

use super::call::{Answer, Call, Handle, code_of, export, export_number, put, put_some};
use crate::machine::code;
use crate::scenario::instance_number;

export! {
    nvmlDeviceGetUtilizationRates(device: Handle, rates: *mut nvmlUtilization_t) => {
        let call = Call::enter(device, "nvmlDeviceGetUtilizationRates")?;
        call.not_in_mig()?;
        let state = call.device().state(call.t);
        let percent = |value: Option<i64>| value.map(|v| v as u32).ok_or(code::NOT_SUPPORTED);
        put(rates, nvmlUtilization_t {
            gpu: percent(state.busy_percent)?,
            memory: percent(state.memory_busy_percent)?,
        })
    };
    nvmlDeviceGetTemperature(device: Handle, _sensor: c_uint, value: *mut c_uint) => {
        let call = Call::enter(device, "nvmlDeviceGetTemperature")?;
        put_some(value, call.device().state(call.t).temperature_c)
    };
    nvmlDeviceGetTemperatureThreshold(device: Handle, kind: c_uint, value: *mut c_uint) => {
        let call = Call::enter(device, "nvmlDeviceGetTemperatureThreshold")?;
        let slowdown = call.device().gpu().slowdown_c.filter(|_| kind == 1);
        put_some(value, slowdown.map(i64::from))
    };
    nvmlDeviceGetMarginTemperature(device: Handle, margin: *mut nvmlMarginTemperature_t) => {
        let call = Call::enter(device, "nvmlDeviceGetMarginTemperature")?;
        let degrees = call.device().steady(call.t).margin_c.ok_or(code::NOT_SUPPORTED)?;
        put(margin, nvmlMarginTemperature_t {
            version: size_of::<nvmlMarginTemperature_t>() as u32 | 1 << 24,
            marginTemperature: degrees as c_int,
        })
    };
    nvmlDeviceGetClockInfo(device: Handle, kind: c_uint, value: *mut c_uint) => {
        let call = Call::enter(device, "nvmlDeviceGetClockInfo")?;
        let state = call.device().state(call.t);
        put_some(value, if kind == 2 { state.memory_clock_mhz } else { state.sm_clock_mhz })
    };
    nvmlDeviceGetMaxClockInfo(device: Handle, _kind: c_uint, value: *mut c_uint) => {
        let call = Call::enter(device, "nvmlDeviceGetMaxClockInfo")?;
        put(value, call.device().gpu().sm_clock_max_mhz)
    };
    nvmlDeviceGetCurrentClocksEventReasons(device: Handle, bits: *mut c_ulonglong) => {
        let call = Call::enter(device, "nvmlDeviceGetCurrentClocksEventReasons")?;
        let reasons = call.device().state(call.t).event_reasons.ok_or(code::NOT_SUPPORTED)?;
        put(bits, reasons as u64)
    };
    nvmlDeviceGetMemoryInfo(device: Handle, info: *mut nvmlMemory_t) => {
        let call = Call::enter(device, "nvmlDeviceGetMemoryInfo")?;
        let [total, used, reserved] = memory(&call)?;
        put(info, nvmlMemory_t { total, used: used + reserved, free: total - used - reserved })
    };
    nvmlDeviceGetMemoryInfo_v2(device: Handle, info: *mut nvmlMemory_v2_t) => {
        let call = Call::enter(device, "nvmlDeviceGetMemoryInfo_v2")?;
        let [total, used, reserved] = memory(&call)?;
        let version = size_of::<nvmlMemory_v2_t>() as u32 | 2 << 24;
        put(info, nvmlMemory_v2_t { version, total, reserved, used, free: total - used - reserved })
    };
    nvmlDeviceGetTotalEnergyConsumption(device: Handle, energy: *mut c_ulonglong) => {
        let call = Call::enter(device, "nvmlDeviceGetTotalEnergyConsumption")?;
        put(energy, call.device().energy(call.t).energy_mj.ok_or(code::NOT_SUPPORTED)? as u64)
    };
    nvmlDeviceGetTotalEccErrors(
        device: Handle, kind: c_uint, _span: c_uint, count: *mut c_ulonglong
    ) => {
        let call = Call::enter(device, "nvmlDeviceGetTotalEccErrors")?;
        let slow = call.device().slow(call.t);
        let errors = if kind == 0 { slow.ecc_corrected } else { slow.ecc_uncorrected };
        put(count, errors.ok_or(code::NOT_SUPPORTED)? as u64)
    };
    nvmlDeviceGetRemappedRows(
        device: Handle, corrected: *mut c_uint, uncorrected: *mut c_uint, pending: *mut c_uint,
        failed: *mut c_uint
    ) => {
        let call = Call::enter(device, "nvmlDeviceGetRemappedRows")?;
        call.not_in_mig()?;
        let slow = call.device().slow(call.t);
        put_some(corrected, slow.remapped_corrected_rows)?;
        put_some(uncorrected, slow.remapped_uncorrected_rows)?;
        put_some(pending, slow.remap_pending)?;
        put_some(failed, slow.remap_failed)
    };
    nvmlDeviceGetEncoderUtilization(device: Handle, busy: *mut c_uint, period: *mut c_uint) => {
        let call = Call::enter(device, "nvmlDeviceGetEncoderUtilization")?;
        put(period, 200_000)?;
        put_some(busy, call.device().steady(call.t).encoder_percent)
    };
    nvmlDeviceGetDecoderUtilization(device: Handle, busy: *mut c_uint, period: *mut c_uint) => {
        let call = Call::enter(device, "nvmlDeviceGetDecoderUtilization")?;
        put(period, 200_000)?;
        put_some(busy, call.device().steady(call.t).decoder_percent)
    };
}

export_number! {
    nvmlDeviceGetPowerUsage => |call| call.device().state(call.t).power_mw;
    nvmlDeviceGetEnforcedPowerLimit => |call| call.device().slow(call.t).power_limit_mw;
    nvmlDeviceGetPowerManagementLimit => |call| call.device().slow(call.t).power_limit_mw;
    nvmlDeviceGetPowerManagementDefaultLimit =>
        |call| Some((call.device().gpu().power_limit_default_w * 1e3) as i64);
    nvmlDeviceGetFanSpeed => |call| call.device().steady(call.t).fan_percent;
    nvmlDeviceGetPerformanceState => |call| call.device().steady(call.t).performance_state;
    nvmlDeviceGetCurrPcieLinkGeneration => |call| call.device().slow(call.t).pcie_generation;
    nvmlDeviceGetCurrPcieLinkWidth => |call| call.device().slow(call.t).pcie_width;
    nvmlDeviceGetMaxPcieLinkGeneration => |call| Some(call.device().gpu().pcie[1].into());
    nvmlDeviceGetMaxPcieLinkWidth => |call| Some(call.device().gpu().pcie[3].into());
    nvmlDeviceGetPcieReplayCounter => |call| call.device().slow(call.t).pcie_replays;
    nvmlDeviceGetMaxMigDeviceCount => |call| Some(call.device().gpu().mig.len() as i64);
    nvmlDeviceGetGpuInstanceId => |call| call.instance.checked_sub(1).map(|nth| instance_number(nth as u32).into());
    nvmlDeviceGetIndex => |call| Some(call.gpu as i64);
    nvmlDeviceGetMinorNumber => |call| Some(call.gpu as i64);
    nvmlDeviceGetPersistenceMode => |_call| Some(1);
    nvmlDeviceGetComputeMode => |_call| Some(0);
    nvmlDeviceGetDisplayActive => |_call| Some(0);
    nvmlDeviceGetDisplayMode => |_call| Some(0);
}

/// Total, used and reserved bytes of a GPU or of a MIG instance.
fn memory(call: &Call) -> Result<[u64; 3], u32> {
    const MEGA: f64 = 1024.0 * 1024.0;
    let gpu = call.device().gpu();
    if let Some(instance) = call.instance.checked_sub(1) {
        let mig = &gpu.mig[instance];
        return Ok([mig.memory_total_mb, mig.memory_used_mb, 0.0].map(|mb| (mb * MEGA) as u64));
    }
    let state = call.device().state(call.t);
    let bytes = |value: Option<i64>| value.map(|bytes| bytes as u64);
    Ok([
        (gpu.memory_total_mb * MEGA) as u64,
        bytes(state.memory_used_bytes).ok_or(code::NOT_SUPPORTED)?,
        bytes(state.memory_reserved_bytes).unwrap_or(0),
    ])
}
