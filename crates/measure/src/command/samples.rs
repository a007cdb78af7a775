//! The samples of one command: run again until its median is known well enough.

use std::time::Instant;

use super::target::{CommandError, CommandRun, CommandTarget};
use crate::cpu::closure::Progress;
use crate::cpu::steal::CpuTicks;
use crate::measurement::Measurement;
use crate::statistics::stop_rule::{MedianStop, StopPlan};

/// What runs of one command gave so far.
pub struct CommandSamples {
    /// Times of every run.
    pub measurement: Measurement,
    /// Every run, in the same order.
    pub runs: Vec<CommandRun>,
}

impl CommandSamples {
    /// No sample yet of what results call `name`.
    pub fn new(name: &str) -> Self {
        Self {
            measurement: Measurement::of_command(name),
            runs: Vec::new(),
        }
    }

    /// Runs `target` in a new round: `exactly` that often, else until the plan is met. An error
    /// loses nothing: what was sampled before it stays.
    pub fn extend(
        &mut self,
        target: &CommandTarget,
        plan: &StopPlan,
        exactly: Option<u64>,
        watch: &mut dyn FnMut(&Progress<'_>),
    ) -> Result<(), CommandError> {
        self.measurement.begin_round();
        let ticks = CpuTicks::read();
        let sampled = self.sample_round(target, plan, exactly, watch);
        let stolen = ticks
            .zip(CpuTicks::read())
            .and_then(|(early, late)| late.stolen_share_since(&early));
        let worst = &mut self.measurement.conditions.steal_share;
        *worst = match (*worst, stolen) {
            (Some(before), Some(now)) => Some(before.max(now)),
            (before, now) => before.or(now),
        };
        sampled
    }

    fn sample_round(
        &mut self,
        target: &CommandTarget,
        plan: &StopPlan,
        exactly: Option<u64>,
        watch: &mut dyn FnMut(&Progress<'_>),
    ) -> Result<(), CommandError> {
        let mut stop = MedianStop::new(*plan);
        let begun = Instant::now();
        let mut taken = 0;
        loop {
            let run = target.run(self.runs.len() + 1)?;
            self.measurement.push(run.sample());
            self.runs.push(run);
            taken += 1;
            let (count, elapsed) = (self.runs.len(), begun.elapsed());
            let done = exactly.is_some_and(|wanted| taken >= wanted);
            let due = exactly.is_none() && stop.is_due(count, elapsed);
            let mut reason = None;
            if done || due {
                let (_, samples, _) = self.measurement.basis();
                reason = stop.look(&samples, elapsed);
            }
            watch(&Progress::of(&stop, count, elapsed));
            if done {
                return Ok(());
            }
            if let Some(reason) = reason {
                self.measurement.conditions.stop = reason;
                return Ok(());
            }
        }
    }

    /// The largest resident set of the runs; `None` where our own size hides all of them.
    pub fn peak_bytes(&self) -> Option<u64> {
        self.runs.iter().filter_map(|run| run.peak_bytes).max()
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn a_failure_keeps_the_samples_before_it() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("count");
        let line = format!("echo >> {0}; test $(wc -l < {0}) -lt 4", file.display());
        let mut samples = CommandSamples::new("dies");
        let error = samples
            .extend(
                &CommandTarget::shell(&line),
                &StopPlan::default(),
                Some(10),
                &mut |_| {},
            )
            .unwrap_err();
        assert!(error.to_string().contains("run 4"), "{error}");
        assert_eq!(samples.measurement.seconds.len(), 3);
    }

    #[test]
    fn rounds_are_kept_apart() {
        let mut samples = CommandSamples::new("true");
        let target = CommandTarget::new(vec!["true".to_owned()]);
        let plan = StopPlan {
            timeout: Duration::from_secs(60),
            ..StopPlan::default()
        };
        for _ in 0..2 {
            samples
                .extend(&target, &plan, Some(3), &mut |_| {})
                .unwrap();
        }
        assert_eq!(samples.measurement.round_starts, [0, 3]);
        assert_eq!(samples.runs.len(), 6);
    }
}
