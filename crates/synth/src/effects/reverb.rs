//! The reverb: eight delay lines that feed each other through a Hadamard matrix.
//!
//! Even lines hear and answer on the left, odd lines on the right. What goes round is averaged with
//! its neighbour in time, so highs fade first; an average, unlike a one-pole filter, needs only
//! samples that are already known, and the loops stay vector loops.

use crate::sound::{Lane, QUANTUM};

/// Number of lines.
pub(crate) const LINES: usize = 8;
/// Lengths at 44.1 kHz, primes from 23 to 64 ms.
const LENGTHS: [usize; LINES] = [1031, 1327, 1523, 1871, 2053, 2311, 2539, 2803];
/// Share of the neighbour in the average.
pub(crate) const DAMPING: f32 = 0.2;
/// Orthogonal: the matrix keeps the power.
pub(crate) const NORMAL: f32 = 0.353_553_4;
/// Sign with which each line answers.
pub(crate) const SIGNS: [f32; LINES] = [1.0, 1.0, -1.0, -1.0, 1.0, 1.0, -1.0, -1.0];
/// How loud lines answer: four of them add up on each side.
pub(crate) const OUT: f32 = 0.5;

/// Length of each line in samples.
pub(crate) fn lengths(sample_rate: u32) -> [usize; LINES] {
    LENGTHS.map(|length| (length * sample_rate as usize / 44_100).max(QUANTUM))
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
    lines: [Vec<f32>; LINES],
    places: [usize; LINES],
    last: [f32; LINES],
    gains: [f32; LINES],
    space: f64,
    sample_rate: u32,
}

impl Clone for Reverb {
    fn clone(&self) -> Self {
        Self {
            lines: self.lines.clone(),
            places: self.places,
            last: self.last,
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
        self.places = source.places;
        self.last = source.last;
        self.gains = source.gains;
        self.space = source.space;
        self.sample_rate = source.sample_rate;
    }
}

impl Reverb {
    pub(crate) fn new(space: f64, sample_rate: u32) -> Self {
        Self {
            lines: lengths(sample_rate).map(|length| vec![0.0; length]),
            places: [0; LINES],
            last: [0.0; LINES],
            gains: gains(space, sample_rate),
            space,
            sample_rate,
        }
    }

    /// Takes a quantum in and gives what comes out.
    #[allow(clippy::needless_range_loop)] // a line and a moment index several arrays at once
    #[inline(always)]
    pub(crate) fn run(&mut self, space: f64, input: &[Lane; 2]) -> [Lane; 2] {
        // A percent of the reverb's length cannot be heard, and eight powers a quantum cost time.
        if (space - self.space).abs() > 0.01 {
            self.gains = gains(space, self.sample_rate);
            self.space = space;
        }
        let mut bank = [[0.0; QUANTUM]; LINES];
        let mut output = [[0.0; QUANTUM]; 2];
        for line in 0..LINES {
            let (ring, place) = (&self.lines[line], self.places[line]);
            let first = (ring.len() - place).min(QUANTUM);
            bank[line][..first].copy_from_slice(&ring[place..place + first]);
            bank[line][first..].copy_from_slice(&ring[..QUANTUM - first]);
        }
        for j in 0..QUANTUM {
            let answer = |side: usize| {
                SIGNS[side] * bank[side][j]
                    + SIGNS[side + 2] * bank[side + 2][j]
                    + SIGNS[side + 4] * bank[side + 4][j]
                    + SIGNS[side + 6] * bank[side + 6][j]
            };
            output[0][j] = OUT * answer(0);
            output[1][j] = OUT * answer(1);
        }
        for line in 0..LINES {
            let mut before = [0.0; QUANTUM];
            before[0] = self.last[line];
            before[1..].copy_from_slice(&bank[line][..QUANTUM - 1]);
            self.last[line] = bank[line][QUANTUM - 1];
            let gain = self.gains[line] * NORMAL;
            for j in 0..QUANTUM {
                bank[line][j] = gain * ((1.0 - DAMPING) * bank[line][j] + DAMPING * before[j]);
            }
        }
        for distance in [1, 2, 4] {
            for low in (0..LINES).filter(|line| line & distance == 0) {
                for j in 0..QUANTUM {
                    let (a, b) = (bank[low][j], bank[low + distance][j]);
                    bank[low][j] = a + b;
                    bank[low + distance][j] = a - b;
                }
            }
        }
        for line in 0..LINES {
            let input = &input[line % 2];
            for j in 0..QUANTUM {
                bank[line][j] += input[j];
            }
            let (ring, place) = (&mut self.lines[line], self.places[line]);
            let first = (ring.len() - place).min(QUANTUM);
            ring[place..place + first].copy_from_slice(&bank[line][..first]);
            ring[..QUANTUM - first].copy_from_slice(&bank[line][first..]);
            self.places[line] = (place + QUANTUM) % ring.len();
        }
        output
    }
}
