//! `voice/chroma`: the pitch classes of a ragged batch.

use warpsmith_core::Tolerance;
use warpsmith_workload::ArguedTolerance;

use super::cpu::{Chroma, PITCH_CLASSES};
use super::cuda::CudaChroma;
use crate::batch::CpuFiles;
use crate::batch::{PARAMETERS, sample_rate};
use crate::frame::feature::{FrameFeature, by_frames, spectrum};

pub(super) const ID: &str = "voice/chroma";

pub(crate) const CHROMA: FrameFeature = FrameFeature {
    id: ID,
    summary: "power of the pitch classes of a ragged batch of signals",
    parameters: PARAMETERS,
    values: PITCH_CLASSES,
    per_bin: 2 * PITCH_CLASSES as u64,
    tolerance: |_| ArguedTolerance {
        tolerance: Tolerance {
            abs: 1e-5,
            rel: 0.0,
            ulp: 0,
        },
        because: "shares of the largest class: powers of two f32 transforms differ by 1e-6 of the loudest \
                  bin, which the largest class holds, and sums of a thousand of them by less",
    },
    on_cpu: |cpu, parameters, batch| {
        let (spectrum, rate) = (spectrum(parameters), sample_rate(parameters));
        Ok(Box::new(CpuFiles::new(
            ID,
            cpu,
            batch,
            || Chroma::new(spectrum, rate),
            |_, samples| spectrum.framing.count(samples) * PITCH_CLASSES,
            |chroma, signal, out| {
                by_frames(&chroma.compute(signal)?, PITCH_CLASSES, out);
                Ok(())
            },
        )?))
    },
    on_cuda: |gpu, parameters, batch| {
        let (spectrum, rate) = (spectrum(parameters), sample_rate(parameters));
        Ok(Box::new(CudaChroma::new(gpu, &spectrum, rate, batch)?))
    },
};
