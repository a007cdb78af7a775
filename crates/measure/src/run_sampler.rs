//! One way to sample any prepared workload, on any device: for measuring, comparing, ablating and
//! scaling alike.

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use warpsmith_device::{Device, DeviceError, Graph, pool_waits};
use warpsmith_workload::{Output, Prepared, WorkloadError};

use crate::cpu::closure::{ClosureSampler, Progress};
use crate::cpu::machine_probe::MachineProbe;
use crate::cpu::steal::CpuTicks;
use crate::gpu::device_timer::{CacheState, DeviceTimer};
use crate::measurement::{Conditions, Measurement, Sample, SampleMode};
use crate::statistics::order::median_of;
use crate::statistics::stop_rule::{MedianStop, StopPlan, StopReason};

/// What is timed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RunMode {
    /// The work alone, L2 flushed before each run; on the CPU and on Vulkan the same as warm.
    Cold,
    /// The work alone, caches as the last run left them.
    Warm,
    /// Many runs between two stamps; each sample is their mean.
    Batch,
    /// Replays of the run captured as a graph.
    Graph,
    /// From the call to the end of the wait, on the host's clock.
    EndToEnd,
}

/// Samples prepared workloads on one device.
pub struct RunSampler {
    mode: RunMode,
    closure: ClosureSampler,
    timer: Option<DeviceTimer>,
    /// Whether the work runs on Vulkan, where every run is waited for.
    on_vulkan: bool,
    /// What a Vulkan device's timer reads for nothing, in seconds, where it may give the samples.
    timestamps: Option<f64>,
    device: String,
    limit: Duration,
    settle: Duration,
}

/// A prepared workload with what sampling it needs.
pub struct RunTarget {
    prepared: Box<dyn Prepared>,
    inner: u64,
    graph: Option<Graph>,
    limit: Duration,
    /// What a run took in the warm-up, launch and wait included.
    roughly: Duration,
    /// What a Vulkan device's timer reads for nothing, in seconds, where that timer gives the samples.
    bias: Option<f64>,
}

impl RunTarget {
    /// Runs once and waits for the end.
    pub fn run_and_wait(&mut self) -> Result<(), WorkloadError> {
        self.prepared.run_once()?;
        match self.prepared.stream() {
            Some(stream) => Ok(stream.synchronize_within(self.limit)?),
            None => Ok(()),
        }
    }

    /// What one more run writes into poisoned memory: right only if timed runs still compute.
    pub fn fresh_output(&mut self) -> Result<Output, WorkloadError> {
        self.prepared.poison()?;
        self.run_and_wait()?;
        self.prepared.output()
    }
}

impl RunTarget {
    /// Runs back to back for at least `span`, as many at a time as a driver queues, and waits; how many
    /// runs there were.
    pub fn run_for(&mut self, span: Duration) -> Result<u64, WorkloadError> {
        let begun = Instant::now();
        let mut runs = 0;
        // Short enough that the limit of a wait is that of some runs, not of hundreds of slow ones.
        let together = match self.roughly > Duration::from_millis(1) {
            true => 1,
            false => RunSampler::QUEUED,
        };
        while begun.elapsed() < span {
            for _ in 1..together {
                self.prepared.run_once()?;
            }
            self.run_and_wait()?;
            runs += together;
        }
        Ok(runs)
    }
}

impl RunSampler {
    /// Launches between two events in batch mode: the event's resolution of 32 ns is a thousandth
    /// of 64 launches of half a microsecond each.
    const BATCH: u64 = 64;
    /// Samples that are taken together last no longer than this, so that stop rules and people
    /// need not wait.
    const TOGETHER: Duration = Duration::from_millis(20);
    /// How long a workload may take to settle before its first sample.
    const SETTLE: Duration = Duration::from_secs(1);
    /// Runs that a driver queues before it makes the host wait, with room to spare.
    const QUEUED: u64 = 512;

    /// Calibrates the timers for `device`.
    pub fn new(device: &Device, mode: RunMode) -> Result<Self, DeviceError> {
        let timer = match (device.cuda(), mode) {
            (None, _) | (_, RunMode::EndToEnd) => None,
            (Some(gpu), RunMode::Cold) => Some(DeviceTimer::new(gpu, CacheState::Cold)?),
            (Some(gpu), _) => Some(DeviceTimer::new(gpu, CacheState::Warm)?),
        };
        let timestamps = match (device.vulkan(), mode) {
            (None, _) | (_, RunMode::EndToEnd) => None,
            (Some(vulkan), _) if vulkan.facts().timestamp_period > 0.0 => {
                Some(vulkan.timer_bias()?)
            }
            (Some(_), _) => None,
        };
        Ok(Self {
            on_vulkan: device.vulkan().is_some(),
            timestamps,
            mode,
            closure: ClosureSampler::calibrate(),
            timer,
            device: device.name().to_owned(),
            limit: DeviceTimer::LIMIT,
            settle: Self::SETTLE,
        })
    }

    /// Gives up on a run that takes longer than `limit` on a GPU, and on the context with it.
    pub fn set_limit(&mut self, limit: Duration) {
        self.limit = limit;
        if let Some(timer) = &mut self.timer {
            timer.set_limit(limit);
        }
    }

    /// Lets a workload settle for at most `settle`: on a busy machine it never does.
    pub fn set_settle(&mut self, settle: Duration) {
        self.settle = settle;
    }

    /// Warms `prepared` up and finds how many runs make a sample.
    pub fn target(&self, mut prepared: Box<dyn Prepared>) -> Result<RunTarget, WorkloadError> {
        prepared.set_limit(self.limit);
        let mut target = RunTarget {
            prepared,
            inner: 1,
            graph: None,
            limit: self.limit,
            roughly: Duration::ZERO,
            bias: None,
        };
        // Modules load and caches fill on the first run; a failure shows here, untimed.
        target.run_and_wait()?;
        // A workload whose work the timer does not see, such as an upload, is timed by the host.
        if target.prepared.device_seconds().is_some() {
            target.bias = self.timestamps;
        }
        let begun = Instant::now();
        let mut medians: Vec<f64> = Vec::new();
        // Until three medians of 16 in a row are within 1 %, or the time is up.
        while begun.elapsed() < self.settle {
            let mut times = Vec::new();
            for _ in 0..16 {
                let start = Instant::now();
                target.run_and_wait()?;
                times.push(start.elapsed().as_secs_f64());
                if begun.elapsed() >= self.settle {
                    break;
                }
            }
            medians.push(median_of(&times));
            if let [.., a, b, c] = medians[..]
                && (a / b - 1.0).abs() < 0.01
                && (b / c - 1.0).abs() < 0.01
            {
                break;
            }
        }
        let roughly = medians.last().copied().unwrap_or(0.0);
        target.roughly = Duration::try_from_secs_f64(roughly).unwrap_or(self.limit);
        if self.timer.is_none() && !self.on_vulkan && target.prepared.stream().is_none() {
            let mut failed = None;
            target.inner = self.closure.inner_count(&mut || {
                failed = failed.take().or(target.prepared.run_once().err());
            });
            if let Some(error) = failed {
                return Err(error);
            }
        } else if self.mode == RunMode::Batch {
            target.inner = Self::BATCH;
        } else if self.mode == RunMode::Graph
            && let Some(stream) = target.prepared.stream().cloned()
        {
            let mut failed = None;
            let graph = stream.capture(|_| {
                failed = target.prepared.run_once().err();
                Ok(())
            });
            if let Some(error) = failed {
                return Err(error);
            }
            target.graph = Some(graph?);
        }
        Ok(target)
    }

    /// Takes one sample.
    pub fn sample(&mut self, target: &mut RunTarget) -> Result<Sample, WorkloadError> {
        let mut samples = Vec::with_capacity(1);
        self.sample_many(target, 1, &mut |sample| samples.push(sample))?;
        // `sample_many` takes at least one.
        Ok(samples[0])
    }

    /// Takes at least one and at most `most` samples, with one wait for all where a device event
    /// gives the time.
    fn sample_many(
        &mut self,
        target: &mut RunTarget,
        most: usize,
        keep: &mut dyn FnMut(Sample),
    ) -> Result<(), WorkloadError> {
        let RunTarget {
            prepared,
            inner,
            graph,
            limit,
            bias,
            ..
        } = target;
        if let (Some(timer), Some(stream)) = (&mut self.timer, prepared.stream().cloned()) {
            let mut taken = Vec::with_capacity(most);
            let inner = *inner;
            timer.time_many::<WorkloadError>(&stream, most, &mut taken, &mut || {
                for _ in 0..inner {
                    match graph {
                        Some(graph) => graph.launch(&stream)?,
                        None => prepared.run_once()?,
                    }
                }
                Ok(())
            })?;
            // Those that were taken together lasted 20 ms at most: one time for all.
            let now = SystemTime::now().duration_since(UNIX_EPOCH).ok();
            for sample in taken {
                keep(Sample {
                    clock_mhz: sample.clock_mhz,
                    taken_at: now.map(|now| now.as_secs_f64()),
                    ..Sample::of_seconds(sample.seconds / inner as f64)
                });
            }
            return Ok(());
        }
        if let Some(bias) = *bias {
            let mut seconds = 0.0;
            for _ in 0..*inner {
                prepared.run_once()?;
                seconds += (prepared.device_seconds().unwrap_or(f64::NAN) - bias).max(0.0);
            }
            let now = SystemTime::now().duration_since(UNIX_EPOCH).ok();
            keep(Sample {
                taken_at: now.map(|now| now.as_secs_f64()),
                ..Sample::of_seconds(seconds / *inner as f64)
            });
            return Ok(());
        }
        let mut failed = None;
        let waits = pool_waits();
        let mut sample = self.closure.sample(
            &mut || {
                let ran = prepared.run_once().and_then(|()| match prepared.stream() {
                    Some(stream) => Ok(stream.synchronize_within(*limit)?),
                    None => Ok(()),
                });
                failed = failed.take().or(ran.err());
            },
            *inner,
        );
        if prepared.stream().is_some() || self.on_vulkan || pool_waits() != waits {
            // This thread waits for the work: its CPU time says nothing about it.
            sample.cpu_seconds = None;
        }
        match failed {
            Some(error) => Err(error),
            None => {
                keep(sample);
                Ok(())
            }
        }
    }

    /// An empty measurement with this sampler's conditions.
    pub fn begin(&self, name: &str, target: &RunTarget) -> Measurement {
        let on_device = self.timer.is_some() || target.bias.is_some();
        Measurement::empty(
            name,
            Conditions {
                mode: match (on_device, self.mode) {
                    (true, RunMode::Cold) if !self.on_vulkan => SampleMode::GpuCold,
                    (true, RunMode::Batch) => SampleMode::GpuBatch,
                    (true, RunMode::Graph) if !self.on_vulkan => SampleMode::GpuGraph,
                    (true, _) => SampleMode::GpuHot,
                    (false, _) if self.on_vulkan || target.prepared.stream().is_some() => {
                        SampleMode::EndToEnd
                    }
                    (false, _) => SampleMode::CpuClosure,
                },
                inner_count: target.inner,
                overhead_seconds: match (&self.timer, target.bias) {
                    (Some(timer), _) => timer.overhead().0,
                    (None, Some(bias)) => bias,
                    (None, None) => self.closure.cost().of(target.inner) / target.inner as f64,
                },
                stop: StopReason::CountReached,
                steal_share: None,
                device: self.device.clone(),
            },
        )
    }

    /// Samples whose times contain launch latency because the work could not be queued ahead.
    pub fn unheld(&self) -> usize {
        self.timer.as_ref().map_or(0, DeviceTimer::unheld)
    }

    /// Samples until the plan is met, appending a round to `measurement`.
    pub fn measure_round(
        &mut self,
        measurement: &mut Measurement,
        target: &mut RunTarget,
        plan: &StopPlan,
        watch: &mut dyn FnMut(&Progress<'_>),
    ) -> Result<(), WorkloadError> {
        measurement.begin_round();
        let first = measurement.seconds.len();
        let ticks = CpuTicks::read();
        let mut stop = MedianStop::new(*plan);
        let begun = Instant::now();
        let one = target.roughly.max(Duration::from_nanos(1)) * target.inner as u32;
        let together = (Self::TOGETHER.as_nanos() / one.as_nanos())
            .min(u128::from(Self::QUEUED / target.inner))
            .max(1) as usize;
        let on_host = self.timer.is_none() && target.bias.is_none();
        let mut probe = on_host.then(MachineProbe::begin);
        loop {
            if let Some(speed) = probe.as_mut().and_then(MachineProbe::read_if_due) {
                measurement.push_probe(speed);
            }
            let taken = measurement.seconds.len() - first;
            let most = together
                .min(plan.maximum_count.saturating_sub(taken))
                .max(1);
            self.sample_many(target, most, &mut |sample| measurement.push(sample))?;
            let (count, elapsed) = (measurement.seconds.len() - first, begun.elapsed());
            if stop.is_due(count, elapsed) {
                // What was disturbed does not decide when to stop, unless there is nothing else.
                let undisturbed: Vec<f64> = (first..measurement.seconds.len())
                    .filter(|index| measurement.preempted.binary_search(index).is_err())
                    .map(|index| measurement.seconds[index])
                    .collect();
                let enough = undisturbed.len() * 10 >= count * 3;
                let samples = if enough {
                    &undisturbed
                } else {
                    &measurement.seconds[first..]
                };
                let reason = stop.look(samples, elapsed);
                watch(&Progress::of(&stop, count, elapsed));
                if let Some(reason) = reason {
                    measurement.conditions.stop = reason;
                    break;
                }
            }
        }
        measurement.conditions.steal_share = ticks
            .zip(CpuTicks::read())
            .and_then(|(early, late)| late.stolen_share_since(&early));
        Ok(())
    }
}
