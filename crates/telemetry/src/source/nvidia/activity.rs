//! How much of the GPU worked, from the counters that Hopper and later keep (GPM).
//!
//! Utilisation says that some kernel ran; these say which part of the time and of the machine it
//! used. Values are means between two samples, which have to be 100 ms apart or more.

use std::mem;

use nvml_wrapper_sys::bindings::{
    nvmlDevice_t, nvmlGpmMetric_t, nvmlGpmMetricsGet_t, nvmlGpmSample_t, nvmlGpmSupport_t,
};

use super::answer::answer;
use super::calls::invoke;
use super::library::Library;
use crate::source::{Reading, Refusal};

/// The metrics that are requested, by NVML's numbers, in the order of [`Activity`]'s fields.
const METRICS: [u32; 11] = [2, 3, 5, 10, 11, 12, 13, 20, 21, 60, 61];

/// What the GPU did between two samples.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Activity {
    /// Thousandths of time and units: SM, occupancy, tensor cores, DRAM, FP64, FP32, FP16.
    pub(super) permille: [Option<i64>; 7],
    /// Bytes per second: PCIe sent and received, NVLink received and sent.
    pub(super) bytes_per_second: [Option<i64>; 4],
}

/// Two samples of a GPU, taken in turns.
pub(super) struct ActivityMeter {
    library: Library,
    before: nvmlGpmSample_t,
    after: nvmlGpmSample_t,
    /// Whether `before` holds a sample.
    begun: bool,
}

impl ActivityMeter {
    /// A meter for a GPU that has these counters.
    pub(super) fn open(library: Library, device: nvmlDevice_t) -> Reading<Self> {
        let nvml = library.nvml().lib();
        let mut support = nvmlGpmSupport_t {
            version: 1,
            isSupportedDevice: 0,
        };
        invoke!(nvml, nvmlGpmQueryDeviceSupport, device, &mut support)?;
        if support.isSupportedDevice == 0 {
            return Err(Refusal::NotSupported);
        }
        let mut meter = Self {
            library: library.clone(),
            before: std::ptr::null_mut(),
            after: std::ptr::null_mut(),
            begun: false,
        };
        invoke!(nvml, nvmlGpmSampleAlloc, &mut meter.before)?;
        invoke!(nvml, nvmlGpmSampleAlloc, &mut meter.after)?;
        Ok(meter)
    }

    /// What happened since the reading before; nothing yet at the first.
    pub(super) fn read(&mut self, device: nvmlDevice_t) -> Reading<Activity> {
        let nvml = self.library.nvml().lib();
        invoke!(nvml, nvmlGpmSampleGet, device, self.after)?;
        if !mem::replace(&mut self.begun, true) {
            mem::swap(&mut self.before, &mut self.after);
            return Ok(Activity::default());
        }
        // SAFETY: integers, doubles and pointers that NVML fills, for which zero is a value.
        let mut asked: nvmlGpmMetricsGet_t = unsafe { mem::zeroed() };
        asked.version = 1;
        asked.numMetrics = METRICS.len() as u32;
        (asked.sample1, asked.sample2) = (self.before, self.after);
        for (metric, id) in asked.metrics.iter_mut().zip(METRICS) {
            metric.metricId = id;
        }
        let result = invoke!(nvml, nvmlGpmMetricsGet, &mut asked);
        mem::swap(&mut self.before, &mut self.after);
        result?;
        Ok(from_metrics(&asked.metrics[..METRICS.len()]))
    }
}

impl Drop for ActivityMeter {
    fn drop(&mut self) {
        let nvml = self.library.nvml().lib();
        for sample in [self.before, self.after] {
            if !sample.is_null() {
                // Nothing can be done about a sample that cannot be given back.
                let _ = invoke!(nvml, nvmlGpmSampleFree, sample);
            }
        }
    }
}

fn from_metrics(metrics: &[nvmlGpmMetric_t]) -> Activity {
    let value = |nth: usize| {
        let metric = metrics[nth];
        answer(metric.nvmlReturn).ok()?;
        (metric.value.is_finite() && metric.value >= 0.0).then_some(metric.value)
    };
    let mut activity = Activity::default();
    for (nth, permille) in activity.permille.iter_mut().enumerate() {
        // Percent; a little above a hundred is rounding, much above is no share.
        *permille = value(nth)
            .filter(|percent| *percent <= 101.0)
            .map(|percent| ((percent * 10.0).round() as i64).min(1000));
    }
    for (nth, bytes) in activity.bytes_per_second.iter_mut().enumerate() {
        const MEBI: f64 = 1024.0 * 1024.0;
        // More than a tebibyte a millisecond is a counter that wrapped.
        *bytes = value(7 + nth)
            .filter(|mebi| *mebi < 1e9)
            .map(|mebi| (mebi * MEBI) as i64);
    }
    activity
}
