//! Transforms of real frames: an even length costs half a complex transform, an odd length a whole
//! one with zero imaginary parts.
//!
//! Invariant: `forward` yields bins `0..=length/2`, unscaled; `inverse` divides by
//! nothing, so that `inverse(forward(x)) = length · x`.

use std::sync::Arc;

use warpsmith_lanes::{Lanes, Task, vectorize_method};

use super::butterfly::turn_by;
use super::inlet::Inlet;
use super::outlet::Outlet;
use super::plan::{Plan, root};
use super::points::Points;
use crate::interrupt::checkpoint;

/// The scratch memory and tables for transforms of one length.
#[derive(Clone)]
pub struct RealBlock<V> {
    length: usize,
    plan: Arc<Plan>,
    /// `exp(−2πi·k/length)` for `k ≤ length/4`; empty for odd lengths.
    halves: Arc<Vec<[f32; 2]>>,
    work: Vec<[V; 2]>,
    /// For a frame on its own, where its points fill vectors.
    points: Option<Points>,
}

impl<V: Lanes> RealBlock<V> {
    /// Tables for real frames of `length ≥ 1` samples.
    pub fn new(length: usize) -> Self {
        let packed = length.is_multiple_of(2);
        let plan = Plan::new(if packed { length / 2 } else { length });
        let halves = if packed {
            (0..=length / 4).map(|k| root(k, length)).collect()
        } else {
            Vec::new()
        };
        let work = vec![[V::splat(0.0); 2]; plan.length()];
        let alone = packed && V::WIDTH == 1;
        Self {
            points: alone.then(|| Points::new(plan.length())).flatten(),
            length,
            plan: Arc::new(plan),
            halves: Arc::new(halves),
            work,
        }
    }

    /// Where the caller puts the frames' samples before [`RealBlock::forward`].
    #[inline(always)]
    pub fn samples_mut(&mut self) -> &mut [V] {
        // An even frame's neighbours are the real and imaginary part of a point, so that packing
        // costs nothing; an odd frame's samples go to the front half and are spread out later.
        &mut self.work.as_flattened_mut()[..self.length]
    }

    /// Transforms the samples into `bins`, lowest first.
    pub fn forward(&mut self, bins: &mut [[V; 2]]) {
        checkpoint();
        vectorize_method!(V: self => RealBlock::samples_to_bins(bins: &'a mut [[V; 2]]));
    }

    /// As [`RealBlock::forward`], every bin to `outlet`. Not for a frame on its own.
    pub fn forward_to(&mut self, outlet: impl Outlet<[V; 2]>) {
        checkpoint();
        self.transform_samples();
        V::vectorize(BinsTask {
            block: self,
            outlet,
        });
    }

    /// As [`RealBlock::forward_to`], of the pairs of neighbouring samples that `inlet` yields. Not for odd lengths.
    pub fn forward_from(&mut self, inlet: impl Inlet<[V; 2]>, outlet: impl Outlet<[V; 2]>) {
        debug_assert!(self.length.is_multiple_of(2), "neighbours go together");
        checkpoint();
        V::vectorize(TransformFromTask { block: self, inlet });
        V::vectorize(BinsTask {
            block: self,
            outlet,
        });
    }

    /// The real frames whose bins are given, times `length`, into `samples`: all, or the
    /// first few, an even number. Imaginary parts of bin 0 and of the middle bin are ignored.
    pub fn inverse(&mut self, bins: &[[V; 2]], samples: &mut [V]) {
        checkpoint();
        vectorize_method!(V: self => RealBlock::bins_to_samples(
            bins: &'a [[V; 2]],
            samples: &'a mut [V],
        ));
    }

    /// As [`RealBlock::inverse`], all samples to `outlet`, from the last to the first. Not for a frame on its own.
    pub fn inverse_to(&mut self, bins: &[[V; 2]], outlet: impl Outlet<V>) {
        checkpoint();
        V::vectorize(InverseToTask {
            block: self,
            bins,
            outlet,
        });
    }

    #[inline(always)]
    fn transform(&mut self) {
        V::vectorize(TransformTask { block: self });
    }

    #[inline(always)]
    fn samples_to_bins(&mut self, bins: &mut [[V; 2]]) {
        let bins = &mut bins[..=self.length / 2];
        if const { V::WIDTH == 1 }
            && let Some(points) = &mut self.points
        {
            points.take_samples::<V::Points>(V::floats(self.work.as_flattened()));
            self.plan.run_points::<V::Points>(points);
            let bins = V::floats_mut(bins.as_flattened_mut());
            points.give_bins::<V::Points>(&self.halves, bins);
            return;
        }
        self.transform_samples();
        self.points_to(bins);
    }

    /// Transforms the samples, which for an odd length are spread out first.
    #[inline(always)]
    fn transform_samples(&mut self) {
        if self.halves.is_empty() {
            for n in (0..self.length).rev() {
                let sample = self.work.as_flattened()[n];
                self.work[n] = [sample, V::splat(0.0)];
            }
        }
        self.transform();
    }

    /// The bins of transformed points.
    #[inline(always)]
    fn points_to(&mut self, mut bins: impl Outlet<[V; 2]>) {
        let zero = V::splat(0.0);
        if self.halves.is_empty() {
            for k in 0..=self.length / 2 {
                bins.put(k, self.work[self.plan.place(k)]);
            }
            return;
        }
        let half = self.length / 2;
        let [re, im] = self.work[0];
        bins.put(0, [re.add(im), zero]);
        bins.put(half, [re.sub(im), zero]);
        for k in 1..=half / 2 {
            let a = self.work[self.plan.place(k)];
            let b = self.work[self.plan.place(half - k)];
            let [low, high] = bins_of_points(a, b, self.halves[k].map(V::splat));
            bins.put(k, low);
            if half - k != k {
                bins.put(half - k, high);
            }
        }
    }

    #[inline(always)]
    fn bins_to_samples(&mut self, bins: &[[V; 2]], samples: &mut [V]) {
        if const { V::WIDTH == 1 }
            && let Some(points) = &mut self.points
        {
            let bins = V::floats(bins[..=self.length / 2].as_flattened());
            points.take_bins::<V::Points>(&self.halves, bins);
            self.plan.run_points::<V::Points>(points);
            points.give_samples::<V::Points>(V::floats_mut(samples));
            return;
        }
        self.bins_to_points(bins);
        if self.halves.is_empty() {
            for (n, sample) in samples.iter_mut().enumerate() {
                *sample = self.work[self.plan.place(n)][1];
            }
            return;
        }
        for (n, pair) in samples.as_chunks_mut::<2>().0.iter_mut().enumerate() {
            let [im, re] = self.work[self.plan.place(n)];
            *pair = [re, im];
        }
    }

    #[inline(always)]
    fn bins_to(&mut self, bins: &[[V; 2]], mut samples: impl Outlet<V>) {
        self.bins_to_points(bins);
        if self.halves.is_empty() {
            for n in (0..self.length).rev() {
                samples.put(n, self.work[self.plan.place(n)][1]);
            }
            return;
        }
        for n in (0..self.length / 2).rev() {
            let [im, re] = self.work[self.plan.place(n)];
            samples.put(2 * n + 1, im);
            samples.put(2 * n, re);
        }
    }

    /// The points whose parts, exchanged, are the samples, each at its place.
    #[inline(always)]
    fn bins_to_points(&mut self, bins: &[[V; 2]]) {
        let zero = V::splat(0.0);
        // A forward transform with real and imaginary parts exchanged is an inverse one.
        if self.halves.is_empty() {
            self.work[0] = [zero, bins[0][0]];
            for (k, [re, im]) in bins.iter().copied().enumerate().skip(1) {
                self.work[k] = [im, re];
                self.work[self.length - k] = [zero.sub(im), re];
            }
            self.transform();
            return;
        }
        let half = self.length / 2;
        let bins = &bins[..=half];
        let (first, last) = (bins[0][0], bins[half][0]);
        self.work[0] = [first.sub(last), first.add(last)];
        for k in 1..=half / 2 {
            let [low, high] = points_of_bins(bins[k], bins[half - k], self.halves[k].map(V::splat));
            self.work[half - k] = high;
            self.work[k] = low;
        }
        self.transform();
    }
}

/// Bins `k` and `half − k` of the transformed points of the same numbers; `w` is `exp(−2πi·k/length)`.
#[inline(always)]
pub(super) fn bins_of_points<V: Lanes>(a: [V; 2], b: [V; 2], w: [V; 2]) -> [[V; 2]; 2] {
    let point_five = V::splat(0.5);
    // Even samples transform to E, odd ones to O; X[k] = E + W·O, X[half−k] = conj(E − W·O).
    let even = [
        a[0].add(b[0]).mul(point_five),
        a[1].sub(b[1]).mul(point_five),
    ];
    let odd = [
        a[1].add(b[1]).mul(point_five),
        b[0].sub(a[0]).mul(point_five),
    ];
    let turned = turn_by(odd, w);
    [
        [even[0].add(turned[0]), even[1].add(turned[1])],
        [even[0].sub(turned[0]), turned[1].sub(even[1])],
    ]
}

/// Points `k` and `half − k`, real and imaginary parts exchanged, whose transform has the inverse of
/// these bins.
#[inline(always)]
pub(super) fn points_of_bins<V: Lanes>(a: [V; 2], b: [V; 2], [cos, sin]: [V; 2]) -> [[V; 2]; 2] {
    let even = [a[0].add(b[0]), a[1].sub(b[1])];
    let difference = [a[0].sub(b[0]), a[1].add(b[1])];
    // O = conj(W)·difference.
    let odd = [
        difference[1].mul_add(sin, difference[0].mul(cos)),
        difference[0].neg_mul_add(sin, difference[1].mul(cos)),
    ];
    // Z[k] = E + i·O and Z[half−k] = conj(E) + i·conj(O), stored exchanged.
    [
        [even[1].add(odd[0]), even[0].sub(odd[1])],
        [odd[0].sub(even[1]), even[0].add(odd[1])],
    ]
}

struct TransformTask<'a, V> {
    block: &'a mut RealBlock<V>,
}

impl<V: Lanes> Task for TransformTask<'_, V> {
    #[inline(always)]
    fn run(self) {
        self.block.plan.run(&mut self.block.work);
    }
}

struct TransformFromTask<'a, V, S> {
    block: &'a mut RealBlock<V>,
    inlet: S,
}

impl<V: Lanes, S: Inlet<[V; 2]>> Task for TransformFromTask<'_, V, S> {
    #[inline(always)]
    fn run(self) {
        let RealBlock { plan, work, .. } = self.block;
        plan.run_from(&self.inlet, work);
    }
}

struct BinsTask<'a, V, S> {
    block: &'a mut RealBlock<V>,
    outlet: S,
}

impl<V: Lanes, S: Outlet<[V; 2]>> Task for BinsTask<'_, V, S> {
    #[inline(always)]
    fn run(self) {
        self.block.points_to(self.outlet);
    }
}

struct InverseToTask<'a, V, S> {
    block: &'a mut RealBlock<V>,
    bins: &'a [[V; 2]],
    outlet: S,
}

impl<V: Lanes, S: Outlet<V>> Task for InverseToTask<'_, V, S> {
    #[inline(always)]
    fn run(self) {
        self.block.bins_to(self.bins, self.outlet);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use warpsmith_lanes::{One, Vector};

    fn value(v: One) -> f32 {
        let mut out = [0.0];
        v.store(&mut out);
        out[0]
    }

    #[test]
    fn a_real_transform_agrees_with_the_definition_and_its_inverse_returns() {
        for length in [1, 2, 3, 4, 5, 6, 8, 10, 14, 15, 49, 100, 400, 512] {
            let signal: Vec<f32> = (0..length).map(|n| ((n * n + 3) as f32).sin()).collect();
            let mut block = RealBlock::<One>::new(length);
            for (slot, x) in block.samples_mut().iter_mut().zip(&signal) {
                *slot = One::splat(*x);
            }
            let mut transformed = vec![[One::splat(f32::NAN); 2]; length / 2 + 1];
            block.forward(&mut transformed);
            let bins: Vec<_> = transformed.iter().map(|bin| bin.map(value)).collect();
            for (k, bin) in bins.iter().enumerate() {
                let (mut re, mut im) = (0.0, 0.0);
                for (n, x) in signal.iter().enumerate() {
                    let angle = std::f64::consts::TAU * ((n * k) % length) as f64 / length as f64;
                    re += f64::from(*x) * angle.cos();
                    im -= f64::from(*x) * angle.sin();
                }
                let error = (re - f64::from(bin[0])).hypot(im - f64::from(bin[1]));
                assert!(error < 5e-6, "length {length}, bin {k}: {error}");
            }
            let mut back = vec![One::splat(f32::NAN); length];
            block.inverse(&transformed, &mut back);
            for (n, (a, b)) in signal.iter().zip(&back).enumerate() {
                let b = value(*b) / length as f32;
                assert!((a - b).abs() < 1e-6, "length {length}, sample {n}");
            }
        }
    }
}
