//! The loudness of a block of frames in the channels of SWIPE': roots of magnitudes, between the bins by way
//! of a spline, each frame scaled to length one.

use warpsmith_lanes::{Lanes, Task};
use warpsmith_signal::{
    Conditioning, FrameSpectrum, Framing, Outlet, Padding, SpectrumSettings, Symmetry, Window,
};

use super::plan::{SwipeWindow, Tap};

/// Tables and memory for one window.
pub(super) struct Loudness<V> {
    spectrum: FrameSpectrum<V>,
    taps: Vec<Tap>,
    end_slope: f32,
    /// What is left of the next bin's curvature when the equations are solved for one after the other.
    elimination: Vec<f32>,
    magnitudes: Vec<V>,
    curvatures: Vec<V>,
    levels: Vec<V>,
}

impl<V: Lanes> Loudness<V> {
    pub(super) fn new(window: &SwipeWindow) -> Self {
        let bins = window.length / 2;
        let spectrum = SpectrumSettings {
            framing: framing(window.length),
            transform: window.length,
            window: Window::Hann,
            window_length: window.length,
            symmetry: Symmetry::Periodic,
            conditioning: Conditioning::default(),
        };
        Self {
            spectrum: FrameSpectrum::new(spectrum),
            taps: window.taps.clone(),
            end_slope: window.end_slope,
            elimination: elimination(bins),
            magnitudes: vec![V::splat(0.0); bins],
            curvatures: vec![V::splat(0.0); bins],
            levels: vec![V::splat(0.0); window.taps.len()],
        }
    }

    /// The loudness of the frames from `first` on: a vector to a channel.
    pub(super) fn block(&mut self, signal: &[f32], first: usize) -> &[V] {
        let magnitudes = Magnitudes(&mut self.magnitudes);
        self.spectrum.block_to(signal, first, magnitudes);
        V::vectorize(LevelsTask { loudness: self });
        &self.levels
    }

    /// The second derivatives, per bin, of the spline through the magnitudes.
    #[inline(always)]
    fn bend(&mut self) {
        let Self {
            magnitudes: y,
            curvatures: bends,
            elimination,
            ..
        } = self;
        let [half, three] = [0.5, 3.0].map(V::splat);
        let slope = V::splat(self.end_slope);
        let last = y.len() - 1;
        let mut step = y[1].sub(y[0]);
        let mut carried = step.sub(slope).mul(three);
        bends[0] = carried;
        for n in 1..last {
            let next = y[n + 1].sub(y[n]);
            let right = next.sub(step).mul(three);
            // `−2·elimination` is one over the pivot.
            carried = carried
                .neg_mul_add(half, right)
                .mul(V::splat(-2.0 * elimination[n]));
            bends[n] = carried;
            step = next;
        }
        let right = slope.sub(step).mul(three);
        let pivot = V::splat(1.0 / (1.0 + 0.5 * elimination[last - 1]));
        let mut bend = carried.neg_mul_add(half, right).mul(pivot);
        bends[last] = bend;
        for n in (0..last).rev() {
            bend = bend.mul_add(V::splat(elimination[n]), bends[n]);
            bends[n] = bend;
        }
    }

    #[inline(always)]
    fn level(&mut self) {
        let (y, bends) = (&self.magnitudes[..], &self.curvatures[..]);
        let zero = V::splat(0.0);
        let mut sum = zero;
        for (slot, tap) in self.levels.iter_mut().zip(&self.taps) {
            let below = tap.below as usize;
            let [under, over] = tap.share.map(V::splat);
            let line = y[below + 1].mul_add(over, y[below].mul(under));
            let product = bends[below].mul(bends[below + 1]);
            // Where the spline dips below zero there is nothing to be heard.
            *slot = product.mul_add(V::splat(tap.bend), line).max(zero);
            sum = sum.add(*slot);
        }
        let scale = V::splat(1.0).div(sum.max(V::splat(f32::MIN_POSITIVE)));
        for slot in &mut self.levels {
            *slot = slot.mul(scale).sqrt();
        }
    }
}

/// Frames that follow each other by half their length, the first around the signal's first sample.
pub(super) fn framing(length: usize) -> Framing {
    Framing {
        length,
        hop: length / 2,
        padding: Padding::CentredZero,
    }
}

/// The factors of the spline's equations between `bins` bins.
pub(super) fn elimination(bins: usize) -> Vec<f32> {
    let mut factor = -0.5f64;
    (0..bins)
        .map(|_| {
            let this = factor;
            factor = -0.5 / (0.5 * factor + 2.0);
            this as f32
        })
        .collect()
}

/// Bins to magnitudes; the last, at half the sample rate, is not wanted.
struct Magnitudes<'a, V>(&'a mut [V]);

impl<V: Lanes> Outlet<[V; 2]> for Magnitudes<'_, V> {
    #[inline(always)]
    fn put(&mut self, bin: usize, [re, im]: [V; 2]) {
        if let Some(slot) = self.0.get_mut(bin) {
            *slot = re.mul_add(re, im.mul(im)).sqrt();
        }
    }
}

struct LevelsTask<'a, V> {
    loudness: &'a mut Loudness<V>,
}

impl<V: Lanes> Task for LevelsTask<'_, V> {
    #[inline(always)]
    fn run(self) {
        self.loudness.bend();
        self.loudness.level();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pitch::range::PitchRange;
    use crate::pitch::swipe::plan::SwipePlan;
    use warpsmith_lanes::One;

    #[test]
    fn curvatures_satisfy_the_splines_equations_and_levels_have_length_one() {
        let plan = SwipePlan::new(16_000, 160, PitchRange::VOICE).unwrap();
        let signal: Vec<f32> = (0..4000).map(|n| ((n * n) as f32 * 1e-3).sin()).collect();
        for window in &plan.windows {
            let mut loudness = Loudness::<One>::new(window);
            let squares: f32 = One::floats(loudness.block(&signal, 1))
                .iter()
                .map(|x| x * x)
                .sum();
            assert!((squares - 1.0).abs() < 1e-5, "{squares}");
            let y: Vec<f64> = One::floats(&loudness.magnitudes)
                .iter()
                .map(|x| f64::from(*x))
                .collect();
            let bends: Vec<f64> = One::floats(&loudness.curvatures)
                .iter()
                .map(|x| f64::from(*x))
                .collect();
            let last = y.len() - 1;
            let loudest = y.iter().copied().fold(0.0, f64::max) + f64::from(window.end_slope);
            let slope = f64::from(window.end_slope);
            let mut errors = vec![
                2.0 * bends[0] + bends[1] - 6.0 * (y[1] - y[0] - slope),
                2.0 * bends[last] + bends[last - 1] - 6.0 * (slope - y[last] + y[last - 1]),
            ];
            errors.extend((1..last).map(|n| {
                let curve = y[n + 1] - 2.0 * y[n] + y[n - 1];
                bends[n - 1] + 4.0 * bends[n] + bends[n + 1] - 6.0 * curve
            }));
            for (n, error) in errors.iter().enumerate() {
                assert!(
                    error.abs() < 1e-5 * loudest,
                    "{}: {n}: {error}",
                    window.length
                );
            }
        }
    }
}
