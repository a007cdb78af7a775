//! How fast the core is while something else is measured: a loop that is the same in every result.
//!
//! Runs that were taken apart meet another machine: a neighbour on the core's sibling, another clock.
//! Where the loop took longer in one of them, the machine did, and a difference of that size says
//! nothing about the work.

use std::hint::black_box;
use std::time::{Duration, Instant};

/// Times the loop now and then.
pub struct MachineProbe {
    table: Vec<u64>,
    last: Option<Instant>,
}

impl MachineProbe {
    /// Often enough that a result of a tenth of a second has some twenty readings, and cheap: two
    /// turns of 20 µs are less than a hundredth of it.
    const EVERY: Duration = Duration::from_millis(5);
    /// Never change these two: stored results rest on them.
    const STEPS: u64 = 4000;
    const TABLE: usize = 1024;

    /// A probe that is due at once.
    pub fn begin() -> Self {
        Self {
            table: (0..Self::TABLE as u64).collect(),
            last: None,
        }
    }

    /// Seconds of the loop, where a reading is due.
    pub fn read_if_due(&mut self) -> Option<f64> {
        if self.last.is_some_and(|last| last.elapsed() < Self::EVERY) {
            return None;
        }
        // The first turn fetches what the work has displaced.
        turn(&mut self.table, Self::STEPS);
        let begun = Instant::now();
        turn(&mut self.table, Self::STEPS);
        let took = begun.elapsed().as_secs_f64();
        self.last = Some(Instant::now());
        Some(took)
    }
}

/// Some of everything: a chain of multiplications, loads and stores.
#[inline(never)]
fn turn(table: &mut [u64], steps: u64) {
    let mask = table.len() - 1;
    let mut x = black_box(1u64);
    for _ in 0..steps {
        x = x.wrapping_mul(6_364_136_223_846_793_005).rotate_left(17);
        let place = (x >> 40) as usize & mask;
        x ^= table[place];
        table[place] = x;
    }
    black_box(x);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reading_is_due_at_once_and_not_again_soon() {
        let mut probe = MachineProbe::begin();
        assert!(probe.read_if_due().is_some_and(|seconds| seconds > 0.0));
        probe.last = Some(Instant::now() + Duration::from_secs(1));
        assert_eq!(probe.read_if_due(), None);
    }
}
