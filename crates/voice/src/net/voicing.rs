//! Whether frames are voiced: the likeliest way through voiced and unvoiced ones.
//!
//! Frame by frame the decision flickers in noise. Here a change costs something, so that a doubtful frame goes with
//! those around it. A frame is decided some frames later, at the end of the likelier way so far: pieces of a sound
//! give the bits of the whole.

use std::collections::VecDeque;

/// What a change from voiced to unvoiced or back costs, in logits: chosen on recordings in English and French, which
/// the training had not heard.
const CHANGE: f32 = 3.0;
/// No frame is surer than this, in logits.
const SUREST: f32 = 12.0;

fn logit(probability: f32) -> f32 {
    let odds = probability / (1.0 - probability);
    // What compares with nothing is not voiced.
    if odds > 0.0 {
        odds.ln().clamp(-SUREST, SUREST)
    } else {
        -SUREST
    }
}

/// Decides frame after frame.
pub(super) struct VoicingPath {
    /// The logit from which on a frame by itself is voiced.
    least: f32,
    /// The best sums to the last frame, unvoiced and voiced.
    scores: [f32; 2],
    /// Of each frame that waits whether the best ways to it, unvoiced and voiced, were voiced before.
    voiced_before: VecDeque<[bool; 2]>,
}

impl VoicingPath {
    /// A threshold of 0 makes every frame voiced, one of 1 none.
    pub(super) fn new(threshold: f32) -> Self {
        Self {
            least: if threshold > 0.0 {
                logit(threshold)
            } else {
                -2.0 * SUREST
            },
            scores: [0.0; 2],
            voiced_before: VecDeque::new(),
        }
    }

    /// Takes how sure the next frame is that it is voiced.
    pub(super) fn step(&mut self, voiced: f32) {
        let [unvoiced_sum, voiced_sum] = self.scores;
        let before = [
            voiced_sum - CHANGE > unvoiced_sum,
            voiced_sum >= unvoiced_sum - CHANGE,
        ];
        let to_unvoiced = unvoiced_sum.max(voiced_sum - CHANGE);
        let to_voiced = voiced_sum.max(unvoiced_sum - CHANGE) + logit(voiced) - self.least;
        // Sums stay small, however long the sound is.
        let most = to_unvoiced.max(to_voiced);
        self.scores = [to_unvoiced - most, to_voiced - most];
        self.voiced_before.push_back(before);
    }

    /// Decides the frame that waits longest.
    pub(super) fn decide(&mut self) -> bool {
        let mut voiced = self.scores[1] > self.scores[0];
        for before in self.voiced_before.iter().skip(1).rev() {
            voiced = before[usize::from(voiced)];
        }
        self.voiced_before.pop_front();
        voiced
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// All frames decided `later` frames after they came.
    fn decisions(threshold: f32, later: usize, frames: &[f32]) -> Vec<bool> {
        let mut path = VoicingPath::new(threshold);
        let mut decided = Vec::new();
        for (n, voiced) in frames.iter().enumerate() {
            path.step(*voiced);
            if n >= later {
                decided.push(path.decide());
            }
        }
        while decided.len() < frames.len() {
            decided.push(path.decide());
        }
        decided
    }

    /// The likeliest of all ways, one by one.
    fn best_of_all(threshold: f32, frames: &[f32]) -> Vec<bool> {
        let score = |way: u32| -> f32 {
            let voiced = |n: usize| way >> n & 1 == 1;
            let gains = frames.iter().enumerate().filter(|(n, _)| voiced(*n));
            let gains: f32 = gains.map(|(_, p)| logit(*p) - logit(threshold)).sum();
            let changes = (1..frames.len()).filter(|n| voiced(*n) != voiced(n - 1));
            gains - CHANGE * changes.count() as f32
        };
        let ways = 0..1u32 << frames.len();
        let best = ways.max_by(|a, b| score(*a).total_cmp(&score(*b)));
        let best = best.expect("a way");
        (0..frames.len()).map(|n| best >> n & 1 == 1).collect()
    }

    #[test]
    fn it_is_the_likeliest_of_all_ways() {
        let mut state = 1u32;
        for threshold in [0.3, 0.5, 0.7] {
            for _ in 0..20 {
                let frames: [f32; 10] = std::array::from_fn(|_| {
                    state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                    (state >> 8) as f32 / (1 << 24) as f32
                });
                assert_eq!(
                    decisions(threshold, frames.len(), &frames),
                    best_of_all(threshold, &frames),
                    "{threshold} {frames:?}"
                );
            }
        }
    }

    #[test]
    fn a_doubtful_frame_goes_with_its_neighbours() {
        let frames = [0.1, 0.1, 0.7, 0.1, 0.1, 0.9, 0.9, 0.3, 0.9, 0.9, 0.1, 0.1];
        let expected: Vec<bool> = (0..frames.len()).map(|n| (5..10).contains(&n)).collect();
        assert_eq!(decisions(0.5, 5, &frames), expected);
        // Sure ones change it even alone.
        let frames = [0.01, 0.01, 0.999, 0.01, 0.01];
        assert_eq!(
            decisions(0.5, 5, &frames),
            [false, false, true, false, false]
        );
    }

    #[test]
    fn thresholds_of_0_and_1_decide_everything() {
        let frames = [0.0, 1.0, 0.5, 1.0, 0.0, 1e-9];
        assert!(decisions(0.0, 2, &frames).iter().all(|voiced| *voiced));
        assert!(!decisions(1.0, 2, &frames).contains(&true));
        assert!(!decisions(0.3, 2, &[f32::NAN; 6]).contains(&true));
    }
}
