//! `voice/statistics`: the shape of the spectra of a ragged batch.

use warpsmith_workload::{ArguedTolerance, ParameterKind, ParameterSpec, Parameters};

use super::cpu::{ROWS, SpectralShape};
use super::cuda::CudaStatistics;
use crate::batch::{BatchWorkload, PARAMETERS, about_with, sample_rate};
use crate::frame::feature::{Spectra, feature_cost, spectrum};

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

pub(crate) const STATISTICS: BatchWorkload<(Spectra, bool), (SpectralShape, bool)> =
    BatchWorkload {
        about: about_with(
            ID,
            "centroid, bandwidth, roll-off, flatness, entropy, flux and slope of a ragged batch of signals",
            &SPECIFICATION,
        ),
        tolerance: |parameters| {
            if shows_rolloff(parameters) {
                let transform = spectrum(parameters).transform as f64;
                return ArguedTolerance::within(
                    1.001 * (f64::from(sample_rate(parameters)) / transform),
                    0.0,
                    "a bin: where 85 % lie between two of them, rounding chooses",
                );
            }
            ArguedTolerance::within(
                0.0,
                2.5e-4,
                "means over 257 bins or more, of which the quiet ones, 1e-4 of the loudest, differ by 1e-3 of \
                 themselves in two f32 transforms and as often up as down: four deviations of a frame all of whose \
                 bins are quiet",
            )
        },
        plan: |parameters| Ok((Spectra::of(parameters)?, shows_rolloff(parameters))),
        // A root, two logarithms and some twenty products and sums.
        cost: |(plan, _), lengths| feature_cost(plan, lengths, ROWS, 40),
        frames: |(plan, _), samples| plan.frames(samples),
        values: |(plan, _), samples| plan.frames(samples) * ROWS,
        engine: |parameters| {
            let shape = SpectralShape::new(spectrum(parameters), sample_rate(parameters))?;
            Ok((shape, shows_rolloff(parameters)))
        },
        analyse: |(shape, shown), signal, out| {
            shape.measure(signal).write_frames(out);
            hide(*shown, out);
            Ok(())
        },
        on_cuda: |gpu, (plan, shown), batch| {
            let mut prepared = CudaStatistics::new(gpu, &plan.settings, plan.rate, batch)?;
            prepared.show_one_kind(shown);
            Ok(Box::new(prepared))
        },
    };
