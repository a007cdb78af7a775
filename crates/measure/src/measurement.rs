//! A measurement: raw samples in the order taken, with the conditions under which they were taken.
//!
//! Invariants: figures are derived on demand and never stored without their samples; samples are
//! never deleted, only tagged, and a reader is told which of them a figure rests on.

use serde::{Deserialize, Serialize};

use crate::statistics::rounds::{RoundsInterval, combine};
use crate::statistics::stop_rule::StopReason;
use crate::statistics::summary::Summary;

/// One timed run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sample {
    /// Elapsed time of one call, with the cost of timing taken off.
    pub seconds: f64,
    /// CPU time of one call, where it was read.
    pub cpu_seconds: Option<f64>,
    /// The scheduler took the core away during the sample.
    pub preempted: bool,
}

/// How samples were taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SampleMode {
    /// A closure on this thread.
    CpuClosure,
    /// A process from spawn to exit.
    Command,
    /// Device events behind a blocking kernel, L2 flushed before each sample.
    GpuCold,
    /// Device events behind a blocking kernel, caches as the last run left them.
    GpuHot,
    /// Many launches between two events; each sample is their mean.
    GpuBatch,
    /// Replays of a captured graph.
    GpuGraph,
    /// Host clock around launch and synchronisation.
    EndToEnd,
    /// One step of a trajectory after another.
    Trajectory,
    /// Read from a file that another tool wrote.
    Imported,
}

/// What a number depends on besides the code.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Conditions {
    /// How samples were taken.
    pub mode: SampleMode,
    /// Calls per sample; each sample is their mean.
    pub inner_count: u64,
    /// Taken off every sample for the cost of timing.
    pub overhead_seconds: f64,
    /// Why sampling stopped.
    pub stop: StopReason,
    /// Share of the time that the hypervisor gave to others, where the system says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub steal_share: Option<f64>,
    /// The device that ran it, e.g. `cpu` or a GPU's name.
    pub device: String,
}

/// Which samples a figure rests on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Basis {
    /// Every sample: none is tagged.
    AllSamples,
    /// The samples that were not pre-empted.
    Undisturbed,
    /// CPU time, because too few samples were undisturbed.
    CpuTime,
    /// Every sample although most were pre-empted: there is no CPU time to fall back on.
    Disturbed,
}

/// Raw samples and conditions of one thing that was run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Measurement {
    /// What was run.
    pub name: String,
    /// Elapsed seconds per call, in the order taken.
    pub seconds: Vec<f64>,
    /// CPU seconds per call; empty where they were not read.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub cpu_seconds: Vec<f64>,
    /// Indices of samples that were pre-empted, rising.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub preempted: Vec<usize>,
    /// SM clock during each sample in MHz; empty where it was not read.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub clock_mhz: Vec<f32>,
    /// Where each round begins; the first is 0.
    pub round_starts: Vec<usize>,
    /// How the samples were taken.
    pub conditions: Conditions,
}

/// What a measurement says.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Figures {
    /// Which samples the figures rest on.
    pub basis: Basis,
    /// Everything that is said about them.
    pub summary: Summary,
    /// The answer: the median with its interval over the rounds.
    pub interval: RoundsInterval,
}

impl Measurement {
    /// A measurement without samples yet.
    pub fn empty(name: impl Into<String>, conditions: Conditions) -> Self {
        Self {
            name: name.into(),
            seconds: Vec::new(),
            cpu_seconds: Vec::new(),
            preempted: Vec::new(),
            clock_mhz: Vec::new(),
            round_starts: vec![0],
            conditions,
        }
    }

    /// Samples that came from elsewhere.
    pub fn imported(name: impl Into<String>, seconds: Vec<f64>) -> Self {
        let conditions = Conditions {
            mode: SampleMode::Imported,
            inner_count: 1,
            overhead_seconds: 0.0,
            stop: StopReason::Imported,
            steal_share: None,
            device: "unknown".to_owned(),
        };
        Self {
            seconds,
            ..Self::empty(name, conditions)
        }
    }

    /// Appends a sample to the current round.
    pub fn push(&mut self, sample: Sample) {
        if sample.preempted {
            self.preempted.push(self.seconds.len());
        }
        self.seconds.push(sample.seconds);
        if let Some(cpu) = sample.cpu_seconds {
            self.cpu_seconds.push(cpu);
        }
    }

    /// Begins a new round at the next sample.
    pub fn begin_round(&mut self) {
        let next = self.seconds.len();
        if self.round_starts.last() != Some(&next) {
            self.round_starts.push(next);
        }
    }

    /// The samples that figures rest on, with the starts of the rounds among them.
    ///
    /// Undisturbed samples where at least 30 % are, else CPU time, else all with that said.
    pub fn basis(&self) -> (Basis, Vec<f64>, Vec<usize>) {
        let n = self.seconds.len();
        if self.preempted.is_empty() {
            let starts = self.round_starts.clone();
            return (Basis::AllSamples, self.seconds.clone(), starts);
        }
        if (n - self.preempted.len()) * 10 < n * 3 {
            let starts = self.round_starts.clone();
            return if self.cpu_seconds.len() == n {
                (Basis::CpuTime, self.cpu_seconds.clone(), starts)
            } else {
                (Basis::Disturbed, self.seconds.clone(), starts)
            };
        }
        let mut tagged = self.preempted.iter().copied().peekable();
        let mut kept = Vec::with_capacity(n - self.preempted.len());
        let mut starts = Vec::with_capacity(self.round_starts.len());
        let mut rounds = self.round_starts.iter().copied().peekable();
        for (index, seconds) in self.seconds.iter().enumerate() {
            while rounds.next_if_eq(&index).is_some() {
                starts.push(kept.len());
            }
            if tagged.next_if_eq(&index).is_none() {
                kept.push(*seconds);
            }
        }
        (Basis::Undisturbed, kept, starts)
    }

    /// Derives the figures; `None` without samples, or with one that is not finite.
    pub fn figures(&self) -> Option<Figures> {
        let (basis, samples, starts) = self.basis();
        Some(Figures {
            basis,
            summary: Summary::of(&samples)?,
            interval: combine(&samples, &starts, 0.05)?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with_preempted(total: usize, preempted: usize, cpu: bool) -> Measurement {
        let mut measurement = Measurement::imported("x", Vec::new());
        for i in 0..total {
            measurement.push(Sample {
                seconds: if i < preempted { 9.0 } else { 1.0 },
                cpu_seconds: cpu.then_some(0.9),
                preempted: i < preempted,
            });
        }
        measurement
    }

    #[test]
    fn undisturbed_samples_are_used_while_a_third_survive() {
        let (basis, samples, _) = with_preempted(10, 7, true).basis();
        assert_eq!((basis, samples), (Basis::Undisturbed, vec![1.0; 3]));
        let (basis, samples, _) = with_preempted(10, 8, true).basis();
        assert_eq!((basis, samples), (Basis::CpuTime, vec![0.9; 10]));
        let (basis, samples, _) = with_preempted(10, 8, false).basis();
        assert_eq!((basis, samples.len()), (Basis::Disturbed, 10));
        assert_eq!(with_preempted(5, 0, true).basis().0, Basis::AllSamples);
    }

    #[test]
    fn rounds_keep_their_places_when_tagged_samples_are_left_out() {
        let mut measurement = with_preempted(4, 1, false);
        measurement.begin_round();
        measurement.push(Sample {
            seconds: 2.0,
            cpu_seconds: None,
            preempted: false,
        });
        assert_eq!(measurement.round_starts, [0, 4]);
        let (_, samples, starts) = measurement.basis();
        assert_eq!(samples, [1.0, 1.0, 1.0, 2.0]);
        assert_eq!(starts, [0, 3]);
    }

    #[test]
    fn a_measurement_survives_json_with_every_sample() {
        let measurement = with_preempted(6, 2, true);
        let json = serde_json::to_string(&measurement).unwrap();
        assert_eq!(
            serde_json::from_str::<Measurement>(&json).unwrap(),
            measurement
        );
    }
}
