//! The best way through the candidates of all frames, or of those that have arrived: a frame is settled once all
//! ways to the present come through one of its candidates, and then no later frame changes it.

use std::collections::VecDeque;

use super::candidates::Candidate;

/// What a path pays, a step.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PathCosts {
    pub(crate) ceiling_hz: f64,
    /// To an octave below the ceiling.
    pub(crate) octave: f64,
    /// To an octave of a jump.
    pub(crate) octave_jump: f64,
    pub(crate) voicing_change: f64,
}

/// A candidate as the path sees it.
#[derive(Clone, Copy)]
struct Cell {
    voiced: bool,
    /// The logarithm of its frequency times what an octave of a jump costs.
    height: f64,
    value: f64,
}

/// Multiples of 2⁻²⁸. Sums of 33 million are exact then: a path found in pieces is the same path, ties
/// included.
fn whole(x: f64) -> f64 {
    const UNITS: f64 = (1u64 << 28) as f64;
    (x * UNITS).round_ties_even() / UNITS
}

impl PathCosts {
    fn cell(&self, candidate: &Candidate) -> Cell {
        if candidate.frequency > 0.0 {
            let height = candidate.frequency.log2();
            let below = self.ceiling_hz.log2() - height;
            Cell {
                voiced: true,
                height: whole(self.octave_jump * height),
                value: whole(candidate.strength - self.octave * below),
            }
        } else {
            Cell {
                voiced: false,
                height: 0.0,
                value: whole(candidate.strength),
            }
        }
    }

    /// The candidate of each frame on the path with the highest sum of strengths less costs, the first
    /// among equals.
    pub(crate) fn best_path(&self, frames: &[Vec<Candidate>]) -> Vec<usize> {
        let mut search = PathSearch::new(*self);
        for frame in frames {
            search.step(frame);
        }
        search.finish()
    }
}

/// A search through frames that arrive one after the other.
pub(crate) struct PathSearch {
    costs: PathCosts,
    /// The candidates of the last frame, and the best sums to them.
    last: Vec<Cell>,
    scores: Vec<f64>,
    /// Of each frame that is not settled: the candidate of the frame before that each of its own comes from.
    origins: VecDeque<Vec<usize>>,
}

impl PathSearch {
    pub(crate) fn new(costs: PathCosts) -> Self {
        Self {
            costs,
            last: Vec::new(),
            scores: Vec::new(),
            origins: VecDeque::new(),
        }
    }

    /// Takes the candidates of the next frame, at least one.
    pub(crate) fn step(&mut self, frame: &[Candidate]) {
        let here: Vec<Cell> = frame.iter().map(|one| self.costs.cell(one)).collect();
        if self.last.is_empty() {
            self.scores = here.iter().map(|cell| cell.value).collect();
            self.origins.push_back(vec![0; here.len()]);
            self.last = here;
            return;
        }
        let change = whole(self.costs.voicing_change);
        let mut next = Vec::with_capacity(here.len());
        let mut from = Vec::with_capacity(here.len());
        for to in &here {
            let mut best = (f64::NEG_INFINITY, 0);
            for (index, (score, origin)) in self.scores.iter().zip(&self.last).enumerate() {
                let cost = match (origin.voiced, to.voiced) {
                    (false, false) => 0.0,
                    (true, true) => (origin.height - to.height).abs(),
                    _ => change,
                };
                if score - cost > best.0 {
                    best = (score - cost, index);
                }
            }
            next.push(best.0 + to.value);
            from.push(best.1);
        }
        self.scores = next;
        self.last = here;
        self.origins.push_back(from);
    }

    /// The candidates of the first frames that no later frame can change, which were not said before.
    pub(crate) fn settled(&mut self) -> Vec<usize> {
        let mut ends: Vec<usize> = (0..self.last.len()).collect();
        for frame in (0..self.origins.len()).rev() {
            if let [only] = ends[..] {
                let path = self.way_to(frame, only);
                self.origins.drain(..=frame);
                return path;
            }
            for end in &mut ends {
                *end = self.origins[frame][*end];
            }
            ends.sort_unstable();
            ends.dedup();
        }
        Vec::new()
    }

    /// The candidates of all frames that are not settled.
    pub(crate) fn finish(self) -> Vec<usize> {
        let Some(last) = self.origins.len().checked_sub(1) else {
            return Vec::new();
        };
        let mut at = 0;
        for (index, score) in self.scores.iter().enumerate() {
            if *score > self.scores[at] {
                at = index;
            }
        }
        self.way_to(last, at)
    }

    /// The candidates on the way to one of a frame.
    fn way_to(&self, frame: usize, mut at: usize) -> Vec<usize> {
        let mut path = vec![at];
        for from in self.origins.range(1..=frame).rev() {
            at = from[at];
            path.push(at);
        }
        path.reverse();
        path
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_noise::TestNoise;

    #[test]
    fn frames_that_settle_early_are_those_of_the_whole() {
        let costs = PathCosts {
            ceiling_hz: 800.0,
            octave: 0.01,
            octave_jump: 0.35,
            voicing_change: 0.14,
        };
        let mut random = TestNoise::new(1);
        let mut draw = || random.unit();
        let frames: Vec<Vec<Candidate>> = (0..3000)
            .map(|n| {
                let unvoiced = Candidate::unvoiced(if n / 200 % 2 == 0 { 0.45 } else { 1.5 });
                let count = (8.0 * draw()) as usize;
                let voiced = (0..count).map(|_| Candidate {
                    frequency: 65.0 + 700.0 * draw(),
                    // Coarse, so that there are ties.
                    strength: (10.0 * draw()).floor() / 10.0,
                });
                std::iter::once(unvoiced).chain(voiced).collect()
            })
            .collect();
        let whole = costs.best_path(&frames);
        assert!(whole.iter().any(|choice| *choice > 0));
        for every in [1, 7, 64] {
            let mut search = PathSearch::new(costs);
            let (mut found, mut most) = (Vec::new(), 0);
            for (n, frame) in frames.iter().enumerate() {
                search.step(frame);
                if n % every == 0 {
                    found.extend(search.settled());
                }
                most = most.max(search.origins.len());
            }
            found.extend(search.finish());
            assert_eq!(found, whole);
            assert!(most < 500, "{most} frames waited");
        }
        assert!(costs.best_path(&[]).is_empty());
    }
}
