//! `voice/onset`: onset strength of a ragged batch.

use warpsmith_core::Tolerance;
use warpsmith_workload::ArguedTolerance;

use super::cpu::{OnsetDetector, levels};
use super::cuda::CudaOnset;
use crate::batch::CpuFiles;
use crate::batch::{PARAMETERS, sample_rate};
use crate::frame::feature::{FrameFeature, spectrum};

pub(super) const ID: &str = "voice/onset";

pub(crate) const ONSET: FrameFeature = FrameFeature {
    id: ID,
    summary: "onset strength of a ragged batch of signals",
    parameters: PARAMETERS,
    values: 1,
    // Two weights to a bin, and a rise to half of them.
    per_bin: 5,
    tolerance: |_| ArguedTolerance {
        tolerance: Tolerance {
            abs: 1e-3,
            rel: 0.0,
            ulp: 0,
        },
        because: "the mean of 128 rises in level, of which each differs by up to 2e-3 dB, as `voice/mel` \
                  says, and as often up as down",
    },
    on_cpu: |cpu, parameters, batch| {
        let (spectrum, rate) = (spectrum(parameters), sample_rate(parameters));
        let framing = spectrum.framing;
        Ok(Box::new(CpuFiles::new(
            ID,
            cpu,
            batch,
            || OnsetDetector::new(rate, spectrum.transform, framing.hop),
            |_, samples| framing.count(samples),
            |detector, signal, out| {
                out.copy_from_slice(&detector.strength(signal)?);
                Ok(())
            },
        )?))
    },
    on_cuda: |gpu, parameters, batch| {
        let (spectrum, rate) = (spectrum(parameters), sample_rate(parameters));
        let settings = levels(rate, spectrum.transform, spectrum.framing.hop);
        Ok(Box::new(CudaOnset::new(gpu, &settings, batch)?))
    },
};
