//! `voice/hq`: pitch and voicing of a ragged batch by the most accurate tracker.

use warpsmith_core::{Bytes, Flops, Tolerance};
use warpsmith_device::Device;
use warpsmith_workload::{
    About, ArguedTolerance, Cost, Parameters, Prepared, Workload, WorkloadError,
};

use super::cpu::{HqPitch, HqPlan};
use super::cuda::CudaHq;
use crate::batch::{Batch, PARAMETERS, lengths, sample_rate};
use crate::batch::{CpuFiles, failed};
use crate::pitch::range::PitchRange;

pub(crate) struct Hq;

fn plan(parameters: &Parameters) -> Result<HqPlan, WorkloadError> {
    let rate = sample_rate(parameters);
    HqPlan::new(rate, rate as usize / 100, PitchRange::VOICE)
        .map_err(|error| failed("voice/hq", &error))
}

impl Workload for Hq {
    fn about(&self) -> About {
        About::new("voice/hq", "pitch and voicing of a ragged batch of signals by averaged autocorrelations and repetition", PARAMETERS).sizes("seconds", &["2", "4", "15", "60", "240", "600"])
    }

    fn cost(&self, parameters: &Parameters) -> Cost {
        let samples: usize = lengths(parameters).iter().sum();
        let rate = f64::from(sample_rate(parameters));
        let frames = samples / (rate as usize / 100);
        // Two real transforms of three periods with as many zeros behind half of them; then, around a period of
        // 200 Hz, three correlations at the lags within half an octave, and one of three periods at 69.
        let points = (4.5 * rate / PitchRange::VOICE.low_hz) as u64;
        let period = (rate / 200.0) as u64;
        let transforms = 5 * points * u64::from(points.max(2).ilog2());
        let repetition = 2 * 3 * period * (6 * period / 10);
        let third = 2 * 69 * 3 * period;
        Cost {
            bytes: Bytes(4 * (samples + 2 * frames) as u64),
            flops: Flops(frames as u64 * (transforms + repetition + third)),
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
            because: "half a cent: the correlations differ by rounding, which moves an interpolated top \
                      by less than a hundredth, and every frame of the input is clean, so that no look \
                      before decides by a hair",
        }
    }

    fn prepare(
        &self,
        device: &Device,
        parameters: &Parameters,
        seed: u64,
    ) -> Result<Box<dyn Prepared>, WorkloadError> {
        let plan = plan(parameters)?;
        let (rate, placement) = (sample_rate(parameters), plan.placement);
        let batch = Batch::voices(parameters, |samples| placement.frames(samples), seed);
        Ok(match device {
            Device::Cpu(cpu) => Box::new(CpuFiles::new(
                self.id(),
                cpu,
                batch,
                || HqPitch::new(rate, placement.hop, PitchRange::VOICE),
                |_, samples| placement.frames(samples),
                |hq, signal, out| {
                    out.copy_from_slice(&hq.track(signal).frequency);
                    Ok(())
                },
            )?),
            Device::Cuda(gpu) => Box::new(CudaHq::new(gpu, plan, &batch)?),
        })
    }
}
