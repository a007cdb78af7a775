//! `voice/periodicity`: how periodic a ragged batch is around each frame, from which voice activity follows.

use warpsmith_signal::Result;
use warpsmith_workload::{ArguedTolerance, Parameters};

use super::cpu::PeriodicityVad;
use super::cuda::{CudaPeriodicity, ID};
use crate::batch::{BatchWorkload, about, frames_cost, sample_rate};

fn detector(parameters: &Parameters) -> Result<PeriodicityVad> {
    PeriodicityVad::new(sample_rate(parameters))
}

fn frames(detector: &PeriodicityVad, samples: usize) -> usize {
    detector.periodicity.placement().frames(samples)
}

pub(crate) const PERIODICITY: BatchWorkload<PeriodicityVad, PeriodicityVad> = BatchWorkload {
    about: about(
        ID,
        "how periodic a ragged batch of signals is around each frame, for voice activity",
    ),
    tolerance: |_| {
        ArguedTolerance::within(
            2e-5,
            0.0,
            "a correlation of thousands of products in another order, over that of the window, \
             at most 1.5 times what is summed",
        )
    },
    plan: detector,
    cost: |detector, lengths| {
        let frames: usize = lengths.iter().map(|length| frames(detector, *length)).sum();
        // Two real transforms of a window with half as many zeros behind it.
        let points = 3 * detector.periodicity.placement().half as u64;
        let transforms = 5 * points * u64::from(points.max(2).ilog2());
        frames_cost(lengths.iter().sum(), frames, 1, frames as u64 * transforms)
    },
    frames,
    values: frames,
    engine: detector,
    analyse: |detector, signal, out| {
        out.copy_from_slice(&detector.periodicity.of(signal).1);
        Ok(())
    },
    on_cuda: |gpu, detector, batch| {
        let tops = CudaPeriodicity::new(gpu, &detector.periodicity, batch)?;
        Ok(Box::new(tops))
    },
};
