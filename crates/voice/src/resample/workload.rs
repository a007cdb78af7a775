//! `voice/resample`: a ragged batch at another sample rate.

use warpsmith_core::{Bytes, Flops};
use warpsmith_signal::{Quality, Resampler, Result};
use warpsmith_workload::{ArguedTolerance, Cost, Parameters};

use super::cuda::{CudaResample, ID};
use crate::batch::{BatchWorkload, about, sample_rate};

/// From 44.1 kHz to 16, or from 16 to 44.1.
fn resampler(parameters: &Parameters) -> Result<Resampler> {
    let from = sample_rate(parameters);
    let to = if from == 44_100 { 16_000 } else { 44_100 };
    Resampler::new(from, to, Quality::High)
}

pub(crate) const RESAMPLE: BatchWorkload<Resampler, Resampler> = BatchWorkload {
    about: about(
        ID,
        "a ragged batch of signals from 44.1 kHz to 16, or from 16 to 44.1",
    ),
    tolerance: |_| {
        ArguedTolerance::within(
            2e-6,
            0.0,
            "sums of up to 460 products of samples below 0.7 with filters whose sizes sum to less \
             than 4: √460 roundings of 2⁻²⁴ of that, both ways",
        )
    },
    plan: resampler,
    cost: |resampler, lengths| {
        let samples: usize = lengths.iter().sum();
        let results = lengths
            .iter()
            .map(|length| resampler.output_length(*length));
        let (outputs, taps) = (results.sum::<usize>(), resampler.polyphase().2);
        Cost {
            bytes: Bytes(4 * (samples + outputs) as u64),
            flops: Flops(2 * (outputs * taps) as u64),
            units: outputs as u64,
            unit: "sample",
        }
    },
    frames: |_, _| 0,
    values: Resampler::output_length,
    engine: resampler,
    analyse: |resampler, signal, out| {
        out.copy_from_slice(&resampler.process(signal));
        Ok(())
    },
    on_cuda: |gpu, resampler, batch| Ok(Box::new(CudaResample::new(gpu, &resampler, batch)?)),
};
