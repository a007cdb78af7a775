//! The pads' chorus: each side beside itself, a hundredth of a second late and wandering.

use super::line::Line;
use super::sweep::{Sweep, Sweeps};
use crate::sound::{Lane, MOMENTS, QUANTUM};

/// Seconds that the copy is late at least, and by how much that wanders.
const LATE_SECONDS: f64 = 0.009;
const WANDER_SECONDS: f64 = 0.002;
/// Wanders a second, the sides a quarter of one apart.
const HZ: f64 = 0.25;
/// Loudness of the sound itself and of its copy: together as loud as without.
pub(crate) const DRY: f32 = 0.87;
pub(crate) const WET: f32 = 0.49;

/// Samples that the copy is late at least.
pub(crate) fn late(sample_rate: u32) -> usize {
    ((LATE_SECONDS * f64::from(sample_rate)) as usize).max(QUANTUM)
}

/// How each side wanders.
pub(crate) fn sweeps(sample_rate: u32) -> [Sweep; 2] {
    let depth = WANDER_SECONDS * f64::from(sample_rate);
    [0.0, 0.25].map(|phase| Sweep::new(HZ, depth, phase, [QUANTUM as u32, sample_rate]))
}

/// The chorus.
#[derive(Debug)]
pub(crate) struct Chorus {
    lines: [Line<QUANTUM>; 2],
    sweeps: Sweeps<2>,
    late: usize,
}

impl Clone for Chorus {
    fn clone(&self) -> Self {
        Self {
            lines: self.lines.clone(),
            ..*self
        }
    }

    /// Into the memory that is there.
    fn clone_from(&mut self, source: &Self) {
        for (line, source) in self.lines.iter_mut().zip(&source.lines) {
            line.clone_from(source);
        }
        self.sweeps = source.sweeps;
        self.late = source.late;
    }
}

impl Chorus {
    pub(crate) fn new(sample_rate: u32) -> Self {
        let late = late(sample_rate);
        let longest = late + (WANDER_SECONDS * f64::from(sample_rate)) as usize + 2;
        Self {
            lines: [Line::new(longest), Line::new(longest)],
            sweeps: Sweeps::new(sweeps(sample_rate)),
            late,
        }
    }

    /// Adds the copies to a quantum.
    #[inline(always)]
    #[allow(clippy::needless_range_loop)] // plain loops become vector loops
    pub(crate) fn run(&mut self, quantum: u64, lanes: &mut [Lane; 2]) {
        let paths = self.sweeps.over(quantum);
        for side in 0..2 {
            let whole = paths.whole[side] as usize;
            let (share, slope) = (paths.share[side], paths.slope[side]);
            let line = &mut self.lines[side];
            let mut wet = [0.0; QUANTUM];
            {
                let now = line.read(self.late + whole);
                let before = line.read(self.late + whole + 1);
                for j in 0..QUANTUM {
                    wet[j] = now[j] + (share + slope * MOMENTS.0[j]) * (before[j] - now[j]);
                }
            }
            line.write(&lanes[side]);
            for j in 0..QUANTUM {
                lanes[side][j] = DRY * lanes[side][j] + WET * wet[j];
            }
        }
    }
}
