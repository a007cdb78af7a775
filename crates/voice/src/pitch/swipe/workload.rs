//! `voice/swipe`: pitch and voicing of a ragged batch by SWIPE'.

use warpsmith_core::{Bytes, Flops, Tolerance};
use warpsmith_device::Device;
use warpsmith_workload::{
    About, ArguedTolerance, Cost, Parameters, Prepared, Workload, WorkloadError,
};

use super::cpu::Swipe;
use super::cuda::CudaSwipe;
use super::plan::SwipePlan;
use crate::batch::{Batch, PARAMETERS, lengths, sample_rate};
use crate::batch::{CpuFiles, failed};
use crate::pitch::range::PitchRange;

pub(crate) struct SwipePitch;

fn plan(parameters: &Parameters) -> crate::Result<SwipePlan> {
    let rate = sample_rate(parameters);
    SwipePlan::new(rate, rate as usize / 100, PitchRange::VOICE)
}

impl Workload for SwipePitch {
    fn about(&self) -> About {
        About::new(
            "voice/swipe",
            "pitch and voicing of a ragged batch of signals by SWIPE'",
            PARAMETERS,
        )
        .sizes("seconds", &["2", "4", "15", "60", "240", "600"])
    }

    fn cost(&self, parameters: &Parameters) -> Cost {
        let Ok(plan) = plan(parameters) else {
            return Cost::default();
        };
        let samples: usize = lengths(parameters).iter().sum();
        let frames = samples / plan.hop;
        // Of a window's frame: a real transform, a spline, and a product to each channel of each candidate.
        let of_windows = plan.windows.iter().map(|window| {
            let points = window.length as u64;
            let transform = 5 * points / 2 * u64::from(points.ilog2());
            let products = 2 * window.candidates.len() * plan.channels();
            (samples / (window.length / 2)) as u64 * (transform + 8 * points + products as u64)
        });
        Cost {
            bytes: Bytes(4 * (samples + 2 * frames) as u64),
            flops: Flops(of_windows.sum()),
            units: frames as u64,
            unit: "frame",
        }
    }

    fn tolerance(&self, _: &Parameters) -> ArguedTolerance {
        ArguedTolerance {
            tolerance: Tolerance {
                abs: 2e-5,
                rel: 9.1e-4,
                ulp: 0,
            },
            because: "pitches lie on a grid of 1/768 octave, 9e-4, and where two of its points are equally \
                      good rounding may choose either; strengths are sums of some 400 products below one",
        }
    }

    fn prepare(
        &self,
        device: &Device,
        parameters: &Parameters,
        seed: u64,
    ) -> Result<Box<dyn Prepared>, WorkloadError> {
        let plan = plan(parameters).map_err(|error| failed(self.id(), &error))?;
        let batch = Batch::voices(parameters, |samples| plan.frames(samples), seed);
        let (rate, hop, range) = (plan.sample_rate, plan.hop, PitchRange::VOICE);
        Ok(match device {
            Device::Cpu(cpu) => Box::new(CpuFiles::new(
                self.id(),
                cpu,
                batch,
                || Swipe::new(rate, hop, range, Swipe::THRESHOLD),
                |swipe, samples| 2 * swipe.frames(samples),
                |swipe, signal, out| {
                    let track = swipe.track(signal);
                    let frames = track.frequency.iter().zip(&track.strength);
                    for (pair, (frequency, strength)) in out.chunks_exact_mut(2).zip(frames) {
                        pair.copy_from_slice(&[*frequency, *strength]);
                    }
                    Ok(())
                },
            )?),
            Device::Cuda(gpu) => Box::new(CudaSwipe::new(gpu, &plan, Swipe::THRESHOLD, &batch)?),
        })
    }
}
