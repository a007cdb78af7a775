//! Signals on a GPU at a half, a quarter or less of their rate.

use std::sync::Arc;

use warpsmith_core::{KernelImage, kernel};
use warpsmith_device::{CudaDevice, DeviceBuffer, Kernel, LaunchShape, Stream};
use warpsmith_signal::Resampler;
use warpsmith_workload::WorkloadError;

// SAFETY: `decimate` in `decimate.cu` takes these in this order. A tile's samples and results are checked
// against theirs, weights and shared memory against the planes, before a load.
static KERNEL: KernelImage =
    unsafe { kernel!("voice/decimate", decimate(in f32, in u64, in f32, out f32, u32, u32, u32)) };

/// Threads of a block, results of a thread, and what the inputs of as many results take in shared memory, as
/// the kernel has them.
const THREADS: u32 = 128;
const OWN: usize = 8;
const PITCH: usize = OWN + 1;

/// A filter as the kernel reads it: the inputs of a result by their place between two results, each with its
/// weights.
struct Planes {
    count: usize,
    /// Weights of each.
    taps: usize,
    before: usize,
    /// `[plane, tap]`.
    weights: Vec<f32>,
}

impl Planes {
    /// `None` where a result is not a whole number of samples after the one before, a power of two.
    fn new(resampler: &Resampler) -> Option<Self> {
        let (up, count, length, before, filter) = resampler.polyphase();
        if up != 1 || !count.is_power_of_two() {
            return None;
        }
        let taps = length.div_ceil(count).next_multiple_of(OWN);
        let mut weights = vec![0.0; count * taps];
        for (n, weight) in filter.iter().enumerate() {
            weights[n % count * taps + n / count] = *weight;
        }
        Some(Self {
            count,
            taps,
            before,
            weights,
        })
    }

    fn shared_bytes(&self) -> usize {
        let inputs = (THREADS as usize * OWN + self.taps) / OWN * PITCH;
        4 * self.count * (self.taps + inputs)
    }
}

pub(crate) struct Decimation {
    kernel: Arc<Kernel>,
    shape: LaunchShape,
    planes: Planes,
    tiles: DeviceBuffer<u64>,
    weights: DeviceBuffer<f32>,
    /// Where each file's results begin and end, in pairs.
    file_samples: Vec<u64>,
    out: DeviceBuffer<f32>,
    stream: Stream,
}

impl Decimation {
    /// Of files that begin and end at `file_samples`, in pairs; their results lie one after the other.
    pub(crate) fn new(
        gpu: &CudaDevice,
        workload: &'static str,
        resampler: &Resampler,
        file_samples: &[u64],
    ) -> Result<Self, WorkloadError> {
        let most = gpu.facts().shared_bytes_per_block as usize;
        let planes = Planes::new(resampler).filter(|planes| planes.shared_bytes() <= most);
        let Some(planes) = planes else {
            return Err(WorkloadError::Unsupported {
                workload,
                reason: "the kernel takes rates down by powers of two that fit shared memory"
                    .to_owned(),
            });
        };
        let kernel = gpu.kernel(&KERNEL)?;
        kernel.allow_shared_bytes(planes.shared_bytes() as u32)?;
        let mut tiles = Vec::new();
        let mut results = Vec::with_capacity(file_samples.len());
        let mut total = 0;
        for ends in file_samples.chunks_exact(2) {
            let count = resampler.output_length((ends[1] - ends[0]) as usize);
            for tile in 0..count.div_ceil(THREADS as usize * OWN) {
                tiles.extend([ends[0], ends[1], total, count as u64, tile as u64]);
            }
            results.extend([total, total + count as u64]);
            total += count as u64;
        }
        Ok(Self {
            kernel,
            shape: LaunchShape {
                shared_bytes: planes.shared_bytes() as u32,
                ..LaunchShape::linear(tiles.len() / 5 * THREADS as usize, THREADS)
            },
            tiles: gpu.upload(&tiles)?,
            weights: gpu.upload(&planes.weights)?,
            planes,
            file_samples: results,
            out: gpu.alloc(total as usize)?,
            stream: gpu.stream().clone(),
        })
    }

    /// Where each file's results begin and end, in pairs.
    pub(crate) fn file_samples(&self) -> &[u64] {
        &self.file_samples
    }

    /// The results of all files in device memory, once they have been computed.
    pub(crate) fn results(&self) -> &DeviceBuffer<f32> {
        &self.out
    }

    /// Queues the filtering of `samples`.
    pub(crate) fn run(&mut self, samples: &DeviceBuffer<f32>) -> Result<(), WorkloadError> {
        let arguments = [
            samples.read(),
            self.tiles.read(),
            self.weights.read(),
            self.out.write(),
            self.planes.count.trailing_zeros().into(),
            (self.planes.taps as u32).into(),
            (self.planes.before as u32).into(),
        ];
        Ok(self.stream.launch(&self.kernel, self.shape, &arguments)?)
    }

    /// Fills the results with bytes that are none.
    pub(crate) fn poison(&mut self) -> Result<(), WorkloadError> {
        Ok(self.out.fill_bytes(&self.stream, 0xFF)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use warpsmith_signal::Quality;

    #[test]
    fn the_planes_give_what_the_filter_gives() {
        let signal: Vec<f32> = (0..3000u32)
            .map(|n| ((n * 7919 % 1013) as f32 / 506.5) - 1.0)
            .collect();
        for down in [2usize, 4, 8] {
            let resampler = Resampler::new(down as u32, 1, Quality::High).unwrap();
            let planes = Planes::new(&resampler).unwrap();
            for (m, wanted) in resampler.process(&signal).iter().enumerate() {
                let mut sum = 0.0;
                for plane in 0..down {
                    for tap in 0..planes.taps {
                        let at = (down * (m + tap) + plane).checked_sub(planes.before);
                        let sample = at.and_then(|at| signal.get(at)).copied().unwrap_or(0.0);
                        let weight = planes.weights[plane * planes.taps + tap];
                        sum += f64::from(sample) * f64::from(weight);
                    }
                }
                let error = (sum - f64::from(*wanted)).abs();
                assert!(error < 4e-6, "1/{down}, result {m}: {sum} {wanted}");
            }
        }
        assert!(Planes::new(&Resampler::new(3, 1, Quality::High).unwrap()).is_none());
        assert!(Planes::new(&Resampler::new(3, 2, Quality::High).unwrap()).is_none());
    }
}
