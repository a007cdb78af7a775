//! `training/matmul` by its formula: `Σ a·b`.

use warpsmith_workload::{ArguedTolerance, Definition, Parameters};

pub(super) fn definition(parameters: &Parameters) -> Definition {
    Definition {
        results,
        tolerance: one_rounded_sum(parameters.size("k")),
    }
}

/// Of one sum of so many products of normal numbers in f32, beside an exact one.
pub(crate) fn one_rounded_sum(count: usize) -> ArguedTolerance {
    ArguedTolerance::within(
        1e-6 + 2.5e-7 * count as f64,
        0.0,
        "the CPU rounds the running sum, √k large, after each of k products, by 2⁻²⁴ of it either way: \
         2.4e-8·k together, and ten times that in few elements of millions",
    )
}

fn results(parameters: &Parameters, inputs: &[Vec<f64>]) -> Vec<f64> {
    let [m, n, k] = ["m", "n", "k"].map(|name| parameters.size(name));
    let mut out = vec![0.0; m * n];
    for row in 0..m {
        for depth in 0..k {
            for column in 0..n {
                out[row * n + column] += inputs[0][row * k + depth] * inputs[1][depth * n + column];
            }
        }
    }
    out
}
