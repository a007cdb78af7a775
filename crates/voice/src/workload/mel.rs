//! `voice/mel`: log-mel features of a ragged batch, from samples to decibels in one kernel.

use rayon::prelude::*;
use warpsmith_core::{Bytes, Flops, Tolerance};
use warpsmith_device::{CpuDevice, CudaDevice, Device, Stream};
use warpsmith_measure::{
    ArguedTolerance, Cost, Output, ParameterSpec, Parameters, Prepared, Sizes, Workload,
    WorkloadError,
};

use super::batch::{Batch, PARAMETERS, lengths, sample_rate};
use super::mel_cuda::CudaMel;
use super::mel512::CudaMel512;
use crate::feature::{FeatureSettings, Layout};
use crate::mel::MelFeature;
use crate::preset::{self, Preset, Stage};

pub(super) struct Mel;

fn settings(parameters: &Parameters) -> FeatureSettings {
    let rate = sample_rate(parameters);
    FeatureSettings {
        dynamic_range: None,
        layout: Layout::FramesFirst,
        ..Preset::Librosa.feature(rate, preset::Sizes::for_speech(rate), Stage::LogMel)
    }
}

impl Workload for Mel {
    fn id(&self) -> &'static str {
        "voice/mel"
    }

    fn summary(&self) -> &'static str {
        "log-mel features of a ragged batch of signals"
    }

    fn parameters(&self) -> &'static [ParameterSpec] {
        PARAMETERS
    }

    fn sizes(&self) -> Option<Sizes> {
        Some(Sizes {
            parameter: "seconds",
            values: &["2", "4", "15", "60", "240", "600"],
        })
    }

    fn cost(&self, parameters: &Parameters) -> Cost {
        let settings = settings(parameters);
        let samples: usize = lengths(parameters).iter().sum();
        let frames: usize = lengths(parameters)
            .iter()
            .map(|length| settings.frames(*length))
            .sum();
        let points = settings.spectrum.transform as u64;
        // A real transform is 2.5·n·log2(n); window, powers and two weights to a bin follow.
        let per_frame = 5 * points * u64::from(points.ilog2()) / 2 + 5 * points;
        Cost {
            bytes: Bytes(4 * (samples + frames * settings.rows()) as u64),
            flops: Flops(frames as u64 * per_frame),
            units: frames as u64,
            unit: "frame",
        }
    }

    fn tolerance(&self, _: &Parameters) -> ArguedTolerance {
        ArguedTolerance {
            tolerance: Tolerance {
                abs: 2e-3,
                rel: 0.0,
                ulp: 0,
            },
            because: "two f32 transforms differ by some 2e-7 of the loudest bin; the quietest band \
                      of the input is 40 dB below it, where that is 2e-4 of a power, or 1e-3 dB",
        }
    }

    fn prepare(
        &self,
        device: &Device,
        parameters: &Parameters,
        seed: u64,
    ) -> Result<Box<dyn Prepared>, WorkloadError> {
        let settings = settings(parameters);
        let batch = Batch::voices(parameters, settings.spectrum.framing, seed);
        let out = batch.frames() * settings.rows();
        Ok(match device {
            Device::Cpu(cpu) => Box::new(CpuMel {
                cpu: cpu.clone(),
                settings,
                features: batch
                    .signals()
                    .map(|_| feature(settings))
                    .collect::<Result<_, _>>()?,
                out: vec![0.0; out],
                batch,
            }),
            Device::Cuda(gpu) => on_cuda(gpu, &settings, &batch)?,
        })
    }
}

/// The kernel for a batch: the one for frames of 512 samples where it fits.
pub(super) fn on_cuda(
    gpu: &CudaDevice,
    settings: &FeatureSettings,
    batch: &Batch,
) -> Result<Box<dyn Prepared>, WorkloadError> {
    Ok(match CudaMel512::new(gpu, settings, batch)? {
        Some(fast) => Box::new(fast),
        None => Box::new(CudaMel::new(gpu, settings, batch)?),
    })
}

fn feature(settings: FeatureSettings) -> Result<MelFeature, WorkloadError> {
    MelFeature::new(settings).map_err(|error| WorkloadError::Failed {
        workload: "voice/mel",
        reason: error.to_string(),
    })
}

struct CpuMel {
    cpu: CpuDevice,
    settings: FeatureSettings,
    batch: Batch,
    /// One plan to a file, so that files run side by side.
    features: Vec<MelFeature>,
    out: Vec<f32>,
}

impl Prepared for CpuMel {
    fn run_once(&mut self) -> Result<(), WorkloadError> {
        let rows = self.settings.rows();
        let mut rest = &mut self.out[..];
        let mut tasks = Vec::with_capacity(self.features.len());
        for (signal, feature) in self.batch.signals().zip(&mut self.features) {
            let (out, after) = rest.split_at_mut(rows * self.settings.frames(signal.len()));
            tasks.push((signal, feature, out));
            rest = after;
        }
        self.cpu
            .run(|| {
                tasks
                    .into_par_iter()
                    .try_for_each(|(signal, feature, out)| feature.compute_into(signal, out))
            })
            .map_err(|error| WorkloadError::Failed {
                workload: "voice/mel",
                reason: error.to_string(),
            })
    }

    fn stream(&self) -> Option<&Stream> {
        None
    }

    fn poison(&mut self) -> Result<(), WorkloadError> {
        self.out.fill(f32::NAN);
        Ok(())
    }

    fn output(&mut self) -> Result<Output, WorkloadError> {
        Ok(Output::F32(self.out.clone()))
    }
}
