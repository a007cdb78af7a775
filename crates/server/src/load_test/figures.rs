//! What the listeners of a load test saw.

use serde::{Deserialize, Serialize};
use warpsmith_core::{Finding, Severity};
use warpsmith_measure::statistics::quantile::type7;

use crate::protocol::Continuity;

/// Quantiles of times, in milliseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Spread {
    /// Median.
    pub p50: f64,
    /// 99 of 100 are at most this.
    pub p99: f64,
    /// 999 of 1000 are.
    pub p999: f64,
    /// The largest.
    pub max: f64,
}

impl Spread {
    /// Of seconds; zero for none.
    pub fn of(mut seconds: Vec<f32>) -> Self {
        seconds.sort_by(f32::total_cmp);
        let sorted: Vec<f64> = seconds.iter().map(|s| f64::from(*s) * 1e3).collect();
        let at = |share| match sorted.is_empty() {
            true => 0.0,
            false => type7(&sorted, share),
        };
        Self {
            p50: at(0.5),
            p99: at(0.99),
            p999: at(0.999),
            max: at(1.0),
        }
    }
}

/// All listeners together.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Figures {
    /// Listeners requested.
    pub clients: usize,
    /// Listeners that played to the end.
    pub played_to_the_end: usize,
    /// What went wrong with the others, at most a few.
    pub failures: Vec<String>,
    /// Time that each played.
    pub seconds: f64,
    /// How many times as fast as a sound card.
    pub speed: f64,
    /// Audio frames received.
    pub frames: u64,
    /// Sample pairs received.
    pub samples: u64,
    /// Bytes received.
    pub bytes: u64,
    /// Arrival of a frame after the tick of the listener's own clock that requested it.
    pub lateness_ms: Spread,
    /// Distance between two frames, less the length of a frame, without its sign.
    pub jitter_ms: Spread,
    /// From the start of connecting to the first byte of audio.
    pub connect_to_audio_ms: Spread,
    /// From sending hello to the first byte of audio.
    pub first_byte_ms: Spread,
    /// Times that a listener had nothing to play.
    pub underruns: u64,
    /// Sample pairs that it lacked.
    pub underrun_samples: u64,
    /// Sequence numbers that did not follow.
    pub sequence_gaps: u64,
    /// Positions that did not follow.
    pub breaks: u64,
    /// Samples of tag streams that were not where they belong.
    pub wrong_tags: u64,
    /// Streams that were rendered a second time and compared: byte by byte, or to a 16-bit step where
    /// a GPU renders the voices.
    pub compared_streams: usize,
    /// Samples of those that differed.
    pub wrong_samples: u64,
    /// Processor time of all listeners.
    pub client_cpu_seconds: f64,
}

impl Figures {
    pub(super) fn add(&mut self, seen: &Continuity) {
        self.frames += seen.frames;
        self.samples += seen.samples;
        self.sequence_gaps += seen.sequence_gaps;
        self.breaks += seen.breaks;
        self.wrong_tags += seen.wrong_tags;
    }

    /// Samples lost, repeated or torn, and silence.
    pub fn faults(&self) -> u64 {
        self.underruns + self.sequence_gaps + self.breaks + self.wrong_tags + self.wrong_samples
    }

    /// What is not fine.
    pub fn findings(&self) -> Vec<Finding> {
        let mut findings = Vec::new();
        if self.faults() > 0 {
            findings.push(
                Finding::new("W012", Severity::Error, "listeners heard gaps")
                    .because("times with nothing to play", self.underruns.to_string())
                    .because("breaks in positions", self.breaks.to_string())
                    .because(
                        "wrong samples",
                        (self.wrong_tags + self.wrong_samples).to_string(),
                    )
                    .hint("longer frames (`--frame-ms`), fewer listeners, or an idle machine"),
            );
        }
        if self.played_to_the_end < self.clients {
            let failed = self.clients - self.played_to_the_end;
            let mut finding = Finding::new(
                "W012",
                Severity::Error,
                format!("{failed} listeners did not play to the end"),
            );
            for failure in &self.failures {
                finding = finding.because("a listener", failure);
            }
            findings.push(finding);
        }
        findings
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fault_is_a_finding() {
        let mut figures = Figures {
            clients: 3,
            played_to_the_end: 3,
            ..Figures::default()
        };
        assert!(figures.findings().is_empty());
        figures.breaks = 1;
        figures.played_to_the_end = 2;
        assert_eq!(figures.findings().len(), 2);
    }

    #[test]
    fn spreads_are_in_milliseconds() {
        let spread = Spread::of((0..=1000).map(|ms| ms as f32 / 1000.0).collect());
        assert!((spread.p50 - 500.0).abs() < 0.1 && (spread.p99 - 990.0).abs() < 0.1);
        assert_eq!(Spread::of(Vec::new()), Spread::default());
    }
}
