//! Ceilings of a device, measured here and now, and how near a run comes to them.
//!
//! Datasheets name rates that no program reaches. A ceiling here is what the simplest program
//! reached on this device: a copy for bytes (each counted when read and when written), a chain of
//! multiply-adds for operations in single precision (without the matrix units).

use std::time::Instant;

use serde::{Deserialize, Serialize};
use warpsmith_core::{KernelImage, kernel};
use warpsmith_device::{CudaDevice, Device, DeviceBuffer, DeviceError, LaunchShape};
use warpsmith_lanes::{InstructionSet, Task};
use warpsmith_workload::Cost;

use crate::gpu::device_timer::{CacheState, DeviceTimer};
use crate::roofline_on_vulkan;

// SAFETY: `fma_peak.cu` takes a buffer of f32 with its length and a u32; its one store is
// behind the length.
pub(crate) static FMA_PEAK: KernelImage =
    unsafe { kernel!("measure/fma_peak", fma_peak(out f32, u32)) };

/// The most that was reached on a device.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Ceilings {
    /// Bytes read and written a second by a copy that no cache holds.
    pub bytes_per_second: f64,
    /// Single-precision operations a second by multiply-adds.
    pub flops_per_second: f64,
}

/// Runs of the simplest programs, from which ceilings are taken.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CeilingSamples {
    /// Bytes that a copy reads and writes.
    pub bytes: f64,
    /// Seconds of each copy.
    pub copies: Vec<f64>,
    /// Operations of a run of multiply-adds.
    pub operations: f64,
    /// Seconds of each run of multiply-adds.
    pub sums: Vec<f64>,
}

/// What holds a run back.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Bound {
    /// Moving bytes takes longer than computing.
    Memory,
    /// Computing takes longer than moving bytes.
    Arithmetic,
}

/// A run under its roof.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Roofline {
    /// Operations per byte.
    pub intensity: f64,
    /// Which ceiling is the lower one at this intensity.
    pub bound: Bound,
    /// The least time that the ceilings allow.
    pub floor_seconds: f64,
    /// Bytes a second as a share of the ceiling.
    pub bytes_share: f64,
    /// Operations a second as a share of the ceiling.
    pub flops_share: f64,
    /// The floor as a share of the time: 1 is as fast as the ceilings allow. More than that is
    /// no share of a roof, and [`Self::refusal`] says why.
    pub reached: f64,
    /// The same at the slow end of the time's interval.
    pub reached_low: f64,
    /// The same at the fast end of the time's interval.
    pub reached_high: f64,
    /// Why this roof is not the run's, where the run is above it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refusal: Option<Refusal>,
}

/// Why a run is above a roof: the roof or the cost is wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Refusal {
    /// What it moves fits into the caches, and the roof is that of memory.
    CacheResident,
    /// It cannot have moved as many bytes as its cost says.
    WrongCost,
    /// It computes with other units, or another precision, than the roof was measured with.
    WrongRoof,
}

impl std::fmt::Display for Refusal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(match self {
            Self::CacheResident => "its data fits into the caches: memory is not its roof",
            Self::WrongCost => "it moves fewer bytes than its cost says",
            Self::WrongRoof => {
                "it computes with other units or another precision than the roof, or less than its \
                 cost says"
            }
        })
    }
}

impl Roofline {
    /// The share that was reached with its interval, or that it is none.
    pub fn reached_text(&self) -> String {
        if self.refusal.is_some() {
            return "above the roof".to_owned();
        }
        let percent = |share: f64| format!("{:.1}", 100.0 * share);
        match self.reached_low < self.reached_high && self.reached_high.is_finite() {
            true => format!(
                "{} % ({} to {})",
                percent(self.reached),
                percent(self.reached_low),
                // What is above by less than the roof is known to is at the roof.
                percent(self.reached_high.min(self.reached.max(1.0)))
            ),
            false => format!("{} %", percent(self.reached)),
        }
    }
}

impl Ceilings {
    /// Measures them; takes a fraction of a second.
    pub fn measure(device: &Device) -> Result<Self, DeviceError> {
        Ok(CeilingSamples::take(device, 10)?.ceilings())
    }

    /// Compares a run of `seconds` with the ceilings; `None` where it neither moves nor computes
    /// anything, or took no time.
    pub fn judge(&self, cost: &Cost, seconds: f64) -> Option<Roofline> {
        self.judge_within(cost, seconds, (seconds, seconds), None)
    }

    /// As [`Self::judge`], with the interval of the time, and the size of the caches in front of
    /// the memory, where it is known.
    pub fn judge_within(
        &self,
        cost: &Cost,
        seconds: f64,
        interval: (f64, f64),
        cache_bytes: Option<u64>,
    ) -> Option<Roofline> {
        /// A ceiling is the best of a few runs, and the next one may be this much better.
        const KNOWN_TO: f64 = 0.03;
        let (bytes, flops) = (cost.bytes.0 as f64, cost.flops.0 as f64);
        if (bytes == 0.0 && flops == 0.0) || seconds <= 0.0 {
            return None;
        }
        let (moving, computing) = (bytes / self.bytes_per_second, flops / self.flops_per_second);
        let floor_seconds = moving.max(computing);
        let bound = if moving >= computing {
            Bound::Memory
        } else {
            Bound::Arithmetic
        };
        // An interval without an end, from too few samples, says no more than the median.
        let end = |end: f64| match end.is_finite() && end > 0.0 {
            true => floor_seconds / end,
            false => floor_seconds / seconds,
        };
        let (reached_low, reached_high) = (end(interval.1), end(interval.0));
        let refusal = (reached_low > 1.0 + KNOWN_TO).then(|| match bound {
            Bound::Arithmetic => Refusal::WrongRoof,
            Bound::Memory if cache_bytes.is_some_and(|cache| bytes <= 2.0 * cache as f64) => {
                Refusal::CacheResident
            }
            Bound::Memory => Refusal::WrongCost,
        });
        Some(Roofline {
            intensity: if bytes > 0.0 { flops / bytes } else { f64::MAX },
            bound,
            floor_seconds,
            bytes_share: moving / seconds,
            flops_share: computing / seconds,
            reached: floor_seconds / seconds,
            reached_low,
            reached_high,
            refusal,
        })
    }
}

/// The caches in front of a device's memory: all of the last level's, and those of every core.
pub fn cache_bytes(device: &Device) -> Option<u64> {
    match device {
        Device::Cuda(gpu) => Some(gpu.facts().l2_bytes).filter(|bytes| *bytes > 0),
        // Vulkan does not say.
        Device::Vulkan(_) => None,
        Device::Cpu(cpu) => {
            let facts = cpu.facts();
            let data = facts
                .caches
                .iter()
                .filter(|cache| cache.kind != "instruction");
            let last = data.clone().map(|cache| cache.level).max()?;
            let cores = facts.usable_cores as u64;
            Some(
                data.map(|cache| match cache.level == last {
                    true => cache.bytes,
                    false => cache.bytes * cores,
                })
                .sum(),
            )
        }
    }
}

impl CeilingSamples {
    /// Runs both programs `runs` times.
    pub fn take(device: &Device, runs: usize) -> Result<Self, DeviceError> {
        match device {
            Device::Cuda(gpu) => Self::of_gpu(gpu, runs),
            Device::Vulkan(device) => roofline_on_vulkan::take(device, runs),
            Device::Cpu(cpu) => Ok(Self::of_cpu(cpu.threads(), runs)),
        }
    }

    /// The most that was reached.
    pub fn ceilings(&self) -> Ceilings {
        Ceilings {
            bytes_per_second: self.bytes / least(&self.copies),
            flops_per_second: self.operations / least(&self.sums),
        }
    }

    fn of_gpu(gpu: &CudaDevice, runs: usize) -> Result<Self, DeviceError> {
        /// A few times any L2, and small beside any memory.
        const COPIED: usize = 512 << 20;
        const ROUNDS: u32 = 512;
        const THREADS: u32 = 256;
        let stream = gpu.stream().clone();
        let mut timer = DeviceTimer::new(gpu, CacheState::Warm)?;
        let fitting = usize::try_from(gpu.memory()?.free / 8).unwrap_or(COPIED);
        let bytes = COPIED.min(fitting);
        let mut source: DeviceBuffer<u8> = gpu.alloc(bytes)?;
        let mut target: DeviceBuffer<u8> = gpu.alloc(bytes)?;
        source.fill_bytes(&stream, 0x5a)?;
        let mut copies = Vec::new();
        for _ in 0..runs {
            let mut copy = || stream.copy(&source, &mut target);
            copies.push(timer.time::<DeviceError>(&stream, &mut copy)?.seconds);
        }
        let kernel = gpu.kernel(&FMA_PEAK)?;
        // Eight blocks fill every multiprocessor of today with 2048 threads.
        let blocks = gpu.facts().multiprocessors.max(1) * 8;
        let threads = (blocks * THREADS) as usize;
        let mut out: DeviceBuffer<f32> = gpu.alloc(threads)?;
        let mut sums = Vec::new();
        for _ in 0..runs {
            let mut sum = || {
                let shape = LaunchShape::linear(threads, THREADS);
                stream.launch(&kernel, shape, &[out.write(), ROUNDS.into()])
            };
            sums.push(timer.time::<DeviceError>(&stream, &mut sum)?.seconds);
        }
        // Eight chains, sixteen steps, two operations each.
        let operations = threads as f64 * f64::from(ROUNDS) * 256.0;
        Ok(Self {
            bytes: 2.0 * bytes as f64,
            copies,
            operations,
            sums,
        })
    }

    fn of_cpu(threads: usize, runs: usize) -> Self {
        /// For each thread, twice: no cache holds it.
        const COPIED: usize = 32 << 20;
        const LANES: usize = 64;
        const STEPS: usize = 100_000;
        const WARM_UP: usize = 2;
        let mut copies = Vec::new();
        let mut sums = Vec::new();
        let mut buffers: Vec<_> = (0..threads)
            .map(|_| (vec![1u8; COPIED], vec![0u8; COPIED]))
            .collect();
        // The first runs touch fresh pages and wake cores.
        for _ in 0..runs + WARM_UP {
            let start = Instant::now();
            std::thread::scope(|scope| {
                for (source, target) in &mut buffers {
                    scope.spawn(|| target.copy_from_slice(std::hint::black_box(source)));
                }
            });
            copies.push(start.elapsed().as_secs_f64());
            let start = Instant::now();
            std::thread::scope(|scope| {
                for _ in 0..threads {
                    scope.spawn(|| std::hint::black_box(multiply_adds::<LANES>(STEPS)));
                }
            });
            sums.push(start.elapsed().as_secs_f64());
        }
        Self {
            bytes: (2 * COPIED * threads) as f64,
            copies: copies.split_off(WARM_UP),
            operations: (2 * LANES * STEPS * threads) as f64,
            sums: sums.split_off(WARM_UP),
        }
    }
}

/// A ceiling is the most that was reached: other work on the machine only ever takes from it.
fn least(seconds: &[f64]) -> f64 {
    seconds.iter().copied().fold(f64::INFINITY, f64::min)
}

/// Independent chains in lanes that a compiler turns into vectors, as wide as this CPU has them.
fn multiply_adds<const LANES: usize>(steps: usize) -> f32 {
    let mut sum = 0.0;
    let set = InstructionSet::widest();
    match set {
        InstructionSet::Portable => {
            sum = chains::<LANES>(steps, |lane, scale, addend| lane * scale + addend);
        }
        InstructionSet::Avx2(_) | InstructionSet::Avx512(_) => set.run(FusedChains::<LANES> {
            steps,
            sum: &mut sum,
        }),
    }
    sum
}

struct FusedChains<'a, const LANES: usize> {
    steps: usize,
    sum: &'a mut f32,
}

impl<const LANES: usize> Task for FusedChains<'_, LANES> {
    #[inline(always)]
    fn run(self) {
        *self.sum = chains::<LANES>(self.steps, f32::mul_add);
    }
}

#[inline(always)]
fn chains<const LANES: usize>(steps: usize, step: impl Fn(f32, f32, f32) -> f32) -> f32 {
    let mut lanes = [0.0f32; LANES];
    let scale = std::hint::black_box(0.999f32);
    for _ in 0..steps {
        for (index, lane) in lanes.iter_mut().enumerate() {
            *lane = step(*lane, scale, index as f32);
        }
    }
    lanes.iter().sum()
}

#[cfg(test)]
mod tests {
    use warpsmith_core::{Bytes, Flops};
    use warpsmith_device::DeviceChoice;

    use super::*;

    const CEILINGS: Ceilings = Ceilings {
        bytes_per_second: 4e12,
        flops_per_second: 60e12,
    };

    fn cost(bytes: u64, flops: u64) -> Cost {
        Cost {
            bytes: Bytes(bytes),
            flops: Flops(flops),
            ..Cost::default()
        }
    }

    #[test]
    fn the_lower_ceiling_bounds() {
        // A gigabyte in half a millisecond is half of 4 TB/s.
        let stream = CEILINGS.judge(&cost(1_000_000_000, 1000), 0.5e-3).unwrap();
        assert_eq!(stream.bound, Bound::Memory);
        assert!((stream.reached - 0.5).abs() < 1e-9 && (stream.bytes_share - 0.5).abs() < 1e-9);
        let dense = CEILINGS.judge(&cost(1000, 60_000_000_000), 2e-3).unwrap();
        assert_eq!(dense.bound, Bound::Arithmetic);
        assert!((dense.reached - 0.5).abs() < 1e-9);
        assert_eq!(CEILINGS.judge(&cost(0, 0), 1.0), None);
        assert_eq!(CEILINGS.judge(&cost(1, 1), 0.0), None);
    }

    #[test]
    fn what_is_above_the_roof_is_refused_with_a_reason() {
        let judge = |cost: &Cost, seconds: f64, cache| {
            CEILINGS
                .judge_within(cost, seconds, (0.98 * seconds, 1.02 * seconds), cache)
                .unwrap()
        };
        // 40 MB at 11 times the copy rate.
        let cached = judge(&cost(40_000_000, 1), 1e-6, Some(60 << 20));
        assert_eq!(cached.refusal, Some(Refusal::CacheResident));
        assert_eq!(cached.reached_text(), "above the roof");
        let streamed = judge(&cost(4_000_000_000, 1), 0.5e-3, Some(60 << 20));
        assert_eq!(streamed.refusal, Some(Refusal::WrongCost));
        let tensor = judge(&cost(1000, 60_000_000_000_000), 0.1, None);
        assert_eq!(tensor.refusal, Some(Refusal::WrongRoof));
        // 1 % above is what a ceiling is known to, and reads as 100 %.
        let near = judge(&cost(4_040_000_000, 1), 1e-3, None);
        assert_eq!(near.refusal, None);
        let half = judge(&cost(2_000_000_000, 1), 1e-3, None);
        assert_eq!(half.reached_text(), "50.0 % (49.0 to 51.0)");
        // Too few samples for an interval.
        let open = CEILINGS
            .judge_within(
                &cost(2_000_000_000, 1),
                1e-3,
                (f64::NEG_INFINITY, f64::INFINITY),
                None,
            )
            .unwrap();
        assert_eq!(open.reached_text(), "50.0 %");
    }

    #[test]
    fn this_machine_has_ceilings() {
        let device = Device::open(DeviceChoice::Cpu).unwrap();
        let ceilings = Ceilings::measure(&device).unwrap();
        // The slowest machine that could run this moves and computes more than that.
        assert!(ceilings.bytes_per_second > 1e7 && ceilings.flops_per_second > 1e6);
    }
}
