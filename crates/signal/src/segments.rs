//! From decisions per frame to stretches of speech.

use serde::{Deserialize, Serialize};

/// A stretch of speech, seconds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Segment {
    /// Where it starts.
    pub start: f64,
    /// Where it ends.
    pub end: f64,
}

/// What is done to the edges and gaps of raw decisions, in frames.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Bridging {
    /// Pauses up to this length are filled.
    pub gap: usize,
    /// Speech is widened by this on both sides.
    pub pad: usize,
    /// Speech shorter than this is dropped, before anything is widened.
    pub shortest: usize,
}

impl Bridging {
    /// Fills, widens and drops.
    pub fn apply(&self, decisions: &[bool]) -> Vec<bool> {
        let mut runs = runs(decisions);
        let mut bridged: Vec<(usize, usize)> = Vec::new();
        for (start, end) in runs.drain(..) {
            match bridged.last_mut() {
                Some(last) if start - last.1 <= self.gap => last.1 = end,
                _ => bridged.push((start, end)),
            }
        }
        let mut out = vec![false; decisions.len()];
        for (start, end) in bridged {
            if end - start >= self.shortest {
                let from = start.saturating_sub(self.pad);
                out[from..(end + self.pad).min(decisions.len())].fill(true);
            }
        }
        out
    }
}

/// First frame and one past the last of each stretch of `true`.
fn runs(decisions: &[bool]) -> Vec<(usize, usize)> {
    let mut runs = Vec::new();
    let mut start = None;
    for (frame, speech) in decisions.iter().chain(&[false]).enumerate() {
        match (start, speech) {
            (None, true) => start = Some(frame),
            (Some(from), false) => {
                runs.push((from, frame));
                start = None;
            }
            _ => {}
        }
    }
    runs
}

/// The stretches of speech, with frames `hop_seconds` apart.
pub fn segments(decisions: &[bool], hop_seconds: f64) -> Vec<Segment> {
    runs(decisions)
        .into_iter()
        .map(|(start, end)| Segment {
            start: start as f64 * hop_seconds,
            end: end as f64 * hop_seconds,
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Vec<bool> {
        text.chars().map(|c| c == '#').collect()
    }

    #[test]
    fn short_gaps_are_filled_short_bursts_dropped_edges_widened() {
        let bridging = Bridging {
            gap: 2,
            pad: 1,
            shortest: 3,
        };
        let out = bridging.apply(&parse("..##..##......#....."));
        assert_eq!(out, parse(".########..........."));
        assert!(bridging.apply(&[]).is_empty());
        assert_eq!(bridging.apply(&parse("###")), parse("###"));
    }

    #[test]
    fn segments_end_where_speech_ends_even_at_the_last_frame() {
        let found = segments(&parse(".##..#"), 0.5);
        let expected = [(0.5, 1.5), (2.5, 3.0)].map(|(start, end)| Segment { start, end });
        assert_eq!(found, expected);
    }
}
