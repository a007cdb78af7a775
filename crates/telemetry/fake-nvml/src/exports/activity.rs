//! The activity counters of Hopper and later (GPM).

use std::ffi::c_uint;

use nvml_wrapper_sys::bindings::{nvmlGpmMetricsGet_t, nvmlGpmSupport_t};
use warpsmith_telemetry::Steady;

use super::call::{Answer, Call, Handle, code_of, export, put, system};
use crate::machine::code;

/// A sample of the activity counters: which GPU, and when.
struct GpmSample {
    gpu: usize,
    t: f64,
}

export! {
    nvmlGpmQueryDeviceSupport(device: Handle, support: *mut nvmlGpmSupport_t) => {
        let call = Call::enter(device, "nvmlGpmQueryDeviceSupport")?;
        let counts = call.device().steady(call.t).sm_active_permille.is_some();
        put(support, nvmlGpmSupport_t { version: 1, isSupportedDevice: counts.into() })
    };
    nvmlGpmSampleAlloc(sample: *mut *mut GpmSample) => {
        system()?.suffer_alone("nvmlGpmSampleAlloc")?;
        put(sample, Box::into_raw(Box::new(GpmSample { gpu: usize::MAX, t: 0.0 })))
    };
    nvmlGpmSampleFree(sample: *mut GpmSample) => {
        system()?.suffer_alone("nvmlGpmSampleFree")?;
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
        machine.suffer_alone("nvmlGpmMetricsGet")?;
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
