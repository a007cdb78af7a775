//! `training/softmax` by its formula: `e^x / Σ e^x` over a row.

use warpsmith_workload::{ArguedTolerance, Definition, Parameters};

pub(super) fn definition(_: &Parameters) -> Definition {
    Definition {
        results,
        tolerance: ArguedTolerance::within(
            0.0,
            1.2e-6,
            "the distance of a normal number from its row's largest, below 16, rounds by 4.8e-7, and its \
             exponential errs by as much of itself; rounding it, the sum and the quotient adds 1.8e-7 each",
        ),
    }
}

fn results(parameters: &Parameters, inputs: &[Vec<f64>]) -> Vec<f64> {
    let mut out = Vec::new();
    for row in inputs[0].chunks(parameters.size("width")) {
        let sum: f64 = row.iter().map(|x| x.exp()).sum();
        out.extend(row.iter().map(|x| x.exp() / sum));
    }
    out
}
