//! The instruments compared with what is known: kernels that spin for a known time, the clock that
//! they ran at, and the arithmetic by which ceilings are measured, bit for bit.

use serde::{Deserialize, Serialize};
use warpsmith_device::{CudaDevice, DeviceBuffer, DeviceError, LaunchShape};

use super::device_timer::{CacheState, DeviceTimer};
use crate::roofline::FMA_PEAK;
use crate::statistics::order::median_of;

/// One instrument and how it did.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct InstrumentCheck {
    /// The kernels that took part.
    pub kernels: String,
    /// What was seen.
    pub seen: String,
    /// Whether that is right.
    pub right: bool,
}

/// Checks every kernel that measurements rest on.
pub fn check_instruments(gpu: &CudaDevice) -> Result<Vec<InstrumentCheck>, DeviceError> {
    Ok(vec![spins(gpu)?, sums(gpu)?])
}

/// Spins of 10 and 100 µs are read within a microsecond, at a clock that GPUs have.
fn spins(gpu: &CudaDevice) -> Result<InstrumentCheck, DeviceError> {
    let mut timer = DeviceTimer::new(gpu, CacheState::Warm)?;
    let mut seen = Vec::new();
    let mut right = true;
    for microseconds in [10u32, 100] {
        let mut samples = timer.spins(gpu.stream(), u64::from(microseconds) * 1000, 64)?;
        let clocks: Vec<f64> = samples
            .iter()
            .filter_map(|sample| sample.clock_mhz.map(f64::from))
            .collect();
        let seconds: Vec<f64> = samples.drain(..).map(|sample| sample.seconds).collect();
        let read = 1e6 * median_of(&seconds);
        let mhz = if clocks.is_empty() {
            0.0
        } else {
            median_of(&clocks)
        };
        right &= (read - f64::from(microseconds)).abs() <= 1.0 && (100.0..10_000.0).contains(&mhz);
        seen.push(format!(
            "{microseconds} µs read as {read:.2} µs at {mhz:.0} MHz"
        ));
    }
    Ok(InstrumentCheck {
        kernels: "measure/spin, measure/hold_stream, measure/clock_stamp".to_owned(),
        seen: seen.join(", "),
        right,
    })
}

/// The multiply-adds of `fma_peak.cu` against the same on the CPU, into a poisoned buffer.
fn sums(gpu: &CudaDevice) -> Result<InstrumentCheck, DeviceError> {
    const THREADS: usize = 3000;
    let mut out: DeviceBuffer<f32> = gpu.alloc(THREADS)?;
    out.fill_bytes(gpu.stream(), 0xFF)?;
    let kernel = gpu.kernel(&FMA_PEAK)?;
    let shape = LaunchShape::linear(THREADS, 256);
    gpu.stream()
        .launch(&kernel, shape, &[out.write(), 3u32.into()])?;
    let got = out.download(gpu.stream())?;
    let equal = got
        .iter()
        .enumerate()
        .filter(|(index, sum)| sum.to_bits() == sum_of(*index, 3).to_bits())
        .count();
    Ok(InstrumentCheck {
        kernels: "measure/fma_peak".to_owned(),
        seen: format!("{equal} of {THREADS} sums equal to the CPU's, bit for bit"),
        right: equal == THREADS,
    })
}

/// What thread `index` of `fma_peak.cu` sums up to: fused operations round once on both sides.
fn sum_of(index: usize, rounds: usize) -> f32 {
    let b = 1e-6f32 * (index & 1023) as f32;
    let mut x: [f32; 8] = std::array::from_fn(|nth| b + nth as f32);
    for _ in 0..16 * rounds {
        x = x.map(|x| x.mul_add(0.999, b));
    }
    ((x[0] + x[1]) + (x[2] + x[3])) + ((x[4] + x[5]) + (x[6] + x[7]))
}
