//! The sampler of closures on this thread.
//!
//! Each sample is long enough that the timer's cost is a thousandth of it. Between groups of
//! samples, outside the timed windows, the thread's involuntary context switches are read: a group
//! during which the core was taken away is tagged. Where a group is one sample, its CPU time is
//! read too.

use std::time::{Duration, Instant};

use super::machine_probe::MachineProbe;
use super::stamps::{StampCost, run_stamped};
use super::steal::CpuTicks;
use super::thread_usage::ThreadUsage;
use crate::measurement::{Conditions, Measurement, Sample, SampleMode};
use crate::statistics::order::median_of;
use crate::statistics::stop_rule::{MedianInterval, MedianStop, StopPlan, StopReason};

/// How a closure is sampled.
#[derive(Clone, Copy, Debug, Default)]
pub struct ClosurePlan {
    /// When to stop.
    pub stop: StopPlan,
    /// Calls per sample; `None` calibrates.
    pub inner: Option<u64>,
}

/// What a watcher sees while sampling goes on.
#[derive(Clone, Copy, Debug)]
pub struct Progress<'a> {
    /// Samples so far.
    pub count: usize,
    /// Time so far.
    pub elapsed: Duration,
    /// The interval of the last look.
    pub interval: Option<&'a MedianInterval>,
}

impl<'a> Progress<'a> {
    /// After a look of the rule.
    pub fn of(stop: &'a MedianStop, count: usize, elapsed: Duration) -> Self {
        Self {
            count,
            elapsed,
            interval: stop.interval(),
        }
    }
}

/// Samples closures on the thread that it was made on.
#[derive(Clone, Copy, Debug)]
pub struct ClosureSampler {
    cost: StampCost,
}

impl ClosureSampler {
    /// A sample lasts at least this long: short enough to be rarely pre-empted, long enough that
    /// reading the scheduler's counters beside it is cheap.
    const SAMPLE_SECONDS: f64 = 50e-6;
    /// Counters are read once per this much time when samples are shorter.
    const GROUP_SECONDS: f64 = 20e-6;
    const LONGEST_GROUP: usize = 256;
    const WARM_UP: Duration = Duration::from_millis(100);

    /// Calibrates the timer.
    pub fn calibrate() -> Self {
        Self {
            cost: StampCost::calibrate(),
        }
    }

    /// What timing costs here.
    pub fn cost(&self) -> &StampCost {
        &self.cost
    }

    /// Calls per sample that make the timer's cost a thousandth and a sample long enough.
    pub fn inner_count(&self, work: &mut dyn FnMut()) -> u64 {
        let wanted = Self::SAMPLE_SECONDS.max(1000.0 * self.cost.sample);
        let mut inner = 1u64;
        loop {
            let mut stamps = [Instant::now(); 4];
            run_stamped(work, inner, &mut stamps);
            let took = shortest(&stamps);
            if took >= 0.5 * wanted || inner >= 1 << 32 {
                let call = took / inner as f64;
                return (wanted / call).ceil().clamp(1.0, 4e9) as u64;
            }
            inner *= 4;
        }
    }

    /// Takes one sample with its tag and CPU time; for comparisons that alternate.
    pub fn sample(&self, work: &mut dyn FnMut(), inner: u64) -> Sample {
        let before = ThreadUsage::read();
        let mut stamps = [Instant::now(); 2];
        run_stamped(work, inner, &mut stamps);
        let after = ThreadUsage::read();
        let elapsed = (stamps[1] - stamps[0]).as_secs_f64();
        self.tagged(elapsed, inner, before, after)
    }

    fn tagged(
        &self,
        elapsed: f64,
        inner: u64,
        before: Option<ThreadUsage>,
        after: Option<ThreadUsage>,
    ) -> Sample {
        let usage = before.zip(after);
        let on_core = usage.map(|(b, a)| a.cpu_time.saturating_sub(b.cpu_time).as_secs_f64());
        // The CPU time of work that waited says nothing about it.
        let waited = usage.zip(on_core).is_some_and(|((b, a), on_core)| {
            a.voluntary_switches > b.voluntary_switches && on_core < 0.95 * elapsed
        });
        Sample {
            seconds: (elapsed - self.cost.of(inner)) / inner as f64,
            cpu_seconds: on_core
                .filter(|_| !waited)
                .map(|on_core| on_core / inner as f64),
            waited_seconds: None,
            preempted: usage.is_some_and(|(b, a)| a.involuntary_switches > b.involuntary_switches),
            clock_mhz: None,
            taken_at: None,
        }
    }

    /// Samples `work` until the plan is met. `watch` is told after every look.
    ///
    /// ```
    /// use std::time::Duration;
    /// use warpsmith_measure::cpu::closure::{ClosurePlan, ClosureSampler};
    /// use warpsmith_measure::statistics::stop_rule::StopPlan;
    ///
    /// let stop = StopPlan { timeout: Duration::from_millis(200), ..StopPlan::default() };
    /// let plan = ClosurePlan { stop, inner: None };
    /// let mut numbers: Vec<u64> = (0..1000).collect();
    /// let mut work = || numbers.reverse();
    /// let measurement = ClosureSampler::calibrate().measure("reverse", &mut work, &plan, &mut |_| {});
    /// assert!(measurement.figures().unwrap().summary.median > 0.0);
    /// ```
    pub fn measure(
        &self,
        name: &str,
        work: &mut dyn FnMut(),
        plan: &ClosurePlan,
        watch: &mut dyn FnMut(&Progress<'_>),
    ) -> Measurement {
        let inner = plan.inner.unwrap_or_else(|| self.inner_count(work)).max(1);
        let sample_seconds = self.warm_up(work, inner);
        let group = (Self::GROUP_SECONDS / sample_seconds)
            .ceil()
            .clamp(1.0, Self::LONGEST_GROUP as f64) as usize;
        let mut stamps = vec![Instant::now(); group + 1];
        let mut measurement = Measurement::empty(
            name,
            Conditions {
                mode: SampleMode::CpuClosure,
                inner_count: inner,
                overhead_seconds: self.cost.of(inner) / inner as f64,
                stop: StopReason::CountReached,
                steal_share: None,
                device: "cpu".to_owned(),
            },
        );
        let ticks = CpuTicks::read();
        let mut stop = MedianStop::new(plan.stop);
        let mut probe = MachineProbe::begin();
        let begun = Instant::now();
        let mut before = ThreadUsage::read();
        let reason = loop {
            if let Some(speed) = probe.read_if_due() {
                measurement.push_probe(speed);
                before = ThreadUsage::read();
            }
            run_stamped(work, inner, &mut stamps);
            let after = ThreadUsage::read();
            for pair in stamps.windows(2) {
                let mut sample =
                    self.tagged((pair[1] - pair[0]).as_secs_f64(), inner, before, after);
                // CPU time of a whole group says nothing about one of its samples.
                sample.cpu_seconds = sample.cpu_seconds.filter(|_| group == 1);
                measurement.push(sample);
            }
            before = after;
            let (count, elapsed) = (measurement.seconds.len(), begun.elapsed());
            if stop.is_due(count, elapsed) {
                let (_, samples, _) = measurement.basis();
                let reason = stop.look(&samples, elapsed);
                watch(&Progress::of(&stop, count, elapsed));
                if let Some(reason) = reason {
                    break reason;
                }
                // The look took time that is not the workload's.
                before = ThreadUsage::read();
            }
        };
        measurement.conditions.stop = reason;
        measurement.conditions.steal_share = ticks
            .zip(CpuTicks::read())
            .and_then(|(early, late)| late.stolen_share_since(&early));
        measurement
    }

    /// Runs until caches and clocks have settled; returns the time of one sample.
    fn warm_up(&self, work: &mut dyn FnMut(), inner: u64) -> f64 {
        let begun = Instant::now();
        let mut times = Vec::new();
        loop {
            let mut stamps = [Instant::now(); 2];
            run_stamped(work, inner, &mut stamps);
            times.push((stamps[1] - stamps[0]).as_secs_f64());
            if begun.elapsed() >= Self::WARM_UP {
                return median_of(&times).max(1e-9);
            }
        }
    }
}

fn shortest(stamps: &[Instant]) -> f64 {
    stamps
        .windows(2)
        .map(|pair| (pair[1] - pair[0]).as_secs_f64())
        .fold(f64::INFINITY, f64::min)
}

#[cfg(test)]
mod tests {
    use std::hint::black_box;

    use super::*;

    fn quick() -> ClosurePlan {
        ClosurePlan {
            stop: StopPlan {
                minimum_time: Duration::from_millis(5),
                timeout: Duration::from_millis(50),
                ..StopPlan::default()
            },
            inner: None,
        }
    }

    #[test]
    fn samples_are_long_enough_for_the_timer() {
        let sampler = ClosureSampler::calibrate();
        let mut state = 1u64;
        let measurement = sampler.measure(
            "multiply",
            &mut || state = black_box(state.wrapping_mul(6_364_136_223_846_793_005)),
            &quick(),
            &mut |_| {},
        );
        // A multiplication takes a nanosecond, not 500: a sample has many of them.
        let inner = measurement.conditions.inner_count;
        assert!(inner > 100, "{inner}");
        // The samples, as the calibration meant them: a clock that changed since then, or a
        // neighbour, moves them by a factor of two, and a core that was taken away only makes them
        // longer.
        let wanted = ClosureSampler::SAMPLE_SECONDS.max(1000.0 * sampler.cost().sample);
        let shortest = measurement.seconds.iter().copied().fold(f64::MAX, f64::min);
        // With what was taken off: a multiplication costs hardly more than the loop around it.
        let lasted = (shortest + measurement.conditions.overhead_seconds) * inner as f64;
        assert!(lasted > 0.25 * wanted, "{lasted} s of {wanted} s");
        // As many as the plan says, unless its time was over before: then it says so.
        let few = measurement.seconds.len() < quick().stop.minimum_count;
        assert!(!few || measurement.conditions.stop == StopReason::TimedOut);
        assert_eq!(measurement.conditions.mode, SampleMode::CpuClosure);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn work_that_sleeps_has_no_cpu_time_to_be_judged_by() {
        let sampler = ClosureSampler::calibrate();
        let nap = || std::thread::sleep(Duration::from_millis(2));
        assert_eq!(sampler.sample(&mut { nap }, 1).cpu_seconds, None);
        let mut state = 1u64;
        let mut work = || {
            for _ in 0..100_000 {
                state = black_box(state.wrapping_mul(6_364_136_223_846_793_005));
            }
        };
        assert!(sampler.sample(&mut work, 1).cpu_seconds.is_some());
    }

    #[test]
    fn an_inner_count_that_was_asked_for_is_kept() {
        let sampler = ClosureSampler::calibrate();
        let plan = ClosurePlan {
            inner: Some(1),
            ..quick()
        };
        let mut looks = 0;
        let measurement = sampler.measure("empty", &mut || {}, &plan, &mut |progress| {
            looks += 1;
            assert!(progress.count > 0);
        });
        assert_eq!(measurement.conditions.inner_count, 1);
        assert!(looks > 0);
        // Too short for CPU times of their own.
        assert!(measurement.cpu_seconds.is_empty());
    }
}
