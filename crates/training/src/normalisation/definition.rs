//! Layer norm by its formula: `(x − mean) / √(variance + 1e-5)`, scaled and shifted by column.

use warpsmith_workload::{ArguedTolerance, Definition, Parameters};

use crate::gelu::exact_gelu;

const TOLERANCE: ArguedTolerance = ArguedTolerance::within(
    3e-6,
    3e-7,
    "moments are sums in f64; a normalised number up to 6 rounds by 2.4e-7 before scales up to 5 multiply \
     it, and the result rounds once more; GELU multiplies an error by 1.13 at most",
);

pub(super) fn plain(_: &Parameters) -> Definition {
    Definition {
        results: normalised,
        tolerance: TOLERANCE,
    }
}

pub(super) fn activated(_: &Parameters) -> Definition {
    Definition {
        results: |parameters, inputs| {
            let mut out = normalised(parameters, inputs);
            out.iter_mut().for_each(|x| *x = exact_gelu(*x));
            out
        },
        tolerance: TOLERANCE,
    }
}

fn normalised(parameters: &Parameters, inputs: &[Vec<f64>]) -> Vec<f64> {
    let width = parameters.size("width");
    let (scale, shift) = (&inputs[1], &inputs[2]);
    let mut out = Vec::new();
    for row in inputs[0].chunks(width) {
        let mean = row.iter().sum::<f64>() / width as f64;
        let variance = row.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / width as f64;
        for column in 0..width {
            let normal = (row[column] - mean) / (variance + 1e-5).sqrt();
            out.push(normal * scale[column] + shift[column]);
        }
    }
    out
}
