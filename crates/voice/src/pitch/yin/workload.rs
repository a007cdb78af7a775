//! `voice/yin`: the pitch of a ragged batch, one warp to a frame.

use warpsmith_core::{Bytes, Flops, Tolerance};
use warpsmith_device::Device;
use warpsmith_signal::{Framing, Padding};
use warpsmith_workload::{
    About, ArguedTolerance, Cost, Parameters, Prepared, Workload, WorkloadError,
};

use super::cpu::Yin;
use super::cuda::{CudaYin, THRESHOLD};
use crate::batch::{Batch, CpuFiles, PARAMETERS, lengths, sample_rate};
use crate::pitch::range::PitchRange;

pub(crate) struct YinPitch;

/// Frames that hold two periods of a voice, 10 ms apart.
pub(crate) fn framing(parameters: &Parameters) -> Framing {
    let rate = sample_rate(parameters);
    Framing {
        length: if rate > 16_000 { 2048 } else { 1024 },
        hop: rate as usize / 100,
        padding: Padding::CentredZero,
    }
}

impl Workload for YinPitch {
    fn about(&self) -> About {
        About::new(
            "voice/yin",
            "fundamental frequency of a ragged batch of signals by YIN",
            PARAMETERS,
        )
        .sizes("seconds", &["2", "4", "15", "60", "240", "600"])
    }

    fn cost(&self, parameters: &Parameters) -> Cost {
        let framing = framing(parameters);
        let samples: usize = lengths(parameters).iter().sum();
        let frames: usize = lengths(parameters)
            .iter()
            .map(|length| framing.count(*length))
            .sum();
        let lags = f64::from(sample_rate(parameters)) / PitchRange::VOICE.low_hz;
        Cost {
            bytes: Bytes(4 * (samples + frames) as u64),
            // A product and a sum to each lag of each new sample: what a correlation by blocks needs.
            flops: Flops(2 * samples as u64 * lags as u64),
            units: frames as u64,
            unit: "frame",
        }
    }

    fn tolerance(&self, _: &Parameters) -> ArguedTolerance {
        ArguedTolerance {
            tolerance: Tolerance {
                abs: 0.0,
                rel: 2.9e-4,
                ulp: 0,
            },
            because: "half a cent: the correlations differ by rounding, which moves a parabola's \
                      vertex by far less, and every frame of the input has one clear period",
        }
    }

    fn prepare(
        &self,
        device: &Device,
        parameters: &Parameters,
        seed: u64,
    ) -> Result<Box<dyn Prepared>, WorkloadError> {
        let framing = framing(parameters);
        let rate = sample_rate(parameters);
        let batch = Batch::voices(parameters, |samples| framing.count(samples), seed);
        Ok(match device {
            Device::Cpu(cpu) => Box::new(CpuFiles::new(
                self.id(),
                cpu,
                batch,
                || Yin::new(rate, framing, PitchRange::VOICE, THRESHOLD),
                Yin::frames,
                Yin::track_into,
            )?),
            Device::Cuda(gpu) => {
                Box::new(CudaYin::new(gpu, rate, framing, PitchRange::VOICE, &batch)?)
            }
        })
    }
}
