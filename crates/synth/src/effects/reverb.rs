//! The reverb: eight delay lines that feed each other through a Hadamard matrix, after the first
//! reflections.
//!
//! Even lines hear and answer on the left, odd lines on the right. Every line's length wanders a
//! little at its own pace, so that no ring of the room stands still. What is read between two samples
//! is their average, so that highs fade first: at 5 kHz three times as fast as in the middle.

use super::early::Early;
use super::half_band::{BLOCK, Block};
use super::packed_line::PackedLine;
use super::sweep::{Sweep, Sweeps};
use crate::sound::Aligned;

/// Number of lines.
pub(crate) const LINES: usize = 8;
/// Lengths at 44.1 kHz, primes from 23 to 64 ms.
const LENGTHS: [usize; LINES] = [1031, 1327, 1523, 1871, 2053, 2311, 2539, 2803];
/// Orthogonal: the matrix keeps the power.
pub(crate) const NORMAL: f32 = 0.353_553_4;
/// Sign with which each line answers.
pub(crate) const SIGNS: [f32; LINES] = [1.0, 1.0, -1.0, -1.0, 1.0, 1.0, -1.0, -1.0];
/// How loud lines answer: four of them add up on each side.
pub(crate) const OUT: f32 = 0.5;
/// Samples at 44.1 kHz by which a line's length wanders, and how often a second the first one does.
const WANDER: f64 = 14.0;
const SLOWEST_HZ: f64 = 0.08;

/// How the length of each line wanders.
pub(crate) fn sweeps(sample_rate: u32) -> [Sweep; LINES] {
    let depth = WANDER * f64::from(sample_rate) / 44_100.0;
    std::array::from_fn(|line| {
        let hz = SLOWEST_HZ + 0.01 * line as f64;
        Sweep::new(
            hz,
            depth,
            line as f64 * 0.381_966,
            [BLOCK as u32, sample_rate],
        )
    })
}

/// Length of each line in samples.
pub(crate) fn lengths(sample_rate: u32) -> [usize; LINES] {
    LENGTHS.map(|length| (length * sample_rate as usize / 44_100).max(BLOCK))
}

/// Gain of a trip through each line for a decay of 60 dB in 2 to 6 seconds.
pub(crate) fn gains(space: f64, sample_rate: u32) -> [f32; LINES] {
    let seconds = 2.0 + 4.0 * space;
    lengths(sample_rate).map(|length| {
        let trips = f64::from(sample_rate) * seconds / length as f64;
        10f64.powf(-3.0 / trips) as f32
    })
}

/// The reverb.
#[derive(Debug)]
pub(crate) struct Reverb {
    early: Early,
    lines: [PackedLine; LINES],
    lengths: [usize; LINES],
    sweeps: Sweeps<LINES>,
    gains: [f32; LINES],
    space: f64,
    sample_rate: u32,
}

impl Clone for Reverb {
    fn clone(&self) -> Self {
        Self {
            early: self.early.clone(),
            lines: self.lines.clone(),
            lengths: self.lengths,
            sweeps: self.sweeps,
            gains: self.gains,
            space: self.space,
            sample_rate: self.sample_rate,
        }
    }

    /// Into the memory that is there.
    fn clone_from(&mut self, source: &Self) {
        for (line, source) in self.lines.iter_mut().zip(&source.lines) {
            line.clone_from(source);
        }
        self.early.clone_from(&source.early);
        self.lengths = source.lengths;
        self.sweeps = source.sweeps;
        self.gains = source.gains;
        self.space = source.space;
        self.sample_rate = source.sample_rate;
    }
}

/// Sums and differences of lines that are `distance` apart.
#[inline(always)]
fn butterflies(bank: &mut [Block; LINES], distance: usize) {
    for line in 0..LINES {
        if line & distance != 0 {
            continue;
        }
        let (low, high) = (bank[line], bank[line | distance]);
        for j in 0..BLOCK {
            bank[line][j] = low[j] + high[j];
            bank[line | distance][j] = low[j] - high[j];
        }
    }
}

impl Reverb {
    pub(crate) fn new(space: f64, sample_rate: u32) -> Self {
        let lengths = lengths(sample_rate);
        let wander = (WANDER * f64::from(sample_rate) / 44_100.0) as usize;
        Self {
            early: Early::new(sample_rate),
            // The neighbour in time lies up to two samples further back.
            lines: lengths.map(|length| PackedLine::new(length + wander + 3)),
            lengths,
            sweeps: Sweeps::new(sweeps(sample_rate)),
            gains: gains(space, sample_rate),
            space,
            sample_rate,
        }
    }

    /// Takes the block of this number in and gives what comes out.
    #[allow(clippy::needless_range_loop)] // a line and a moment index several arrays at once
    #[inline(always)]
    pub(crate) fn run(&mut self, number: u64, space: f64, input: &[Block; 2]) -> [Block; 2] {
        // A percent of the reverb's length cannot be heard, and eight powers a block cost time.
        if (space - self.space).abs() > 0.01 {
            self.gains = gains(space, self.sample_rate);
            self.space = space;
        }
        let paths = self.sweeps.over(number);
        let mut bank = Aligned([[0.0; BLOCK]; LINES]);
        let mut output = [[0.0; BLOCK]; 2];
        for line in 0..LINES {
            let ago = self.lengths[line] + paths.whole[line] as usize;
            let window = self.lines[line].window(ago);
            let heard = window.between(paths.share[line], paths.slope[line]);
            let gain = self.gains[line] * NORMAL;
            for j in 0..BLOCK {
                output[line % 2][j] += SIGNS[line] * heard[j];
                bank.0[line][j] = gain * heard[j];
            }
        }
        for distance in [1, 2, 4] {
            butterflies(&mut bank.0, distance);
        }
        for line in 0..LINES {
            for j in 0..BLOCK {
                bank.0[line][j] += input[line % 2][j];
            }
        }
        PackedLine::write_all(&mut self.lines, &bank.0);
        for side in 0..2 {
            for j in 0..BLOCK {
                output[side][j] *= OUT;
            }
        }
        self.early.run(input, &mut output);
        output
    }
}
