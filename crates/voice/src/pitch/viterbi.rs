//! The most likely path through voiced and unvoiced pitch bins.
//!
//! The transition from bin `k` to bin `j` is a triangle over `j − k`, normalised over what of it lies
//! inside the range; voicing changes independently. Both factors are local, so a step costs
//! `bins × width` instead of the square of all states. Transitions outside the triangle cost
//! `ln(f64::MIN_POSITIVE)`, as in librosa, whose every probability has that added.

use crate::lanes::{Lanes, Task};

/// `ln` of the smallest normal number: what an impossible step costs.
pub(super) fn impossible() -> f64 {
    f64::MIN_POSITIVE.ln()
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
    /// For every step after the first, where each state came from.
    origins: Vec<u16>,
    started: bool,
}

impl Lattice {
    /// Paths over `bins` bins that move by at most `reach` of them in a step.
    pub(super) fn new(bins: usize, reach: usize, switch_probability: f64) -> Self {
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
        let padded = bins.next_multiple_of(GROUP);
        let row = || vec![f64::NEG_INFINITY; padded];
        Self {
            bins,
            kernel: (0..width).map(|offset| triangle(offset).ln()).collect(),
            normaliser,
            stay: (1.0 - switch_probability).ln(),
            switch: switch_probability.ln(),
            scores: [row(), row()],
            bordered: [
                vec![f64::NEG_INFINITY; padded + 2 * reach],
                vec![f64::NEG_INFINITY; padded + 2 * reach],
            ],
            best: [row(), row()],
            origin: [vec![0; padded], vec![0; padded]],
            origins: Vec::new(),
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
        let mut top = (f64::NEG_INFINITY, 0usize);
        for voicing in 0..2 {
            for (k, score) in self.scores[voicing][..bins].iter().enumerate() {
                if *score > top.0 {
                    top = (*score, voicing * bins + k);
                }
            }
            let bordered = &mut self.bordered[voicing][reach..reach + bins];
            for ((slot, score), normaliser) in bordered
                .iter_mut()
                .zip(&self.scores[voicing])
                .zip(&self.normaliser)
            {
                *slot = score + normaliser;
            }
            best_origins(
                &self.bordered[voicing],
                &self.kernel,
                &mut self.best[voicing],
                &mut self.origin[voicing],
            );
        }
        let jump = top.0 + impossible();
        let at = self.origins.len();
        self.origins.resize(at + 2 * bins, 0);
        for to in 0..2 {
            // The state's own voicing costs `stay`, the other `switch`.
            let costs = if to == 0 {
                [self.stay, self.switch]
            } else {
                [self.switch, self.stay]
            };
            let origins = &mut self.origins[at + to * bins..][..bins];
            for (j, slot) in origins.iter_mut().enumerate() {
                let from_voiced = self.best[0][j] + costs[0];
                let from_unvoiced = self.best[1][j] + costs[1];
                let (mut score, mut origin) = if from_unvoiced > from_voiced {
                    (
                        from_unvoiced,
                        bins + j + usize::from(self.origin[1][j]) - reach,
                    )
                } else {
                    (from_voiced, j + usize::from(self.origin[0][j]) - reach)
                };
                if jump > score {
                    (score, origin) = (jump, top.1);
                }
                let likelihood = if to == 0 { voiced[j] } else { unvoiced };
                self.scores[to][j] = score + likelihood;
                *slot = origin as u16;
            }
        }
    }

    /// The most likely path, one state to a frame; empty where no frame was taken.
    pub(super) fn path(&self) -> Vec<usize> {
        if !self.started {
            return Vec::new();
        }
        let mut state = 0;
        let mut best = f64::NEG_INFINITY;
        for (voicing, scores) in self.scores.iter().enumerate() {
            for (k, score) in scores[..self.bins].iter().enumerate() {
                if *score > best {
                    (best, state) = (*score, voicing * self.bins + k);
                }
            }
        }
        let mut path = vec![state];
        for origins in self.origins.rchunks_exact(2 * self.bins) {
            state = usize::from(origins[state]);
            path.push(state);
        }
        path.reverse();
        path
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
            let mut lattice = Lattice::new(bins, reach, 0.01);
            for (voiced, unvoiced) in &frames {
                lattice.step::<One>(voiced, *unvoiced);
            }
            let found = score_of(&lattice, &lattice.path(), &frames);
            assert!((found - best_score(&lattice, &frames)).abs() < 1e-9);
        }
    }
}
