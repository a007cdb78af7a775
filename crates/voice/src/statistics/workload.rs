//! `voice/statistics`: the shape of the spectra of a ragged batch.

use warpsmith_core::Tolerance;
use warpsmith_workload::{ArguedTolerance, ParameterKind, ParameterSpec, Parameters};

use super::cpu::{ROWS, SpectralShape};
use super::cuda::CudaStatistics;
use crate::batch::CpuFiles;
use crate::batch::{PARAMETERS, sample_rate};
use crate::frame::feature::{FrameFeature, spectrum};

pub(super) const ID: &str = "voice/statistics";

const SHOWN: ParameterSpec = ParameterSpec {
    name: "shown",
    meaning: "what is compared: all but the roll-off, or that, which is a whole number of bins",
    kind: ParameterKind::Choice(&["shape", "rolloff"]),
};

static SPECIFICATION: [ParameterSpec; 4] = [PARAMETERS[0], PARAMETERS[1], PARAMETERS[2], SHOWN];

/// The place of the roll-off among a frame's numbers.
const ROLLOFF: usize = 2;

/// Zeros where a number is not shown.
pub(super) fn hide(shows_rolloff: bool, values: &mut [f32]) {
    for (at, value) in values.iter_mut().enumerate() {
        if (at % ROWS == ROLLOFF) != shows_rolloff {
            *value = 0.0;
        }
    }
}

fn shows_rolloff(parameters: &Parameters) -> bool {
    parameters.choice("shown") == "rolloff"
}

pub(crate) const STATISTICS: FrameFeature = FrameFeature {
    id: ID,
    summary: "centroid, bandwidth, roll-off, flatness, entropy, flux and slope of a ragged batch of signals",
    parameters: &SPECIFICATION,
    values: ROWS,
    // A root, two logarithms and some twenty products and sums.
    per_bin: 40,
    tolerance: |parameters| {
        let spectrum = spectrum(parameters);
        if shows_rolloff(parameters) {
            let bin = f64::from(sample_rate(parameters)) / spectrum.transform as f64;
            return ArguedTolerance {
                tolerance: Tolerance {
                    abs: 1.001 * bin,
                    rel: 0.0,
                    ulp: 0,
                },
                because: "a bin: where 85 % lie between two of them, rounding chooses",
            };
        }
        ArguedTolerance {
            tolerance: Tolerance {
                abs: 0.0,
                rel: 1e-4,
                ulp: 0,
            },
            because: "means over some hundred bins, of which the quiet ones, 1e-4 of the loudest, differ by \
                      1e-3 of themselves in two f32 transforms and as often up as down",
        }
    },
    on_cpu: |cpu, parameters, batch| {
        let (spectrum, rate) = (spectrum(parameters), sample_rate(parameters));
        let shown = shows_rolloff(parameters);
        Ok(Box::new(CpuFiles::new(
            ID,
            cpu,
            batch,
            || Ok((SpectralShape::new(spectrum, rate)?, shown)),
            |_, samples| spectrum.framing.count(samples) * ROWS,
            |(shape, shown), signal, out| {
                shape.measure(signal).write_frames(out);
                hide(*shown, out);
                Ok(())
            },
        )?))
    },
    on_cuda: |gpu, parameters, batch| {
        let (spectrum, rate) = (spectrum(parameters), sample_rate(parameters));
        let mut prepared = CudaStatistics::new(gpu, &spectrum, rate, batch)?;
        prepared.show_one_kind(shows_rolloff(parameters));
        Ok(Box::new(prepared))
    },
};
