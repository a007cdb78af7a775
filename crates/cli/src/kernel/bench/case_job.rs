//! A case at one of its sizes as something to measure.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::{Result, bail};
use warpsmith_case::{
    Case, Check, Choice, Fault, Program, Scope, Settings, Source, TimedFunction, Verdict, Verifier,
    choice_words, size_words, timed_contents,
};
use warpsmith_core::{Agreement, Bytes, Flops};
use warpsmith_device::Device;
use warpsmith_measure::Parity;
use warpsmith_measure::run_sampler::RunMode;
use warpsmith_workload::{Cost, Prepared};

use crate::kernel::drawn_case::{self, DrawnCase};
use crate::kernel::tune::chosen;
use crate::kernel::verify::case::{check_apart, explain};
use warpsmith_console::global::Global;
use warpsmith_console::output;

/// A case at one size.
pub(crate) struct CaseJob {
    pub(crate) case: Arc<Case>,
    /// What it is called: the case's name, or the kernel's where nobody wrote a case.
    title: String,
    pub(crate) size: Scope,
    /// Values of the tunables.
    pub(crate) choice: Choice,
    /// Where a tuning has found them.
    pub(crate) tuned: Option<PathBuf>,
    /// The checks of all sizes of the case, by choice of tunables, once one of them was wanted: a process
    /// for each would spend its time on a context and a reference of its own.
    checks: Arc<Mutex<BTreeMap<String, Vec<Check>>>>,
    /// The process of a Python function, which all sizes share.
    function: Arc<Mutex<Option<Program>>>,
}

/// What came of comparing a kernel with its reference.
pub(crate) enum Checked {
    /// How it compares; `None` where there is nothing to compare with.
    Compared(Option<Parity>),
    /// It faulted, wrote outside of its arrays or did not end: to run it again would end this process.
    Faulted(String),
}

impl CaseJob {
    /// Every size that the case lists, with the first values of the tunables where none are set.
    pub(crate) fn all(file: &Path, settings: &[(String, String)]) -> Result<Vec<Self>> {
        let case = Case::open(file)?;
        let title = case.name();
        Self::of(case, title, settings)
    }

    /// The kernels of a Python file, or one of them, at the sizes whose dimensions are all alike: every combination
    /// of what nobody chose would be many.
    pub(crate) fn drawn(global: &Global, file: &Path, kernel: Option<&str>) -> Result<Vec<Self>> {
        let mut jobs = Vec::new();
        for DrawnCase { kernel, case } in drawn_case::draw(global, file, kernel)? {
            jobs.extend(Self::of(case, kernel, &[])?.into_iter().filter(|job| {
                let mut extents = job.size.values();
                let first = extents.next();
                extents.all(|extent| Some(extent) == first)
            }));
        }
        Ok(jobs)
    }

    fn of(case: Case, title: String, settings: &[(String, String)]) -> Result<Vec<Self>> {
        let case = Arc::new(case);
        let choice = case
            .choice_with(case.first_choice(), settings)
            .map_err(anyhow::Error::msg)?;
        let sizes = case.listed_sizes(&choice)?;
        if sizes.is_empty() {
            bail!("{}: no size satisfies the constraints", case.file.display());
        }
        let (checks, function) = (Arc::default(), Arc::default());
        let job = |size| Self {
            case: Arc::clone(&case),
            title: title.clone(),
            size,
            choice: choice.clone(),
            tuned: None,
            checks: Arc::clone(&checks),
            function: Arc::clone(&function),
        };
        Ok(sizes.into_iter().map(job).collect())
    }

    /// Takes what a tuning on this device has found for each size, and says so; what the user sets stays.
    pub(crate) fn take_winners(
        global: &Global,
        jobs: &mut [Self],
        device: &str,
        settings: &[(String, String)],
    ) -> Result<()> {
        for job in jobs.iter_mut().filter(|job| !job.case.tunables.is_empty()) {
            let is_set = |name: &String| settings.iter().any(|(set, _)| set == name);
            if job.choice.iter().all(|(name, _)| is_set(name)) {
                continue;
            }
            let Some(winner) = chosen(&job.case, device, &job.size)? else {
                continue;
            };
            let choice = job
                .case
                .choice_with(winner.choice, settings)
                .map_err(anyhow::Error::msg)?;
            if !job.case.allows(&job.size, &choice)? {
                continue;
            }
            let from = match &winner.tuned_at {
                None => String::new(),
                Some(size) => format!(", tuned at {}", size_words(size, &job.case.sizes.names)),
            };
            output::note(
                global,
                &format!(
                    "{}: {} from {}{from}",
                    job.name(),
                    choice_words(&choice),
                    winner.file.display()
                ),
            );
            job.choice = choice;
            job.tuned = Some(winner.file);
        }
        Ok(())
    }

    /// Says which kernels run on the interpreter, and why: their times are not those of native code.
    pub(crate) fn tell_interpreted(global: &Global, jobs: &[Self], device: &Device) -> Result<()> {
        let mut told: Vec<&str> = Vec::new();
        for job in jobs {
            let here = device.is_cpu() && matches!(job.case.source, Source::Warp(_));
            if !here || told.contains(&job.title.as_str()) {
                continue;
            }
            told.push(&job.title);
            let program = Program::prepare(&job.case, &job.choice, device, Settings::default());
            if let Some(reason) = program.map_err(explain)?.interpreted_because() {
                let text = format!(
                    "`{}` runs on the interpreter, because it has {reason}: native code would be faster",
                    job.title
                );
                output::note(global, &text);
            }
        }
        Ok(())
    }

    /// Whether only a GPU can run it.
    pub(crate) fn needs_gpu(&self) -> bool {
        !matches!(self.case.source, Source::Warp(_) | Source::Callable(_))
    }

    /// What it is called, without its size.
    pub(crate) fn title(&self) -> &str {
        &self.title
    }

    /// `softmax rows=64 cols=1000`.
    pub(crate) fn name(&self) -> String {
        let size = size_words(&self.size, &self.case.sizes.names);
        format!("{} {size}", self.title).trim_end().to_owned()
    }

    /// What one launch must at least do.
    pub(crate) fn cost(&self) -> Cost {
        Cost {
            bytes: Bytes(self.case.bytes(&self.size, &self.choice)),
            flops: Flops(self.case.flops(&self.size, &self.choice)),
            units: 1,
            unit: "launch",
        }
    }

    /// The case's Python function, ready to be timed; `None` where the kernel is no such function.
    pub(crate) fn timed_function(
        &self,
        device: &Device,
        mode: RunMode,
    ) -> Result<Option<TimedFunction>> {
        if !matches!(self.case.source, Source::Callable(_)) {
            return Ok(None);
        }
        let timed = || -> Result<Option<TimedFunction>, Fault> {
            let program = self.function(device)?;
            let instance = self.case.instance(&self.size, &self.choice)?;
            let contents = timed_contents(&self.case, &instance, 1)?;
            program.timed(&instance, &contents, mode)
        };
        timed().map_err(explain)
    }

    /// The one process of a Python function.
    fn function(&self, device: &Device) -> Result<Program, Fault> {
        let mut function = self.function.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(program) = function.as_ref().and_then(Program::again) {
            return Ok(program);
        }
        let program = Program::prepare(&self.case, &self.choice, device, Settings::default())?;
        *function = program.again();
        Ok(program)
    }

    /// Compiles, uploads and makes ready to run.
    pub(crate) fn prepare(&self, device: &Device) -> Result<Box<dyn Prepared>> {
        let prepare = || -> Result<Box<dyn Prepared>, Fault> {
            let settings = Settings::default();
            let program = Program::prepare(&self.case, &self.choice, device, settings)?;
            let instance = self.case.instance(&self.size, &self.choice)?;
            let contents = timed_contents(&self.case, &instance, 1)?;
            program.prepared(&instance, &contents)
        };
        prepare().map_err(explain)
    }

    /// The kernel against its reference at this size; `None` where the case has none, or where the size
    /// is too large for one. On a GPU another process does this: a fault costs that one.
    pub(crate) fn check(&self, global: &Global, device: &Device) -> Result<Checked> {
        let choice = &self.choice;
        let sizes = self.case.verification_sizes(choice)?;
        if self.case.reference.is_none() || sizes.too_large.contains(&self.size) {
            return Ok(Checked::Compared(None));
        }
        let seed = u64::from(std::process::id());
        let apart = !device.is_cpu() && !matches!(self.case.source, Source::Callable(_));
        let verdict = {
            let mut checks = self.checks.lock().unwrap_or_else(PoisonError::into_inner);
            let words = choice_words(choice);
            if !checks.contains_key(&words) {
                let listed = self.case.listed_sizes(choice)?;
                let found = match apart {
                    true => check_apart(global, &self.case, choice, listed, device.choice(), seed)?,
                    false => self.check_here(device, &listed, seed).map_err(explain)?,
                };
                checks.insert(words.clone(), found);
            }
            let mut known = checks.get(&words).into_iter().flatten();
            let Some(check) = known.find(|check| check.dimensions == self.size) else {
                return Ok(Checked::Compared(None));
            };
            check.verdict.clone()
        };
        if apart && matches!(verdict, Verdict::Fault { .. } | Verdict::OutOfBounds { .. }) {
            return Ok(Checked::Faulted(format!(
                "{}: {}",
                self.name(),
                verdict.words()
            )));
        }
        Ok(Checked::Compared(Some(match verdict {
            Verdict::Right { outputs, .. } => Parity::Agrees {
                worst: Agreement {
                    compared: outputs.iter().map(|output| output.compared).sum(),
                    max_abs: outputs
                        .iter()
                        .map(|output| output.max_error)
                        .fold(0.0, f64::max),
                    ..Agreement::default()
                },
                seeds: 1,
            },
            verdict => Parity::Incomparable {
                reason: format!("{}: {}", self.name(), verdict.words()),
            },
        })))
    }

    /// The checks of these sizes in this process: the interpreter's, and a Python function's.
    fn check_here(&self, device: &Device, sizes: &[Scope], seed: u64) -> Result<Vec<Check>, Fault> {
        let possible = self.case.verification_sizes(&self.choice)?.sizes;
        let mut verifier =
            Verifier::prepare(&self.case, &self.choice, device, Settings::default())?;
        let sizes = sizes.iter().filter(|size| possible.contains(size));
        sizes
            .map(|size| verifier.check(size, seed, 0, false))
            .collect()
    }
}
