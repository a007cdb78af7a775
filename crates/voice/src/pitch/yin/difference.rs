//! YIN's cumulative-mean-normalised difference of a block of frames.
//!
//! As librosa 0.11 defines it: with `r` the autocorrelation of the frame alone,
//! `d(k) = 2·(r(0) − r(k)) − Σ_{m<k} x(m)²` (the sum is taken as 0 for `k = 1`), and the result is
//! `d(k) / mean(d(1..=k))`.

use warpsmith_lanes::Lanes;
use warpsmith_signal::{Framing, RealBlock, Tile, smooth_length_at_least};

/// Tables and scratch memory.
#[derive(Clone)]
pub(crate) struct Difference<V> {
    tile: Tile,
    transform: RealBlock<V>,
    transform_length: usize,
    frame_length: usize,
    periods: (usize, usize),
    bins: Vec<[V; 2]>,
    /// The autocorrelation at the lags that matter.
    correlation: Vec<V>,
    /// Running energy of the frame's first samples.
    energy: Vec<V>,
    normalised: Vec<V>,
}

impl<V: Lanes> Difference<V> {
    /// For periods from `periods.0` to `periods.1` samples, both included.
    pub(crate) fn new(framing: Framing, periods: (usize, usize)) -> Self {
        let zero = V::splat(0.0);
        // Lags up to the longest period must not see the frame's own wrapped end.
        let transform_length = smooth_length_at_least(framing.length + periods.1 + 1);
        Self {
            tile: Tile::new(framing, V::WIDTH),
            transform: RealBlock::new(transform_length),
            transform_length,
            frame_length: framing.length,
            periods,
            bins: vec![[zero; 2]; transform_length / 2 + 1],
            correlation: vec![zero; (periods.1 + 1).next_multiple_of(2)],
            energy: vec![zero; periods.1 + 1],
            normalised: vec![zero; periods.1 - periods.0 + 1],
        }
    }

    /// The normalised difference of the frames from `first` on; entry 0 is the shortest period.
    #[inline(always)]
    pub(crate) fn block(&mut self, signal: &[f32], first: usize) -> &[V] {
        let zero = V::splat(0.0);
        self.tile.fill::<V>(signal, first);
        let (inside, beyond) = self.transform.samples_mut().split_at_mut(self.frame_length);
        let mut running = zero;
        if const { V::WIDTH == 1 } {
            V::floats_mut(inside).copy_from_slice(self.tile.alone());
        } else {
            for (n, slot) in inside.iter_mut().enumerate() {
                *slot = self.tile.sample(n);
            }
        }
        for (sample, energy) in inside.iter().zip(&mut self.energy) {
            running = sample.mul(*sample).add(running);
            *energy = running;
        }
        for slot in beyond {
            *slot = zero;
        }
        self.transform.forward(&mut self.bins);
        for bin in &mut self.bins {
            let [re, im] = *bin;
            *bin = [im.mul_add(im, re.mul(re)), zero];
        }
        self.transform.inverse(&self.bins, &mut self.correlation);
        self.energy[0] = zero;
        let scale = V::splat(1.0 / self.transform_length as f32);
        let tiny = V::splat(f32::MIN_POSITIVE);
        let at_zero = self.correlation[0].mul(scale);
        let two = V::splat(2.0);
        let mut sum = zero;
        for k in 1..=self.periods.1 {
            let correlation = self.correlation[k].mul(scale);
            let difference = two.mul(at_zero.sub(correlation)).sub(self.energy[k - 1]);
            sum = sum.add(difference);
            if k >= self.periods.0 {
                let mean = sum.mul(V::splat(1.0 / k as f32));
                self.normalised[k - self.periods.0] = difference.div(mean.add(tiny));
            }
        }
        &self.normalised
    }
}

/// The lanes in which entry `k` is a trough: below the entry before, not above the one after, the
/// ends measured against their one neighbour.
#[inline(always)]
pub(crate) fn trough_lanes<V: Lanes>(normalised: &[V], k: usize) -> u32 {
    let last = normalised.len() - 1;
    if last == 0 {
        return 0;
    }
    if k == 0 {
        normalised[0].less(normalised[1])
    } else if k == last {
        normalised[last].less(normalised[last - 1])
    } else {
        normalised[k].less(normalised[k - 1]) & normalised[k].less_or_equal(normalised[k + 1])
    }
}

/// How far a parabola through entry `k` and its neighbours has its vertex from `k`; 0 at the ends
/// and where the vertex lies outside.
#[inline(always)]
pub(crate) fn parabolic_shift(before: f32, here: f32, after: f32) -> f32 {
    let curvature = after + before - 2.0 * here;
    let slope = (after - before) / 2.0;
    if slope.abs() >= curvature.abs() {
        0.0
    } else {
        -slope / curvature
    }
}
