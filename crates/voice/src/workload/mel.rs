//! `voice/mel`: log-mel features of a ragged batch, from samples to decibels in one kernel.

use warpsmith_core::{Bytes, Flops, Tolerance};
use warpsmith_device::{CudaDevice, Device, DeviceBuffer};
use warpsmith_workload::{
    About, ArguedTolerance, Cost, Parameters, Prepared, Workload, WorkloadError,
};

use super::batch::{Batch, PARAMETERS, lengths, sample_rate};
use super::cpu_files::CpuFiles;
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
    fn about(&self) -> About {
        About::new(
            "voice/mel",
            "log-mel features of a ragged batch of signals",
            PARAMETERS,
        )
        .sizes("seconds", &["2", "4", "15", "60", "240", "600"])
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
        let batch = Batch::voices(
            parameters,
            |samples| settings.spectrum.framing.count(samples),
            seed,
        );
        Ok(match device {
            Device::Cpu(cpu) => Box::new(CpuFiles::new(
                self.id(),
                cpu,
                batch,
                || MelFeature::new(settings),
                |_, samples| settings.frames(samples) * settings.rows(),
                MelFeature::compute_into,
            )?),
            Device::Cuda(gpu) => on_cuda(gpu, &settings, &batch)?,
        })
    }
}

/// A kernel that makes mel features.
pub(super) trait MelKernel: Prepared {
    /// The features in device memory, `[frame, filter]`, once they have been computed.
    fn levels(&self) -> &DeviceBuffer<f32>;
}

/// The kernel for a batch: the one for frames of 512 samples where it fits.
pub(super) fn on_cuda(
    gpu: &CudaDevice,
    settings: &FeatureSettings,
    batch: &Batch,
) -> Result<Box<dyn MelKernel>, WorkloadError> {
    Ok(match CudaMel512::new(gpu, settings, batch)? {
        Some(fast) => Box::new(fast),
        None => Box::new(CudaMel::new(gpu, settings, batch)?),
    })
}
