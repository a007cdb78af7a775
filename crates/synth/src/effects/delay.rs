//! A delay of three sixteenths that answers left, then right, and wanders as a tape does.
//!
//! Without the wander a long tone whose periods fit into the delay would meet its own echo in phase:
//! with 60 beats a minute every G was 8 dB louder than its neighbours.

use super::half_band::{BLOCK, Block};
use super::packed_line::PackedLine;
use super::sweep::{Sweep, Sweeps};

/// The longest delay in seconds; longer ones are halved.
const LONGEST_SECONDS: f64 = 0.5;
/// What comes back into the line.
pub(crate) const FEEDBACK: f32 = 0.4;
/// Share of the previous sample in what comes back: highs fade first.
pub(crate) const DAMPING: f32 = 0.15;
/// Seconds by which each tap wanders, and how often a second.
const WANDER_SECONDS: f64 = 0.004;
const WANDER_HZ: [f64; 2] = [0.23, 0.31];
/// Blocks over which a new delay time is faded in.
const FADE_BLOCKS: u32 = 32;

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

/// How each tap wanders.
pub(crate) fn sweeps(sample_rate: u32) -> [Sweep; 2] {
    let depth = WANDER_SECONDS * f64::from(sample_rate);
    WANDER_HZ.map(|hz| Sweep::new(hz, depth, hz, [BLOCK as u32, sample_rate]))
}

/// One line with two taps.
#[derive(Debug)]
pub(crate) struct Delay {
    line: PackedLine,
    sweeps: Sweeps<2>,
    samples: usize,
    /// The time that is faded to, and blocks of the fade that are done.
    next: Option<(usize, u32)>,
    last: f32,
}

impl Clone for Delay {
    fn clone(&self) -> Self {
        Self {
            line: self.line.clone(),
            sweeps: self.sweeps,
            samples: self.samples,
            next: self.next,
            last: self.last,
        }
    }

    /// Into the memory that is there.
    fn clone_from(&mut self, source: &Self) {
        self.line.clone_from(&source.line);
        self.sweeps = source.sweeps;
        self.samples = source.samples;
        self.next = source.next;
        self.last = source.last;
    }
}

impl Delay {
    pub(crate) fn new(bpm: f32, sample_rate: u32) -> Self {
        let longest = ((LONGEST_SECONDS + WANDER_SECONDS) * f64::from(sample_rate)) as usize;
        Self {
            line: PackedLine::new(longest + 3),
            sweeps: Sweeps::new(sweeps(sample_rate)),
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
    fn taps(&self, number: u64, samples: usize) -> [Block; 2] {
        let paths = self.sweeps.over(number);
        let agos = [samples, right_samples(samples)];
        let window = |tap: usize| self.line.window(agos[tap] + paths.whole[tap] as usize);
        [
            window(0).between(paths.share[0], paths.slope[0]),
            window(1).between(paths.share[1], paths.slope[1]),
        ]
    }

    /// Takes the block of this number in and gives what comes out left and right.
    #[inline(always)]
    pub(crate) fn run(&mut self, number: u64, input: &Block) -> [Block; 2] {
        let mut out = self.taps(number, self.samples);
        if let Some((samples, done)) = self.next {
            let new = self.taps(number, samples);
            let (per_block, per_sample) = (
                1.0 / FADE_BLOCKS as f32,
                1.0 / (FADE_BLOCKS as f32 * BLOCK as f32),
            );
            for (out, new) in out.iter_mut().zip(&new) {
                for (j, (out, new)) in out.iter_mut().zip(new).enumerate() {
                    let share = done as f32 * per_block + j as f32 * per_sample;
                    *out += (new - *out) * share;
                }
            }
            self.next = Some((samples, done + 1));
            if done + 1 == FADE_BLOCKS {
                self.samples = samples;
                self.next = None;
            }
        }
        let mut back = [0.0; BLOCK];
        let mut last = self.last;
        for j in 0..BLOCK {
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
