//! A delay of three sixteenths that answers left, then right.

use super::line::Line;
use crate::sound::{Lane, QUANTUM};

/// The longest delay in seconds; longer ones are halved.
const LONGEST_SECONDS: f64 = 0.5;
/// What comes back into the line.
pub(crate) const FEEDBACK: f32 = 0.4;
/// Share of the previous sample in what comes back: highs fade first.
pub(crate) const DAMPING: f32 = 0.35;
/// Quanta over which a new delay time is faded in.
const FADE_QUANTA: u32 = 32;

/// Samples of a delay of three sixteenths at `bpm`.
pub(crate) fn delay_samples(bpm: f32, sample_rate: u32) -> usize {
    let mut seconds = 45.0 / f64::from(bpm);
    while seconds > LONGEST_SECONDS {
        seconds *= 0.5;
    }
    (seconds * f64::from(sample_rate)) as usize
}

/// The right answer comes after this share of the left one's time.
pub(crate) fn right_samples(samples: usize) -> usize {
    samples * 2 / 3
}

/// One line with two taps.
#[derive(Debug)]
pub(crate) struct Delay {
    line: Line,
    samples: usize,
    /// The time that is faded to, and quanta of the fade that are done.
    next: Option<(usize, u32)>,
    last: f32,
}

impl Clone for Delay {
    fn clone(&self) -> Self {
        Self {
            line: self.line.clone(),
            samples: self.samples,
            next: self.next,
            last: self.last,
        }
    }

    /// Into the memory that is there.
    fn clone_from(&mut self, source: &Self) {
        self.line.clone_from(&source.line);
        self.samples = source.samples;
        self.next = source.next;
        self.last = source.last;
    }
}

impl Delay {
    pub(crate) fn new(bpm: f32, sample_rate: u32) -> Self {
        let longest = (LONGEST_SECONDS * f64::from(sample_rate)) as usize;
        Self {
            line: Line::new(longest),
            samples: delay_samples(bpm, sample_rate),
            next: None,
            last: 0.0,
        }
    }

    /// Fades to the delay time of another tempo, once the fade under way is over.
    pub(crate) fn aim(&mut self, bpm: f32, sample_rate: u32) {
        let samples = delay_samples(bpm, sample_rate);
        if self.next.is_none() && samples != self.samples {
            self.next = Some((samples, 0));
        }
    }

    /// Both taps of one delay time.
    #[inline(always)]
    fn taps(&self, samples: usize) -> [Lane; 2] {
        [
            *self.line.quantum(samples),
            *self.line.quantum(right_samples(samples)),
        ]
    }

    /// Takes a quantum in and gives what comes out left and right.
    #[inline(always)]
    pub(crate) fn run(&mut self, input: &Lane) -> [Lane; 2] {
        let mut out = self.taps(self.samples);
        if let Some((samples, done)) = self.next {
            let new = self.taps(samples);
            let (per_quantum, per_sample) = (
                1.0 / FADE_QUANTA as f32,
                1.0 / (FADE_QUANTA as f32 * QUANTUM as f32),
            );
            for (out, new) in out.iter_mut().zip(&new) {
                for (j, (out, new)) in out.iter_mut().zip(new).enumerate() {
                    let share = done as f32 * per_quantum + j as f32 * per_sample;
                    *out += (new - *out) * share;
                }
            }
            self.next = Some((samples, done + 1));
            if done + 1 == FADE_QUANTA {
                self.samples = samples;
                self.next = None;
            }
        }
        let mut back = [0.0; QUANTUM];
        let mut last = self.last;
        for j in 0..QUANTUM {
            let now = out[0][j];
            let damped = (1.0 - DAMPING) * now + DAMPING * last;
            back[j] = input[j] + FEEDBACK * damped;
            last = now;
        }
        self.last = last;
        self.line.write(&back);
        out
    }
}
