//! `voice/chroma`: the pitch classes of a ragged batch.

use warpsmith_workload::ArguedTolerance;

use super::cpu::{Chroma, PITCH_CLASSES};
use super::cuda::CudaChroma;
use crate::batch::{BatchWorkload, about, sample_rate};
use crate::frame::feature::{Spectra, by_frames, feature_cost, spectrum};

pub(super) const ID: &str = "voice/chroma";

pub(crate) const CHROMA: BatchWorkload<Spectra, Chroma> = BatchWorkload {
    about: about(
        ID,
        "power of the pitch classes of a ragged batch of signals",
    ),
    tolerance: |_| {
        ArguedTolerance::within(
            1e-5,
            0.0,
            "shares of the largest class: powers of two f32 transforms differ by 1e-6 of the loudest \
             bin, which the largest class holds, and sums of a thousand of them by less",
        )
    },
    plan: Spectra::of,
    cost: |plan, lengths| feature_cost(plan, lengths, PITCH_CLASSES, 2 * PITCH_CLASSES as u64),
    frames: Spectra::frames,
    values: |plan, samples| plan.frames(samples) * PITCH_CLASSES,
    engine: |parameters| Chroma::new(spectrum(parameters), sample_rate(parameters)),
    analyse: |chroma, signal, out| {
        by_frames(&chroma.compute(signal)?, PITCH_CLASSES, out);
        Ok(())
    },
    on_cuda: |gpu, plan, batch| {
        let chroma = CudaChroma::new(gpu, &plan.settings, plan.rate, 0.0, batch)?;
        Ok(Box::new(chroma))
    },
};
