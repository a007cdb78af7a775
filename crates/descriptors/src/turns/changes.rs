//! Where the voice may change, found while the totals of blocks arrive: what no window reaches any more is let go.

use std::collections::VecDeque;

use super::gaussian::Sums;
use super::{BLOCK_SECONDS, TurnSettings, gain};

/// A block at which two windows of equal length fit two voices better than one, the best of its surroundings.
pub(super) struct Change {
    /// Its number.
    pub(super) at: usize,
    /// Totals of all blocks before it.
    pub(super) before: Sums,
    gain: f64,
}

/// Looks for changes among so many blocks.
pub(super) struct Search {
    count: usize,
    /// Blocks on each side of a change, and around one in which it must be the best.
    side: usize,
    least: usize,
    penalty: f64,
    /// Totals of the first `first` blocks, of one more, and so on.
    totals: VecDeque<Sums>,
    first: usize,
    /// The gains of the last blocks before `next`.
    gains: VecDeque<f64>,
    next: usize,
    changes: Vec<Change>,
}

impl Search {
    pub(super) fn new(count: usize, settings: &TurnSettings) -> Self {
        Self {
            count,
            side: (settings.window / BLOCK_SECONDS).round() as usize,
            least: (settings.least / BLOCK_SECONDS).round().max(1.0) as usize,
            penalty: settings.penalty,
            totals: VecDeque::from([Sums::default()]),
            first: 0,
            gains: VecDeque::new(),
            next: 0,
            changes: Vec::new(),
        }
    }

    /// Blocks whose totals are there.
    pub(super) fn blocks(&self) -> usize {
        self.first + self.totals.len() - 1
    }

    /// How far a window goes on both sides of a block.
    fn reach(&self, at: usize) -> usize {
        self.side.min(at).min(self.count - at)
    }

    /// Takes the totals up to the end of the next block.
    pub(super) fn push(&mut self, totals: Sums) {
        self.totals.push_back(totals);
        while self.next < self.count && self.next + self.reach(self.next) <= self.blocks() {
            self.judge(self.next);
            self.next += 1;
            // Of later blocks no window begins before that of the next.
            let needed = self.next - self.reach(self.next);
            self.totals.drain(..needed - self.first);
            self.first = needed;
        }
    }

    fn judge(&mut self, at: usize) {
        let reach = self.reach(at);
        let totals = |block: usize| &self.totals[block - self.first];
        let found = if reach < self.least {
            f64::NEG_INFINITY
        } else {
            let window = [at - reach, at, at + reach].map(totals);
            gain(window, self.penalty)
        };
        let passed = |change: &Change| change.at + self.least >= at && change.gain < found;
        while self.changes.last().is_some_and(passed) {
            self.changes.pop();
        }
        if found > 0.0 && self.gains.iter().all(|before| *before <= found) {
            self.changes.push(Change {
                at,
                before: totals(at).clone(),
                gain: found,
            });
        }
        self.gains.push_back(found);
        if self.gains.len() > self.least {
            self.gains.pop_front();
        }
    }

    /// All changes in their order, and the totals of all blocks.
    pub(super) fn finish(mut self) -> (Vec<Change>, Sums) {
        (self.changes, self.totals.pop_back().unwrap_or_default())
    }
}

#[cfg(test)]
mod tests {
    use super::super::COEFFICIENTS;
    use super::*;

    /// The same by all totals at once.
    fn by_all(totals: &[Sums], side: usize, least: usize, penalty: f64) -> Vec<usize> {
        let count = totals.len() - 1;
        let gains: Vec<f64> = (0..count)
            .map(|at| {
                let reach = side.min(at).min(count - at);
                if reach < least {
                    return f64::NEG_INFINITY;
                }
                let window = [at - reach, at, at + reach].map(|block| &totals[block]);
                gain(window, penalty)
            })
            .collect();
        (0..count)
            .filter(|&at| {
                let around = &gains[at.saturating_sub(least)..count.min(at + least + 1)];
                gains[at] > 0.0 && around.iter().all(|gain| *gain <= gains[at])
            })
            .collect()
    }

    #[test]
    fn what_was_let_go_was_not_needed() {
        let mut state = 7u32;
        let mut noise = || {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (state >> 8) as f32 / 8_388_608.0 - 1.0
        };
        let mut found = 0;
        for (blocks, window, least) in [
            (0, 4.0, 1.0),
            (1, 4.0, 0.1),
            (70, 4.0, 1.0),
            (400, 4.0, 1.0),
            (400, 1.0, 3.0),
            (400, 0.5, 0.1),
        ] {
            let settings = TurnSettings {
                penalty: 0.4,
                window,
                least,
            };
            let mut totals = vec![Sums::default()];
            let mut search = Search::new(blocks, &settings);
            for block in 0..blocks {
                let mut sums = totals[block].clone();
                for _ in 0..10 {
                    let voice = if block / 50 % 2 == 0 { 1.0 } else { 1.6 };
                    let frame: [f32; COEFFICIENTS] = std::array::from_fn(|_| voice * noise());
                    sums.add(&frame);
                }
                totals.push(sums.clone());
                search.push(sums);
                assert!(search.totals.len() <= 2 * search.side + 2);
            }
            let (side, least) = (search.side, search.least);
            let (changes, all) = search.finish();
            let changes: Vec<usize> = changes.iter().map(|change| change.at).collect();
            assert_eq!(changes, by_all(&totals, side, least, 0.4));
            assert_eq!(all.count(), 10.0 * blocks as f64);
            found += changes.len();
        }
        assert!(found > 10, "{found}");
    }
}
