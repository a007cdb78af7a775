//! What becomes of the network's answers: the likeliest way through the pitches of neighbouring frames, and beside it
//! that through voiced and unvoiced ones.
//!
//! Frame by frame the likeliest pitch is now and then an octave off in noise. A frame keeps its best few maxima, and
//! is decided [`LATER`] frames later, at the end of the way with the highest sum so far. So pieces of a sound give the
//! bits of the whole, and no answer is later than that.

use std::collections::VecDeque;

use warpsmith_lanes::exp;

use super::tables::{LOWEST, PER_OCTAVE, PITCHES};
use super::track::places_of;
use super::voicing::VoicingPath;
use crate::pitch::PitchRange;

/// Frames after which a frame is decided: 50 ms. With 10 or 20 recordings in English and French gained nothing.
const LATER: usize = 5;
/// Maxima of a frame that are kept.
const KEPT: usize = 4;
/// What a way pays to an octave of a jump, in logits, and at most: another voice may begin anywhere.
const JUMP: f32 = 16.0;
const FARTHEST: f32 = 16.0;
/// Pitches on either side of a maximum whose mean is taken.
const AROUND: usize = 2;
/// A frame that is not decided.
struct Waiting {
    /// Places of its maxima, the likeliest first, and the maximum of the frame before that each comes from.
    maxima: Vec<usize>,
    from: Vec<usize>,
    /// The pitch of each, Hz.
    hertz: Vec<f32>,
    voiced: f32,
}

impl Waiting {
    /// Surely no pitch, as in digital silence: any way may begin or end there.
    fn is_nothing(&self) -> bool {
        self.voiced <= 0.0
    }
}

/// A decision: the pitch of a frame, how sure it is that there is one, and whether there is.
pub(super) struct Decision {
    pub(super) hertz: f32,
    pub(super) voiced: f32,
    pub(super) sounds: bool,
}

/// Decides frame after frame.
pub(super) struct PitchPath {
    places: (usize, usize),
    voicing: VoicingPath,
    waiting: VecDeque<Waiting>,
    /// The best sums to the last frame's maxima.
    scores: Vec<f32>,
}

impl PitchPath {
    /// For pitches of a range; a threshold of 0 makes every frame sound.
    pub(super) fn new(range: PitchRange, threshold: f32) -> Self {
        Self {
            places: places_of(range),
            voicing: VoicingPath::new(threshold),
            waiting: VecDeque::new(),
            scores: Vec::new(),
        }
    }

    /// Takes the logits of a frame's pitches and how sure it is that there is one; decides an earlier frame.
    pub(super) fn step(&mut self, pitches: &[f32], voiced: f32) -> Option<Decision> {
        let mut frame = self.of_frame(pitches, voiced);
        let mut scores: Vec<f32> = frame.maxima.iter().map(|at| pitches[*at]).collect();
        if let Some(last) = self.waiting.back() {
            let free = frame.is_nothing() || last.is_nothing();
            let maxima = frame.maxima.iter().zip(&mut scores);
            for ((to, score), from) in maxima.zip(&mut frame.from) {
                let mut best = (f32::NEG_INFINITY, 0);
                for (n, (place, before)) in last.maxima.iter().zip(&self.scores).enumerate() {
                    let octaves = to.abs_diff(*place) as f32 / PER_OCTAVE as f32;
                    let cost = if free { 0.0 } else { JUMP * octaves };
                    let sum = before - cost.min(FARTHEST);
                    if sum > best.0 {
                        best = (sum, n);
                    }
                }
                *score += best.0;
                *from = best.1;
            }
        }
        // Sums stay small, however long the sound is.
        let most = scores.iter().copied().fold(f32::NEG_INFINITY, f32::max);
        scores.iter_mut().for_each(|score| *score -= most);
        self.scores = scores;
        self.waiting.push_back(frame);
        self.voicing.step(voiced);
        (self.waiting.len() > LATER)
            .then(|| self.decide())
            .flatten()
    }

    /// Decides the next frame that is left when there are no more.
    pub(super) fn finish(&mut self) -> Option<Decision> {
        self.decide()
    }

    fn decide(&mut self) -> Option<Decision> {
        let best = |a: &usize, b: &usize| self.scores[*b].total_cmp(&self.scores[*a]);
        let mut at = (0..self.scores.len()).min_by(best).unwrap_or(0);
        for frame in self.waiting.iter().skip(1).rev() {
            at = frame.from[at];
        }
        let frame = self.waiting.pop_front()?;
        Some(Decision {
            hertz: frame.hertz[at],
            voiced: frame.voiced,
            sounds: self.voicing.decide(),
        })
    }

    /// The likeliest maxima of a frame in the range, at least one.
    fn of_frame(&self, pitches: &[f32], voiced: f32) -> Waiting {
        let (low, high) = self.places;
        if voiced <= 0.0 {
            return Waiting {
                maxima: vec![high],
                from: vec![0],
                hertz: vec![hertz_at(high as f64)],
                voiced,
            };
        }
        let is_maximum = |at: &usize| {
            (*at == low || pitches[*at] >= pitches[at - 1])
                && (*at == high || pitches[*at] > pitches[at + 1])
        };
        let mut found: Vec<usize> = (low..=high).filter(is_maximum).collect();
        found.sort_by(|a, b| pitches[*b].total_cmp(&pitches[*a]));
        found.truncate(KEPT);
        if found.is_empty() {
            // Numbers that compare with nothing.
            found.push(high);
        }
        Waiting {
            from: vec![0; found.len()],
            hertz: found.iter().map(|at| hertz(pitches, *at)).collect(),
            maxima: found,
            voiced,
        }
    }
}

fn hertz_at(place: f64) -> f32 {
    (LOWEST * (place / PER_OCTAVE).exp2()) as f32
}

/// The mean of the pitches around a maximum, Hz.
fn hertz(pitches: &[f32], at: usize) -> f32 {
    let (mut weight, mut place) = (0.0, 0.0);
    for n in at.saturating_sub(AROUND)..=(at + AROUND).min(PITCHES - 1) {
        let chance = f64::from(exp(pitches[n] - pitches[at]));
        weight += chance;
        place += chance * n as f64;
    }
    hertz_at(place / weight)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Logits with tops of a height each, over two places on either side.
    fn tops(of: &[(usize, f32)]) -> Vec<f32> {
        (0..PITCHES)
            .map(|n| {
                let near = of
                    .iter()
                    .map(|(at, height)| height - n.abs_diff(*at) as f32);
                near.fold(-9.0, f32::max)
            })
            .collect()
    }

    fn decisions(frames: &[(Vec<f32>, f32)], threshold: f32) -> Vec<Decision> {
        let mut path = PitchPath::new(PitchRange::VOICE, threshold);
        let mut all = Vec::new();
        for (n, (pitches, voiced)) in frames.iter().enumerate() {
            let decided = path.step(pitches, *voiced);
            assert_eq!(decided.is_some(), n >= LATER);
            all.extend(decided);
        }
        all.extend(std::iter::from_fn(|| path.finish()));
        assert_eq!(all.len(), frames.len());
        all
    }

    #[test]
    fn a_frame_whose_octave_is_a_little_likelier_stays_on_the_way() {
        let frame = |n| match n {
            7 | 8 => tops(&[(30, 2.0), (54, 3.0)]),
            _ => tops(&[(30, 3.0), (54, 1.0)]),
        };
        let frames: Vec<_> = (0..20).map(|n| (frame(n), 1.0)).collect();
        let found = decisions(&frames, 0.3);
        let truth = (LOWEST * (30.0 / PER_OCTAVE).exp2()) as f32;
        assert!(
            found
                .iter()
                .all(|one| (one.hertz / truth - 1.0).abs() < 0.01)
        );
        // Another voice begins where it is much likelier, and for longer.
        let frame = |n| tops(&[(if n < 10 { 20 } else { 80 }, 9.0)]);
        let frames: Vec<_> = (0..20).map(|n| (frame(n), 1.0)).collect();
        let found = decisions(&frames, 0.3);
        assert!(found[9].hertz < 110.0 && found[10].hertz > 500.0);
    }

    #[test]
    fn a_doubtful_frame_sounds_where_its_neighbours_do() {
        let voiced = [0.1, 0.1, 0.6, 0.1, 0.9, 0.9, 0.25, 0.9, 0.9, 0.1, 0.1];
        let frames: Vec<_> = voiced.map(|voiced| (tops(&[(30, 3.0)]), voiced)).into();
        let sounds = |threshold| -> Vec<bool> {
            let found = decisions(&frames, threshold);
            found.iter().map(|one| one.sounds).collect()
        };
        let usual: Vec<bool> = (0..voiced.len()).map(|n| (4..9).contains(&n)).collect();
        assert_eq!(sounds(0.4), usual);
        assert!(sounds(0.0).iter().all(|sounds| *sounds));
        assert!(!sounds(1.0).contains(&true));
    }

    #[test]
    fn numbers_that_compare_with_nothing_do_not_stop_it() {
        let frames = vec![(vec![f32::NAN; PITCHES], f32::NAN); 7];
        assert!(decisions(&frames, 0.3).iter().all(|one| !one.sounds));
    }
}
