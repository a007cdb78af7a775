//! `voice/praat`: pitch and voicing of a ragged batch by Praat's autocorrelation.

use warpsmith_core::{Bytes, Flops, Tolerance};
use warpsmith_device::Device;
use warpsmith_workload::{
    About, ArguedTolerance, Cost, Parameters, Prepared, Workload, WorkloadError,
};

use super::cpu::{PraatPitch, PraatSettings};
use super::cuda::CudaPraat;
use crate::batch::{Batch, PARAMETERS, lengths, sample_rate};
use crate::batch::{CpuFiles, failed};
use crate::pitch::autocorrelation::Placement;
use crate::pitch::range::PitchRange;

pub(crate) struct Praat;

fn placement(parameters: &Parameters) -> Result<Placement, WorkloadError> {
    let settings = PraatSettings::default();
    let rate = sample_rate(parameters);
    let hop = rate as usize / 100;
    let range = PitchRange::VOICE;
    Placement::under(settings.window, rate, hop, range, settings.periods)
        .map_err(|error| failed("voice/praat", &error))
}

impl Workload for Praat {
    fn about(&self) -> About {
        About::new(
            "voice/praat",
            "pitch and voicing of a ragged batch of signals by Praat's autocorrelation",
            PARAMETERS,
        )
        .sizes("seconds", &["2", "4", "15", "60", "240", "600"])
    }

    fn cost(&self, parameters: &Parameters) -> Cost {
        let samples: usize = lengths(parameters).iter().sum();
        let hop = sample_rate(parameters) as usize / 100;
        let frames = samples / hop;
        // Two real transforms of three periods with as many zeros behind half of them.
        let points = (4.5 * f64::from(sample_rate(parameters)) / PitchRange::VOICE.low_hz) as u64;
        let transforms = 5 * points * u64::from(points.max(2).ilog2());
        Cost {
            bytes: Bytes(4 * (samples + 2 * frames) as u64),
            flops: Flops(frames as u64 * transforms),
            units: frames as u64,
            unit: "frame",
        }
    }

    fn tolerance(&self, _: &Parameters) -> ArguedTolerance {
        ArguedTolerance {
            tolerance: Tolerance {
                abs: 0.0,
                rel: 5.8e-5,
                ulp: 0,
            },
            because: "a tenth of a cent: the correlations differ by rounding, which moves an \
                      interpolated top by less, and every frame of the input has one clear period",
        }
    }

    fn prepare(
        &self,
        device: &Device,
        parameters: &Parameters,
        seed: u64,
    ) -> Result<Box<dyn Prepared>, WorkloadError> {
        let placement = placement(parameters)?;
        let (rate, settings) = (sample_rate(parameters), PraatSettings::default());
        let range = PitchRange::VOICE;
        let batch = Batch::voices(parameters, |samples| placement.frames(samples), seed);
        Ok(match device {
            Device::Cpu(cpu) => Box::new(CpuFiles::new(
                self.id(),
                cpu,
                batch,
                || PraatPitch::new(rate, placement.hop, range, settings),
                |_, samples| placement.frames(samples),
                |praat, signal, out| {
                    let track = praat.track(signal);
                    for (slot, hertz) in out.iter_mut().zip(&track.frequency) {
                        *slot = *hertz;
                    }
                    Ok(())
                },
            )?),
            Device::Cuda(gpu) => Box::new(CudaPraat::new(gpu, placement, range, settings, &batch)?),
        })
    }
}
