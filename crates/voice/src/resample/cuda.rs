//! Resampling on a GPU: a thread to four neighbouring outputs of four neighbouring periods.

use std::sync::Arc;

use warpsmith_core::{KernelImage, kernel};
use warpsmith_device::{CudaDevice, DeviceBuffer, Kernel, LaunchShape, Stream};
use warpsmith_signal::{Quality, Resampler};
use warpsmith_workload::{Output, Prepared, WorkloadError};

use crate::batch::{Batch, DeviceResult, DeviceSignals, checked};

// SAFETY: `resample` in `resample.cu` takes these in this order. A tile's samples and results are
// checked against theirs, weights, starts and shared memory against the sizes of a period, before a load.
static KERNEL: KernelImage = unsafe {
    kernel!("voice/resample", resample(
        in f32, in u64, in f32, in u32, out f32, u32, u32, u32, u32, u32
    ))
};

pub(super) const ID: &str = "voice/resample";

/// The most threads of a block; periods that it may take, the most that have room; and outputs, and periods,
/// that go together.
const THREADS: usize = 256;
const PERIODS: [usize; 3] = [16, 8, 4];
const TOGETHER: usize = 4;
/// A period has at least so many outputs, so that every warp has some: short ones are taken several times.
const LEAST_OUTPUTS: usize = 32;

/// A period of outputs as the kernel computes it.
struct Period {
    outputs: usize,
    inputs: usize,
    /// First input of each group of four outputs.
    starts: Vec<u32>,
    /// Inputs that a group looks at.
    length: usize,
    /// `[input, group, output of the group]`.
    weights: Vec<f32>,
    before: usize,
}

impl Period {
    fn new(resampler: &Resampler) -> Self {
        let (up, down, taps, before, filters) = resampler.polyphase();
        let turns = LEAST_OUTPUTS.div_ceil(up);
        let (outputs, inputs) = (turns * up, turns * down);
        let place = |output: usize| output.min(outputs - 1) * down;
        let groups = outputs.div_ceil(TOGETHER);
        let start = |group: usize| place(group * TOGETHER) / up;
        let reach =
            |group: usize| place(group * TOGETHER + TOGETHER - 1) / up - start(group) + taps;
        let length = (0..groups).map(reach).max().unwrap_or(taps);
        let mut weights = vec![0.0; groups * length * TOGETHER];
        for group in 0..groups {
            for k in 0..TOGETHER {
                let place = place(group * TOGETHER + k);
                let skipped = place / up - start(group);
                let filter = &filters[place % up * taps..][..taps];
                for (tap, weight) in filter.iter().enumerate() {
                    weights[((skipped + tap) * groups + group) * TOGETHER + k] = *weight;
                }
            }
        }
        Self {
            outputs,
            inputs,
            starts: (0..groups).map(|group| start(group) as u32).collect(),
            length,
            weights,
            before,
        }
    }
}

pub(crate) struct CudaResample {
    kernel: Arc<Kernel>,
    shape: LaunchShape,
    period: Period,
    periods: usize,
    samples: DeviceBuffer<f32>,
    tiles: DeviceBuffer<u64>,
    weights: DeviceBuffer<f32>,
    starts: DeviceBuffer<u32>,
    out: DeviceBuffer<f32>,
    stream: Stream,
}

impl CudaResample {
    /// For the signals of `batch`, whose results lie one after the other.
    pub(crate) fn new(
        gpu: &CudaDevice,
        resampler: &Resampler,
        batch: &Batch,
    ) -> Result<Self, WorkloadError> {
        let period = Period::new(resampler);
        let most = gpu.facts().shared_bytes_per_block as usize;
        let bytes = |periods: usize| 4 * (period.inputs + period.length) * periods;
        let fits = PERIODS.into_iter().find(|periods| bytes(*periods) <= most);
        let Some(periods) = fits else {
            return Err(WorkloadError::Unsupported {
                workload: ID,
                reason: format!(
                    "{} inputs to {} outputs before places repeat need {} B of shared memory, and this GPU \
                     has {most} for a block",
                    period.inputs,
                    period.outputs,
                    bytes(PERIODS[PERIODS.len() - 1])
                ),
            });
        };
        let shared_bytes = bytes(periods);
        // As many threads as share the work of a tile evenly.
        let parts = period.starts.len() * (periods / TOGETHER);
        let threads = parts.div_ceil(parts.div_ceil(THREADS)).next_multiple_of(32);
        let kernel = gpu.kernel(&KERNEL)?;
        kernel.allow_shared_bytes(shared_bytes as u32)?;
        let mut tiles = Vec::new();
        let mut total = 0;
        for ends in batch.file_samples.chunks_exact(2) {
            let count = resampler.output_length((ends[1] - ends[0]) as usize);
            for tile in 0..count.div_ceil(periods * period.outputs) {
                let numbers = [ends[0], ends[1], total as u64, count as u64, tile as u64];
                tiles.extend(numbers);
            }
            total += count;
        }
        Ok(Self {
            kernel,
            shape: LaunchShape {
                shared_bytes: shared_bytes as u32,
                ..LaunchShape::linear(tiles.len() / 5 * threads, threads as u32)
            },
            samples: batch.samples_on(gpu)?,
            tiles: gpu.upload(&tiles)?,
            weights: gpu.upload(&period.weights)?,
            starts: gpu.upload(&period.starts)?,
            out: gpu.alloc(total)?,
            stream: gpu.stream().clone(),
            period,
            periods,
        })
    }

    /// The results of all signals in device memory, one after the other, once they have been computed.
    pub(crate) fn resampled(&self) -> &DeviceBuffer<f32> {
        &self.out
    }

    /// The results of all signals, one after the other.
    pub(crate) fn results(&mut self) -> Result<Vec<f32>, WorkloadError> {
        Ok(self.out.download(&self.stream)?)
    }
}

impl DeviceResult for CudaResample {
    fn into_values(self: Box<Self>) -> DeviceBuffer<f32> {
        self.out
    }
}

impl Prepared for CudaResample {
    fn run_once(&mut self) -> Result<(), WorkloadError> {
        let arguments = [
            self.samples.read(),
            self.tiles.read(),
            self.weights.read(),
            self.starts.read(),
            self.out.write(),
            (self.period.outputs as u32).into(),
            (self.period.inputs as u32).into(),
            (self.period.length as u32).into(),
            (self.period.before as u32).into(),
            (self.periods as u32).into(),
        ];
        Ok(self.stream.launch(&self.kernel, self.shape, &arguments)?)
    }

    fn stream(&self) -> Option<&Stream> {
        Some(&self.stream)
    }

    fn poison(&mut self) -> Result<(), WorkloadError> {
        Ok(self.out.fill_bytes(&self.stream, 0xFF)?)
    }

    fn output(&mut self) -> Result<Output, WorkloadError> {
        Ok(Output::F32(self.results()?))
    }
}

/// Each signal at another sample rate, silence beyond its ends.
pub fn resample_on_cuda(
    gpu: &CudaDevice,
    from_hz: u32,
    to_hz: u32,
    quality: Quality,
    signals: &[&[f32]],
) -> Result<Vec<Vec<f32>>, WorkloadError> {
    let resampler = checked(ID, Resampler::new(from_hz, to_hz, quality))?;
    if from_hz == to_hz || signals.iter().all(|signal| signal.is_empty()) {
        return Ok(signals.iter().map(|signal| signal.to_vec()).collect());
    }
    let batch = Batch::of(signals, |_| 0);
    let mut prepared = CudaResample::new(gpu, &resampler, &batch)?;
    prepared.run_once()?;
    let results = prepared.results()?;
    let mut rest = &results[..];
    Ok(signals
        .iter()
        .map(|signal| {
            let (here, after) = rest.split_at(resampler.output_length(signal.len()));
            rest = after;
            here.to_vec()
        })
        .collect())
}

/// Signals on the GPU at another sample rate, `[signal, sample]`.
pub fn resample_in_place(
    gpu: &CudaDevice,
    resampler: &Resampler,
    signals: DeviceSignals,
) -> Result<DeviceBuffer<f32>, WorkloadError> {
    let batch = Batch::lent(signals, |_| 0);
    let mut prepared = Box::new(CudaResample::new(gpu, resampler, &batch)?);
    prepared.run_once()?;
    gpu.stream().synchronize()?;
    Ok(prepared.into_values())
}

#[cfg(test)]
mod tests {
    use super::*;
    use warpsmith_signal::Quality;

    #[test]
    fn the_groups_of_a_period_give_what_the_filters_give() {
        let signal: Vec<f32> = (0..3000u32)
            .map(|n| ((n * 7919 % 1013) as f32 / 506.5) - 1.0)
            .collect();
        for (from, to) in [
            (44_100, 16_000),
            (16_000, 44_100),
            (48_000, 16_000),
            (8_000, 16_000),
        ] {
            let resampler = Resampler::new(from, to, Quality::High).unwrap();
            let wanted = resampler.process(&signal);
            let period = Period::new(&resampler);
            let sample = |at: i64| {
                let at = usize::try_from(at).ok();
                at.and_then(|at| signal.get(at)).copied().unwrap_or(0.0)
            };
            for (m, wanted) in wanted.iter().enumerate() {
                let (turn, output) = (m / period.outputs, m % period.outputs);
                let group = output / TOGETHER;
                let first = (turn * period.inputs + period.starts[group] as usize) as i64
                    - period.before as i64;
                let groups = period.starts.len();
                let sum: f64 = (0..period.length)
                    .map(|n| {
                        let at = (n * groups + group) * TOGETHER + output % TOGETHER;
                        let weight = period.weights[at];
                        f64::from(sample(first + n as i64)) * f64::from(weight)
                    })
                    .sum();
                let error = (sum - f64::from(*wanted)).abs();
                assert!(error < 4e-6, "{from} to {to}, output {m}: {sum} {wanted}");
            }
        }
    }
}
