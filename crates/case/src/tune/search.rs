//! Which points to measure next: all where there are few, else some far from each other, then those that two
//! models expect to be fast, and the neighbours of the fastest.
//!
//! A forest knows steps and exceptions, a Gaussian process knows slopes; neither is the better one on every
//! space, so they take turns, which finds more than the sum of their ranks. Points that are proposed and not yet
//! told count as measured nowhere: a caller that keeps several in work loses what those would have taught, and
//! nothing else.

use std::collections::BTreeSet;

use warpsmith_workload::random::Random;

use super::forest::Forest;
use super::gaussian_process::{Process, Shape};
use super::space::Space;

/// Spaces up to this size are measured whole.
const EXHAUSTIVE: usize = 40;
/// Points of a search at least: below, models know too little.
const LEAST: usize = 32;
/// Points that are looked at for the next one that is far from those before.
const SPREAD: usize = 8;
/// Points from which on a Gaussian process takes longer than a measurement.
const MOST_SMOOTH: usize = 300;
/// Points in work that keep a GPU busy which takes as long for a candidate as a core for its compilation: models
/// would not know the results of more.
const IN_WORK: usize = 4;
/// Points in work where the GPU waits for the compiler: with 15 instead of 8, 54 of 60 searches of a recorded
/// matrix product end near its best, not 58.
const MOST_IN_WORK: usize = 8;
/// Points that models rank: of more, as many are drawn.
const MOST_RANKED: usize = 2000;

/// A search through a space.
pub struct Search {
    budget: usize,
    random: Random,
    /// Every point that was proposed.
    proposed: BTreeSet<usize>,
    /// Log times of points that ran; infinite for those that did not.
    results: Vec<(usize, f64)>,
    /// Of the last Gaussian process.
    shape: Option<Shape>,
    /// Proposals by models so far, which decides whose turn it is.
    turn: usize,
}

impl Search {
    /// A search that measures at most this share of the space.
    pub fn new(space: &Space, share: f64, seed: u64) -> Self {
        let budget = match space.len() <= EXHAUSTIVE {
            true => space.len(),
            false => ((space.len() as f64 * share).ceil() as usize)
                .clamp(LEAST.min(space.len()), space.len()),
        };
        Self {
            budget,
            random: Random::seeded(seed),
            proposed: BTreeSet::new(),
            results: Vec::new(),
            shape: None,
            turn: 0,
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

    /// How many points more may be in work, where `width` can be and `open` are. What no result decides is all in
    /// work at once; of what models choose, only as much as keeps the GPU busy, unless it `waits` for the compiler.
    pub fn room(&self, space: &Space, width: usize, open: usize, waits: bool) -> usize {
        let guided = self.budget < space.len() && self.knows_enough();
        let most = match (guided, waits) {
            (true, false) => width.min(IN_WORK),
            (true, true) => width.min(MOST_IN_WORK),
            (false, _) => width.max(self.unguided().saturating_sub(self.results.len())),
        };
        most.saturating_sub(open)
    }

    /// Points before models choose.
    fn unguided(&self) -> usize {
        self.budget.div_ceil(4)
    }

    /// Whether models have something to learn from.
    fn knows_enough(&self) -> bool {
        let ran = self.results.iter().filter(|(_, log)| log.is_finite());
        self.proposed.len() >= self.unguided() && ran.count() >= 6
    }

    /// At most `room` points more; none at the end, or while there is no room.
    pub fn propose(&mut self, space: &Space, room: usize) -> Vec<usize> {
        let room = self.budget.saturating_sub(self.proposed.len()).min(room);
        if room == 0 {
            return Vec::new();
        }
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
        let guided = self.knows_enough();
        let chosen = match self.budget < space.len() {
            false => open.into_iter().take(room).collect(),
            true if guided => self.guided(space, &fast, open, room),
            true => self.spread(space, open, room),
        };
        self.proposed.extend(&chosen);
        chosen
    }

    /// Points far from those that were proposed, each the farthest of some.
    fn spread(&mut self, space: &Space, mut open: Vec<usize>, room: usize) -> Vec<usize> {
        let features = space.features();
        let mut known: Vec<usize> = self.proposed.iter().copied().collect();
        let mut chosen = Vec::new();
        while chosen.len() < room && !open.is_empty() {
            let distance = |at: usize| {
                let distances = known.iter().map(|known| {
                    let pairs = features[*known].iter().zip(&features[at]);
                    pairs.map(|(a, b)| (a - b).powi(2)).sum::<f64>()
                });
                distances.fold(f64::INFINITY, f64::min)
            };
            let some = open.iter().copied().enumerate().take(SPREAD);
            let farthest = some.max_by(|a, b| distance(a.1).total_cmp(&distance(b.1)));
            let Some((place, at)) = farthest else {
                break;
            };
            open.remove(place);
            known.push(at);
            chosen.push(at);
        }
        chosen
    }

    /// Points that a model expects to be fast. The models take turns, two points each: one among the neighbours
    /// of the fastest, one of all.
    fn guided(
        &mut self,
        space: &Space,
        fast: &[(usize, f64)],
        mut open: Vec<usize>,
        room: usize,
    ) -> Vec<usize> {
        let near: BTreeSet<usize> = neighbours(space, fast, &open).into_iter().collect();
        if open.len() > MOST_RANKED {
            let mut place = 0;
            open.retain(|at| {
                place += 1;
                place <= MOST_RANKED || near.contains(at)
            });
        }
        let mut chosen: Vec<usize> = Vec::new();
        while chosen.len() < room && chosen.len() < open.len() {
            let smooth = self.turn % 4 >= 2 && fast.len() <= MOST_SMOOTH;
            let ranked = match smooth {
                true => self.by_process(space, fast, &open),
                false => self.by_forest(space, fast, &open),
            };
            let left = || ranked.iter().filter(|at| !chosen.contains(at));
            let neighbour = left().find(|at| self.turn.is_multiple_of(2) && near.contains(*at));
            let Some(next) = neighbour.or_else(|| left().next()) else {
                break;
            };
            chosen.push(*next);
            self.turn += 1;
        }
        chosen
    }

    /// Open points in the order of a forest, the most promising first.
    fn by_forest(&mut self, space: &Space, fast: &[(usize, f64)], open: &[usize]) -> Vec<usize> {
        let all = space.features();
        let features: Vec<&[f64]> = fast.iter().map(|(at, _)| all[*at].as_slice()).collect();
        let values: Vec<f64> = fast.iter().map(|(_, log)| *log).collect();
        let forest = Forest::fit(&features, &values, &mut self.random);
        ranked(open, |at| forest.predict(&all[at]))
    }

    /// The same by a Gaussian process.
    fn by_process(&mut self, space: &Space, fast: &[(usize, f64)], open: &[usize]) -> Vec<usize> {
        let all = space.features();
        let features: Vec<&[f64]> = fast.iter().map(|(at, _)| all[*at].as_slice()).collect();
        let values: Vec<f64> = fast.iter().map(|(_, log)| *log).collect();
        let before = self.shape.take();
        match Process::fit(features, &values, before.as_ref(), &mut self.random) {
            Some(process) => {
                self.shape = Some(process.shape().clone());
                ranked(open, |at| process.predict(&all[at]))
            }
            None => open.to_vec(),
        }
    }
}

/// Points by the lower bound that a model gives; equal ones stay in their order.
fn ranked(open: &[usize], predict: impl Fn(usize) -> (f64, f64)) -> Vec<usize> {
    let mut bounds: Vec<(f64, usize)> = open
        .iter()
        .map(|at| {
            let (mean, deviation) = predict(*at);
            (mean - deviation, *at)
        })
        .collect();
    bounds.sort_by(|a, b| a.0.total_cmp(&b.0));
    bounds.into_iter().map(|(_, at)| at).collect()
}

/// Open points that differ from one of the three fastest in one tunable.
fn neighbours(space: &Space, fast: &[(usize, f64)], open: &[usize]) -> Vec<usize> {
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
                let batch = search.propose(&space, 8);
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
            let batch = search.propose(&space, 8);
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

    #[test]
    fn models_choose_few_at_a_time_unless_the_gpu_waits() {
        let space = grid(&[6, 4, 4, 2]);
        let mut search = Search::new(&space, 0.25, 1);
        // A quarter of the 48 that are measured, whatever comes of the first.
        assert_eq!(search.room(&space, 8, 3, false), 9);
        for _ in 0..2 {
            for at in search.propose(&space, 8) {
                search.tell(at, Some(1.0 + at as f64));
            }
        }
        assert_eq!(search.room(&space, 8, 3, false), 1);
        assert_eq!(search.room(&space, 8, 3, true), 5);
        assert_eq!(search.room(&space, 2, 3, false), 0);
        // Where everything is measured, nothing is chosen.
        let mut whole = Search::new(&space, 1.0, 1);
        for _ in 0..8 {
            for at in whole.propose(&space, 8) {
                whole.tell(at, Some(1.0));
            }
        }
        assert_eq!(whole.room(&space, 8, 0, false), 8);
    }
}
