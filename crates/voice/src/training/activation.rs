//! GELU: a number times the share of the normal distribution that lies below it.

use std::f64::consts::PI;
use std::sync::LazyLock;

use serde::{Deserialize, Serialize};

/// Which GELU.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Gelu {
    /// `x·Φ(x)` by the error function.
    Exact,
    /// `x/2·(1 + tanh(√(2/π)·(x + 0.044715·x³)))`.
    Tanh,
}

impl Gelu {
    /// The activation of one number.
    pub fn of(self, x: f32) -> f32 {
        match self {
            Self::Exact => 0.5 * x * (1.0 + erf(std::f32::consts::FRAC_1_SQRT_2 * x)),
            Self::Tanh => {
                let inner = 0.797_884_6 * (0.044_715 * x * x).mul_add(x, x);
                0.5 * x * (1.0 + inner.tanh())
            }
        }
    }
}

/// Applies the activation to every number.
pub fn gelu_in_place(values: &mut [f32], kind: Gelu) {
    for value in values {
        *value = kind.of(*value);
    }
}

/// Table steps to one; from the table's end on, the error function is 1 in f32.
const STEPS: usize = 64;
const END: usize = 4;

/// Value and slope of the error function at multiples of 1/64.
static TABLE: LazyLock<Vec<[f64; 2]>> = LazyLock::new(|| {
    (0..=STEPS * END)
        .map(|i| {
            let x = i as f64 / STEPS as f64;
            [erf_series(x), 2.0 / PI.sqrt() * (-x * x).exp()]
        })
        .collect()
});

/// The error function, by cubic interpolation with exact slopes: the error is at most
/// `h⁴/384·max|f⁗| = 64⁻⁴/384·7.4 ≈ 1.2e-9`, far below an f32 rounding.
fn erf(x: f32) -> f32 {
    let magnitude = f64::from(x.abs());
    if magnitude >= END as f64 {
        return 1.0f32.copysign(x);
    }
    if magnitude.is_nan() {
        return x;
    }
    let place = magnitude * STEPS as f64;
    let at = place as usize;
    let t = place - at as f64;
    let ([low, low_slope], [high, high_slope]) = (TABLE[at], TABLE[at + 1]);
    let (low_slope, high_slope) = (low_slope / STEPS as f64, high_slope / STEPS as f64);
    let rise = high - low;
    let cubic = low_slope + high_slope - 2.0 * rise;
    let square = rise - low_slope - cubic;
    let value = low + t * (low_slope + t * (square + t * cubic));
    (value as f32).copysign(x)
}

/// `2/√π·e^(−x²)·Σ 2ⁿx^(2n+1)/(2n+1)!!`: every term is positive, nothing cancels.
fn erf_series(x: f64) -> f64 {
    let (mut term, mut sum, mut n) = (x, x, 1.0);
    while term > sum * 1e-18 {
        term *= 2.0 * x * x / (2.0 * n + 1.0);
        sum += term;
        n += 1.0;
    }
    2.0 / PI.sqrt() * (-x * x).exp() * sum
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_error_function_agrees_with_its_table() {
        // Abramowitz and Stegun, table 7.1.
        for (x, expected) in [
            (0.0, 0.0),
            (0.5, 0.520_499_877_8),
            (1.0, 0.842_700_792_9),
            (2.0, 0.995_322_265_0),
        ] {
            assert!((erf_series(x) - expected).abs() < 1e-10, "{x}");
            assert!((f64::from(erf(-x as f32)) + expected).abs() < 6e-8, "{x}");
        }
        for step in 0..4000 {
            let x = f64::from(step as f32 / 1000.0);
            assert!((f64::from(erf(x as f32)) - erf_series(x)).abs() < 6.1e-8);
        }
        assert_eq!(erf(7.0), 1.0);
        assert!(erf(f32::NAN).is_nan());
    }

    #[test]
    fn the_activation_is_odd_around_half_of_the_identity() {
        for x in [0.0f32, 0.3, 1.7, 4.0, 30.0] {
            for kind in [Gelu::Exact, Gelu::Tanh] {
                assert!((kind.of(x) + kind.of(-x) - (kind.of(x) * 2.0 - x)).abs() < 1e-6);
            }
        }
        // x·Φ(x) at 1: Φ(1) = 0.8413447461.
        assert!((f64::from(Gelu::Exact.of(1.0)) - 0.841_344_746).abs() < 1e-7);
    }
}
