//! `voice/yin`: the pitch of a ragged batch, one warp to a frame.

use warpsmith_signal::{Framing, Padding};
use warpsmith_workload::{ArguedTolerance, Parameters};

use super::cpu::Yin;
use super::cuda::{CudaYin, ID, THRESHOLD};
use crate::batch::{BatchWorkload, about, frames_cost, sample_rate};
use crate::pitch::range::PitchRange;

/// Frames that hold two periods of a voice, 10 ms apart.
pub(crate) fn framing(parameters: &Parameters) -> Framing {
    let rate = sample_rate(parameters);
    Framing {
        length: if rate > 16_000 { 2048 } else { 1024 },
        hop: rate as usize / 100,
        padding: Padding::CentredZero,
    }
}

pub(crate) const YIN: BatchWorkload<(u32, Framing), Yin> = BatchWorkload {
    about: about(
        ID,
        "fundamental frequency of a ragged batch of signals by YIN",
    ),
    tolerance: |_| {
        ArguedTolerance::within(
            0.0,
            2.9e-4,
            "half a cent: the correlations differ by rounding, which moves a parabola's \
             vertex by far less, and every frame of the input has one clear period",
        )
    },
    plan: |parameters| Ok((sample_rate(parameters), framing(parameters))),
    cost: |(rate, framing), lengths| {
        let samples: usize = lengths.iter().sum();
        let frames = lengths.iter().map(|length| framing.count(*length)).sum();
        let lags = f64::from(*rate) / PitchRange::VOICE.low_hz;
        // A product and a sum to each lag of each new sample: what a correlation by blocks needs.
        frames_cost(samples, frames, 1, 2 * samples as u64 * lags as u64)
    },
    frames: |(_, framing), samples| framing.count(samples),
    values: |(_, framing), samples| framing.count(samples),
    engine: |parameters| {
        let (rate, framing) = (sample_rate(parameters), framing(parameters));
        Yin::new(rate, framing, PitchRange::VOICE, THRESHOLD)
    },
    analyse: Yin::track_into,
    on_cuda: |gpu, (rate, framing), batch| {
        let yin = CudaYin::new(gpu, rate, framing, PitchRange::VOICE, batch)?;
        Ok(Box::new(yin))
    },
};
