//! `voice/pyin`: pitch and voicing of a ragged batch by probabilistic YIN.

use warpsmith_core::{Bytes, Flops, Tolerance};
use warpsmith_device::Device;
use warpsmith_workload::{
    About, ArguedTolerance, Cost, Parameters, Prepared, Workload, WorkloadError,
};

use super::cpu::{Pyin, PyinSettings, PyinTrack};
use super::cuda::CudaPyin;
use super::plan::PyinPlan;
use crate::batch::{Batch, PARAMETERS, lengths, sample_rate};
use crate::batch::{CpuFiles, failed};
use crate::pitch::range::PitchRange;
use crate::pitch::yin::framing;

pub(crate) struct PyinPitch;

fn plan(parameters: &Parameters) -> Result<PyinPlan, WorkloadError> {
    PyinPlan::new(
        sample_rate(parameters),
        framing(parameters),
        PitchRange::VOICE,
        PyinSettings::default(),
    )
    .map_err(|error| failed("voice/pyin", &error))
}

/// The frequency of each frame, 0 where it is unvoiced: what CPU and GPU are compared by.
pub(super) fn flatten(track: &PyinTrack, out: &mut [f32]) {
    let frames = track.frequency.iter().zip(&track.voiced);
    for (slot, (hertz, voiced)) in out.iter_mut().zip(frames) {
        *slot = if *voiced { *hertz } else { 0.0 };
    }
}

impl Workload for PyinPitch {
    fn about(&self) -> About {
        About::new(
            "voice/pyin",
            "pitch and voicing of a ragged batch of signals by probabilistic YIN",
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
        let plan = plan(parameters).ok();
        let states = plan.map_or(0, |plan| plan.bins * (2 * plan.reach + 1));
        Cost {
            bytes: Bytes(4 * (samples + 2 * frames) as u64),
            // The correlation as in YIN; a sum and a comparison to each way into a bin.
            flops: Flops(2 * samples as u64 * lags as u64 + 2 * (frames * states) as u64),
            units: frames as u64,
            unit: "frame",
        }
    }

    fn tolerance(&self, _: &Parameters) -> ArguedTolerance {
        ArguedTolerance {
            tolerance: Tolerance {
                abs: 0.0,
                rel: 5.9e-3,
                ulp: 0,
            },
            because: "a pitch bin of 10 cents: rounding may move a candidate that lies between two \
                      bins to the other, and every frame of the input is voiced",
        }
    }

    fn prepare(
        &self,
        device: &Device,
        parameters: &Parameters,
        seed: u64,
    ) -> Result<Box<dyn Prepared>, WorkloadError> {
        let plan = plan(parameters)?;
        let framing = plan.framing;
        let rate = sample_rate(parameters);
        let batch = Batch::voices(parameters, |samples| framing.count(samples), seed);
        Ok(match device {
            Device::Cpu(cpu) => Box::new(CpuFiles::new(
                self.id(),
                cpu,
                batch,
                || Pyin::new(rate, framing, PitchRange::VOICE, PyinSettings::default()),
                |_, samples| framing.count(samples),
                |pyin, signal, out| {
                    flatten(&pyin.track(signal), out);
                    Ok(())
                },
            )?),
            Device::Cuda(gpu) => Box::new(CudaPyin::new(gpu, plan, &batch)?),
        })
    }
}
