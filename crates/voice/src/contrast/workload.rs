//! `voice/contrast`: spectral contrast of a ragged batch.

use warpsmith_core::Tolerance;
use warpsmith_workload::ArguedTolerance;

use super::cpu::{CONTRAST_BANDS, SpectralContrast, bands};
use super::cuda::CudaContrast;
use crate::batch::{CpuFiles, failed};
use crate::batch::{PARAMETERS, sample_rate};
use crate::frame::feature::{FrameFeature, by_frames, spectrum};

pub(super) const ID: &str = "voice/contrast";

pub(crate) const CONTRAST: FrameFeature = FrameFeature {
    id: ID,
    summary: "spectral contrast of a ragged batch of signals",
    parameters: PARAMETERS,
    values: CONTRAST_BANDS,
    // A comparison each for the loudest and the quietest.
    per_bin: 2,
    tolerance: |_| ArguedTolerance {
        tolerance: Tolerance {
            abs: 0.1,
            rel: 0.0,
            ulp: 0,
        },
        because: "decibels of the quietest bins: of the million that a minute of the input has, the least \
                  is a thousandth of the noise, 1e-6 of the loudest bin, where the roundings of two f32 \
                  transforms are some percent; the median bin differs by 1e-5 dB",
    },
    on_cpu: |cpu, parameters, batch| {
        let (spectrum, rate) = (spectrum(parameters), sample_rate(parameters));
        Ok(Box::new(CpuFiles::new(
            ID,
            cpu,
            batch,
            || SpectralContrast::new(spectrum, rate),
            |_, samples| spectrum.framing.count(samples) * CONTRAST_BANDS,
            |contrast, signal, out| {
                by_frames(&contrast.compute(signal)?, CONTRAST_BANDS, out);
                Ok(())
            },
        )?))
    },
    on_cuda: |gpu, parameters, batch| {
        let spectrum = spectrum(parameters);
        let bands = bands(spectrum, sample_rate(parameters)).map_err(|error| failed(ID, &error))?;
        Ok(Box::new(CudaContrast::new(gpu, &spectrum, &bands, batch)?))
    },
};
