//! A measurement: raw samples in the order taken, with the conditions under which they were taken.
//!
//! Invariants: figures are derived on demand and never stored without their samples; samples are
//! never deleted, only tagged, and a reader is told which of them a figure rests on.

use serde::{Deserialize, Serialize};

use crate::comparison::clock::Bound;
use crate::cpu::machine_probe::MachineSpeed;
use crate::device_state::{DeviceSamples, DeviceState};
use crate::statistics::order::{MAD_TO_SIGMA, mad_about, median_of};
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
    /// Time neither on a core nor in the queue for one (sleep, I/O, a device), where both were
    /// read.
    pub waited_seconds: Option<f64>,
    /// The scheduler took the core away during the sample.
    pub preempted: bool,
    /// Mean clock of the device during the sample, where it was read.
    pub clock_mhz: Option<f32>,
    /// When it was taken, in seconds since 1970, where others read the device meanwhile.
    pub taken_at: Option<f64>,
}

impl Sample {
    /// A sample of which nothing but the time is known.
    pub fn of_seconds(seconds: f64) -> Self {
        Self {
            seconds,
            cpu_seconds: None,
            waited_seconds: None,
            preempted: false,
            clock_mhz: None,
            taken_at: None,
        }
    }
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
    /// The samples that were neither pre-empted nor taken at a lower clock than the others.
    Undisturbed,
    /// CPU time, because too few samples were undisturbed.
    CpuTime,
    /// Every sample although most were pre-empted: there is no CPU time that stands for the work.
    Disturbed,
}

/// How fast the machine was at moments of a measurement, in columns of the same length.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Probes {
    /// The sample before which each was read, rising.
    pub before: Vec<usize>,
    /// Seconds of operations that wait for each other.
    pub chain_seconds: Vec<f32>,
    /// Seconds of updates all over the second cache.
    pub cache_seconds: Vec<f32>,
}

impl Probes {
    fn is_empty(&self) -> bool {
        self.before.is_empty()
    }
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
    /// Seconds per call neither on a core nor in the queue for one; empty where they were not read.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub waited_seconds: Vec<f64>,
    /// Indices of samples that were pre-empted, rising.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub preempted: Vec<usize>,
    /// SM clock during each sample in MHz, 0 where one was not read; empty where none was.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub clock_mhz: Vec<f32>,
    /// How fast the core and its caches were, now and then between the samples, in their order.
    #[serde(default, skip_serializing_if = "Probes::is_empty")]
    pub probes: Probes,
    /// When each sample was taken, in seconds since 1970; empty where that was not noted.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub taken_at: Vec<f64>,
    /// What the device did during each sample, where it was read beside them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub device_samples: Option<DeviceSamples>,
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
    /// What the clock did, where it was read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub clock: Option<ClockFigures>,
    /// What the device did, where it was read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub device: Option<DeviceState>,
}

/// What the device's clock did while samples were taken.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct ClockFigures {
    /// Median over the samples.
    pub median_mhz: f64,
    /// The lowest sample.
    pub min_mhz: f64,
    /// The highest sample.
    pub max_mhz: f64,
    /// Samples below 97 % of the median, which the figures leave out.
    pub slowed: usize,
    /// Median of the cycles that one call took.
    pub cycles_median: f64,
    /// Robust relative spread of the cycles.
    pub cycles_spread: f64,
    /// Robust relative spread of the times of the same samples.
    pub time_spread: f64,
}

impl ClockFigures {
    /// Whether the times vary because the clock does: in cycles they hardly vary.
    pub fn explains_the_times(&self) -> bool {
        self.time_spread > 0.005 && self.cycles_spread < self.time_spread / 3.0
    }
}

impl Measurement {
    /// A measurement without samples yet.
    pub fn empty(name: impl Into<String>, conditions: Conditions) -> Self {
        Self {
            name: name.into(),
            seconds: Vec::new(),
            cpu_seconds: Vec::new(),
            waited_seconds: Vec::new(),
            preempted: Vec::new(),
            clock_mhz: Vec::new(),
            probes: Probes::default(),
            taken_at: Vec::new(),
            device_samples: None,
            round_starts: vec![0],
            conditions,
        }
    }

    /// A measurement of a command without samples yet.
    pub fn of_command(line: &str) -> Self {
        let conditions = Conditions {
            mode: SampleMode::Command,
            inner_count: 1,
            overhead_seconds: 0.0,
            stop: StopReason::CountReached,
            steal_share: None,
            device: "cpu".to_owned(),
        };
        Self::empty(line, conditions)
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
        if let Some(clock) = sample.clock_mhz {
            self.clock_mhz.resize(self.seconds.len(), 0.0);
            self.clock_mhz.push(clock);
        }
        self.taken_at.extend(sample.taken_at);
        self.seconds.push(sample.seconds);
        self.cpu_seconds.extend(sample.cpu_seconds);
        self.waited_seconds.extend(sample.waited_seconds);
    }

    /// Notes how fast the core and its caches are before the next sample.
    pub fn push_probe(&mut self, speed: MachineSpeed) {
        self.probes.before.push(self.seconds.len());
        self.probes.chain_seconds.push(speed.chain_seconds as f32);
        self.probes.cache_seconds.push(speed.cache_seconds as f32);
    }

    /// Begins a new round at the next sample.
    pub fn begin_round(&mut self) {
        let next = self.seconds.len();
        if self.round_starts.last() != Some(&next) {
            self.round_starts.push(next);
        }
    }

    /// Indices of the samples that figures leave out where enough others are left, rising: those
    /// that were pre-empted, and those that ran at less than 97 % of the median clock.
    pub fn disturbed(&self) -> Vec<usize> {
        let mut disturbed = self.slowed();
        disturbed.extend(&self.preempted);
        disturbed.sort_unstable();
        disturbed.dedup();
        disturbed
    }

    fn slowed(&self) -> Vec<usize> {
        let read: Vec<f64> = self.clocks().map(|(_, clock)| clock).collect();
        if read.is_empty() {
            return Vec::new();
        }
        let lowest = 0.97 * median_of(&read);
        self.clocks()
            .filter(|(_, clock)| *clock < lowest)
            .map(|(index, _)| index)
            .collect()
    }

    /// Samples whose clock was read, with it.
    fn clocks(&self) -> impl Iterator<Item = (usize, f64)> {
        let clocks = self.clock_mhz.iter().enumerate();
        clocks
            .map(|(index, clock)| (index, f64::from(*clock)))
            .filter(|(index, clock)| *clock > 0.0 && *index < self.seconds.len())
    }

    /// What the clock did; `None` where it was not read.
    pub fn clock_figures(&self) -> Option<ClockFigures> {
        let mut clocks: Vec<f64> = self.clocks().map(|(_, clock)| clock).collect();
        clocks.sort_unstable_by(f64::total_cmp);
        let (min_mhz, max_mhz) = (*clocks.first()?, *clocks.last()?);
        let times: Vec<f64> = self.clocks().map(|(i, _)| self.seconds[i]).collect();
        let cycles: Vec<f64> = self
            .clocks()
            .map(|(index, clock)| self.seconds[index] * clock * 1e6)
            .collect();
        let spread = |values: &[f64]| {
            let middle = median_of(values);
            MAD_TO_SIGMA * mad_about(values, middle) / middle
        };
        Some(ClockFigures {
            median_mhz: median_of(&clocks),
            min_mhz,
            max_mhz,
            slowed: self.slowed().len(),
            cycles_median: median_of(&cycles),
            cycles_spread: spread(&cycles),
            time_spread: spread(&times),
        })
    }

    /// The samples that figures rest on, with the starts of the rounds among them.
    ///
    /// Undisturbed samples where at least 30 % are, else the CPU time of work that only computes,
    /// else all with that said.
    pub fn basis(&self) -> (Basis, Vec<f64>, Vec<usize>) {
        let n = self.seconds.len();
        let disturbed = self.disturbed();
        if disturbed.is_empty() {
            let starts = self.round_starts.clone();
            return (Basis::AllSamples, self.seconds.clone(), starts);
        }
        if (n - disturbed.len()) * 10 < n * 3 {
            let starts = self.round_starts.clone();
            return if Bound::of(self) == Bound::OneCore {
                (Basis::CpuTime, self.cpu_seconds.clone(), starts)
            } else {
                (Basis::Disturbed, self.seconds.clone(), starts)
            };
        }
        let mut kept = Vec::with_capacity(n - disturbed.len());
        let mut tagged = disturbed.into_iter().peekable();
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
            clock: self.clock_figures(),
            device: self.device_state(),
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
                cpu_seconds: cpu.then_some(0.9),
                preempted: i < preempted,
                ..Sample::of_seconds(if i < preempted { 9.0 } else { 1.0 })
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
        // Sleeps most of the time: its CPU time says nothing about it.
        let mut sleeps = with_preempted(10, 8, true);
        sleeps.cpu_seconds.fill(0.1);
        assert_eq!(sleeps.basis().0, Basis::Disturbed);
        let (basis, samples, _) = with_preempted(10, 8, false).basis();
        assert_eq!((basis, samples.len()), (Basis::Disturbed, 10));
        assert_eq!(with_preempted(5, 0, true).basis().0, Basis::AllSamples);
    }

    #[test]
    fn rounds_keep_their_places_when_tagged_samples_are_left_out() {
        let mut measurement = with_preempted(4, 1, false);
        measurement.begin_round();
        measurement.push(Sample::of_seconds(2.0));
        assert_eq!(measurement.round_starts, [0, 4]);
        let (_, samples, starts) = measurement.basis();
        assert_eq!(samples, [1.0, 1.0, 1.0, 2.0]);
        assert_eq!(starts, [0, 3]);
    }

    /// Times of 1000 cycles each at the given clocks.
    fn at_clocks(clocks: impl Iterator<Item = f32>) -> Measurement {
        let mut measurement = Measurement::imported("x", Vec::new());
        for clock in clocks {
            measurement.push(Sample {
                clock_mhz: Some(clock),
                ..Sample::of_seconds(1000.0 / (f64::from(clock) * 1e6))
            });
        }
        measurement
    }

    #[test]
    fn samples_at_a_lower_clock_are_left_out_and_kept() {
        let measurement = at_clocks((0..40).map(|i| if i % 10 == 3 { 1500.0 } else { 1980.0 }));
        assert_eq!(measurement.disturbed(), [3, 13, 23, 33]);
        let (basis, samples, _) = measurement.basis();
        assert_eq!((basis, samples.len()), (Basis::Undisturbed, 36));
        assert_eq!(measurement.seconds.len(), 40);
        assert_eq!(measurement.clock_figures().unwrap().slowed, 4);
    }

    #[test]
    fn times_that_follow_the_clock_are_told_by_their_cycles() {
        let wanders = at_clocks((0..100).map(|i| 1500.0 + 2.0 * i as f32));
        let clock = wanders.clock_figures().unwrap();
        assert!(clock.explains_the_times(), "{clock:?}");
        assert!((clock.cycles_median - 1000.0).abs() < 0.1);
        let steady = at_clocks((0..100).map(|_| 1980.0));
        assert!(!steady.clock_figures().unwrap().explains_the_times());
        assert_eq!(Measurement::imported("x", vec![1.0]).clock_figures(), None);
    }

    #[test]
    fn a_clock_that_was_not_read_counts_for_nothing() {
        let mut measurement = at_clocks([1980.0, 1980.0].into_iter());
        measurement.push(Sample::of_seconds(1.0));
        assert!(measurement.disturbed().is_empty());
        measurement.push(Sample {
            clock_mhz: Some(1980.0),
            ..Sample::of_seconds(1.0)
        });
        assert_eq!(measurement.clock_mhz, [1980.0, 1980.0, 0.0, 1980.0]);
        assert!(measurement.disturbed().is_empty());
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
