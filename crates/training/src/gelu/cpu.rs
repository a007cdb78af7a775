//! GELU: a number times the share of the normal distribution that lies below it.

use std::f64::consts::FRAC_1_SQRT_2;

use serde::{Deserialize, Serialize};

use warpsmith_lanes::{Task, erf, exp, with_widest};

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
    #[inline(always)]
    pub fn of(self, x: f32) -> f32 {
        match self {
            Self::Exact => {
                let x = f64::from(x);
                (0.5 * x * (1.0 + erf(FRAC_1_SQRT_2 * x))) as f32
            }
            // (1 + tanh y)/2 = 1/(1 + e^(−2y)), where nothing cancels.
            Self::Tanh => {
                let inner = 0.797_884_6 * (x + 0.044_715 * x * x * x);
                x / (1.0 + exp(-2.0 * inner))
            }
        }
    }

    /// Applies the activation to every number; for loops within a [`Task`].
    #[inline(always)]
    pub(crate) fn apply(self, values: &mut [f32]) {
        // The choice outside of the loops, which then are vector loops.
        match self {
            Self::Exact => values.iter_mut().for_each(|x| *x = Self::Exact.of(*x)),
            Self::Tanh => values.iter_mut().for_each(|x| *x = Self::Tanh.of(*x)),
        }
    }
}

/// Applies the activation to every number.
pub fn gelu_in_place(values: &mut [f32], kind: Gelu) {
    with_widest(Activation { values, kind });
}

struct Activation<'a> {
    values: &'a mut [f32],
    kind: Gelu,
}

impl Task for Activation<'_> {
    #[inline(always)]
    fn run(self) {
        self.kind.apply(self.values);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
