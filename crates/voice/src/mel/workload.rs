//! `voice/mel`: log-mel features of a ragged batch, from samples to decibels in one kernel.

use warpsmith_core::{Bytes, Flops, Tolerance};
use warpsmith_device::Device;
use warpsmith_workload::{
    About, ArguedTolerance, Cost, Parameters, Prepared, Workload, WorkloadError,
};

use super::cpu::MelFeature;
use super::cuda::on_cuda;
use super::preset::{Preset, Sizes, Stage};
use super::settings::{FeatureSettings, Layout};
use crate::batch::{Batch, CpuFiles, PARAMETERS, lengths, sample_rate};

pub(crate) struct Mel;

fn settings(parameters: &Parameters) -> FeatureSettings {
    let rate = sample_rate(parameters);
    FeatureSettings {
        dynamic_range: None,
        layout: Layout::FramesFirst,
        ..Preset::Librosa.feature(rate, Sizes::for_speech(rate), Stage::LogMel)
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
