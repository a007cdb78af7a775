//! Which clock decides: wall time where the machine was ours, CPU time where it was taken away and
//! the work does nothing but compute.
//!
//! Invariant: work that waits (sleep, I/O, a device, other threads) is never judged by CPU time.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::measurement::{Measurement, SampleMode};
use crate::statistics::order::median_of;

/// A clock that a verdict can rest on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Clock {
    /// Elapsed time.
    Wall,
    /// Time on a core, user and system.
    Cpu,
}

impl fmt::Display for Clock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Wall => "wall time",
            Self::Cpu => "CPU time",
        })
    }
}

/// The clock that decided, and why.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ClockChoice {
    /// The clock.
    pub clock: Clock,
    /// Why it decided.
    pub reason: String,
}

/// What the samples show about where the time goes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Bound {
    /// On one core, and hardly anywhere else.
    OneCore,
    /// This share of the time that was not spent in the queue for a core is waiting.
    Waits(f64),
    /// On several cores at once.
    SeveralCores,
    /// Cannot be told: no sample was quiet enough to see it.
    NotShown,
    /// The CPU time was not read.
    NotRead,
}

impl Bound {
    /// A wait of up to this share of the work does not make it waiting work.
    const WAITS_ABOVE: f64 = 0.05;
    /// The queue was read in this share of the samples, or it counts as not read.
    const NEARLY_ALL: f64 = 0.9;
    /// Where the queue was not read, the quiet samples may be off the core for this share.
    const QUIET_GAP: f64 = 0.10;

    /// What the samples of `measurement` show.
    pub fn of(measurement: &Measurement) -> Self {
        let count = measurement.seconds.len();
        let cpu = &measurement.cpu_seconds;
        if count == 0 || cpu.len() != count {
            return Self::NotRead;
        }
        let mut gaps: Vec<f64> = measurement
            .seconds
            .iter()
            .zip(cpu)
            .map(|(wall, cpu)| (wall - cpu) / wall.max(f64::MIN_POSITIVE))
            .collect();
        gaps.sort_unstable_by(f64::total_cmp);
        // A wait is known where one thread did the work. In one run of a hundred the kernel's accounts
        // do not add up; the others still tell.
        let waited = &measurement.waited_seconds;
        if waited.len() as f64 >= Self::NEARLY_ALL * count as f64 {
            let (waited, cpu) = (median_of(waited), median_of(cpu));
            let share = waited / (waited + cpu).max(f64::MIN_POSITIVE);
            return match share <= Self::WAITS_ABOVE {
                true => Self::OneCore,
                false => Self::Waits(share),
            };
        }
        // More time on cores than on the clock, beyond what the two clocks can disagree by.
        if gaps[0] < -0.2 || gaps[count / 10] < -0.05 {
            return Self::SeveralCores;
        }
        if measurement.conditions.mode == SampleMode::CpuClosure {
            // The sampler keeps no CPU time of a sample in which the thread waited.
            return Self::OneCore;
        }
        // Elapsed less CPU time is wait plus queue: in the quietest tenth of the samples it
        // bounds the wait from above.
        match gaps[count / 10] <= Self::QUIET_GAP {
            true => Self::OneCore,
            false => Self::NotShown,
        }
    }

    fn why_not_cpu(self) -> String {
        match self {
            Self::OneCore => "it computes on one core".to_owned(),
            Self::Waits(share) => format!("it waits for {:.0} % of its time", 100.0 * share),
            Self::SeveralCores => "it computes on several cores at once".to_owned(),
            Self::NotShown => "no run was quiet enough to show that it only computes".to_owned(),
            Self::NotRead => "its CPU time was not read".to_owned(),
        }
    }
}

/// Chooses the clock for two sides, where `taken_away` says that the machine was, and how that was
/// seen. `Err` says why no CPU time can stand in for a wall time that was disturbed.
pub fn choose(
    a: &Measurement,
    b: &Measurement,
    taken_away: Option<String>,
) -> Result<ClockChoice, String> {
    let Some(seen) = taken_away else {
        // Where this thread waits for others, nobody reads what was taken from them.
        let read = |side: &&Measurement| Bound::of(side) != Bound::NotRead;
        let reason = match [a, b].iter().all(read) {
            true => "the machine was quiet",
            false => "whether the machine was taken away was not seen",
        };
        return Ok(ClockChoice {
            clock: Clock::Wall,
            reason: reason.to_owned(),
        });
    };
    for side in [a, b] {
        let bound = Bound::of(side);
        if bound != Bound::OneCore {
            return Err(format!(
                "{seen}, and `{}`: {}",
                side.name,
                bound.why_not_cpu()
            ));
        }
    }
    Ok(ClockChoice {
        clock: Clock::Cpu,
        reason: format!("{seen}, and the work computes on one core"),
    })
}

/// How the samples show that the machine was taken away; `None` where it was not.
pub fn taken_away(measurement: &Measurement) -> Option<String> {
    /// Above this, steal moves medians by more than a margin of 1 %.
    const STEAL: f64 = 0.02;
    // The share of samples that may be disturbed while the rest still decides: commands are few
    // and their CPU time is as good, closures are many.
    let disturbed = match measurement.conditions.mode {
        SampleMode::Command => 0.3,
        _ => 0.7,
    };
    let count = measurement.seconds.len();
    let preempted = measurement.preempted.len();
    if count > 0 && preempted as f64 > disturbed * count as f64 {
        return Some(format!(
            "the core was taken away in {preempted} of {count} runs of `{}`",
            measurement.name
        ));
    }
    let stolen = measurement.conditions.steal_share?;
    (stolen > STEAL).then(|| {
        format!(
            "the hypervisor took {:.0} % of the time during `{}`",
            100.0 * stolen,
            measurement.name
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measurement::Sample;

    /// Samples of 10 ms of CPU, each with this much queueing and waiting.
    fn work(queued: f64, waited: Option<f64>) -> Measurement {
        let mut measurement = Measurement::of_command("work");
        for i in 0..20 {
            let cpu = 0.010 * (1.0 + 0.001 * f64::from(i % 3));
            measurement.push(Sample {
                cpu_seconds: Some(cpu),
                waited_seconds: waited,
                preempted: queued > 0.0,
                ..Sample::of_seconds(cpu + queued + waited.unwrap_or(0.0))
            });
        }
        measurement
    }

    #[test]
    fn a_quiet_machine_is_judged_by_wall_time() {
        let quiet = work(0.0, Some(0.0));
        let choice = choose(&quiet, &quiet, taken_away(&quiet)).unwrap();
        assert_eq!(choice.clock, Clock::Wall);
        assert_eq!(choice.reason, "the machine was quiet");
        let mut unseen = quiet.clone();
        unseen.cpu_seconds.clear();
        let choice = choose(&unseen, &quiet, taken_away(&unseen)).unwrap();
        assert!(choice.reason.ends_with("was not seen"));
    }

    #[test]
    fn computing_on_a_busy_machine_is_judged_by_cpu_time() {
        let busy = work(0.030, Some(0.0001));
        let choice = choose(&busy, &busy, taken_away(&busy)).unwrap();
        assert_eq!(choice.clock, Clock::Cpu);
        assert!(choice.reason.contains("20 of 20 runs"), "{choice:?}");
    }

    #[test]
    fn work_that_waits_is_never_judged_by_cpu_time() {
        let busy = work(0.030, Some(0.0001));
        let sleeps = work(0.030, Some(0.005));
        let refused = choose(&busy, &sleeps, taken_away(&sleeps)).unwrap_err();
        assert!(refused.contains("waits for 33 %"), "{refused}");
        // Without the queue's reading, waiting cannot be told from queueing.
        let unknown = work(0.030, None);
        assert_eq!(Bound::of(&unknown), Bound::NotShown);
        assert!(choose(&unknown, &unknown, taken_away(&unknown)).is_err());
        assert_eq!(Bound::of(&work(0.0005, None)), Bound::OneCore);
        // Nor does a run without it hide what the other runs show.
        let (mut busy, mut sleeps) = (busy, sleeps);
        busy.waited_seconds.pop();
        assert_eq!(Bound::of(&busy), Bound::OneCore);
        sleeps.waited_seconds.pop();
        assert!(matches!(Bound::of(&sleeps), Bound::Waits(_)));
        busy.waited_seconds.truncate(10);
        assert_eq!(Bound::of(&busy), Bound::NotShown);
    }

    #[test]
    fn work_on_several_cores_is_not_judged_by_their_sum() {
        let mut parallel = work(0.0, None);
        parallel.cpu_seconds.iter_mut().for_each(|cpu| *cpu *= 2.0);
        assert_eq!(Bound::of(&parallel), Bound::SeveralCores);
        parallel.cpu_seconds.clear();
        assert_eq!(Bound::of(&parallel), Bound::NotRead);
    }

    #[test]
    fn one_account_that_does_not_add_up_is_not_a_second_core() {
        let mut busy = work(0.002, Some(0.0));
        busy.cpu_seconds[7] = 1.5 * busy.seconds[7];
        assert_eq!(Bound::of(&busy), Bound::OneCore);
    }
}
