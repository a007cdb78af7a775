//! `voice/onset`: onset strength of a ragged batch.

use warpsmith_workload::ArguedTolerance;

use super::cpu::{OnsetDetector, levels};
use super::cuda::CudaOnset;
use crate::batch::{BatchWorkload, about, sample_rate};
use crate::frame::feature::{Spectra, feature_cost, spectrum};

pub(super) const ID: &str = "voice/onset";

pub(crate) const ONSET: BatchWorkload<Spectra, OnsetDetector> = BatchWorkload {
    about: about(ID, "onset strength of a ragged batch of signals"),
    tolerance: |_| {
        ArguedTolerance::within(
            1e-3,
            0.0,
            "the mean of 128 rises in level, of which each differs by up to 2e-3 dB, as `voice/mel` \
             says, and as often up as down",
        )
    },
    plan: Spectra::of,
    // Two weights to a bin, and a rise to half of them.
    cost: |plan, lengths| feature_cost(plan, lengths, 1, 5),
    frames: Spectra::frames,
    values: Spectra::frames,
    engine: |parameters| {
        let spectrum = spectrum(parameters);
        let (transform, hop) = (spectrum.transform, spectrum.framing.hop);
        OnsetDetector::new(sample_rate(parameters), transform, hop)
    },
    analyse: |detector, signal, out| {
        out.copy_from_slice(&detector.strength(signal)?);
        Ok(())
    },
    on_cuda: |gpu, plan, batch| {
        let (transform, hop) = (plan.settings.transform, plan.settings.framing.hop);
        let onset = CudaOnset::new(gpu, &levels(plan.rate, transform, hop), batch)?;
        Ok(Box::new(onset))
    },
};
