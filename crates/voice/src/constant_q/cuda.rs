//! Constant-Q spectra on a GPU: the signals at ever lower rates, and the filters of each octave over them.

use std::sync::Arc;

use warpsmith_core::{KernelImage, kernel};
use warpsmith_device::{CudaDevice, DeviceBuffer, Kernel, LaunchShape, Stream};
use warpsmith_workload::{Output, Prepared, WorkloadError};

use super::cpu::{ConstantQ, ConstantQSettings, Octave};
use super::workload::ID;
use crate::batch::{Batch, DeviceResult, DeviceSignals, checked, each_on_cuda, in_place};
use crate::resample::Decimation;

// SAFETY: `constant_q` in `constant_q.cu` takes these in this order. Samples are read between a file's
// two places, which are checked against their length; filters and the result are checked against steps,
// bins and frames before the first is read.
static KERNEL: KernelImage = unsafe {
    kernel!("voice/constant_q", constant_q(
        in f32, in u64, in u64, in f32, out f32, u32, u32, u32, u32, u32, u32
    ))
};

/// Threads, frames and filters of a block, and samples of a step, as the kernel has them.
const THREADS: u32 = 256;
const FRAMES: usize = 64;
const FILTERS: usize = 12;
const STEP: usize = 64;

/// The filters of an octave as the kernel reads them, each times its scale and `gain`: twelve at a time, the
/// real and imaginary parts of all for a sample side by side.
fn columns(octave: &Octave, scales: &[f32], gain: f64) -> Vec<f32> {
    let count = octave.filters.len();
    let length = octave.framing.length.next_multiple_of(STEP);
    let mut columns = vec![0.0; count.div_ceil(FILTERS) * length * 2 * FILTERS];
    for number in 0..count {
        let tile = &mut columns[number / FILTERS * length * 2 * FILTERS..];
        let scale = gain * f64::from(scales[octave.first_bin + number]);
        for (n, [re, im]) in octave.over_samples(number).into_iter().enumerate() {
            let pair = &mut tile[2 * (n * FILTERS + number % FILTERS)..][..2];
            pair.copy_from_slice(&[(scale * re) as f32, (scale * im) as f32]);
        }
    }
    columns
}

/// An octave on the GPU.
struct DeviceOctave {
    /// How many conversions the signals have behind them.
    conversions: usize,
    file_samples: DeviceBuffer<u64>,
    columns: DeviceBuffer<f32>,
    shape: LaunchShape,
    /// Length of a frame, hop, what it reaches out before the signal, first bin and number of filters.
    numbers: [usize; 5],
}

pub(super) struct CudaConstantQ {
    kernel: Arc<Kernel>,
    samples: DeviceBuffer<f32>,
    file_frames: DeviceBuffer<u64>,
    conversions: Vec<Decimation>,
    octaves: Vec<DeviceOctave>,
    bins: usize,
    out: DeviceBuffer<f32>,
    stream: Stream,
}

impl CudaConstantQ {
    pub(super) fn new(
        gpu: &CudaDevice,
        plan: &ConstantQ,
        batch: &Batch,
    ) -> Result<Self, WorkloadError> {
        let bins = plan.scales().len();
        let mut conversions = Vec::new();
        let mut octaves = Vec::new();
        let mut file_samples = batch.file_samples.clone();
        let mut gain = 1.0;
        for (octave, conversion) in plan.octaves() {
            if let Some((resampler, scale)) = conversion {
                let conversion = Decimation::new(gpu, ID, resampler, &file_samples)?;
                file_samples = conversion.file_samples().to_vec();
                conversions.push(conversion);
                gain *= f64::from(scale);
            }
            let (framing, filters) = (octave.framing, octave.filters.len());
            octaves.push(DeviceOctave {
                conversions: conversions.len(),
                file_samples: gpu.upload(&file_samples)?,
                columns: gpu.upload(&columns(octave, plan.scales(), gain))?,
                shape: LaunchShape {
                    grid: [
                        batch.frames().div_ceil(FRAMES).max(1) as u32,
                        filters.div_ceil(FILTERS) as u32,
                        1,
                    ],
                    ..LaunchShape::linear(1, THREADS)
                },
                numbers: [
                    framing.length,
                    framing.hop,
                    framing.left(),
                    octave.first_bin,
                    filters,
                ],
            });
        }
        Ok(Self {
            kernel: gpu.kernel(&KERNEL)?,
            samples: batch.samples_on(gpu)?,
            file_frames: gpu.upload(&batch.file_frames)?,
            conversions,
            octaves,
            bins,
            out: gpu.alloc(2 * bins * batch.frames())?,
            stream: gpu.stream().clone(),
        })
    }
}

impl DeviceResult for CudaConstantQ {
    fn into_values(self: Box<Self>) -> DeviceBuffer<f32> {
        self.out
    }
}

impl Prepared for CudaConstantQ {
    fn run_once(&mut self) -> Result<(), WorkloadError> {
        for n in 0..self.conversions.len() {
            let (before, rest) = self.conversions.split_at_mut(n);
            let samples = before.last().map_or(&self.samples, Decimation::results);
            rest[0].run(samples)?;
        }
        for octave in &self.octaves {
            let last = self.conversions[..octave.conversions].last();
            let [length, hop, left, first_bin, count] = octave.numbers.map(|n| n as u32);
            let arguments = [
                last.map_or(&self.samples, Decimation::results).read(),
                octave.file_samples.read(),
                self.file_frames.read(),
                octave.columns.read(),
                self.out.write(),
                length.into(),
                hop.into(),
                left.into(),
                first_bin.into(),
                count.into(),
                (self.bins as u32).into(),
            ];
            self.stream.launch(&self.kernel, octave.shape, &arguments)?;
        }
        Ok(())
    }

    fn stream(&self) -> Option<&Stream> {
        Some(&self.stream)
    }

    fn poison(&mut self) -> Result<(), WorkloadError> {
        for conversion in &mut self.conversions {
            conversion.poison()?;
        }
        Ok(self.out.fill_bytes(&self.stream, 0xFF)?)
    }

    fn output(&mut self) -> Result<Output, WorkloadError> {
        Ok(Output::F32(self.out.download(&self.stream)?))
    }
}

/// Constant-Q spectra of each signal, `[frame, bin]`.
pub fn constant_q_on_cuda(
    gpu: &CudaDevice,
    sample_rate: u32,
    settings: ConstantQSettings,
    signals: &[&[f32]],
) -> Result<Vec<Vec<[f32; 2]>>, WorkloadError> {
    let plan = checked(ID, ConstantQ::new(sample_rate, settings))?;
    let count = |samples| plan.frames(samples);
    let spectra = each_on_cuda(signals, count, 2 * settings.bins, |batch| {
        CudaConstantQ::new(gpu, &plan, batch)
    })?;
    Ok(spectra
        .iter()
        .map(|values| values.as_chunks().0.to_vec())
        .collect())
}

/// Constant-Q spectra, `[signal, frame, bin]` in pairs of real and imaginary part, of signals on the GPU.
pub fn constant_q_in_place(
    gpu: &CudaDevice,
    plan: &ConstantQ,
    signals: DeviceSignals,
) -> Result<DeviceBuffer<f32>, WorkloadError> {
    let count = |samples| plan.frames(samples);
    in_place(gpu, signals, count, |batch| {
        Ok(Box::new(CudaConstantQ::new(gpu, plan, batch)?))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::constant_q::cpu::ConstantQSettings;

    /// Sums over samples, in double precision, from the tables that the kernel reads.
    fn by_columns(plan: &ConstantQ, signal: &[f32]) -> Vec<[f64; 2]> {
        let (bins, frames) = (plan.scales().len(), plan.frames(signal.len()));
        let mut out = vec![[f64::NAN; 2]; bins * frames];
        let mut samples = signal.to_vec();
        let mut gain = 1.0;
        for (octave, conversion) in plan.octaves() {
            if let Some((resampler, scale)) = conversion {
                samples = resampler.process(&samples);
                gain *= f64::from(scale);
            }
            let columns = columns(octave, plan.scales(), gain);
            let framing = octave.framing;
            let length = framing.length.next_multiple_of(STEP);
            for number in 0..octave.filters.len() {
                let tile = &columns[number / FILTERS * length * 2 * FILTERS..];
                for frame in 0..frames {
                    let mut sum = [0.0; 2];
                    for n in 0..framing.length {
                        let at = (frame * framing.hop + n) as i64 - framing.left() as i64;
                        let Some(at) = framing.source(at, samples.len()) else {
                            continue;
                        };
                        for (part, sum) in sum.iter_mut().enumerate() {
                            let weight = tile[2 * (n * FILTERS + number % FILTERS) + part];
                            *sum += f64::from(samples[at]) * f64::from(weight);
                        }
                    }
                    out[(octave.first_bin + number) * frames + frame] = sum;
                }
            }
        }
        out
    }

    #[test]
    fn the_columns_give_what_the_transforms_give() {
        for (rate, hop, bins, per_octave) in [
            (16_000u32, 512, 84, 12),
            (16_000, 160, 84, 12),
            (44_100, 1024, 84, 12),
            (22_050, 441, 30, 18),
        ] {
            let settings = ConstantQSettings {
                bins,
                per_octave,
                lowest_hz: if bins == 84 { 32.703 } else { 220.0 },
                ..ConstantQSettings::piano(hop)
            };
            let mut plan = ConstantQ::new(rate, settings).unwrap();
            let signal: Vec<f32> = (0..rate / 3)
                .map(|n| {
                    let noise = (n.wrapping_mul(2_654_435_761) >> 8) as f32 / 16_777_216.0 - 0.5;
                    (n as f32 * 0.071_238).sin() * 0.5 + 0.1 * noise
                })
                .collect();
            let ours = by_columns(&plan, &signal);
            let (spectra, _) = plan.compute(&signal);
            let largest = spectra.iter().flatten().fold(0.0f32, |a, b| a.max(b.abs()));
            assert_eq!(ours.len(), spectra.len());
            for (at, (a, b)) in ours.iter().zip(&spectra).enumerate() {
                for (a, b) in a.iter().zip(b) {
                    let difference = (a - f64::from(*b)).abs();
                    assert!(
                        difference < 2e-6 * f64::from(largest),
                        "{rate} Hz, hop {hop}, value {at}: {a}, by transforms {b}, of {largest}"
                    );
                }
            }
        }
    }
}
