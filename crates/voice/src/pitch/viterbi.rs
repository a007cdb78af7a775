//! The most likely path through voiced and unvoiced pitch bins.
//!
//! The transition from bin `k` to bin `j` is a triangle over `j − k`, normalised over what of it lies
//! inside the range; voicing changes independently. Both factors are local, so a step costs
//! `bins × width` instead of the square of all states. Transitions outside the triangle cost
//! `ln(f64::MIN_POSITIVE)`, as in librosa, whose every probability has that added.

use crate::lanes::{Lanes, Task};

/// `ln` of the smallest normal number: what an impossible step costs.
pub(crate) fn impossible() -> f64 {
    f64::MIN_POSITIVE.ln()
}

/// Logarithms of what steps cost.
pub(crate) struct Transitions {
    /// Of the triangle, lowest offset first.
    pub(crate) kernel: Vec<f64>,
    /// Minus that of the triangle's sum over the bins that a row reaches.
    pub(crate) normaliser: Vec<f64>,
    /// Of keeping the voicing and of changing it.
    pub(crate) stay: f64,
    pub(crate) switch: f64,
}

impl Transitions {
    /// Over `bins` bins, by at most `reach` of them in a step.
    pub(crate) fn new(bins: usize, reach: usize, switch_probability: f64) -> Self {
        let width = 2 * reach + 1;
        let triangle = |offset: usize| 1.0 - offset.abs_diff(reach) as f64 / (reach + 1) as f64;
        let normaliser = (0..bins)
            .map(|k| {
                let low = reach.saturating_sub(k);
                let high = width.min(reach + bins - k);
                let sum: f64 = (low..high).map(triangle).sum();
                -sum.ln()
            })
            .collect();
        Self {
            kernel: (0..width).map(|offset| triangle(offset).ln()).collect(),
            normaliser,
            stay: (1.0 - switch_probability).ln(),
            switch: switch_probability.ln(),
        }
    }
}

/// Bins worked on at once; a multiple of any vector width.
const GROUP: usize = 16;

/// The state of a decoder; states `0..bins` are voiced, `bins..2·bins` unvoiced.
pub(super) struct Lattice {
    bins: usize,
    /// `ln` of the triangle, lowest offset first.
    kernel: Vec<f64>,
    /// `−ln` of the triangle's sum over the bins that a row reaches.
    normaliser: Vec<f64>,
    stay: f64,
    switch: f64,
    /// Scores of the voiced and the unvoiced states.
    scores: [Vec<f64>; 2],
    /// Scores with the normaliser, between borders that no path can come from.
    bordered: [Vec<f64>; 2],
    best: [Vec<f64>; 2],
    origin: [Vec<u16>; 2],
    /// Of a frame, and where its states were reached from; padded as the scores are.
    likelihood: Vec<f64>,
    arrivals: Vec<u16>,
    /// For every step after the first, where each state came from.
    origins: Vec<u16>,
    /// The voiced states that the last frame allowed, and whether it allowed unvoiced ones.
    alive: Vec<usize>,
    unvoiced_alive: bool,
    started: bool,
}

impl Lattice {
    /// Paths over `bins` bins that move by at most `reach` of them in a step.
    /// Has room for `frames` steps.
    pub(super) fn new(bins: usize, reach: usize, switch_probability: f64, frames: usize) -> Self {
        let Transitions {
            kernel,
            normaliser,
            stay,
            switch,
        } = Transitions::new(bins, reach, switch_probability);
        let padded = bins.next_multiple_of(GROUP);
        let row = || vec![f64::NEG_INFINITY; padded];
        Self {
            bins,
            kernel,
            normaliser,
            stay,
            switch,
            scores: [row(), row()],
            bordered: [
                vec![f64::NEG_INFINITY; padded + 2 * reach],
                vec![f64::NEG_INFINITY; padded + 2 * reach],
            ],
            best: [row(), row()],
            origin: [vec![0; padded], vec![0; padded]],
            likelihood: row(),
            arrivals: vec![0; padded],
            origins: Vec::with_capacity(frames * 2 * bins),
            alive: Vec::with_capacity(bins),
            unvoiced_alive: false,
            started: false,
        }
    }

    /// Takes the log-likelihoods of the next frame: `voiced` has one value to a bin, `unvoiced` is
    /// the same for every bin.
    pub(super) fn step<V: Lanes>(&mut self, voiced: &[f64], unvoiced: f64) {
        if !self.started {
            let start = -((2 * self.bins) as f64).ln();
            for (k, likelihood) in voiced.iter().enumerate() {
                self.scores[0][k] = start + likelihood;
                self.scores[1][k] = start + unvoiced;
            }
            self.started = true;
            self.remember_alive(voiced, unvoiced);
            return;
        }
        V::vectorize(StepTask {
            lattice: self,
            voiced,
            unvoiced,
        });
    }

    #[inline(always)]
    fn advance(&mut self, voiced: &[f64], unvoiced: f64) {
        let bins = self.bins;
        let reach = self.kernel.len() / 2;
        let state = self.best_state();
        let top = (self.scores[state / bins][state % bins], state);
        for voicing in 0..2 {
            let bordered = &mut self.bordered[voicing][reach..reach + bins];
            for ((slot, score), normaliser) in bordered
                .iter_mut()
                .zip(&self.scores[voicing])
                .zip(&self.normaliser)
            {
                *slot = score + normaliser;
            }
            let bordered = &self.bordered[voicing];
            let (best, origin) = (&mut self.best[voicing], &mut self.origin[voicing]);
            // Voiced and unvoiced state of a bin were reached from the same places, at costs that
            // differ by the switch. Where the last frame called one impossible and not the other,
            // the other is ahead by hundreds: the impossible one is nobody's best origin.
            if voicing == 0 && self.unvoiced_alive {
                origins_of_alive(bordered, &self.kernel, &self.alive, best, origin);
            } else {
                best_origins(bordered, &self.kernel, best, origin);
            }
        }
        let jump = (top.0 + impossible(), top.1 as u32);
        let at = self.origins.len();
        self.origins.resize(at + 2 * bins, 0);
        for to in 0..2 {
            // The state's own voicing costs `stay`, the other `switch`.
            let costs = if to == 0 {
                [self.stay, self.switch]
            } else {
                [self.switch, self.stay]
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
                (bins as u32, reach as u32),
                &self.likelihood,
                &mut self.scores[to],
                &mut self.arrivals,
            );
            self.origins[at + to * bins..][..bins].copy_from_slice(&self.arrivals[..bins]);
        }
        self.remember_alive(voiced, unvoiced);
    }

    #[inline(always)]
    fn remember_alive(&mut self, voiced: &[f64], unvoiced: f64) {
        let alive = impossible() / 2.0;
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
        let mut path = vec![self.best_state()];
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
            let mut path = vec![self.best_state()];
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

    /// The state with the best score, the voiced and lower ones first.
    #[inline(always)]
    fn best_state(&self) -> usize {
        let mut tops = [f64::NEG_INFINITY; GROUP];
        for scores in &self.scores {
            for scores in scores.as_chunks::<GROUP>().0 {
                for (top, score) in tops.iter_mut().zip(scores) {
                    *top = if *score > *top { *score } else { *top };
                }
            }
        }
        let best = tops.into_iter().fold(f64::NEG_INFINITY, f64::max);
        let place = |scores: &[f64]| scores[..self.bins].iter().position(|score| *score >= best);
        place(&self.scores[0])
            .or_else(|| place(&self.scores[1]).map(|k| self.bins + k))
            .unwrap_or(0)
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
    best: [&[f64]; 2],
    origin: [&[u16]; 2],
    costs: [f64; 2],
    jump: (f64, u32),
    (bins, reach): (u32, u32),
    likelihood: &[f64],
    scores: &mut [f64],
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
            let base = ((group * GROUP + lane) as u32).wrapping_sub(reach);
            let unvoiced = from_unvoiced > from_voiced;
            let mut score = if unvoiced { from_unvoiced } else { from_voiced };
            let mut from = base.wrapping_add(if unvoiced {
                bins + u32::from(origin[1][group][lane])
            } else {
                u32::from(origin[0][group][lane])
            });
            let jumped = jump.0 > score;
            score = if jumped { jump.0 } else { score };
            from = if jumped { jump.1 } else { from };
            scores[lane] = score + likelihood[group][lane];
            arrivals[lane] = from as u16;
        }
    }
}

/// As [`best_origins`], from the `alive` states alone: few voiced states are candidates of a frame.
#[inline(always)]
fn origins_of_alive(
    bordered: &[f64],
    kernel: &[f64],
    alive: &[usize],
    best: &mut [f64],
    origin: &mut [u16],
) {
    best.fill(f64::NEG_INFINITY);
    let reach = kernel.len() / 2;
    for &k in alive {
        let score = bordered[reach + k];
        let low = k.saturating_sub(reach);
        let high = (k + reach + 1).min(best.len());
        for j in low..high {
            let offset = k + reach - j;
            let candidate = score + kernel[offset];
            if candidate > best[j] {
                best[j] = candidate;
                origin[j] = offset as u16;
            }
        }
    }
}

/// For each bin the best of `bordered[j + offset] + kernel[offset]`, and the first offset that
/// reaches it.
#[inline(always)]
fn best_origins(bordered: &[f64], kernel: &[f64], best: &mut [f64], origin: &mut [u16]) {
    let (best, _) = best.as_chunks_mut::<GROUP>();
    let (origin, _) = origin.as_chunks_mut::<GROUP>();
    for (group, (best, origin)) in best.iter_mut().zip(origin).enumerate() {
        let mut top = [f64::NEG_INFINITY; GROUP];
        let mut from = [0u64; GROUP];
        for (offset, weight) in kernel.iter().enumerate() {
            let scores = &bordered[group * GROUP + offset..][..GROUP];
            for lane in 0..GROUP {
                let score = scores[lane] + weight;
                let better = score > top[lane];
                top[lane] = if better { score } else { top[lane] };
                from[lane] = if better { offset as u64 } else { from[lane] };
            }
        }
        *best = top;
        for lane in 0..GROUP {
            origin[lane] = from[lane] as u16;
        }
    }
}

struct StepTask<'a> {
    lattice: &'a mut Lattice,
    voiced: &'a [f64],
    unvoiced: f64,
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
    use crate::lanes::One;

    fn transition(lattice: &Lattice, from: usize, to: usize) -> f64 {
        let (bins, reach) = (lattice.bins, lattice.kernel.len() / 2);
        let (k, j) = (from % bins, to % bins);
        if k.abs_diff(j) > reach {
            return impossible();
        }
        let voicing = if from / bins == to / bins {
            lattice.stay
        } else {
            lattice.switch
        };
        lattice.kernel[j + reach - k] + lattice.normaliser[k] + voicing
    }

    fn likelihood(frame: &(Vec<f64>, f64), state: usize) -> f64 {
        frame.0.get(state).copied().unwrap_or(frame.1)
    }

    fn score_of(lattice: &Lattice, path: &[usize], frames: &[(Vec<f64>, f64)]) -> f64 {
        let start = -((2 * lattice.bins) as f64).ln() + likelihood(&frames[0], path[0]);
        let steps = path.windows(2).zip(&frames[1..]);
        steps.fold(start, |score, (step, frame)| {
            score + transition(lattice, step[0], step[1]) + likelihood(frame, step[1])
        })
    }

    /// The definition: the best score over every state to every state.
    fn best_score(lattice: &Lattice, frames: &[(Vec<f64>, f64)]) -> f64 {
        let states = 2 * lattice.bins;
        let start = -(states as f64).ln();
        let mut scores: Vec<f64> = (0..states)
            .map(|state| start + likelihood(&frames[0], state))
            .collect();
        for frame in &frames[1..] {
            scores = (0..states)
                .map(|to| {
                    let best = (0..states)
                        .map(|from| scores[from] + transition(lattice, from, to))
                        .fold(f64::NEG_INFINITY, f64::max);
                    best + likelihood(frame, to)
                })
                .collect();
        }
        scores.into_iter().fold(f64::NEG_INFINITY, f64::max)
    }

    #[test]
    fn the_local_search_finds_a_path_as_good_as_the_full_search() {
        let (bins, reach) = (37, 4);
        let mut seed = 1u64;
        let mut random = || {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (seed >> 11) as f64 / (1u64 << 53) as f64
        };
        for _ in 0..20 {
            let frames: Vec<(Vec<f64>, f64)> = (0..30)
                .map(|_| {
                    let mut voiced = vec![impossible(); bins];
                    for _ in 0..3 {
                        voiced[(random() * bins as f64) as usize] = random().ln();
                    }
                    (voiced, (random() / bins as f64).ln())
                })
                .collect();
            let mut lattice = Lattice::new(bins, reach, 0.01, frames.len());
            for (voiced, unvoiced) in &frames {
                lattice.step::<One>(voiced, *unvoiced);
            }
            let found = score_of(&lattice, &lattice.path(), &frames);
            assert!((found - best_score(&lattice, &frames)).abs() < 1e-9);
        }
    }

    #[test]
    fn settled_frames_are_those_of_the_whole_path_and_memory_is_bounded() {
        let (bins, reach) = (37, 4);
        let mut seed = 7u64;
        let mut random = || {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (seed >> 11) as f64 / (1u64 << 53) as f64
        };
        let mut whole = Lattice::new(bins, reach, 0.01, 0);
        let mut live = Lattice::new(bins, reach, 0.01, 0);
        let (mut settled, mut early) = (Vec::new(), 0);
        for frame in 0..600usize {
            let mut voiced = vec![impossible(); bins];
            let place = (18.0 + 15.0 * (frame as f64 / 40.0).sin()) as usize;
            let strength = if frame % 100 < 70 { 0.9 } else { 1e-6 };
            voiced[place] = (strength * (0.5 + 0.5 * random())).ln();
            let unvoiced = ((1.0 - strength) / bins as f64).ln();
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
            idle.step::<One>(&vec![impossible(); bins], 0.0);
            if frame % 16 == 0 {
                count += idle.settle(64).len();
                assert!(idle.origins.len() <= (64 + 16) * 2 * bins);
            }
        }
        assert_eq!(count + idle.path().len(), 500);
    }
}
