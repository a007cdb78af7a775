//! `voice/swipe`: pitch and voicing of a ragged batch by SWIPE'.

use warpsmith_workload::ArguedTolerance;

use super::cpu::Swipe;
use super::cuda::{CudaSwipe, ID};
use super::plan::SwipePlan;
use crate::batch::{BatchWorkload, about, frames_cost, sample_rate};
use crate::pitch::range::PitchRange;

pub(crate) const SWIPE: BatchWorkload<SwipePlan, Swipe> = BatchWorkload {
    about: about(
        ID,
        "pitch and voicing of a ragged batch of signals by SWIPE'",
    ),
    tolerance: |_| {
        ArguedTolerance::within(
            2e-5,
            9.1e-4,
            "pitches lie on a grid of 1/768 octave, 9e-4, and where two of its points are equally \
             good rounding may choose either; strengths are sums of some 400 products below one",
        )
    },
    plan: |parameters| {
        let rate = sample_rate(parameters);
        SwipePlan::new(rate, rate as usize / 100, PitchRange::VOICE)
    },
    cost: |plan, lengths| {
        let samples: usize = lengths.iter().sum();
        // Of a window's frame: a real transform, a spline, and a product to each channel of each candidate.
        let of_windows = plan.windows.iter().map(|window| {
            let points = window.length as u64;
            let transform = 5 * points / 2 * u64::from(points.ilog2());
            let products = 2 * window.candidates.len() * plan.channels();
            (samples / (window.length / 2)) as u64 * (transform + 8 * points + products as u64)
        });
        frames_cost(samples, samples / plan.hop, 2, of_windows.sum())
    },
    frames: SwipePlan::frames,
    values: |plan, samples| 2 * plan.frames(samples),
    engine: |parameters| {
        let (rate, range) = (sample_rate(parameters), PitchRange::VOICE);
        Swipe::new(rate, rate as usize / 100, range, Swipe::THRESHOLD)
    },
    analyse: |swipe, signal, out| {
        let track = swipe.track(signal);
        let frames = track.frequency.iter().zip(&track.strength);
        for (pair, (frequency, strength)) in out.chunks_exact_mut(2).zip(frames) {
            pair.copy_from_slice(&[*frequency, *strength]);
        }
        Ok(())
    },
    on_cuda: |gpu, plan, batch| {
        let swipe = CudaSwipe::new(gpu, &plan, Swipe::THRESHOLD, batch)?;
        Ok(Box::new(swipe))
    },
};
