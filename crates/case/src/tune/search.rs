//! Which points to measure next: all where there are few, else some at random, then those that a
//! forest expects to be fast and the neighbours of the fastest.

use std::collections::BTreeSet;

use warpsmith_workload::random::Random;

use super::forest::Forest;
use super::space::Space;

/// Spaces up to this size are measured whole.
const EXHAUSTIVE: usize = 40;
/// Points that are compiled and measured together.
const BATCH: usize = 8;

/// A search through a space.
pub struct Search {
    budget: usize,
    random: Random,
    /// Every point that was proposed.
    proposed: BTreeSet<usize>,
    /// Log times of points that ran; infinite for those that did not.
    results: Vec<(usize, f64)>,
}

impl Search {
    /// A search that measures at most this share of the space.
    pub fn new(space: &Space, share: f64, seed: u64) -> Self {
        let budget = match space.len() <= EXHAUSTIVE {
            true => space.len(),
            false => ((space.len() as f64 * share).ceil() as usize)
                .clamp(EXHAUSTIVE.min(space.len()), space.len()),
        };
        Self {
            budget,
            random: Random::seeded(seed),
            proposed: BTreeSet::new(),
            results: Vec::new(),
        }
    }

    /// Points that will be measured at most.
    pub fn budget(&self) -> usize {
        self.budget
    }

    /// Tells what a point took; `None` where it does not compile, is wrong or faults.
    pub fn tell(&mut self, point: usize, seconds: Option<f64>) {
        self.proposed.insert(point);
        let log = seconds
            .filter(|seconds| *seconds > 0.0)
            .map_or(f64::INFINITY, f64::ln);
        self.results.push((point, log));
    }

    /// The next points; empty at the end.
    pub fn propose(&mut self, space: &Space) -> Vec<usize> {
        let room = self.budget.saturating_sub(self.proposed.len()).min(BATCH);
        let mut open: Vec<usize> = (0..space.len())
            .filter(|at| !self.proposed.contains(at))
            .collect();
        self.random.shuffle(&mut open);
        let fast: Vec<(usize, f64)> = self
            .results
            .iter()
            .copied()
            .filter(|(_, log)| log.is_finite())
            .collect();
        let begun = self.proposed.len() * 4 >= self.budget && fast.len() >= 6;
        let mut chosen: Vec<usize> = Vec::new();
        if self.budget < space.len() && begun {
            let near = self.neighbours(space, &fast, &open);
            let ordinals = space.ordinals();
            let features: Vec<&[usize]> = fast
                .iter()
                .map(|(at, _)| ordinals[*at].as_slice())
                .collect();
            let values: Vec<f64> = fast.iter().map(|(_, log)| *log).collect();
            let forest = Forest::fit(&features, &values, &mut self.random);
            let rank = |points: &[usize]| {
                let mut ranked: Vec<(f64, usize)> = points
                    .iter()
                    .map(|at| {
                        let (mean, deviation) = forest.predict(&ordinals[*at]);
                        (mean - deviation, *at)
                    })
                    .collect();
                ranked.sort_by(|a, b| a.0.total_cmp(&b.0));
                ranked.into_iter().map(|(_, at)| at).collect::<Vec<_>>()
            };
            // Half by the model alone, half around the fastest, in the model's order.
            let (by_model, around) = (rank(&open), rank(&near));
            chosen.extend(around.into_iter().take(room / 2));
            for at in by_model {
                if chosen.len() >= room {
                    break;
                }
                if !chosen.contains(&at) {
                    chosen.push(at);
                }
            }
        } else {
            chosen.extend(open.into_iter().take(room));
        }
        self.proposed.extend(&chosen);
        chosen
    }

    /// Open points that differ from one of the three fastest in one tunable.
    fn neighbours(&self, space: &Space, fast: &[(usize, f64)], open: &[usize]) -> Vec<usize> {
        let mut best = fast.to_vec();
        best.sort_by(|a, b| a.1.total_cmp(&b.1));
        best.truncate(3);
        let ordinals = space.ordinals();
        let near = |at: &usize| {
            best.iter().any(|(fastest, _)| {
                let pairs = ordinals[*at].iter().zip(&ordinals[*fastest]);
                pairs.filter(|(a, b)| a != b).count() == 1
            })
        };
        open.iter().copied().filter(near).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::super::space::grid;
    use super::*;

    /// A space like that of a tiled product: interactions, cliffs, and few points near the best.
    fn seconds(ordinal: &[usize], seed: u64) -> Option<f64> {
        let [tile, vector, unroll, layout] = ordinal else {
            return None;
        };
        if tile * vector > 12 {
            return None;
        }
        let mut random =
            Random::seeded(seed ^ (tile * 1000 + vector * 100 + unroll * 10 + layout) as u64);
        let best_vector = if *tile > 3 { 2.0 } else { 3.0 };
        let time = 1.0
            + 0.25 * (*tile as f64 - 4.0).abs()
            + 0.2 * (*vector as f64 - best_vector).abs()
            + 0.08 * (*unroll as f64 - 1.0).abs()
            + if *layout == 1 { 0.0 } else { 0.3 }
            + if *tile > 4 && *unroll > 2 { 0.8 } else { 0.0 };
        Some(time * (1.0 + 0.02 * random.unit()))
    }

    /// Runs that end within 2 % of the best, of 30.
    fn successes(counts: &[usize], share: f64) -> (usize, usize) {
        let space = grid(counts);
        let mut good = 0;
        for run in 0..30 {
            let times: Vec<Option<f64>> =
                space.ordinals().iter().map(|at| seconds(at, run)).collect();
            let best = times
                .iter()
                .flatten()
                .copied()
                .fold(f64::INFINITY, f64::min);
            let mut search = Search::new(&space, share, run);
            let mut found = f64::INFINITY;
            loop {
                let batch = search.propose(&space);
                if batch.is_empty() {
                    break;
                }
                for at in batch {
                    search.tell(at, times[at]);
                    found = found.min(times[at].unwrap_or(f64::INFINITY));
                }
            }
            good += usize::from(found <= best * 1.02);
        }
        (good, space.len())
    }

    #[test]
    fn a_quarter_of_a_space_is_enough() {
        let (good, points) = successes(&[6, 4, 4, 2], 0.25);
        assert_eq!(points, 192);
        assert!(good >= 28, "{good} of 30");
    }

    #[test]
    fn small_spaces_are_measured_whole_and_each_point_once() {
        let space = grid(&[4, 5]);
        let mut search = Search::new(&space, 0.25, 1);
        let mut seen = BTreeSet::new();
        loop {
            let batch = search.propose(&space);
            if batch.is_empty() {
                break;
            }
            for at in batch {
                assert!(seen.insert(at));
                search.tell(at, None);
            }
        }
        assert_eq!(seen.len(), 20);
    }
}
