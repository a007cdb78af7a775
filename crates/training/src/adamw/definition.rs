//! `training/adamw` by its formula (Loshchilov and Hutter 2019, algorithm 2): the eleventh step, with
//! PyTorch's constants.

use warpsmith_workload::{ArguedTolerance, Definition, Parameters};

pub(super) fn definition() -> Definition {
    Definition {
        results,
        tolerance: ArguedTolerance::within(
            1e-7,
            1e-6,
            "some 8 roundings of 6e-8 each; the two parts of a first moment, which may cancel, are up to 0.5 \
             and err by 5e-8, the rounding of 0.9 included",
        ),
    }
}

/// The weights, then the first and the second moments.
fn results(_: &Parameters, inputs: &[Vec<f64>]) -> Vec<f64> {
    const STEP: i32 = 11;
    let (keep_first, keep_second): (f64, f64) = (0.9, 0.999);
    let (rate, epsilon, decay) = (1e-3, 1e-8, 0.01);
    let (mut weights, mut firsts, mut seconds) = (Vec::new(), Vec::new(), Vec::new());
    for (n, (weight, gradient)) in inputs[0].iter().zip(&inputs[1]).enumerate() {
        let first = keep_first * inputs[2][n] + (1.0 - keep_first) * gradient;
        let second = keep_second * inputs[3][n] + (1.0 - keep_second) * gradient * gradient;
        let mean = first / (1.0 - keep_first.powi(STEP));
        let square = second / (1.0 - keep_second.powi(STEP));
        let decayed = weight - rate * decay * weight;
        weights.push(decayed - rate * mean / (square.sqrt() + epsilon));
        firsts.push(first);
        seconds.push(second);
    }
    [weights, firsts, seconds].concat()
}
