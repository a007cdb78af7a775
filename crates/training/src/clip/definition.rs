//! `training/clip` by its formula: a gradient whose norm is above 1 is divided by it; the norm follows.

use warpsmith_workload::{ArguedTolerance, Definition, Parameters};

pub(super) fn definition() -> Definition {
    Definition {
        results,
        tolerance: ArguedTolerance::within(
            0.0,
            3e-7,
            "the CPU sums squares in f64; the norm, its inverse, the product and the reference round by \
             6e-8 each",
        ),
    }
}

fn results(_: &Parameters, inputs: &[Vec<f64>]) -> Vec<f64> {
    let gradient = &inputs[0];
    let norm = gradient.iter().map(|x| x * x).sum::<f64>().sqrt();
    let mut out: Vec<f64> = gradient.iter().map(|x| x / norm.max(1.0)).collect();
    out.push(norm);
    out
}
