//! The functions that NVML exports, as far as this product, gpustat and nvitop call them.
#![allow(non_snake_case)]

use std::ffi::{c_char, c_int, c_uint, c_ulonglong, c_void};
use std::sync::Arc;

use nvml_wrapper_sys::bindings::{
    nvmlEventData_t, nvmlEventTypeXidCriticalError, nvmlFieldValue_t, nvmlGpmMetricsGet_t,
    nvmlGpmSupport_t, nvmlMarginTemperature_t, nvmlMemory_t, nvmlMemory_v2_t, nvmlPciInfo_t,
    nvmlProcessInfo_t, nvmlSample_t, nvmlUtilization_t,
};
use warpsmith_telemetry::Steady;

use crate::device::Device;
use crate::machine::{self, Machine, code};

type Handle = *mut c_void;
type Answer = Result<(), u32>;

/// A handle is `(gpu + 1) << 8 | instance`, with instance 0 for the GPU itself.
fn handle(gpu: usize, instance: usize) -> Handle {
    std::ptr::without_provenance_mut((gpu + 1) << 8 | instance)
}

/// A device call on its way: the machine, the GPU and the moment.
struct Call {
    machine: Arc<Machine>,
    gpu: usize,
    instance: usize,
    t: f64,
}

impl Call {
    fn enter(device: Handle, name: &str) -> Result<Self, u32> {
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

    fn device(&self) -> &Device {
        &self.machine.devices[self.gpu]
    }

    /// In MIG mode the whole GPU has no utilisation.
    fn not_in_mig(&self) -> Answer {
        if self.device().gpu().mig.is_empty() {
            Ok(())
        } else {
            Err(code::NOT_SUPPORTED)
        }
    }
}

fn code_of(answer: Answer) -> c_uint {
    answer.err().unwrap_or(code::SUCCESS)
}

/// Writes through a pointer that a caller passed.
fn put<T>(target: *mut T, value: T) -> Answer {
    if target.is_null() {
        return Err(code::INVALID_ARGUMENT);
    }
    // SAFETY: not null, and NVML's contract makes the caller pass a pointer to writable memory of
    // this type.
    unsafe { target.write(value) };
    Ok(())
}

/// Writes a number that may be absent.
fn put_some(target: *mut c_uint, value: Option<i64>) -> Answer {
    let value = value.ok_or(code::NOT_SUPPORTED)?;
    put(target, u32::try_from(value).map_err(|_| code::UNKNOWN)?)
}

/// Writes a string with its zero.
fn put_text(target: *mut c_char, length: c_uint, text: &str) -> Answer {
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

/// Sets the clock in microseconds since 1970; 0 gives it back to the system.
#[unsafe(no_mangle)]
extern "C" fn fake_nvml_set_clock(micros: u64) {
    machine::set_clock(micros);
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

fn system() -> Result<Arc<Machine>, u32> {
    machine::machine().ok_or(code::UNKNOWN)
}

export! {
    nvmlInit_v2() => match system()?.init_code {
        code::SUCCESS => Ok(()),
        refusal => Err(refusal),
    };
    nvmlInitWithFlags(_flags: c_uint) => match system()?.init_code {
        code::SUCCESS => Ok(()),
        refusal => Err(refusal),
    };
    nvmlShutdown() => Ok(());
    nvmlSystemGetDriverVersion(text: *mut c_char, length: c_uint) =>
        put_text(text, length, &system()?.driver);
    nvmlSystemGetNVMLVersion(text: *mut c_char, length: c_uint) =>
        put_text(text, length, &format!("13.{}", system()?.driver));
    nvmlSystemGetCudaDriverVersion(version: *mut c_int) => put(version, 13_000);
    nvmlSystemGetCudaDriverVersion_v2(version: *mut c_int) => put(version, 13_000);
    nvmlSystemGetProcessName(pid: c_uint, text: *mut c_char, length: c_uint) =>
        put_text(text, length, &format!("process-{pid}"));
    nvmlDeviceGetCount_v2(count: *mut c_uint) => put(count, system()?.devices.len() as u32);
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
    nvmlDeviceGetComputeRunningProcesses_v3(
        device: Handle, count: *mut c_uint, list: *mut nvmlProcessInfo_t
    ) => list_processes(device, "nvmlDeviceGetComputeRunningProcesses_v3", true, count, list);
    nvmlDeviceGetGraphicsRunningProcesses_v3(
        device: Handle, count: *mut c_uint, list: *mut nvmlProcessInfo_t
    ) => list_processes(device, "nvmlDeviceGetGraphicsRunningProcesses_v3", false, count, list);
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
    nvmlDeviceGetIndex => |call| Some(call.gpu as i64);
    nvmlDeviceGetMinorNumber => |call| Some(call.gpu as i64);
    nvmlDeviceGetPersistenceMode => |_call| Some(1);
    nvmlDeviceGetComputeMode => |_call| Some(0);
    nvmlDeviceGetDisplayActive => |_call| Some(0);
    nvmlDeviceGetDisplayMode => |_call| Some(0);
}

/// A sample of the activity counters: which GPU, and when.
struct GpmSample {
    gpu: usize,
    t: f64,
}

/// The errors that somebody listens to: each GPU with how many were handed out, and since when.
struct EventSet {
    gpus: Vec<(usize, usize, f64)>,
}

const XID: u64 = nvmlEventTypeXidCriticalError as u64;

export! {
    nvmlGpmQueryDeviceSupport(device: Handle, support: *mut nvmlGpmSupport_t) => {
        let call = Call::enter(device, "nvmlGpmQueryDeviceSupport")?;
        let counts = call.device().steady(call.t).sm_active_permille.is_some();
        put(support, nvmlGpmSupport_t { version: 1, isSupportedDevice: counts.into() })
    };
    nvmlGpmSampleAlloc(sample: *mut *mut GpmSample) =>
        put(sample, Box::into_raw(Box::new(GpmSample { gpu: usize::MAX, t: 0.0 })));
    nvmlGpmSampleFree(sample: *mut GpmSample) => {
        if sample.is_null() {
            return Err(code::INVALID_ARGUMENT);
        }
        // SAFETY: the caller hands back what `nvmlGpmSampleAlloc` gave out, once.
        drop(unsafe { Box::from_raw(sample) });
        Ok(())
    };
    nvmlGpmSampleGet(device: Handle, sample: *mut GpmSample) => {
        let call = Call::enter(device, "nvmlGpmSampleGet")?;
        put(sample, GpmSample { gpu: call.gpu, t: call.t })
    };
    nvmlGpmMetricsGet(asked: *mut nvmlGpmMetricsGet_t) => {
        // SAFETY: the caller passes a struct of its own with two samples of ours.
        let asked = unsafe { asked.as_mut() }.ok_or(code::INVALID_ARGUMENT)?;
        // SAFETY: as above.
        let (first, second) = unsafe {
            (asked.sample1.cast::<GpmSample>().as_ref(), asked.sample2.cast::<GpmSample>().as_ref())
        };
        let (first, second) = first.zip(second).ok_or(code::INVALID_ARGUMENT)?;
        let machine = system()?;
        // The real library asks for the same: samples of one GPU, 100 ms apart.
        if first.gpu != second.gpu || second.t - first.t < 0.099 {
            return Err(code::INVALID_ARGUMENT);
        }
        let device = machine.devices.get(second.gpu).ok_or(code::INVALID_ARGUMENT)?;
        let steady = device.steady(second.t);
        for metric in asked.metrics.iter_mut().take(asked.numMetrics as usize) {
            let value = gpm_metric(&steady, metric.metricId);
            metric.nvmlReturn = value.map_or(code::NOT_SUPPORTED, |_| code::SUCCESS);
            metric.value = value.unwrap_or(0.0);
        }
        Ok(())
    };
    nvmlDeviceGetSupportedEventTypes(device: Handle, kinds: *mut c_ulonglong) => {
        Call::enter(device, "nvmlDeviceGetSupportedEventTypes")?;
        put(kinds, XID)
    };
    nvmlEventSetCreate(set: *mut *mut EventSet) =>
        put(set, Box::into_raw(Box::new(EventSet { gpus: Vec::new() })));
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
        if set.is_null() {
            return Err(code::INVALID_ARGUMENT);
        }
        // SAFETY: the caller hands back what `nvmlEventSetCreate` gave out, once.
        drop(unsafe { Box::from_raw(set) });
        Ok(())
    };
}

/// A GPM metric by NVML's number: percent, or MiB a second.
fn gpm_metric(steady: &Steady, id: u32) -> Option<f64> {
    let percent = |permille: Option<i64>| permille.map(|permille| permille as f64 / 10.0);
    let mebi = |bytes: Option<i64>| bytes.map(|bytes| bytes as f64 / f64::from(1 << 20));
    match id {
        2 => percent(steady.sm_active_permille),
        3 => percent(steady.sm_occupancy_permille),
        5 => percent(steady.tensor_active_permille),
        10 => percent(steady.dram_active_permille),
        11 => percent(steady.fp64_active_permille),
        12 => percent(steady.fp32_active_permille),
        13 => percent(steady.fp16_active_permille),
        20 => mebi(steady.pcie_sent_bytes_s),
        21 => mebi(steady.pcie_received_bytes_s),
        60 => mebi(steady.nvlink_received_bytes_s),
        61 => mebi(steady.nvlink_sent_bytes_s),
        _ => None,
    }
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
            gpuInstanceId: u32::MAX,
            computeInstanceId: u32::MAX,
        });
    put_list(count, list, values.collect())
}
