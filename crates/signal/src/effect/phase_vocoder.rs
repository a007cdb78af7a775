//! A phase vocoder: the spectra of a signal read at steps of so many frames. Magnitudes are interpolated,
//! phases go on by what they did between the two frames that are read.
//!
//! Frames come in their order, a block at a time, and a step is made as soon as both of its frames are there.
//!
//! The advance of a bin's phase, unwrapped around the bin's frequency, is the difference of the two
//! phases and whole turns, which a rotation does not see: no angle is ever computed.

use std::ops::Range;

use crate::{FrameRows, FrameSpectrum, Framing, OverlapAdd, SpectrumSettings};
use warpsmith_lanes::{Lanes, Task, inverse_sqrt};

use super::time_stretch::Stretch;

pub(super) struct Vocoder<V: Lanes> {
    plan: Plan,
    analysis: FrameSpectrum<V>,
    /// The frames of the block that came last, and their numbers.
    frames: FrameRows<V>,
    here: Range<usize>,
    /// The frames before and after a step, and their numbers.
    pair: [Polar<V>; 2],
    numbers: [Option<usize>; 2],
    /// The direction that each bin has come to.
    turns: [Vec<V>; 2],
    /// Steps that are made, those of a block of the result that is not complete included.
    made: usize,
    steps: FrameRows<V>,
    bins: Vec<[V; 2]>,
    overlap: OverlapAdd<V>,
}

/// What becomes of a signal.
#[derive(Clone, Copy)]
pub(super) struct Plan {
    /// Frames of the signal.
    pub(super) frames: usize,
    /// Frames from a step to the next.
    pub(super) rate: f64,
    /// Samples of the result.
    pub(super) samples: usize,
}

impl Plan {
    fn steps(&self) -> usize {
        (self.frames as f64 / self.rate).ceil() as usize
    }
}

/// The magnitudes of bins and their directions in the plane, which for silence is that of 1.
#[derive(Clone)]
struct Polar<V> {
    magnitude: Vec<V>,
    direction: [Vec<V>; 2],
}

impl<V: Lanes> Vocoder<V> {
    /// For frames of `settings` that lie inside what it is given.
    pub(super) fn new(settings: &SpectrumSettings, inside: Framing, plan: Plan) -> Self {
        let frames = FrameRows::new(settings.bins());
        let none = vec![V::splat(0.0); frames.vectors()];
        let silence = Polar {
            magnitude: none.clone(),
            direction: [none.clone(), none.clone()],
        };
        Self {
            plan,
            analysis: FrameSpectrum::new(SpectrumSettings {
                framing: inside,
                ..*settings
            }),
            frames,
            here: 0..0,
            pair: [silence.clone(), silence],
            numbers: [None; 2],
            turns: [none.clone(), none],
            made: 0,
            steps: FrameRows::new(settings.bins()),
            bins: vec![[V::splat(0.0); 2]; settings.bins()],
            overlap: OverlapAdd::new(settings),
        }
    }

    /// Takes frame `frame` for that before a step, or after it; says whether it has come.
    fn read(&mut self, frame: usize, place: usize) -> bool {
        if self.numbers[place] == Some(frame) {
            return true;
        }
        let polar = &mut self.pair[place];
        if frame >= self.plan.frames {
            polar.magnitude.fill(V::splat(0.0));
            polar.direction[0].fill(V::splat(1.0));
            polar.direction[1].fill(V::splat(0.0));
        } else if frame < self.here.end {
            V::vectorize(PolarTask {
                frame: self.frames.frame(frame - self.here.start),
                polar,
            });
        } else {
            return false;
        }
        self.numbers[place] = Some(frame);
        true
    }

    /// Makes the steps whose frames have come; appends the samples that they complete.
    fn step(&mut self, out: &mut Vec<f32>) {
        let steps = self.plan.steps();
        while self.made < steps {
            let position = self.made as f64 * self.plan.rate;
            let frame = position as usize;
            if self.numbers[1] == Some(frame) {
                self.pair.swap(0, 1);
                self.numbers.swap(0, 1);
            }
            // The frame before is kept while the one after is still to come.
            if !(self.read(frame, 0) && self.read(frame + 1, 1)) {
                return;
            }
            if self.made == 0 {
                self.turns.clone_from(&self.pair[0].direction);
            }
            let (first, row) = (self.made / V::WIDTH * V::WIDTH, self.made % V::WIDTH);
            V::vectorize(StepTask {
                pair: &self.pair,
                share: (position - frame as f64) as f32,
                turns: &mut self.turns,
                step: self.steps.frame_mut(row),
            });
            self.made += 1;
            if row + 1 == V::WIDTH || self.made == steps {
                self.steps.give(row + 1, &mut self.bins);
                let samples = self.plan.samples;
                let block = (first, steps);
                self.overlap.add_next(&self.bins, block, samples, out);
            }
        }
    }
}

impl<V: Lanes> Stretch for Vocoder<V> {
    fn width(&self) -> usize {
        V::WIDTH
    }

    fn take(&mut self, samples: &[f32], frames: usize, out: &mut Vec<f32>) {
        self.frames.take(self.analysis.block(samples, 0));
        self.here = self.here.end..self.here.end + frames;
        self.step(out);
    }
}

struct PolarTask<'a, V> {
    frame: [&'a [V]; 2],
    polar: &'a mut Polar<V>,
}

impl<V: Lanes> Task for PolarTask<'_, V> {
    #[inline(always)]
    fn run(self) {
        let (least, one) = (V::splat(f32::MIN_POSITIVE), V::splat(1.0));
        let [re, im] = self.frame;
        let [cos, sin] = &mut self.polar.direction;
        let polar = self.polar.magnitude.iter_mut().zip(cos).zip(sin);
        for (((magnitude, cos), sin), (re, im)) in polar.zip(re.iter().zip(im)) {
            let power = im.mul_add(*im, re.mul(*re));
            // A bin too faint for its square to be a normal number counts as silent: 1 for those, 0 for others.
            let below = least.sub(power).mul(V::splat(1.0 / f32::MIN_POSITIVE));
            let silent = below.mul(V::splat(1e8)).min(one).max(V::splat(0.0));
            let inverse = inverse_sqrt(power.max(least)).mul(one.sub(silent));
            *magnitude = power.mul(inverse);
            *cos = re.mul_add(inverse, silent);
            *sin = im.mul(inverse);
        }
    }
}

/// One step: a frame of the result, and the directions after it.
struct StepTask<'a, V> {
    pair: &'a [Polar<V>; 2],
    /// How far the step is from the frame before towards the one after.
    share: f32,
    turns: &'a mut [Vec<V>; 2],
    step: [&'a mut [V]; 2],
}

impl<V: Lanes> Task for StepTask<'_, V> {
    #[inline(always)]
    fn run(self) {
        let (share, rest) = (V::splat(self.share), V::splat(1.0 - self.share));
        let [low, high] = self.pair;
        let [re, im] = self.step;
        let count = re.len();
        let [turn_re, turn_im] = self.turns;
        let (turn_re, turn_im) = (&mut turn_re[..count], &mut turn_im[..count]);
        let (low_magnitude, high_magnitude) = (&low.magnitude[..count], &high.magnitude[..count]);
        let [low_re, low_im] = [&low.direction[0][..count], &low.direction[1][..count]];
        let [high_re, high_im] = [&high.direction[0][..count], &high.direction[1][..count]];
        for at in 0..count {
            let magnitude = share.mul_add(high_magnitude[at], rest.mul(low_magnitude[at]));
            let here = [turn_re[at], turn_im[at]];
            re[at] = magnitude.mul(here[0]);
            im[at] = magnitude.mul(here[1]);
            let back = [low_re[at], V::splat(0.0).sub(low_im[at])];
            let [cos, sin] = rotate(here, rotate([high_re[at], high_im[at]], back));
            // Newton's step towards length 1, which roundings would leave in the course of a signal.
            let square = sin.mul_add(sin, cos.mul(cos));
            let scale = V::splat(0.5).neg_mul_add(square, V::splat(1.5));
            turn_re[at] = cos.mul(scale);
            turn_im[at] = sin.mul(scale);
        }
    }
}

#[inline(always)]
fn rotate<V: Lanes>([a, b]: [V; 2], [c, d]: [V; 2]) -> [V; 2] {
    [b.neg_mul_add(d, a.mul(c)), b.mul_add(c, a.mul(d))]
}
