//! `voice/pyin`: pitch and voicing of a ragged batch by probabilistic YIN.

use warpsmith_workload::ArguedTolerance;

use super::cpu::{Pyin, PyinSettings, PyinTrack};
use super::cuda::{CudaPyin, ID};
use super::plan::PyinPlan;
use crate::batch::{BatchWorkload, about, frames_cost, sample_rate};
use crate::pitch::range::PitchRange;
use crate::pitch::yin::framing;

/// The frequency of each frame, 0 where it is unvoiced: what CPU and GPU are compared by.
pub(super) fn flatten(track: &PyinTrack, out: &mut [f32]) {
    let frames = track.frequency.iter().zip(&track.voiced);
    for (slot, (hertz, voiced)) in out.iter_mut().zip(frames) {
        *slot = if *voiced { *hertz } else { 0.0 };
    }
}

pub(crate) const PYIN: BatchWorkload<PyinPlan, Pyin> = BatchWorkload {
    about: about(
        ID,
        "pitch and voicing of a ragged batch of signals by probabilistic YIN",
    ),
    tolerance: |_| {
        ArguedTolerance::within(
            0.0,
            5.9e-3,
            "a pitch bin of 10 cents: rounding may move a candidate that lies between two \
             bins to the other, and every frame of the input is voiced",
        )
    },
    plan: |parameters| {
        let (rate, framing) = (sample_rate(parameters), framing(parameters));
        PyinPlan::new(rate, framing, PitchRange::VOICE, PyinSettings::default())
    },
    cost: |plan, lengths| {
        let samples: usize = lengths.iter().sum();
        let counts = lengths.iter().map(|length| plan.framing.count(*length));
        let frames: usize = counts.sum();
        let lags = plan.sample_rate / plan.range.low_hz;
        let states = plan.bins * (2 * plan.reach + 1);
        // The correlation as in YIN; a sum and a comparison to each way into a bin.
        let flops = 2 * samples as u64 * lags as u64 + 2 * (frames * states) as u64;
        frames_cost(samples, frames, 2, flops)
    },
    frames: |plan, samples| plan.framing.count(samples),
    values: |plan, samples| plan.framing.count(samples),
    engine: |parameters| {
        let (rate, framing) = (sample_rate(parameters), framing(parameters));
        Pyin::new(rate, framing, PitchRange::VOICE, PyinSettings::default())
    },
    analyse: |pyin, signal, out| {
        flatten(&pyin.track(signal), out);
        Ok(())
    },
    on_cuda: |gpu, plan, batch| Ok(Box::new(CudaPyin::new(gpu, plan, batch)?)),
};
