//! AdamW: moments with bias correction, and weight decay apart from the gradient (Loshchilov and
//! Hutter 2019).

use serde::{Deserialize, Serialize};

use crate::error::{ArgumentError, Result};
use warpsmith_lanes::{Task, with_widest};

/// The choices of the optimiser; the default is PyTorch's.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct AdamW {
    /// Learning rate.
    pub rate: f64,
    /// How much of the first and second moment is kept in a step.
    pub keep: (f64, f64),
    /// Added to the root of the second moment.
    pub epsilon: f64,
    /// Share of a weight that is lost in a step, over the rate.
    pub weight_decay: f64,
}

impl Default for AdamW {
    fn default() -> Self {
        Self {
            rate: 1e-3,
            keep: (0.9, 0.999),
            epsilon: 1e-8,
            weight_decay: 0.01,
        }
    }
}

/// The factors of one step, rounded once: `1 − keep` has lost digits if it is taken in f32.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Factors {
    pub(crate) rate: f32,
    pub(crate) epsilon: f32,
    /// Kept of and given to the first moment.
    pub(crate) first: (f32, f32),
    /// Kept of and given to the second moment.
    pub(crate) second: (f32, f32),
    /// Rate times weight decay.
    pub(crate) decay: f32,
    /// `1/(1 − keep₁ᵗ)`.
    pub(crate) correct_first: f32,
    /// `1/√(1 − keep₂ᵗ)`.
    pub(crate) correct_second: f32,
}

impl Factors {
    /// Moves one weight and its moments.
    #[inline(always)]
    pub(crate) fn apply(&self, weight: &mut f32, gradient: f32, first: &mut f32, second: &mut f32) {
        let (keep, give) = self.first;
        *first = keep.mul_add(*first, give * gradient);
        let (keep, give) = self.second;
        *second = keep.mul_add(*second, give * (gradient * gradient));
        let scale = second.sqrt() * self.correct_second + self.epsilon;
        let decayed = (-self.decay).mul_add(*weight, *weight);
        *weight = decayed - self.rate * (*first * self.correct_first) / scale;
    }
}

/// The moments of each weight, and how many steps made them.
#[derive(Clone, Debug, PartialEq)]
pub struct AdamWState {
    /// Mean of the gradients.
    pub first: Vec<f32>,
    /// Mean of their squares.
    pub second: Vec<f32>,
    /// Steps taken.
    pub steps: u32,
}

impl AdamWState {
    /// The state before the first step of `weights` weights.
    pub fn new(weights: usize) -> Self {
        Self {
            first: vec![0.0; weights],
            second: vec![0.0; weights],
            steps: 0,
        }
    }
}

impl AdamW {
    /// The factors of step `step`, counted from 1.
    pub(crate) fn factors(&self, step: u32) -> Factors {
        let share = |keep: f64| (keep as f32, (1.0 - keep) as f32);
        let left = |keep: f64| 1.0 - keep.powf(f64::from(step));
        Factors {
            rate: self.rate as f32,
            epsilon: self.epsilon as f32,
            first: share(self.keep.0),
            second: share(self.keep.1),
            decay: (self.rate * self.weight_decay) as f32,
            correct_first: (1.0 / left(self.keep.0)) as f32,
            correct_second: (1.0 / left(self.keep.1).sqrt()) as f32,
        }
    }

    /// One step: `weights` and `state` move, `gradient` stays.
    pub fn step(
        &self,
        weights: &mut [f32],
        gradient: &[f32],
        state: &mut AdamWState,
    ) -> Result<()> {
        for (what, found) in [
            ("the gradient", gradient.len()),
            ("the first moment", state.first.len()),
            ("the second moment", state.second.len()),
        ] {
            ArgumentError::expect_size(what, found, weights.len())?;
        }
        state.steps = state.steps.saturating_add(1);
        with_widest(Step {
            factors: self.factors(state.steps),
            weights,
            gradient,
            first: &mut state.first,
            second: &mut state.second,
        });
        Ok(())
    }
}

/// A step over weights and moments of one length.
pub(crate) struct Step<'a> {
    pub(crate) factors: Factors,
    pub(crate) weights: &'a mut [f32],
    pub(crate) gradient: &'a [f32],
    pub(crate) first: &'a mut [f32],
    pub(crate) second: &'a mut [f32],
}

impl Task for Step<'_> {
    #[inline(always)]
    fn run(self) {
        let moments = self.first.iter_mut().zip(self.second);
        let weights = self.weights.iter_mut().zip(self.gradient);
        for ((weight, gradient), (first, second)) in weights.zip(moments) {
            self.factors.apply(weight, *gradient, first, second);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_two_steps_are_those_computed_by_hand() {
        let adamw = AdamW {
            rate: 0.1,
            keep: (0.9, 0.999),
            epsilon: 0.0,
            weight_decay: 0.0,
        };
        let (mut weights, mut state) = ([1.0f32], AdamWState::new(1));
        // Both corrected moments are the gradient and its square: a step of exactly the rate.
        adamw.step(&mut weights, &[0.5], &mut state).unwrap();
        assert!((weights[0] - 0.9).abs() < 1e-6);
        assert!((state.first[0] - 0.05).abs() < 1e-8 && (state.second[0] - 2.5e-4).abs() < 1e-9);
        // Gradient −1: first 0.045 − 0.1 over 0.19, second 0.00124975 over 0.001999.
        adamw.step(&mut weights, &[-1.0], &mut state).unwrap();
        let expected = 0.9 + 0.1 * (0.055 / 0.19) / (0.001_249_75f64 / 0.001_999).sqrt();
        assert!((f64::from(weights[0]) - expected).abs() < 1e-6);
        assert_eq!(state.steps, 2);
    }

    #[test]
    fn a_hundred_steps_stay_within_a_few_roundings_of_f64() {
        let adamw = AdamW::default();
        let (mut weights, mut state) = (vec![0.7f32, -1.3, 2.0], AdamWState::new(3));
        let mut exact: Vec<[f64; 3]> = weights.iter().map(|w| [f64::from(*w), 0.0, 0.0]).collect();
        let AdamW {
            rate,
            keep: (keep1, keep2),
            epsilon,
            weight_decay: decay,
        } = adamw;
        for step in 1..=100 {
            let gradient: Vec<f32> = (0..3).map(|n| ((step * 7 + n * 3) as f32).sin()).collect();
            adamw.step(&mut weights, &gradient, &mut state).unwrap();
            for ([w, m, v], g) in exact.iter_mut().zip(&gradient) {
                let g = f64::from(*g);
                *m = keep1 * *m + (1.0 - keep1) * g;
                *v = keep2 * *v + (1.0 - keep2) * g * g;
                let (c1, c2) = (1.0 - keep1.powi(step), 1.0 - keep2.powi(step));
                *w -= rate * decay * *w + rate * (*m / c1) / ((*v / c2).sqrt() + epsilon);
            }
        }
        for (weight, [exact, ..]) in weights.iter().zip(&exact) {
            // Half an ULP of a number between 1 and 2 in each of 100 steps: at most 6e-6.
            assert!(
                (f64::from(*weight) - exact).abs() < 6e-6,
                "{weight} {exact}"
            );
        }
    }
}
