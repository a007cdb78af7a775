//! The first reflections of a room: single echoes from its walls, other ones for each ear.

use super::half_band::{BLOCK, Block};
use super::line::Line;

/// Echoes to a side.
pub(crate) const TAPS: usize = 6;
/// Milliseconds after the sound, for each side.
const MILLISECONDS: [[f64; TAPS]; 2] = [
    [7.1, 13.7, 23.9, 37.3, 53.1, 71.9],
    [9.7, 17.3, 29.1, 43.3, 61.7, 79.3],
];
/// How loud each is: weaker with the way, and turned over by every second wall.
pub(crate) const GAINS: [f32; TAPS] = [0.50, -0.42, 0.34, 0.27, -0.21, 0.16];

/// Samples of each echo.
pub(crate) fn taps(sample_rate: u32) -> [[usize; TAPS]; 2] {
    MILLISECONDS
        .map(|side| side.map(|ms| ((ms * f64::from(sample_rate) / 1_000.0) as usize).max(BLOCK)))
}

/// The echoes of one room.
#[derive(Debug)]
pub(crate) struct Early {
    line: Line<BLOCK>,
    taps: [[usize; TAPS]; 2],
}

impl Clone for Early {
    fn clone(&self) -> Self {
        Self {
            line: self.line.clone(),
            taps: self.taps,
        }
    }

    /// Into the memory that is there.
    fn clone_from(&mut self, source: &Self) {
        self.line.clone_from(&source.line);
        self.taps = source.taps;
    }
}

impl Early {
    pub(crate) fn new(sample_rate: u32) -> Self {
        let taps = taps(sample_rate);
        let longest = taps.as_flattened().iter().copied().max().unwrap_or(BLOCK);
        Self {
            line: Line::new(longest),
            taps,
        }
    }

    /// Takes a block in and adds what comes back to `output`.
    #[inline(always)]
    #[allow(clippy::needless_range_loop)] // plain loops become vector loops
    pub(crate) fn run(&mut self, input: &[Block; 2], output: &mut [Block; 2]) {
        for side in 0..2 {
            for tap in 0..TAPS {
                let heard = self.line.read(self.taps[side][tap]);
                for j in 0..BLOCK {
                    output[side][j] += GAINS[tap] * heard[j];
                }
            }
        }
        let mut middle = [0.0; BLOCK];
        for j in 0..BLOCK {
            middle[j] = 0.5 * (input[0][j] + input[1][j]);
        }
        self.line.write(&middle);
    }
}
