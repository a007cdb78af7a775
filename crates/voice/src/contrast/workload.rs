//! `voice/contrast`: spectral contrast of a ragged batch.

use warpsmith_workload::ArguedTolerance;

use super::cpu::{CONTRAST_BANDS, ContrastSettings, SpectralContrast, bands};
use super::cuda::CudaContrast;
use crate::batch::{BatchWorkload, about, checked, sample_rate};
use crate::frame::feature::{Spectra, by_frames, feature_cost, spectrum};

pub(super) const ID: &str = "voice/contrast";

pub(crate) const CONTRAST: BatchWorkload<Spectra, SpectralContrast> = BatchWorkload {
    about: about(ID, "spectral contrast of a ragged batch of signals"),
    tolerance: |_| {
        ArguedTolerance::within(
            0.1,
            0.0,
            "decibels of the quietest bins: of the million that a minute of the input has, the least \
             is a thousandth of the noise, 1e-6 of the loudest bin, where the roundings of two f32 \
             transforms are some percent; the median bin differs by 1e-5 dB",
        )
    },
    plan: Spectra::of,
    // A comparison each for the loudest and the quietest.
    cost: |plan, lengths| feature_cost(plan, lengths, CONTRAST_BANDS, 2),
    frames: Spectra::frames,
    values: |plan, samples| plan.frames(samples) * CONTRAST_BANDS,
    engine: |parameters| SpectralContrast::new(spectrum(parameters), sample_rate(parameters)),
    analyse: |contrast, signal, out| {
        by_frames(&contrast.compute(signal)?, CONTRAST_BANDS, out);
        Ok(())
    },
    on_cuda: |gpu, plan, batch| {
        let bands = checked(
            ID,
            bands(plan.settings, plan.rate, ContrastSettings::default()),
        )?;
        let contrast = CudaContrast::new(gpu, &plan.settings, &bands, batch)?;
        Ok(Box::new(contrast))
    },
};
