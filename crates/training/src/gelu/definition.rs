//! GELU by its formulas, with an error function that is a series.

use std::f64::consts::PI;

use warpsmith_workload::{ArguedTolerance, Definition, Parameters};

pub(super) fn definition(parameters: &Parameters) -> Definition {
    match parameters.choice("kind") {
        "tanh" => Definition {
            results: |_, inputs| inputs[0].iter().map(|x| tanh_gelu(*x)).collect(),
            tolerance: ArguedTolerance::within(
                3e-7,
                3e-7,
                "five roundings leave 3e-7 of the tangent's argument, which move the result by half of that \
                 at most; the sum, the quotient and the result round by 6e-8 each",
            ),
        },
        _ => Definition {
            results: |_, inputs| inputs[0].iter().map(|x| exact_gelu(*x)).collect(),
            tolerance: ArguedTolerance::within(
                5e-8,
                1.2e-7,
                "the error function is taken as 1 from 4 on, which is 1.5e-8 less than that, times half of \
                 numbers up to 6; the result rounds once",
            ),
        },
    }
}

/// `x·Φ(x)`.
pub(crate) fn exact_gelu(x: f64) -> f64 {
    0.5 * x * (1.0 + error_function(x / 2f64.sqrt()))
}

/// `x/2·(1 + tanh(√(2/π)·(x + 0.044715·x³)))`.
fn tanh_gelu(x: f64) -> f64 {
    0.5 * x * (1.0 + ((2.0 / PI).sqrt() * (x + 0.044715 * x.powi(3))).tanh())
}

/// `2/√π·e^(−x²)·Σ 2ⁿ·x^(2n+1)/(2n+1)!!`: nothing cancels, as all terms have one sign. Beyond 6 it is 1 in
/// double precision.
fn error_function(x: f64) -> f64 {
    if x.abs() > 6.0 {
        return x.signum();
    }
    let (mut term, mut sum, mut odd) = (x, x, 1.0);
    while term.abs() > 1e-17 * sum.abs() {
        odd += 2.0;
        term *= 2.0 * x * x / odd;
        sum += term;
    }
    2.0 / PI.sqrt() * (-x * x).exp() * sum
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_series_agrees_with_tables() {
        // Abramowitz and Stegun, table 7.1, and the complement at 4 by its continued fraction.
        for (x, expected) in [
            (0.0, 0.0),
            (0.5, 0.520_499_877_813_05),
            (1.0, 0.842_700_792_949_71),
            (2.0, 0.995_322_265_018_95),
            (4.0, 1.0 - 1.541_725_790_028e-8),
            (7.0, 1.0),
        ] {
            for (x, expected) in [(x, expected), (-x, -expected)] {
                assert!((error_function(x) - expected).abs() < 2e-14, "{x}");
            }
        }
        assert!(error_function(f64::NAN).is_nan());
    }
}
