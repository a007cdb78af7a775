//! Two kernels that are sampled in turns, and made again while they are.

use std::time::{Duration, Instant};

use anyhow::Result;
use warpsmith_case::TimedFunction;
use warpsmith_device::Device;
use warpsmith_measure::comparison::paired_rounds::Side;
use warpsmith_measure::measurement::{Measurement, Sample};
use warpsmith_measure::run_sampler::{RunMode, RunSampler, RunTarget};

use crate::kernel::bench::CaseJob;
use crate::kernel::verify::case::explain;

/// How long a kernel may take to settle: the GPU is warm from the other one.
const SETTLE: Duration = Duration::from_millis(100);
/// The same of kernels that ran until just before they were made again.
const SETTLE_AGAIN: Duration = Duration::from_millis(10);
/// Kernels are made again for every round if a budget has room for so many, the rounds of the first look; else they
/// stay where they are, because rounds that share a place would count as if each had its own.
const ROUNDS: u32 = 24;

/// A kernel that is ready to be sampled.
enum Ready {
    Kernel(RunTarget),
    Function(TimedFunction),
}

/// Where a driver puts a kernel and its arrays changes the time of a short one by several per cent for as long as
/// it lies there, and no number of rounds over the same two would show that this is chance. So a GPU's kernels are
/// made again for every round, in the other order each time, where that is not too dear. Both are timed by one
/// sampler: what a timer takes off for itself differs from one to the next by more than a short kernel takes.
pub(super) struct Pair<'a> {
    jobs: [&'a CaseJob; 2],
    device: &'a Device,
    sampler: RunSampler,
    sides: Vec<Ready>,
    /// Whether they are made again.
    again: bool,
    budget: Duration,
    made: usize,
}

impl<'a> Pair<'a> {
    /// Both, warmed up.
    pub(super) fn new(
        jobs: [&'a CaseJob; 2],
        device: &'a Device,
        mode: RunMode,
        budget: Option<Duration>,
    ) -> Result<Self> {
        let mut sampler = RunSampler::new(device, mode)?;
        sampler.set_settle(SETTLE);
        let begun = Instant::now();
        let mut sides = Vec::new();
        for job in jobs {
            sides.push(match job.timed_function(device, mode)? {
                Some(function) => Ready::Function(function),
                None => Ready::Kernel(sampler.target(job.prepare(device)?)?),
            });
        }
        sampler.set_settle(SETTLE_AGAIN);
        let budget = budget.unwrap_or(Duration::MAX);
        // The first time may have compiled.
        let is_short = begun.elapsed() <= 2 * SETTLE + budget / 4;
        let is_kernel = |side: &Ready| matches!(side, Ready::Kernel(_));
        Ok(Self {
            again: is_short && !device.is_cpu() && sides.iter().all(is_kernel),
            budget,
            jobs,
            device,
            sampler,
            sides,
            made: 1,
        })
    }

    /// Empty measurements of both, with their conditions.
    pub(super) fn begin(&self) -> [Measurement; 2] {
        [0, 1].map(|at| {
            let name = self.jobs[at].name();
            match &self.sides[at] {
                Ready::Kernel(target) => self.sampler.begin(&name, target),
                Ready::Function(function) => function.begin(&name, self.device.name()),
            }
        })
    }

    /// One sample.
    pub(super) fn sample(&mut self, side: Side) -> Result<Sample> {
        match &mut self.sides[side as usize] {
            Ready::Kernel(target) => Ok(self.sampler.sample(target)?),
            Ready::Function(function) => function.sample().map_err(explain),
        }
    }

    /// Makes both again, if they are for every round.
    pub(super) fn begin_round(&mut self) -> Result<()> {
        if !self.again {
            return Ok(());
        }
        let begun = Instant::now();
        // What was made goes first: memory holds both sides once.
        self.sides.clear();
        for turn in 0..2 {
            let job = self.jobs[(turn + self.made) % 2];
            let target = self.sampler.target(job.prepare(self.device)?)?;
            self.sides.push(Ready::Kernel(target));
        }
        if self.made % 2 == 1 {
            self.sides.reverse();
        }
        self.made += 1;
        if self.made == 2 {
            self.again = begun.elapsed() <= self.budget / ROUNDS;
        }
        Ok(())
    }
}
