//! The NVML functions that the schedule needs, each as one safe call.
//!
//! They stand on the bindings rather than on the wrapper's methods for three reasons: the wrapper
//! has no signed 32-bit field values and no row remapper, it asks a ring twice (for the length,
//! then for the samples, half a millisecond each), and a call of the fast tier should not allocate.
//!
//! Invariants: a function that the library does not export is `NoSuchFunction`; a value outside of
//! `i64` is `OutOfRange`; every out parameter is zeroed before the call.

use std::ffi::{CStr, c_char, c_uint, c_ulonglong};
use std::mem;

use nvml_wrapper_sys::bindings::{
    NvmlLib, nvmlDevice_t, nvmlFieldValue_t, nvmlMarginTemperature_t, nvmlMemory_v2_t,
    nvmlPciInfo_t, nvmlProcessInfo_t, nvmlProcessUtilizationSample_t, nvmlSample_t,
    nvmlUtilization_t, nvmlValue_t, nvmlValueType_t,
};

use super::answer::answer;
use crate::Micros;
use crate::event::RingSample;
use crate::source::{Reading, Refusal};

/// `size of the struct | version << 24`, as NVML marks its versioned structs.
const fn struct_version<T>(version: u32) -> u32 {
    mem::size_of::<T>() as u32 | (version << 24)
}

macro_rules! invoke {
    ($library:expr, $function:ident, $($argument:expr),*) => {
        match &$library.$function {
            // SAFETY: the signature is NVML's own (bindings generated from nvml.h); pointers go to
            // live locals or to buffers whose length is passed beside them; the device handle came
            // from this library, which is still loaded because `$library` borrows it.
            Ok(function) => answer(crate::pulse::inside(stringify!($function), || unsafe {
                function($($argument),*)
            })),
            Err(_) => Err(Refusal::NoSuchFunction),
        }
    };
}
pub(super) use invoke;

macro_rules! number {
    ($(#[$doc:meta])* $name:ident, $function:ident $(, $argument:expr)*) => {
        $(#[$doc])*
        pub(super) fn $name(library: &NvmlLib, device: nvmlDevice_t) -> Reading<i64> {
            let mut value: c_uint = 0;
            invoke!(library, $function, device, $($argument,)* &mut value)?;
            Ok(i64::from(value))
        }
    };
}

number!(/// Power in milliwatts.
    power_usage, nvmlDeviceGetPowerUsage);
number!(/// Core temperature in degrees.
    temperature, nvmlDeviceGetTemperature, 0);
number!(/// Temperature at which the GPU slows down.
    slowdown_temperature, nvmlDeviceGetTemperatureThreshold, 1);
number!(/// SM clock in MHz.
    sm_clock, nvmlDeviceGetClockInfo, 1);
number!(/// Memory clock in MHz.
    memory_clock, nvmlDeviceGetClockInfo, 2);
number!(/// Highest SM clock in MHz.
    max_sm_clock, nvmlDeviceGetMaxClockInfo, 1);
number!(/// Fan speed in percent.
    fan_speed, nvmlDeviceGetFanSpeed);
number!(/// PCIe generation now.
    pcie_generation, nvmlDeviceGetCurrPcieLinkGeneration);
number!(/// PCIe lanes now.
    pcie_width, nvmlDeviceGetCurrPcieLinkWidth);
number!(/// Highest PCIe generation of GPU and slot.
    pcie_generation_max, nvmlDeviceGetMaxPcieLinkGeneration);
number!(/// Most PCIe lanes of GPU and slot.
    pcie_width_max, nvmlDeviceGetMaxPcieLinkWidth);
number!(/// PCIe replays.
    pcie_replays, nvmlDeviceGetPcieReplayCounter);
number!(/// Power limit in force, in milliwatts.
    power_limit, nvmlDeviceGetEnforcedPowerLimit);
number!(/// Factory power limit in milliwatts.
    power_limit_default, nvmlDeviceGetPowerManagementDefaultLimit);
number!(/// Most MIG instances that this GPU can have.
    mig_instances_max, nvmlDeviceGetMaxMigDeviceCount);
number!(/// Number of the GPU instance that a MIG instance is in.
    gpu_instance, nvmlDeviceGetGpuInstanceId);

/// Keeps the SM clock between two frequencies in MHz.
pub(super) fn lock_clocks(
    library: &NvmlLib,
    device: nvmlDevice_t,
    low: u32,
    high: u32,
) -> Reading<()> {
    invoke!(library, nvmlDeviceSetGpuLockedClocks, device, low, high)
}

/// Gives the SM clock back to the driver.
pub(super) fn unlock_clocks(library: &NvmlLib, device: nvmlDevice_t) -> Reading<()> {
    invoke!(library, nvmlDeviceResetGpuLockedClocks, device)
}

/// Performance state; NVML's "unknown" (32) is absent.
pub(super) fn performance_state(library: &NvmlLib, device: nvmlDevice_t) -> Reading<i64> {
    let mut state = 0;
    invoke!(library, nvmlDeviceGetPerformanceState, device, &mut state)?;
    if state <= 15 {
        Ok(i64::from(state))
    } else {
        Err(Refusal::NotFound)
    }
}

/// How many devices there are.
pub(super) fn device_count(library: &NvmlLib) -> Reading<u32> {
    let mut count = 0;
    invoke!(library, nvmlDeviceGetCount_v2, &mut count)?;
    Ok(count)
}

/// Opens a device.
pub(super) fn device_by_index(library: &NvmlLib, index: u32) -> Reading<nvmlDevice_t> {
    let mut device = std::ptr::null_mut();
    invoke!(library, nvmlDeviceGetHandleByIndex_v2, index, &mut device)?;
    Ok(device)
}

/// Opens a MIG instance of a device.
pub(super) fn mig_device(
    library: &NvmlLib,
    parent: nvmlDevice_t,
    index: u32,
) -> Reading<nvmlDevice_t> {
    let mut device = std::ptr::null_mut();
    invoke!(
        library,
        nvmlDeviceGetMigDeviceHandleByIndex,
        parent,
        index,
        &mut device
    )?;
    Ok(device)
}

/// Whether the GPU is in MIG mode.
pub(super) fn mig_enabled(library: &NvmlLib, device: nvmlDevice_t) -> Reading<bool> {
    let (mut current, mut pending) = (0, 0);
    invoke!(
        library,
        nvmlDeviceGetMigMode,
        device,
        &mut current,
        &mut pending
    )?;
    Ok(current == 1)
}

/// A string from a buffer that NVML filled: up to its first zero.
fn text(buffer: &[c_char]) -> String {
    // SAFETY: the slice is live for the call and a zero is guaranteed by the caller, who keeps
    // the last byte of the buffer out of NVML's reach.
    unsafe { CStr::from_ptr(buffer.as_ptr()) }
        .to_string_lossy()
        .into_owned()
}

/// Product name.
pub(super) fn name(library: &NvmlLib, device: nvmlDevice_t) -> Reading<String> {
    let mut buffer: [c_char; 97] = [0; 97];
    invoke!(library, nvmlDeviceGetName, device, buffer.as_mut_ptr(), 96)?;
    Ok(text(&buffer))
}

/// Stable identity.
pub(super) fn uuid(library: &NvmlLib, device: nvmlDevice_t) -> Reading<String> {
    let mut buffer: [c_char; 97] = [0; 97];
    invoke!(library, nvmlDeviceGetUUID, device, buffer.as_mut_ptr(), 96)?;
    Ok(text(&buffer))
}

/// PCI address.
pub(super) fn pci_bus_id(library: &NvmlLib, device: nvmlDevice_t) -> Reading<String> {
    // SAFETY: all fields are integers and byte arrays, for which zero is a value.
    let mut info: nvmlPciInfo_t = unsafe { mem::zeroed() };
    invoke!(library, nvmlDeviceGetPciInfo_v3, device, &mut info)?;
    info.busId[31] = 0;
    Ok(text(&info.busId))
}

/// `(busy, memory busy)` in percent.
pub(super) fn utilization(library: &NvmlLib, device: nvmlDevice_t) -> Reading<(i64, i64)> {
    let mut rates = nvmlUtilization_t { gpu: 0, memory: 0 };
    invoke!(library, nvmlDeviceGetUtilizationRates, device, &mut rates)?;
    if rates.gpu > 100 || rates.memory > 100 {
        return Err(Refusal::OutOfRange);
    }
    Ok((rates.gpu.into(), rates.memory.into()))
}

/// Encoder busy in percent.
pub(super) fn encoder(library: &NvmlLib, device: nvmlDevice_t) -> Reading<i64> {
    let (mut busy, mut period) = (0, 0);
    invoke!(
        library,
        nvmlDeviceGetEncoderUtilization,
        device,
        &mut busy,
        &mut period
    )?;
    Ok(busy.into())
}

/// Decoder busy in percent.
pub(super) fn decoder(library: &NvmlLib, device: nvmlDevice_t) -> Reading<i64> {
    let (mut busy, mut period) = (0, 0);
    invoke!(
        library,
        nvmlDeviceGetDecoderUtilization,
        device,
        &mut busy,
        &mut period
    )?;
    Ok(busy.into())
}

/// Clocks event reasons; drivers before 535 know them as throttle reasons.
pub(super) fn event_reasons(library: &NvmlLib, device: nvmlDevice_t) -> Reading<i64> {
    let mut bits: c_ulonglong = 0;
    match invoke!(
        library,
        nvmlDeviceGetCurrentClocksEventReasons,
        device,
        &mut bits
    ) {
        Err(Refusal::NoSuchFunction) => invoke!(
            library,
            nvmlDeviceGetCurrentClocksThrottleReasons,
            device,
            &mut bits
        )?,
        other => other?,
    }
    i64::try_from(bits).map_err(|_| Refusal::OutOfRange)
}

/// Memory by what it is used for, in bytes.
pub(super) struct Memory {
    /// All of it.
    pub(super) total: i64,
    /// In use by programs.
    pub(super) used: i64,
    /// Kept by the driver; absent where the old call was all there is.
    pub(super) reserved: Option<i64>,
}

/// Device memory.
pub(super) fn memory(library: &NvmlLib, device: nvmlDevice_t) -> Reading<Memory> {
    let signed = |bytes: c_ulonglong| i64::try_from(bytes).map_err(|_| Refusal::OutOfRange);
    let mut info = nvmlMemory_v2_t {
        version: struct_version::<nvmlMemory_v2_t>(2),
        total: 0,
        reserved: 0,
        free: 0,
        used: 0,
    };
    match invoke!(library, nvmlDeviceGetMemoryInfo_v2, device, &mut info) {
        Ok(()) => Ok(Memory {
            total: signed(info.total)?,
            used: signed(info.used)?,
            reserved: Some(signed(info.reserved)?),
        }),
        Err(refusal) if refusal.is_final() => {
            // SAFETY: three integers, for which zero is a value.
            let mut old: nvml_wrapper_sys::bindings::nvmlMemory_t = unsafe { mem::zeroed() };
            invoke!(library, nvmlDeviceGetMemoryInfo, device, &mut old)?;
            Ok(Memory {
                total: signed(old.total)?,
                used: signed(old.used)?,
                reserved: None,
            })
        }
        Err(refusal) => Err(refusal),
    }
}

/// Degrees left before slowdown.
pub(super) fn margin(library: &NvmlLib, device: nvmlDevice_t) -> Reading<i64> {
    let mut margin = nvmlMarginTemperature_t {
        version: struct_version::<nvmlMarginTemperature_t>(1),
        marginTemperature: 0,
    };
    invoke!(library, nvmlDeviceGetMarginTemperature, device, &mut margin)?;
    Ok(margin.marginTemperature.into())
}

/// `(corrected, uncorrected, pending, failed)` of the row remapper.
pub(super) fn remapped_rows(
    library: &NvmlLib,
    device: nvmlDevice_t,
) -> Reading<(i64, i64, i64, i64)> {
    let (mut corrected, mut uncorrected, mut pending, mut failed) = (0, 0, 0, 0);
    invoke!(
        library,
        nvmlDeviceGetRemappedRows,
        device,
        &mut corrected,
        &mut uncorrected,
        &mut pending,
        &mut failed
    )?;
    Ok((
        corrected.into(),
        uncorrected.into(),
        pending.into(),
        failed.into(),
    ))
}

/// Memory errors: `kind` 0 corrected, 1 uncorrected; `span` 0 since the driver's load, 1 lifetime.
pub(super) fn ecc_errors(
    library: &NvmlLib,
    device: nvmlDevice_t,
    kind: u32,
    span: u32,
) -> Reading<i64> {
    let mut count: c_ulonglong = 0;
    invoke!(
        library,
        nvmlDeviceGetTotalEccErrors,
        device,
        kind,
        span,
        &mut count
    )?;
    i64::try_from(count).map_err(|_| Refusal::OutOfRange)
}

/// Energy since the driver's load, in millijoules.
pub(super) fn energy(library: &NvmlLib, device: nvmlDevice_t) -> Reading<i64> {
    let mut energy: c_ulonglong = 0;
    invoke!(
        library,
        nvmlDeviceGetTotalEnergyConsumption,
        device,
        &mut energy
    )?;
    i64::try_from(energy).map_err(|_| Refusal::OutOfRange)
}

/// A tagged value as a number; doubles are rounded towards zero.
fn number_of(tag: nvmlValueType_t, value: nvmlValue_t) -> Reading<i64> {
    // SAFETY: the tag says which member NVML wrote, and every bit pattern of every member is a
    // value of its type.
    unsafe {
        match tag {
            0 if value.dVal.is_finite() => Ok(value.dVal as i64),
            1 => Ok(i64::from(value.uiVal)),
            2 => i64::try_from(value.ulVal).map_err(|_| Refusal::OutOfRange),
            3 => i64::try_from(value.ullVal).map_err(|_| Refusal::OutOfRange),
            4 => Ok(value.sllVal),
            5 => Ok(i64::from(value.siVal)),
            6 => Ok(i64::from(value.usVal)),
            _ => Err(Refusal::OutOfRange),
        }
    }
}

/// Several fields in one call, in the order of `ids`; each has its own answer.
pub(super) fn fields<const N: usize>(
    library: &NvmlLib,
    device: nvmlDevice_t,
    ids: [u32; N],
) -> Reading<[Reading<i64>; N]> {
    let mut values = ids.map(|id| {
        // SAFETY: integers and a union of numbers, for which zero is a value.
        let mut value: nvmlFieldValue_t = unsafe { mem::zeroed() };
        value.fieldId = id;
        value
    });
    let count = i32::try_from(N).map_err(|_| Refusal::InsufficientSize)?;
    invoke!(
        library,
        nvmlDeviceGetFieldValues,
        device,
        count,
        values.as_mut_ptr()
    )?;
    Ok(values.map(|value| {
        answer(value.nvmlReturn).and_then(|()| number_of(value.valueType, value.value))
    }))
}

/// The samples of a driver ring after `after`, appended to `into`. `buffer` is kept between calls.
pub(super) fn ring(
    library: &NvmlLib,
    device: nvmlDevice_t,
    kind: u32,
    after: Micros,
    buffer: &mut Vec<nvmlSample_t>,
) -> Reading<Vec<RingSample>> {
    // SAFETY: an integer and a union of numbers, for which zero is a value.
    let empty: nvmlSample_t = unsafe { mem::zeroed() };
    let mut tag: nvmlValueType_t = 0;
    // The rings seen so far hold 71 to 119 samples.
    let samples = listed(buffer, 128, empty, |samples, count| {
        tag = 0;
        invoke!(
            library,
            nvmlDeviceGetSamples,
            device,
            kind,
            after.0,
            &mut tag,
            count,
            samples.as_mut_ptr()
        )
    })?;
    Ok(samples
        .iter()
        // Some drivers hand out the samples at or before the time stamp again.
        .filter(|sample| sample.timeStamp > after.0)
        .filter_map(|sample| {
            Some(RingSample {
                at: Micros(sample.timeStamp),
                value: number_of(tag, sample.sampleValue).ok()?,
            })
        })
        .collect())
}

/// What a call lists into a buffer, which is kept between calls: the list may grow between two of them, so the
/// buffer grows with what NVML asks for, a few times over.
fn listed<T: Copy>(
    buffer: &mut Vec<T>,
    at_first: usize,
    empty: T,
    mut call: impl FnMut(&mut [T], &mut c_uint) -> Reading<()>,
) -> Reading<&[T]> {
    if buffer.is_empty() {
        buffer.resize(at_first, empty);
    }
    loop {
        let mut count = c_uint::try_from(buffer.len()).map_err(|_| Refusal::InsufficientSize)?;
        match call(&mut buffer[..], &mut count) {
            Err(Refusal::InsufficientSize) if buffer.len() < 1 << 16 => {
                let wanted = (count as usize).max(buffer.len() * 2).min(1 << 16);
                buffer.resize(wanted, empty);
            }
            Err(refusal) => return Err(refusal),
            Ok(()) => return Ok(&buffer[..buffer.len().min(count as usize)]),
        }
    }
}

/// Which processes to list.
#[derive(Clone, Copy)]
pub(super) enum ProcessKind {
    /// Those with a compute context.
    Compute,
    /// Those with a graphics context.
    Graphics,
}

/// A process as NVML lists it.
pub(super) struct Listed {
    pub(super) pid: u32,
    pub(super) memory_bytes: Option<i64>,
    pub(super) gpu_instance: Option<u32>,
}

/// The processes on a GPU.
pub(super) fn processes(
    library: &NvmlLib,
    device: nvmlDevice_t,
    kind: ProcessKind,
    buffer: &mut Vec<nvmlProcessInfo_t>,
) -> Reading<Vec<Listed>> {
    // SAFETY: four integers, for which zero is a value.
    let empty: nvmlProcessInfo_t = unsafe { mem::zeroed() };
    let processes = listed(buffer, 32, empty, |list, count| match kind {
        ProcessKind::Compute => invoke!(
            library,
            nvmlDeviceGetComputeRunningProcesses_v3,
            device,
            count,
            list.as_mut_ptr()
        ),
        ProcessKind::Graphics => invoke!(
            library,
            nvmlDeviceGetGraphicsRunningProcesses_v3,
            device,
            count,
            list.as_mut_ptr()
        ),
    })?;
    Ok(processes
        .iter()
        .map(|process| Listed {
            pid: process.pid,
            // "Not available" is all ones, which is no number of bytes.
            memory_bytes: i64::try_from(process.usedGpuMemory).ok(),
            gpu_instance: Some(process.gpuInstanceId).filter(|id| *id != u32::MAX),
        })
        .collect())
}

/// Share of time in which kernels of each process ran, as `(pid, when, percent)`. The driver leaves
/// processes out that did nothing since `after`, and some drivers leave entries unwritten: what is no
/// share is left out.
pub(super) fn process_utilization(
    library: &NvmlLib,
    device: nvmlDevice_t,
    after: Micros,
    buffer: &mut Vec<nvmlProcessUtilizationSample_t>,
) -> Reading<Vec<(u32, Micros, i64)>> {
    // SAFETY: six integers, for which zero is a value.
    let empty: nvmlProcessUtilizationSample_t = unsafe { mem::zeroed() };
    let samples = listed(buffer, 128, empty, |samples, count| {
        samples.fill(empty);
        invoke!(
            library,
            nvmlDeviceGetProcessUtilization,
            device,
            samples.as_mut_ptr(),
            count,
            after.0
        )
    })?;
    Ok(samples
        .iter()
        .filter(|sample| sample.timeStamp > after.0 && sample.smUtil <= 100)
        .map(|sample| (sample.pid, Micros(sample.timeStamp), sample.smUtil.into()))
        .collect())
}
