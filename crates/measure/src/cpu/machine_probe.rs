//! How fast the core and its caches are while something else is measured: two loops that are the same
//! in every result.
//!
//! Runs that were taken apart meet another machine: another clock, or a neighbour on the core's
//! sibling. Where the loops took longer in one of them, the machine did, and a difference of that
//! size says nothing about the work. The clock moves a chain of operations that wait for each other,
//! and hardly a neighbour does; updates of a table that is larger than the first cache see both.

use std::hint::black_box;
use std::time::{Duration, Instant};

/// What the loops say about one moment.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MachineSpeed {
    /// Seconds of operations that wait for each other.
    pub chain_seconds: f64,
    /// Seconds of updates all over the second cache.
    pub cache_seconds: f64,
}

/// Times the loops now and then.
pub struct MachineProbe {
    near: Vec<u64>,
    far: Vec<u64>,
    last: Option<Instant>,
}

impl MachineProbe {
    /// Often enough that a result of a tenth of a second has some twenty readings, and cheap: both
    /// loops twice are a hundredth of it.
    const EVERY: Duration = Duration::from_millis(5);
    // Never change these four: stored results rest on them.
    const CHAIN_STEPS: u64 = 4000;
    const CHAIN_TABLE: usize = 1024;
    const CACHE_STEPS: u64 = 2048;
    const CACHE_TABLE: usize = 16 * 1024;

    /// A probe that is due at once.
    pub fn begin() -> Self {
        Self {
            near: (0..Self::CHAIN_TABLE as u64).collect(),
            far: (0..Self::CACHE_TABLE as u64).collect(),
            last: None,
        }
    }

    /// What the loops say, where a reading is due.
    pub fn read_if_due(&mut self) -> Option<MachineSpeed> {
        if self.last.is_some_and(|last| last.elapsed() < Self::EVERY) {
            return None;
        }
        let cache_seconds = second_of_two(|| updates(&mut self.far, Self::CACHE_STEPS));
        let chain_seconds = second_of_two(|| chain(&mut self.near, Self::CHAIN_STEPS));
        self.last = Some(Instant::now());
        Some(MachineSpeed {
            chain_seconds,
            cache_seconds,
        })
    }
}

/// The first turn fetches what the work has displaced.
fn second_of_two(mut turn: impl FnMut()) -> f64 {
    turn();
    let begun = Instant::now();
    turn();
    begun.elapsed().as_secs_f64()
}

/// Multiplications, loads and stores, each of which needs the one before it.
#[inline(never)]
fn chain(table: &mut [u64], steps: u64) {
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

/// Loads and stores that need nothing of each other.
#[inline(never)]
fn updates(table: &mut [u64], steps: u64) {
    let mask = table.len() - 1;
    let mut at = black_box(1u64);
    for _ in 0..steps {
        at = at.wrapping_mul(2_862_933_555_777_941_757).wrapping_add(3);
        let place = (at >> 40) as usize & mask;
        table[place] = table[place].wrapping_add(at);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reading_is_due_at_once_and_not_again_soon() {
        let mut probe = MachineProbe::begin();
        let speed = probe.read_if_due().unwrap();
        assert!(speed.chain_seconds > 0.0 && speed.cache_seconds > 0.0);
        probe.last = Some(Instant::now() + Duration::from_secs(1));
        assert_eq!(probe.read_if_due(), None);
    }
}
