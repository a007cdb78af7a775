//! The most likely path through voiced and unvoiced pitch bins.
//!
//! The transition from bin `k` to bin `j` is a triangle over `j − k`, normalised over what of it lies
//! inside the range; voicing changes independently. Both factors are local, so a step costs
//! `bins × width` instead of the square of all states. Transitions outside the triangle cost
//! [`IMPOSSIBLE`], as in librosa.
//!
//! Scores are relative to the best of their frame. The search for the best way into a bin compares keys,
//! a score with the offset it is reached by in the low bits: the largest key is the best score, and the
//! lowest offset among equals.

use super::transitions::{IMPOSSIBLE, Transitions};
use warpsmith_lanes::{Lanes, Task};
use warpsmith_signal::checkpoint;

/// Bins worked on at once; a multiple of any vector width.
const GROUP: usize = 32;

/// Offsets that the low bits of a key tell apart.
const OFFSETS: usize = 64;
const OFFSET_BITS: u32 = OFFSETS.trailing_zeros();
/// Added to scores before they become keys, so that the range of 32 bits is used.
const BIAS: i32 = (1 << 25) - (1 << 20);
/// A key that no path comes from: below every score's, and so far from the end of the range that the
/// cost of a step may be added.
const LOST: i32 = -2_000_000_000;

/// The state of a decoder; states `0..bins` are voiced, `bins..2·bins` unvoiced.
pub(super) struct Lattice {
    bins: usize,
    reach: usize,
    steps: Transitions,
    /// Keys of the triangle, lowest offset first and highest first.
    rising: Vec<i32>,
    falling: Vec<i32>,
    /// Scores of the voiced and the unvoiced states, relative to the best of them.
    scores: [Vec<i32>; 2],
    /// The state with the best score, the voiced and lower ones first.
    top: usize,
    /// Keys with the normaliser, between borders that no path can come from.
    bordered: [Vec<i32>; 2],
    best: [Vec<i32>; 2],
    origin: [Vec<i32>; 2],
    /// Of a frame, and where its states were reached from; padded as the scores are.
    likelihood: Vec<i32>,
    arrivals: Vec<u16>,
    keys: Vec<i32>,
    /// For every step after the first, where each state came from.
    origins: Vec<u16>,
    /// The voiced states that the last frame allowed, and whether it allowed unvoiced ones.
    alive: Vec<usize>,
    unvoiced_alive: bool,
    started: bool,
    /// Every frame's scores, the unvoiced one last, where they are wanted.
    recorded: Option<Vec<i32>>,
}

impl Lattice {
    /// Paths over `bins` bins that move by at most `reach` of them in a step.
    /// Has room for `frames` steps.
    pub(super) fn new(bins: usize, reach: usize, switch_probability: f64, frames: usize) -> Self {
        let steps = Transitions::new(bins, reach, switch_probability);
        let padded = bins.next_multiple_of(GROUP);
        // Below every score: what lies behind the last bin is never the best.
        let row = || vec![4 * IMPOSSIBLE; padded];
        let rising: Vec<i32> = steps
            .kernel
            .iter()
            .enumerate()
            .map(|(offset, cost)| {
                let low_bits = OFFSETS - 1 - offset % OFFSETS;
                cost * OFFSETS as i32 + low_bits as i32
            })
            .collect();
        Self {
            bins,
            reach,
            steps,
            falling: rising.iter().rev().copied().collect(),
            rising,
            scores: [row(), row()],
            top: 0,
            bordered: [
                vec![LOST; padded + 2 * reach],
                vec![LOST; padded + 2 * reach],
            ],
            best: [row(), row()],
            origin: [vec![0; padded], vec![0; padded]],
            likelihood: row(),
            arrivals: vec![0; padded],
            keys: vec![LOST; padded],
            origins: Vec::with_capacity(frames * 2 * bins),
            alive: Vec::with_capacity(bins),
            unvoiced_alive: false,
            started: false,
            recorded: None,
        }
    }

    /// Keeps the scores of every frame that it takes.
    pub(super) fn recording(self) -> Self {
        Self {
            recorded: Some(Vec::new()),
            ..self
        }
    }

    /// The scores of the frames that were taken, `bins + 1` to a frame, the unvoiced one last.
    pub(super) fn into_record(self) -> Vec<i32> {
        self.recorded.unwrap_or_default()
    }

    /// Takes the scores of the next frame: `voiced` has one value to a bin, `unvoiced` is the same for
    /// every bin.
    pub(super) fn step<V: Lanes>(&mut self, voiced: &[i32], unvoiced: i32) {
        checkpoint();
        if let Some(recorded) = &mut self.recorded {
            recorded.extend_from_slice(voiced);
            recorded.push(unvoiced);
        }
        if self.started {
            V::vectorize(StepTask {
                lattice: self,
                voiced,
                unvoiced,
            });
            return;
        }
        self.scores[0][..self.bins].copy_from_slice(voiced);
        self.scores[1][..self.bins].fill(unvoiced);
        self.started = true;
        self.find_top();
        self.remember_alive(voiced, unvoiced);
    }

    #[inline(always)]
    fn advance(&mut self, voiced: &[i32], unvoiced: i32) {
        let bins = self.bins;
        for voicing in 0..2 {
            let bordered = &mut self.bordered[voicing][self.reach..self.reach + bins];
            for ((key, score), normaliser) in bordered
                .iter_mut()
                .zip(&self.scores[voicing])
                .zip(&self.steps.normaliser)
            {
                *key = (score + normaliser + BIAS) * OFFSETS as i32;
            }
            let bordered = &self.bordered[voicing];
            let (best, origin) = (&mut self.best[voicing], &mut self.origin[voicing]);
            // Voiced and unvoiced state of a bin were reached from the same places, at costs that
            // differ by the switch. Where the last frame called one impossible and not the other,
            // the other is ahead by hundreds: the impossible one is nobody's best origin.
            if voicing == 0 && self.unvoiced_alive {
                let keys = &mut self.keys;
                origins_of_alive(bordered, &self.falling, &self.alive, keys, best, origin);
            } else {
                best_origins(bordered, &self.rising, best, origin);
            }
        }
        let jump = (IMPOSSIBLE, self.top as i32);
        let at = self.origins.len();
        self.origins.resize(at + 2 * bins, 0);
        for to in 0..2 {
            // The state's own voicing costs `stay`, the other `switch`.
            let costs = if to == 0 {
                [self.steps.stay, self.steps.switch]
            } else {
                [self.steps.switch, self.steps.stay]
            };
            let likelihood = &mut self.likelihood[..bins];
            if to == 0 {
                likelihood.copy_from_slice(voiced);
            } else {
                likelihood.fill(unvoiced);
            }
            arrive(
                [&self.best[0], &self.best[1]],
                [&self.origin[0], &self.origin[1]],
                costs,
                jump,
                (bins as i32, self.reach as i32),
                &self.likelihood,
                &mut self.scores[to],
                &mut self.arrivals,
            );
            self.origins[at + to * bins..][..bins].copy_from_slice(&self.arrivals[..bins]);
        }
        self.find_top();
        self.remember_alive(voiced, unvoiced);
    }

    /// Finds the best state and makes all scores relative to it.
    #[inline(always)]
    fn find_top(&mut self) {
        let mut tops = [i32::MIN; GROUP];
        for scores in &self.scores {
            for scores in scores.as_chunks::<GROUP>().0 {
                for (top, score) in tops.iter_mut().zip(scores) {
                    *top = (*top).max(*score);
                }
            }
        }
        let best = tops.into_iter().fold(i32::MIN, i32::max);
        // By groups: what lies behind the last bin is never the best.
        let place = |scores: &[i32]| {
            let groups = scores.as_chunks::<GROUP>().0;
            let has = |group: &[i32; GROUP]| group.iter().fold(false, |has, x| has | (*x == best));
            let group = groups.iter().position(has)?;
            let lane = groups[group].iter().position(|score| *score == best)?;
            Some(group * GROUP + lane)
        };
        self.top = place(&self.scores[0])
            .or_else(|| place(&self.scores[1]).map(|k| self.bins + k))
            .unwrap_or(0);
        for scores in &mut self.scores {
            for score in scores {
                // What is further behind than a jump costs is nobody's best origin.
                *score = (*score - best).max(IMPOSSIBLE);
            }
        }
    }

    #[inline(always)]
    fn remember_alive(&mut self, voiced: &[i32], unvoiced: i32) {
        let alive = IMPOSSIBLE / 2;
        self.unvoiced_alive = unvoiced > alive;
        self.alive.clear();
        for (k, likelihood) in voiced.iter().enumerate() {
            if *likelihood > alive {
                self.alive.push(k);
            }
        }
    }

    /// The most likely path, one state to a frame that has not been settled; empty where no frame was
    /// taken.
    pub(super) fn path(&self) -> Vec<usize> {
        if !self.started {
            return Vec::new();
        }
        let mut path = vec![self.top];
        self.trace_back(&mut path, self.origins.len() / (2 * self.bins));
        path.reverse();
        path
    }

    /// Takes the states of the oldest frames off that no later frame can change, because all paths to
    /// the present come through them; of half of the frames, by the best path of the moment, where
    /// more than `longest` wait. A frame that no step has followed is not settled.
    pub(super) fn settle(&mut self, longest: usize) -> Vec<usize> {
        let states = 2 * self.bins;
        let steps = self.origins.len() / states;
        let mut here: Vec<usize> = (0..states).collect();
        let mut seen = vec![false; states];
        // From the present back, until all paths have met.
        let mut row = steps;
        while row > 0 && here.len() > 1 {
            row -= 1;
            let origins = &self.origins[row * states..][..states];
            seen.fill(false);
            let mut before = Vec::with_capacity(here.len());
            for &state in &here {
                let origin = usize::from(origins[state]);
                if !seen[origin] {
                    seen[origin] = true;
                    before.push(origin);
                }
            }
            here = before;
        }
        let mut path = if here.len() == 1 {
            here
        } else if steps > longest {
            let mut path = vec![self.top];
            self.trace_back(&mut path, steps);
            row = steps / 2;
            path.split_off(steps - row)
        } else {
            return Vec::new();
        };
        // `path` starts at frame `row` and goes back.
        if path.len() == 1 {
            self.trace_back(&mut path, row);
        }
        path.reverse();
        self.origins.drain(..(row + 1).min(steps) * states);
        path
    }

    /// Goes on from the last state of `path`, which is that of frame `steps`, to the oldest frame.
    fn trace_back(&self, path: &mut Vec<usize>, steps: usize) {
        let states = 2 * self.bins;
        let mut state = path.last().copied().unwrap_or(0);
        for origins in self.origins[..steps * states].rchunks_exact(states) {
            state = usize::from(origins[state]);
            path.push(state);
        }
    }
}

/// Scores and origins of the states of one voicing: from the better of the two voicings, or by a jump
/// from the best of all states.
#[allow(
    clippy::too_many_arguments,
    reason = "plain slices are what the compiler makes vector instructions of"
)]
#[inline(always)]
fn arrive(
    best: [&[i32]; 2],
    origin: [&[i32]; 2],
    costs: [i32; 2],
    jump: (i32, i32),
    (bins, reach): (i32, i32),
    likelihood: &[i32],
    scores: &mut [i32],
    arrivals: &mut [u16],
) {
    let best = best.map(|best| best.as_chunks::<GROUP>().0);
    let origin = origin.map(|origin| origin.as_chunks::<GROUP>().0);
    let likelihood = likelihood.as_chunks::<GROUP>().0;
    let scores = scores.as_chunks_mut::<GROUP>().0;
    let arrivals = arrivals.as_chunks_mut::<GROUP>().0;
    for (group, (scores, arrivals)) in scores.iter_mut().zip(arrivals).enumerate() {
        for lane in 0..GROUP {
            let from_voiced = best[0][group][lane] + costs[0];
            let from_unvoiced = best[1][group][lane] + costs[1];
            // Where neither voicing reaches the state its offset means nothing, and the jump wins.
            let base = (group * GROUP + lane) as i32 - reach;
            let unvoiced = from_unvoiced > from_voiced;
            let mut score = if unvoiced { from_unvoiced } else { from_voiced };
            let mut from = base
                + if unvoiced {
                    bins + origin[1][group][lane]
                } else {
                    origin[0][group][lane]
                };
            let jumped = jump.0 > score;
            score = if jumped { jump.0 } else { score };
            from = if jumped { jump.1 } else { from };
            scores[lane] = score + likelihood[group][lane];
            arrivals[lane] = from as u16;
        }
    }
}

/// As [`best_origins`], from the `alive` states alone: few voiced states are candidates of a frame.
/// `falling` has the highest offset first.
#[inline(always)]
fn origins_of_alive(
    bordered: &[i32],
    falling: &[i32],
    alive: &[usize],
    keys: &mut [i32],
    best: &mut [i32],
    origin: &mut [i32],
) {
    let (width, reach) = (falling.len(), falling.len() / 2);
    for first in (0..width).step_by(OFFSETS) {
        let end = width.min(first + OFFSETS);
        keys.fill(LOST);
        for &k in alive {
            let score = bordered[reach + k];
            // Bin `j` is reached at offset `k + reach − j`: the highest below `end` first, from bin 0 on.
            let skipped = end.saturating_sub(k + reach + 1);
            let low = (k + reach + 1).saturating_sub(end);
            let weights = &falling[(width - end + skipped).min(width - first)..width - first];
            // A long step reaches bins beyond the last at all of these offsets.
            let reached = keys.get_mut(low..).unwrap_or_default();
            for (key, weight) in reached.iter_mut().zip(weights) {
                *key = (*key).max(score + weight);
            }
        }
        let (best, _) = best.as_chunks_mut::<GROUP>();
        let (origin, _) = origin.as_chunks_mut::<GROUP>();
        let (keys, _) = keys.as_chunks::<GROUP>();
        for (keys, (best, origin)) in keys.iter().zip(best.iter_mut().zip(origin)) {
            take_keys(first, keys, best, origin);
        }
    }
}

/// For each bin the best of `bordered[j + offset] + rising[offset]`, and the first offset that
/// reaches it.
#[inline(always)]
fn best_origins(bordered: &[i32], rising: &[i32], best: &mut [i32], origin: &mut [i32]) {
    let (best, _) = best.as_chunks_mut::<GROUP>();
    let (origin, _) = origin.as_chunks_mut::<GROUP>();
    for first in (0..rising.len()).step_by(OFFSETS) {
        let weights = &rising[first..rising.len().min(first + OFFSETS)];
        for (group, (best, origin)) in best.iter_mut().zip(origin.iter_mut()).enumerate() {
            let mut top = [LOST; GROUP];
            for (offset, weight) in weights.iter().enumerate() {
                let keys = &bordered[group * GROUP + first + offset..][..GROUP];
                for lane in 0..GROUP {
                    top[lane] = top[lane].max(keys[lane] + weight);
                }
            }
            take_keys(first, &top, best, origin);
        }
    }
}

/// Scores and offsets of the best keys among the offsets from `first` on, where they are better than those
/// of lower offsets.
#[inline(always)]
fn take_keys(
    first: usize,
    keys: &[i32; GROUP],
    best: &mut [i32; GROUP],
    origin: &mut [i32; GROUP],
) {
    for lane in 0..GROUP {
        let score = (keys[lane] >> OFFSET_BITS) - BIAS;
        let offset = first as i32 + (OFFSETS as i32 - 1 - (keys[lane] & (OFFSETS as i32 - 1)));
        let better = first == 0 || score > best[lane];
        best[lane] = if better { score } else { best[lane] };
        origin[lane] = if better { offset } else { origin[lane] };
    }
}

struct StepTask<'a> {
    lattice: &'a mut Lattice,
    voiced: &'a [i32],
    unvoiced: i32,
}

impl Task for StepTask<'_> {
    #[inline(always)]
    fn run(self) {
        self.lattice.advance(self.voiced, self.unvoiced);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pitch::pyin::transitions::score_of;
    use warpsmith_lanes::One;

    type Frame = (Vec<i32>, i32);

    fn transition(lattice: &Lattice, from: usize, to: usize) -> i64 {
        let (bins, reach) = (lattice.bins, lattice.reach);
        let (k, j) = (from % bins, to % bins);
        if k.abs_diff(j) > reach {
            return IMPOSSIBLE.into();
        }
        let voicing = if from / bins == to / bins {
            lattice.steps.stay
        } else {
            lattice.steps.switch
        };
        let moved = lattice.steps.kernel[j + reach - k] + lattice.steps.normaliser[k];
        i64::from(moved + voicing).max(IMPOSSIBLE.into())
    }

    fn likelihood(frame: &Frame, state: usize) -> i64 {
        frame.0.get(state).copied().unwrap_or(frame.1).into()
    }

    fn score_of_path(lattice: &Lattice, path: &[usize], frames: &[Frame]) -> i64 {
        let steps = path.windows(2).zip(&frames[1..]);
        steps.fold(likelihood(&frames[0], path[0]), |score, (step, frame)| {
            score + transition(lattice, step[0], step[1]) + likelihood(frame, step[1])
        })
    }

    /// The definition: the best score over every state to every state.
    fn best_score(lattice: &Lattice, frames: &[Frame]) -> i64 {
        let states = 2 * lattice.bins;
        let mut scores: Vec<i64> = (0..states)
            .map(|state| likelihood(&frames[0], state))
            .collect();
        for frame in &frames[1..] {
            scores = (0..states)
                .map(|to| {
                    let ways = (0..states).map(|from| scores[from] + transition(lattice, from, to));
                    ways.max().unwrap() + likelihood(frame, to)
                })
                .collect();
        }
        scores.into_iter().max().unwrap()
    }

    fn unit(seed: &mut u64) -> f64 {
        *seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (*seed >> 11) as f64 / (1u64 << 53) as f64
    }

    /// Frames with a few troughs at random places.
    fn noise(bins: usize, frames: usize, seed: &mut u64) -> Vec<Frame> {
        (0..frames)
            .map(|_| {
                let mut voiced = vec![IMPOSSIBLE; bins];
                for _ in 0..3 {
                    voiced[(unit(seed) * bins as f64) as usize] = score_of(unit(seed));
                }
                (voiced, score_of(unit(seed) / bins as f64))
            })
            .collect()
    }

    /// A voice that rises and falls, with pauses.
    fn voice(bins: usize, frame: usize, seed: &mut u64) -> Frame {
        let mut voiced = vec![IMPOSSIBLE; bins];
        let place = (18.0 + 15.0 * (frame as f64 / 40.0).sin()) as usize;
        let strength = if frame % 100 < 70 { 0.9 } else { 1e-6 };
        voiced[place] = score_of(strength * (0.5 + 0.5 * unit(seed)));
        (voiced, score_of((1.0 - strength) / bins as f64))
    }

    #[test]
    fn the_local_search_finds_a_path_as_good_as_the_full_search() {
        let mut seed = 1;
        // A triangle within the offsets that a key tells apart, one beyond, and two that reach beyond the bins at
        // all offsets of a run.
        for (bins, reach) in [(37, 4), (90, 40), (90, 80), (37, 200)] {
            for _ in 0..12 {
                let frames = noise(bins, 30, &mut seed);
                let mut lattice = Lattice::new(bins, reach, 0.01, frames.len());
                for (voiced, unvoiced) in &frames {
                    lattice.step::<One>(voiced, *unvoiced);
                }
                let found = score_of_path(&lattice, &lattice.path(), &frames);
                assert_eq!(found, best_score(&lattice, &frames));
            }
        }
    }

    #[test]
    fn a_walk_that_starts_late_soon_has_the_scores_of_the_whole() {
        let (bins, reach) = (37, 4);
        let mut seed = 3;
        let frames: Vec<Frame> = (0..200).map(|n| voice(bins, n, &mut seed)).collect();
        let mut whole = Lattice::new(bins, reach, 0.01, 0);
        let mut late = Lattice::new(bins, reach, 0.01, 0);
        let mut met = None;
        for (n, (voiced, unvoiced)) in frames.iter().enumerate() {
            whole.step::<One>(voiced, *unvoiced);
            if n >= 100 {
                late.step::<One>(voiced, *unvoiced);
                if met.is_none() && late.scores == whole.scores {
                    met = Some(n);
                }
            }
        }
        let met = met.expect("the scores meet");
        assert!(met < 140, "frame {met}");
        assert_eq!(late.scores, whole.scores);
        // From there on every state has the same origins, best or not.
        let steps = (frames.len() - 1 - met) * 2 * bins;
        let last = |lattice: &Lattice| lattice.origins[lattice.origins.len() - steps..].to_vec();
        assert_eq!(last(&late), last(&whole));
    }

    #[test]
    fn settled_frames_are_those_of_the_whole_path_and_memory_is_bounded() {
        let (bins, reach) = (37, 4);
        let mut seed = 7;
        let mut whole = Lattice::new(bins, reach, 0.01, 0);
        let mut live = Lattice::new(bins, reach, 0.01, 0);
        let (mut settled, mut early) = (Vec::new(), 0);
        for frame in 0..600usize {
            let (voiced, unvoiced) = voice(bins, frame, &mut seed);
            for lattice in [&mut whole, &mut live] {
                lattice.step::<One>(&voiced, unvoiced);
            }
            if frame % 16 == 0 {
                settled.extend(live.settle(1000));
                early = early.max(frame + 1 - settled.len());
            }
        }
        assert!(early < 100, "{early} frames waited");
        settled.extend(live.path());
        assert_eq!(settled, whole.path());
        // Where nothing ever decides, half is settled by force.
        let mut idle = Lattice::new(bins, 0, 0.01, 0);
        let mut count = 0;
        for frame in 0..500usize {
            idle.step::<One>(&vec![IMPOSSIBLE; bins], 0);
            if frame % 16 == 0 {
                count += idle.settle(64).len();
                assert!(idle.origins.len() <= (64 + 16) * 2 * bins);
            }
        }
        assert_eq!(count + idle.path().len(), 500);
    }
}
