//! `voice/hq`: pitch and voicing of a ragged batch by the most accurate tracker.

use warpsmith_workload::ArguedTolerance;

use super::cpu::{HqPitch, HqPlan};
use super::cuda::{CudaHq, ID};
use crate::batch::{BatchWorkload, about, frames_cost, sample_rate};
use crate::pitch::range::PitchRange;

pub(crate) const HQ: BatchWorkload<HqPlan, HqPitch> = BatchWorkload {
    about: about(
        ID,
        "pitch and voicing of a ragged batch of signals by averaged autocorrelations and repetition",
    ),
    tolerance: |_| {
        ArguedTolerance::within(
            0.0,
            2.9e-4,
            "half a cent: the correlations differ by rounding, which moves an interpolated top \
             by less than a hundredth, and every frame of the input is clean, so that no look \
             before decides by a hair",
        )
    },
    plan: |parameters| {
        let rate = sample_rate(parameters);
        HqPlan::new(rate, rate as usize / 100, PitchRange::VOICE)
    },
    cost: |plan, lengths| {
        let samples: usize = lengths.iter().sum();
        let rate = plan.placement.rate;
        let frames = samples / plan.placement.hop;
        // Two real transforms of three periods with as many zeros behind half of them; then, around a period of
        // 200 Hz, three correlations at the lags within half an octave, and one of three periods at 69.
        let points = (4.5 * rate / plan.range.low_hz) as u64;
        let period = (rate / 200.0) as u64;
        let transforms = 5 * points * u64::from(points.max(2).ilog2());
        let repetition = 2 * 3 * period * (6 * period / 10);
        let third = 2 * 69 * 3 * period;
        let flops = frames as u64 * (transforms + repetition + third);
        frames_cost(samples, frames, 2, flops)
    },
    frames: |plan, samples| plan.placement.frames(samples),
    values: |plan, samples| plan.placement.frames(samples),
    engine: |parameters| {
        let rate = sample_rate(parameters);
        HqPitch::new(rate, rate as usize / 100, PitchRange::VOICE)
    },
    analyse: |hq, signal, out| {
        out.copy_from_slice(&hq.track(signal).frequency);
        Ok(())
    },
    on_cuda: |gpu, plan, batch| Ok(Box::new(CudaHq::new(gpu, plan, batch)?)),
};
