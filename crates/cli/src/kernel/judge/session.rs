//! One run over the candidates: jobs that judge, and verdicts that are written as they come.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError, RwLock};
use std::thread;
use std::time::Instant;

use anyhow::Result;
use warpsmith_case::Case;
use warpsmith_case::judge::{Bench, Candidate, Judgement, Language, Limits, Outcome, Task};
use warpsmith_console::global::Global;
use warpsmith_console::output;

use super::kernel_worker::KernelWorker;
use super::verdict_file::VerdictFile;
use crate::kernel::verify::case::explain;

/// The candidates of one case or KernelBench problem, each with what decides its verdict.
pub(super) struct Group<'a> {
    pub(super) case: PathBuf,
    pub(super) members: Vec<(&'a Candidate, String)>,
}

/// How many candidates are compiled and checked at the same time.
#[derive(Clone, Copy)]
pub(super) struct Jobs {
    /// Where a candidate is a Python program, with libraries and memory of its own.
    pub(super) programs: usize,
    /// Where a candidate is a kernel.
    pub(super) kernels: usize,
    /// Whether kernels that are right are timed, one at a time.
    pub(super) timed: bool,
}

/// A candidate without a verdict, and what decides it.
type Open<'a> = (&'a Candidate, &'a str);

fn is_problem(group: &Group<'_>) -> bool {
    group.case.extension().is_some_and(|ending| ending == "py")
}

fn is_python(group: &Group<'_>, candidate: &Candidate) -> bool {
    let text = candidate.text().unwrap_or_default();
    is_problem(group) || candidate.language(&text) == Language::Python
}

/// What a session is about.
pub(super) struct Setup<'a> {
    pub(super) global: &'a Global,
    pub(super) limits: &'a Limits,
    pub(super) jobs: Jobs,
    pub(super) seed: u64,
    pub(super) file: VerdictFile,
    pub(super) candidates: usize,
}

/// What all jobs share.
pub(super) struct Session<'a> {
    setup: Setup<'a>,
    begun: Instant,
    judged: AtomicUsize,
    judgements: Mutex<Vec<Judgement>>,
    notes: Mutex<Vec<String>>,
    unwritable: AtomicBool,
}

/// What a session leaves.
pub(super) struct Ended {
    pub(super) judgements: Vec<Judgement>,
    pub(super) notes: Vec<String>,
    /// Candidates without a verdict from an earlier run.
    pub(super) judged: usize,
    pub(super) seconds: f64,
}

impl<'a> Session<'a> {
    pub(super) fn new(setup: Setup<'a>) -> Self {
        Self {
            setup,
            begun: Instant::now(),
            judged: AtomicUsize::new(0),
            judgements: Mutex::new(Vec::new()),
            notes: Mutex::new(Vec::new()),
            unwritable: AtomicBool::new(false),
        }
    }

    /// Judges the candidates that have no verdict yet. Where there is one group, its own failure (its reference
    /// fails, say) is an error; of several, the others go on.
    pub(super) fn judge(&self, groups: &[Group<'a>]) -> Result<()> {
        let mut kernels = Vec::new();
        for group in groups {
            let open = self.without_verdict(group);
            if open.is_empty() {
                continue;
            }
            let prepared = match self.task(group, &open) {
                Ok(None) => {
                    kernels.push((group, open));
                    continue;
                }
                Ok(Some(task)) => self.judge_by_task(group, &open, &task),
                Err(error) => Err(error),
            };
            if let Err(error) = prepared {
                if groups.len() == 1 || self.cannot_write() {
                    return Err(error);
                }
                self.not_run(group, &format!("{error:#}"))?;
            }
        }
        self.judge_kernels(&kernels)
    }

    fn without_verdict<'g>(&self, group: &'g Group<'a>) -> Vec<Open<'g>> {
        let mut open = Vec::new();
        for (candidate, key) in &group.members {
            match self.setup.file.get(&candidate.id) {
                Some(known) => self.keep(known.clone()),
                None => open.push((*candidate, key.as_str())),
            }
        }
        open
    }

    /// What Python candidates are to do; nothing where all candidates are kernels.
    fn task(&self, group: &Group<'_>, open: &[Open<'_>]) -> Result<Option<Task>> {
        let task = if is_problem(group) {
            Task::of_problem(&group.case, self.setup.seed, self.setup.limits)
                .map_err(anyhow::Error::msg)?
        } else {
            let case = Case::open(&group.case)?;
            if !open
                .iter()
                .any(|(candidate, _)| is_python(group, candidate))
            {
                return Ok(None);
            }
            Task::of_case(&case, self.setup.seed, self.setup.limits).map_err(explain)?
        };
        let notes = task.notes.iter();
        locked(&self.notes).extend(notes.map(|note| format!("{}: {note}", task.name())));
        Ok(Some(task))
    }

    fn judge_by_task(&self, group: &Group<'_>, open: &[Open<'_>], task: &Task) -> Result<()> {
        let next = AtomicUsize::new(0);
        let device = RwLock::new(());
        in_parallel(self.setup.jobs.programs.min(open.len()), || {
            let mut bench = Bench::new(task, self.setup.limits, &device);
            let mut kernels = self.kernel_worker(&device);
            while let Some((candidate, key)) = open.get(next.fetch_add(1, Ordering::Relaxed))
                && !self.cannot_write()
            {
                let judged = match is_python(group, candidate) {
                    true => self.judged(candidate, || bench.judge(candidate)),
                    false => self.judged_kernel(&mut kernels, &group.case, candidate),
                };
                self.write(judged, key)?;
            }
            Ok(())
        })
    }

    /// Processes go from case to case. The candidates of a case stay together, so that its reference answers
    /// once, unless one case has more than its share of all.
    fn judge_kernels(&self, groups: &[(&Group<'_>, Vec<Open<'_>>)]) -> Result<()> {
        let all: usize = groups.iter().map(|(_, open)| open.len()).sum();
        let share = all.div_ceil(4 * self.setup.jobs.kernels).max(1);
        let parts: Vec<(&Group<'_>, &[Open<'_>])> = groups
            .iter()
            .flat_map(|(group, open)| open.chunks(share).map(|part| (*group, part)))
            .collect();
        let next = AtomicUsize::new(0);
        let device = RwLock::new(());
        in_parallel(self.setup.jobs.kernels.min(parts.len()), || {
            let mut kernels = self.kernel_worker(&device);
            while let Some((group, part)) = parts.get(next.fetch_add(1, Ordering::Relaxed)) {
                for (candidate, key) in *part {
                    if self.cannot_write() {
                        return Ok(());
                    }
                    let judged = self.judged_kernel(&mut kernels, &group.case, candidate);
                    self.write(judged, key)?;
                }
            }
            Ok(())
        })
    }

    fn kernel_worker<'w>(&'w self, device: &'w RwLock<()>) -> KernelWorker<'w> {
        let cores = thread::available_parallelism().map_or(1, usize::from);
        let threads = (cores / self.setup.jobs.kernels).max(1);
        let seconds = self.setup.limits.call.as_secs_f64();
        let clock = (seconds, self.setup.jobs.timed);
        KernelWorker::new(self.setup.global, self.setup.seed, clock, threads, device)
    }

    fn judged_kernel(
        &self,
        kernels: &mut KernelWorker<'_>,
        case: &Path,
        candidate: &Candidate,
    ) -> Judgement {
        self.judged(candidate, || {
            let judged = kernels.judge(case, candidate);
            judged.map_err(|error| format!("{error:#}"))
        })
    }

    /// A verdict in any case: the judge's own failure is nobody's, and the others go on.
    fn judged(
        &self,
        candidate: &Candidate,
        judge: impl FnOnce() -> Result<Judgement, String>,
    ) -> Judgement {
        if let Err(detail) = candidate.text() {
            let outcome = Outcome::CompileFailure { line: None, detail };
            return Judgement::new(&candidate.id, self.setup.seed, outcome);
        }
        judge().unwrap_or_else(|error| Judgement::not_run(&candidate.id, self.setup.seed, error))
    }

    /// Notes for every candidate of a group that it was not run.
    fn not_run(&self, group: &Group<'_>, why: &str) -> Result<()> {
        for (candidate, key) in &group.members {
            let done = locked(&self.judgements)
                .iter()
                .any(|one| one.id == candidate.id);
            if !done {
                let judgement = Judgement::not_run(&candidate.id, self.setup.seed, why.to_owned());
                self.write(judgement, key)?;
            }
        }
        Ok(())
    }

    /// Whether the file of verdicts takes no more lines.
    fn cannot_write(&self) -> bool {
        self.unwritable.load(Ordering::Relaxed)
    }

    fn write(&self, judgement: Judgement, key: &str) -> Result<()> {
        if let Err(error) = self.setup.file.note(&judgement, key) {
            self.unwritable.store(true, Ordering::Relaxed);
            return Err(error);
        }
        self.judged.fetch_add(1, Ordering::Relaxed);
        self.keep(judgement);
        Ok(())
    }

    fn keep(&self, judgement: Judgement) {
        let mut judgements = locked(&self.judgements);
        let rate = self.judged.load(Ordering::Relaxed) as f64 / self.begun.elapsed().as_secs_f64();
        let line = format!(
            "{} of {} candidates, {rate:.1}/s, {}: {}",
            judgements.len() + 1,
            self.setup.candidates,
            judgement.id,
            judgement.outcome.word()
        );
        output::progress(self.setup.global, &line);
        judgements.push(judgement);
    }

    pub(super) fn end(self) -> Ended {
        let judgements = self.judgements.into_inner();
        let notes = self.notes.into_inner();
        Ended {
            judgements: judgements.unwrap_or_else(PoisonError::into_inner),
            notes: notes.unwrap_or_else(PoisonError::into_inner),
            judged: self.judged.into_inner(),
            seconds: self.begun.elapsed().as_secs_f64(),
        }
    }
}

/// Runs `job` in so many threads, and returns the first error.
fn in_parallel(threads: usize, job: impl Fn() -> Result<()> + Sync) -> Result<()> {
    let failure = Mutex::new(None);
    thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                if let Err(error) = job() {
                    locked(&failure).get_or_insert(error);
                }
            });
        }
    });
    let failure = failure.into_inner();
    failure
        .unwrap_or_else(PoisonError::into_inner)
        .map_or(Ok(()), Err)
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
