//! A case's Python function at one size, timed by a clock in its own process: the way there and back would
//! be in every sample otherwise.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use warpsmith_measure::cpu::closure::Progress;
use warpsmith_measure::measurement::{Conditions, Measurement, Sample, SampleMode};
use warpsmith_measure::run_sampler::RunMode;
use warpsmith_measure::statistics::stop_rule::{MedianStop, StopPlan, StopReason};

use super::fault::Fault;
use super::{Form, Program};
use crate::instance::{Contents, Instance};
use crate::reference::{Bound, PythonFunction};

/// Samples of one request last about so long.
const TOGETHER: Duration = Duration::from_millis(20);
/// More samples than this are no better, and their answer is long.
const MOST: usize = 1024;

/// A Python function with its arguments, ready to be sampled.
pub struct TimedFunction {
    function: Arc<Mutex<PythonFunction>>,
    bound: Bound,
    mode: RunMode,
    /// Samples that are requested together.
    together: usize,
}

impl Program {
    /// The case's Python function at one size, ready to be timed; `None` where the kernel is no such function.
    pub fn timed(
        &self,
        instance: &Instance,
        contents: &Contents,
        mode: RunMode,
    ) -> Result<Option<TimedFunction>, Fault> {
        let Form::Python(function) = &self.form else {
            return Ok(None);
        };
        let word = match mode {
            RunMode::Cold => "cold",
            RunMode::Warm => "warm",
            RunMode::EndToEnd => "end-to-end",
            RunMode::Batch | RunMode::Graph => {
                return Err(Fault::Unsupported(
                    "a Python function is timed with `--mode cold`, `warm` or `end-to-end`".into(),
                ));
            }
        };
        let bound = lock(function)
            .bind(instance, contents, word)
            .map_err(Fault::Function)?;
        Ok(Some(TimedFunction {
            function: Arc::clone(function),
            bound,
            mode,
            together: 1,
        }))
    }
}

fn lock(function: &Mutex<PythonFunction>) -> MutexGuard<'_, PythonFunction> {
    function.lock().unwrap_or_else(PoisonError::into_inner)
}

impl TimedFunction {
    /// One sample.
    pub fn sample(&mut self) -> Result<Sample, Fault> {
        let samples = self.samples(1)?;
        // There is at least one.
        Ok(samples[0])
    }

    /// At least one sample, and `count` of them.
    pub fn samples(&mut self, count: usize) -> Result<Vec<Sample>, Fault> {
        let taken = lock(&self.function).sample(self.bound.id, count.max(1));
        taken.map_err(Fault::Function)
    }

    /// An empty measurement with the conditions of these samples.
    pub fn begin(&self, name: &str, device: &str) -> Measurement {
        Measurement::empty(
            name,
            Conditions {
                mode: match (self.bound.gpu, self.mode) {
                    (true, RunMode::Cold) => SampleMode::GpuCold,
                    (true, _) => SampleMode::GpuHot,
                    (false, RunMode::EndToEnd) => SampleMode::EndToEnd,
                    (false, _) => SampleMode::CpuClosure,
                },
                inner_count: self.bound.inner,
                overhead_seconds: 0.0,
                stop: StopReason::CountReached,
                steal_share: None,
                device: device.to_owned(),
            },
        )
    }

    /// Samples until the plan is met, appending a round to `measurement`.
    pub fn measure_round(
        &mut self,
        measurement: &mut Measurement,
        plan: &StopPlan,
        watch: &mut dyn FnMut(&Progress<'_>),
    ) -> Result<(), Fault> {
        measurement.begin_round();
        let first = measurement.seconds.len();
        let mut stop = MedianStop::new(*plan);
        let begun = Instant::now();
        loop {
            let room = plan
                .maximum_count
                .saturating_sub(measurement.seconds.len() - first);
            let asked = Instant::now();
            let samples = self.samples(self.together.min(room))?;
            let each = asked.elapsed() / u32::try_from(samples.len()).unwrap_or(1);
            let more = TOGETHER.as_nanos() / each.as_nanos().max(1);
            self.together = usize::try_from(more).unwrap_or(MOST).clamp(1, MOST);
            samples
                .into_iter()
                .for_each(|sample| measurement.push(sample));
            let (count, elapsed) = (measurement.seconds.len() - first, begun.elapsed());
            if stop.is_due(count, elapsed) {
                let reason = stop.look(&measurement.seconds[first..], elapsed);
                watch(&Progress::of(&stop, count, elapsed));
                if let Some(reason) = reason {
                    measurement.conditions.stop = reason;
                    return Ok(());
                }
            }
        }
    }
}

impl Drop for TimedFunction {
    fn drop(&mut self) {
        lock(&self.function).release(self.bound.id);
    }
}
