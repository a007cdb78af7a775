//! The verb: its arguments, sampling in rounds, its findings.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use anyhow::{Result, bail};
use clap::{Args, ValueEnum};
use warpsmith_case::check_device;
use warpsmith_core::{Finding, Severity};
use warpsmith_device::{ActivityTrace, Device, DeviceChoice};
use warpsmith_formats::write_output;
use warpsmith_measure::command::CommandError;
use warpsmith_measure::findings;
use warpsmith_measure::roofline::Ceilings;
use warpsmith_measure::run_sampler::{RunMode, RunTarget};
use warpsmith_measure::statistics::stop_rule::StopPlan;
use warpsmith_measure::trace::{self, RecordedSteps};
use warpsmith_measure::trajectory;
use warpsmith_telemetry::ConditionsSampler;

use super::case_job::{CaseJob, Checked};
use super::fresh_context;
use super::job::{Job, Row};
use super::kernel_options::{KernelOptions, is_kernel_file};
use super::launch_conditions::LaunchConditions;
use super::list::list;
use super::sampled::Sampled;
use super::sheet::{Beside, Rows};
use crate::kernel::command_end::ended;
use crate::kernel::verify::case::without_gpu;
use crate::machine::clock_guard::LockClocks;
use warpsmith_console::catalogue;
use warpsmith_console::exit::{Outcome, device_error};
use warpsmith_console::global::Global;
use warpsmith_console::inputs;
use warpsmith_console::interruption::Interruption;
use warpsmith_console::measured::{self, Files};
use warpsmith_console::numbers;
use warpsmith_console::output;
use warpsmith_workload::WorkloadError;

/// Measure your own kernel, or built-in workloads.
///
/// With `--device auto` each workload runs where it is expected to be faster; `-v` says why.
///
/// On a GPU the output is compared with the CPU's first: a fast wrong answer does not count
/// (finding M050, exit code 1). A run that does not finish is abandoned after `--limit`, and the
/// rest is measured in a new context (finding M051).
#[derive(Args)]
#[command(
    after_long_help = "Examples:\n  warpsmith bench --list\n  warpsmith bench machine/saxpy\n  \
    warpsmith bench machine/saxpy --device cuda --mode cold --set n=64M --html saxpy.html\n  \
    warpsmith bench machine/saxpy --roofline\n  \
    warpsmith bench machine lattice/rd --device cuda --beside vulkan\n  \
    warpsmith bench machine/saxpy --steps 10000   # each step, and memory along the way\n  \
    warpsmith bench softmax.toml --mode cold --roofline   # your own kernel over its sizes\n  \
    warpsmith bench saxpy.py --kernel saxpy   # a Warp-style kernel at sizes that we guess\n  \
    warpsmith bench add.cu --grid 4096 --block 256 --arg in:f32:1M --arg out:f32:1M --arg i32=1M"
)]
pub(crate) struct Bench {
    /// Cases (`.toml`), workloads by id or area, or a `.py`, `.cu` or `.ptx` file; default: all.
    workloads: Vec<String>,
    /// List the workloads with their parameters, and measure nothing.
    #[arg(long)]
    list: bool,
    /// Set a parameter of the one workload named, or a tunable of the case, `name=value`.
    ///
    /// Tunables that are not set have the values that `warpsmith tune` found on this GPU
    /// (`CASE.tuned.json`), else the first ones of the case.
    #[arg(long = "set", value_name = "NAME=VALUE", value_parser = catalogue::parse_setting)]
    settings: Vec<(String, String)>,
    /// What is timed.
    #[arg(long, value_enum, default_value_t = Mode::Warm)]
    mode: Mode,
    /// Measure on this device, too, in turns, such as `vulkan`.
    #[arg(long, value_name = "DEVICE")]
    beside: Option<DeviceChoice>,
    /// Rounds, spread over the session: each workload in turn, then again.
    #[arg(long, default_value_t = 1, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    rounds: u32,
    /// Stop when the interval of the median is this narrow.
    #[arg(long, default_value_t = 0.5, value_name = "PERCENT", value_parser = numbers::percent, allow_negative_numbers = true)]
    target: f64,
    /// Stop a round after this long, even if `--target` is not reached.
    #[arg(long, default_value = "10s", value_name = "TIME", value_parser = numbers::seconds, allow_negative_numbers = true)]
    budget: f64,
    /// Take exactly this many samples a round, instead of until the interval is narrow enough.
    #[arg(long, value_name = "N", value_parser = numbers::count, allow_negative_numbers = true)]
    samples: Option<usize>,
    /// Run this many steps in a row, timing each, and judge memory for leaks.
    #[arg(long, value_name = "N", value_parser = numbers::count, allow_negative_numbers = true)]
    steps: Option<usize>,
    /// With `--steps`: also write a trace for Perfetto.
    ///
    /// One span per step, memory beside it.
    #[arg(long, value_name = "FILE", requires = "steps")]
    trace: Option<PathBuf>,
    /// Give up a launch on a GPU that takes longer than this.
    #[arg(long, default_value = "20s", value_name = "TIME", value_parser = numbers::seconds, allow_negative_numbers = true)]
    limit: f64,
    /// Do not compare the output with the CPU's first.
    #[arg(long)]
    no_check: bool,
    /// Also measure the device's peak bandwidth and arithmetic, and compare each run with them.
    #[arg(long)]
    roofline: bool,
    #[command(flatten)]
    lock_clocks: LockClocks,
    #[command(flatten)]
    kernel: KernelOptions,
    #[command(flatten)]
    files: Files,
}

/// What is timed.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Mode {
    /// The work alone, L2 flushed before each run.
    Cold,
    /// The work alone, caches as the last run left them.
    Warm,
    /// Many runs between two stamps.
    Batch,
    /// Replays of the run captured as a CUDA graph.
    Graph,
    /// From the call to the end of the wait.
    EndToEnd,
}

impl From<Mode> for RunMode {
    fn from(mode: Mode) -> Self {
        match mode {
            Mode::Cold => Self::Cold,
            Mode::Warm => Self::Warm,
            Mode::Batch => Self::Batch,
            Mode::Graph => Self::Graph,
            Mode::EndToEnd => Self::EndToEnd,
        }
    }
}

impl Bench {
    pub(crate) fn run(&self, global: &Global) -> Result<Outcome> {
        let global = &self
            .files
            .check(global, &[("--trace", self.trace.as_deref())])?;
        if self.list {
            return list(global, &catalogue::choose(&self.workloads)?);
        }
        let limit = Duration::try_from_secs_f64(self.limit)?;
        let (cases, others): (Vec<&String>, Vec<&String>) = self
            .workloads
            .iter()
            .partition(|name| name.ends_with(".toml"));
        let mut case_jobs = Vec::new();
        for case in &cases {
            inputs::check_case(case.as_ref())?;
            case_jobs.extend(CaseJob::all(case.as_ref(), &self.settings)?);
        }
        if cases.len() > 1 && !self.settings.is_empty() {
            bail!("`--set` applies to one case; got {}", cases.len());
        }
        let (python, others): (Vec<&String>, Vec<&String>) =
            others.into_iter().partition(|name| name.ends_with(".py"));
        for file in &python {
            case_jobs.extend(CaseJob::drawn(global, file.as_ref(), self.kernel.name())?);
        }
        let (files, names): (Vec<&String>, Vec<&String>) =
            others.into_iter().partition(|name| is_kernel_file(name));
        if files.len() > 1 {
            bail!("one file of kernels at a time; got {}", files.len());
        }
        let file = files.first().map(|file| file.as_str());
        let only_name = self.kernel.name().is_some() && !self.kernel.launch_given();
        if file.is_none() && self.kernel.any_given() && (python.is_empty() || !only_name) {
            bail!(
                "`--kernel` goes with a `.py`, `.cu` or `.ptx` file, `--arg` and `--flag` with a `.cu` or `.ptx` file"
            );
        }
        // What needs no GPU to be refused is refused before one is looked for.
        if let Some(file) = file {
            inputs::check_file(file.as_ref())?;
        }
        let read = match file.filter(|file| file.ends_with(".ptx")) {
            Some(file) => Some(self.kernel.read_ptx(file)?),
            None => None,
        };
        let named = !((file.is_some() || !case_jobs.is_empty()) && names.is_empty());
        let beside = match self.beside.filter(|_| named) {
            Some(choice) => {
                let other = Device::open(choice)?;
                let jobs = self.choose(names.clone())?.into_iter();
                jobs.map(|job| (job.beside(choice), other.clone()))
                    .collect()
            }
            None => Vec::new(),
        };
        let workloads = match named {
            true => self.choose(names)?,
            false => Vec::new(),
        };
        let device = Device::open(global.device)?;
        let kernel = match (file, read, device.cuda()) {
            (None, ..) => None,
            (Some(_), Some(job), Some(_)) => Some(job),
            (Some(file), None, Some(gpu)) => Some(self.kernel.compile(global, file, gpu)?),
            (Some(_), _, None) => {
                output::note(
                    global,
                    "a kernel of a file needs a GPU; there is none here, or `--device cpu` was given",
                );
                return Ok(Outcome::CannotHere);
            }
        };
        for job in &case_jobs {
            check_device(&job.case.source, device.choice())?;
        }
        if device.cuda().is_none()
            && let Some(job) = case_jobs.iter().find(|job| job.needs_gpu())
        {
            return without_gpu(global, &job.case);
        }
        CaseJob::tell_interpreted(global, &case_jobs, &device)?;
        CaseJob::take_winners(global, &mut case_jobs, device.name(), &self.settings)?;
        let cases = case_jobs.into_iter().map(Job::case);
        let jobs: Vec<Job> = kernel.into_iter().chain(cases).chain(workloads).collect();
        // Given back at the end of this function, and by its own process where we never get there.
        let _clocks = match device.cuda() {
            Some(_) => self.lock_clocks.acquire(global)?,
            None => None,
        };
        device.warm_up()?;
        let sampler = device.cuda().and_then(|_| ConditionsSampler::start());
        let given_up = fresh_context::given_up();
        let mut found: Vec<Finding> = given_up
            .iter()
            .map(|name| findings::of_given_up(name, self.limit))
            .collect();
        let jobs = jobs
            .into_iter()
            .filter(|job| !given_up.contains(&job.name))
            .map(|job| {
                // A roofline is that of one device.
                let place = match self.roofline {
                    true => device.clone(),
                    false => job.place(global, &device)?,
                };
                Ok((job, place))
            })
            .collect::<Result<Vec<_>>>()?;
        let jobs: Vec<(Job, Device)> = jobs.into_iter().chain(beside).collect();
        let ceilings = match self.roofline && !jobs.is_empty() {
            true => Some(Ceilings::measure(&device)?),
            false => None,
        };
        let interruption = Interruption::listen()?;
        let mut rows = match self.steps {
            Some(steps) => self.trajectories(global, &jobs, (steps, limit), &interruption)?,
            None => {
                let ceilings = ceilings.as_ref();
                self.measure(global, &jobs, limit, ceilings, &mut found, &interruption)?
            }
        };
        output::progress(global, "");
        let beside = Beside {
            ceilings,
            meanwhile: sampler.map(ConditionsSampler::finish),
        };
        if let Some(meanwhile) = &beside.meanwhile {
            rows.iter_mut().for_each(|row| row.attach(meanwhile));
        }
        let outcome = self.report(global, rows, found, &beside)?;
        let interrupted = interruption.came().then_some(CommandError::Interrupted);
        ended(global, outcome, interrupted)
    }

    fn choose(&self, names: Vec<&String>) -> Result<Vec<Job>> {
        let names: Vec<String> = names.into_iter().cloned().collect();
        let workloads = catalogue::choose(&names)?;
        if !self.settings.is_empty() && workloads.len() != 1 {
            bail!("`--set` applies to one workload; got {}", workloads.len());
        }
        workloads
            .into_iter()
            .map(|workload| Job::workload(workload, &self.settings))
            .collect()
    }

    fn report(
        &self,
        global: &Global,
        rows: Vec<Row>,
        mut found: Vec<Finding>,
        beside: &Beside,
    ) -> Result<Outcome> {
        for row in &rows {
            found.extend(
                row.parity.as_ref().and_then(|parity| {
                    findings::of_parity(&row.workload, &row.to_verify(), parity)
                }),
            );
            found.extend(findings::of_measurement(&row.measurement, &row.figures));
            let leaks = row.memory.iter();
            found
                .extend(leaks.filter_map(|series| findings::of_leak(&series.kind, &series.report)));
        }
        let mut report = output::report("bench", Rows(rows));
        report.findings = found;
        let rows = &report.body;
        let written = self.files.write(
            global,
            "bench",
            &rows.measurements(),
            || rows.sections(beside),
            &report,
        );
        output::print(global, &report, |rows| rows.describe(beside))?;
        // A file that cannot be written loses nothing: the result stands above.
        written?;
        let failed = report.worst() == Some(Severity::Error);
        Ok(Outcome::fine_if(!failed))
    }

    fn measure(
        &self,
        global: &Global,
        jobs: &[(Job, Device)],
        limit: Duration,
        ceilings: Option<&Ceilings>,
        found: &mut Vec<Finding>,
        interruption: &Interruption,
    ) -> Result<Vec<Row>> {
        let mut plan = StopPlan {
            target: self.target / 100.0,
            timeout: Duration::try_from_secs_f64(self.budget)?,
            interrupted: Some(interruption.lasting_flag()),
            ..StopPlan::default()
        };
        if let Some(samples) = self.samples {
            plan.target = 0.0;
            plan.maximum_count = samples.max(1);
        }
        let mut begun = Vec::new();
        let mut unsupported = None;
        for (job, device) in jobs {
            if interruption.came() {
                break;
            }
            output::progress(global, &job.name);
            let begin = || {
                let parity = match self.no_check {
                    true => None,
                    false => match job.check(global, device)? {
                        Checked::Compared(parity) => parity,
                        Checked::Faulted(reason) => return Ok(Err(reason)),
                    },
                };
                Ok(Ok((parity, job.sampled(device, self.mode.into(), limit)?)))
            };
            let (parity, sampled) = match unless_it_never_ends(global, job, begin()) {
                Ok(Ok(begun)) => begun,
                // The others of a group are measured.
                Err(error) if is_unsupported(&error) && jobs.len() > 1 => {
                    output::note(global, &error.to_string());
                    unsupported = Some(error);
                    continue;
                }
                Err(error) => return Err(error),
                Ok(Err(reason)) => {
                    found.push(
                        Finding::new(
                            "C006",
                            Severity::Error,
                            format!("`{}` faults and is not measured", job.name),
                        )
                        .because("its check", reason)
                        .hint("`warpsmith verify` names the line where compute-sanitizer is installed"),
                    );
                    continue;
                }
            };
            let measurement = sampled.begin(&job.name, device);
            begun.push((job, device, parity, sampled, measurement));
        }
        if let Some(error) = unsupported.filter(|_| begun.is_empty()) {
            return Err(error);
        }
        // Round-robin: a state of the machine that outlives one round meets every workload.
        for _ in 0..self.rounds {
            for (job, _, _, sampled, measurement) in &mut begun {
                if interruption.came() {
                    break;
                }
                let round = sampled.measure_round(measurement, &plan, &mut |progress| {
                    measured::show_progress(global, &job.name, plan.target, progress);
                });
                unless_it_never_ends(global, job, round)?;
            }
        }
        let mut rows = Vec::new();
        for (job, device, parity, mut sampled, measurement) in begun {
            if measurement.seconds.is_empty() {
                // Interrupted before its first sample.
                continue;
            }
            if sampled.unheld() > 0 {
                found.push(
                    Finding::new(
                        "M007",
                        Severity::Warning,
                        format!("`{}`: launch latency is inside the samples", job.name),
                    )
                    .because(
                        "samples that could not be queued ahead",
                        sampled.unheld().to_string(),
                    ),
                );
            }
            let mut row = job.row(device, parity, measurement, ceilings, Vec::new())?;
            if let (true, Some(gpu), Sampled::Here(_, target)) =
                (job.is_case(), device.cuda(), &mut sampled)
            {
                let read = LaunchConditions::read(gpu, target);
                row.launch = unless_it_never_ends(global, job, read.map_err(Into::into))?;
            }
            rows.push(row);
        }
        Ok(rows)
    }

    fn trajectories(
        &self,
        global: &Global,
        jobs: &[(Job, Device)],
        (steps, limit): (usize, Duration),
        interruption: &Interruption,
    ) -> Result<Vec<Row>> {
        let mut rows = Vec::new();
        for (job, device) in jobs {
            if interruption.came() {
                break;
            }
            let begin = job.begin(device, RunMode::EndToEnd, limit);
            let (sampler, mut target) = unless_it_never_ends(global, job, begin)?;
            let budget = warpsmith_measure::leak::detector::LeakPlan::default().budget;
            let done = trajectory::run(
                &job.name,
                &sampler,
                &mut target,
                device,
                steps,
                budget,
                &mut |step| {
                    output::progress(global, &format!("{}  step {step} of {steps}", job.name));
                    !interruption.came()
                },
            );
            let done = unless_it_never_ends(global, job, done.map_err(Into::into))?;
            if let Some(path) = &self.trace {
                let recorded =
                    unless_it_never_ends(global, job, record_steps(global, device, &mut target))?;
                let bytes = trace::trajectory(Vec::new(), &done, recorded.as_ref())?;
                write_output(path, &bytes)?;
                output::note(global, &format!("wrote {}", path.display()));
            }
            rows.push(job.row(device, None, done.measurement, None, done.memory)?);
        }
        Ok(rows)
    }
}

/// Runs some steps again while CUPTI records what the GPU does; `None`, with the reason said, where
/// there is no CUPTI, and on the CPU.
fn record_steps(
    global: &Global,
    device: &Device,
    target: &mut RunTarget,
) -> Result<Option<RecordedSteps>> {
    const STEPS: usize = 200;
    if device.cuda().is_none() {
        return Ok(None);
    }
    let recording = match ActivityTrace::start() {
        Ok(recording) => recording,
        Err(error) => {
            output::note(
                global,
                &format!("the GPU's own activity is not in the trace: {error}"),
            );
            return Ok(None);
        }
    };
    let begun = Instant::now();
    let mut host = Vec::with_capacity(STEPS);
    for _ in 0..STEPS {
        let start = begun.elapsed().as_secs_f64();
        target.run_and_wait()?;
        host.push((start, begun.elapsed().as_secs_f64() - start));
    }
    Ok(Some(RecordedSteps {
        host,
        device: recording.finish()?,
    }))
}

/// Whether a workload has no version for the device.
fn is_unsupported(error: &anyhow::Error) -> bool {
    let error = error.downcast_ref::<WorkloadError>();
    matches!(error, Some(WorkloadError::Unsupported { .. }))
}

/// Passes results on; where work never ended, starts again without it.
fn unless_it_never_ends<T>(global: &Global, job: &Job, result: Result<T>) -> Result<T> {
    if let Err(error) = &result
        && device_error(error).is_some_and(|error| error.is_never_ended())
    {
        fresh_context::restart_without(global, &job.name)?;
    }
    result
}
