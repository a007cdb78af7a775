//! YIN's cumulative-mean-normalised difference of one frame at a time, lags in lanes: what
//! [`super::difference`] defines, from a correlation whose products overlapping frames share.

use super::running_correlation::{RunningCorrelation, RunningPlan};
use warpsmith_lanes::Lanes;

/// Tables and scratch memory, by lag from 0 on.
#[derive(Clone, Debug)]
pub(super) struct LagDifference<V> {
    correlation: RunningCorrelation<V>,
    periods: (usize, usize),
    /// One over the lag.
    inverse: Vec<f32>,
    /// Energy of the samples before the lag, and then the running sum of the difference.
    sums: Vec<f32>,
    difference: Vec<f32>,
}

impl<V: Lanes> LagDifference<V> {
    /// For periods from `periods.0` to `periods.1` samples, both included, within the plan's lags.
    pub(super) fn new(plan: RunningPlan, periods: (usize, usize)) -> Self {
        let lags = plan.lags();
        Self {
            correlation: RunningCorrelation::new(plan),
            periods,
            inverse: (0..lags).map(|lag| 1.0 / lag.max(1) as f32).collect(),
            sums: vec![0.0; lags],
            difference: vec![0.0; lags],
        }
    }

    /// The normalised difference of frame `index` of `signal`; entry 0 is the shortest period. A frame that
    /// `follows` comes a hop after the one before.
    #[inline(always)]
    pub(super) fn of(&mut self, signal: &[f32], index: usize, follows: bool) -> &[f32] {
        self.correlation.advance(signal, index, follows);
        let frame = self.correlation.frame();
        for (slot, x) in self.sums[1..].iter_mut().zip(frame) {
            *slot = x * x;
        }
        add_up::<V>(&mut self.sums);
        // As the definition has it.
        self.sums[1] = 0.0;
        let correlation = self.correlation.by_lag();
        let at_zero = correlation[0];
        let slots = self.difference.iter_mut().zip(&mut self.sums);
        for ((slot, sum), correlation) in slots.zip(correlation) {
            *slot = 2.0 * (at_zero - correlation) - *sum;
            *sum = *slot;
        }
        add_up::<V>(&mut self.sums);
        for ((slot, sum), inverse) in self
            .difference
            .iter_mut()
            .zip(&self.sums)
            .zip(&self.inverse)
        {
            *slot /= sum * inverse + f32::MIN_POSITIVE;
        }
        self.sums[0] = 0.0;
        &self.difference[self.periods.0..=self.periods.1]
    }
}

/// Every value and all before it, added up; there are whole vectors.
#[inline(always)]
fn add_up<V: Lanes>(values: &mut [f32]) {
    let mut before = 0.0;
    let mut lanes = [0.0f32; 16];
    // Within a vector nothing waits for the vector before: one addition from vector to vector.
    for values in values.chunks_exact_mut(V::WIDTH) {
        let sums = V::load(values).running_sums();
        sums.store(&mut lanes);
        sums.add(V::splat(before)).store(values);
        before += lanes[V::WIDTH - 1];
    }
}
