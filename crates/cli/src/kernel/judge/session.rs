//! One run over the candidates: jobs that judge, and verdicts that are written as they come.

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
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

/// What all jobs share.
pub(super) struct Session<'a> {
    global: &'a Global,
    limits: &'a Limits,
    jobs: usize,
    seed: u64,
    file: VerdictFile,
    candidates: usize,
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
    pub(super) fn new(
        global: &'a Global,
        limits: &'a Limits,
        jobs: usize,
        seed: u64,
        file: VerdictFile,
        candidates: usize,
    ) -> Self {
        Self {
            global,
            limits,
            jobs,
            seed,
            file,
            candidates,
            begun: Instant::now(),
            judged: AtomicUsize::new(0),
            judgements: Mutex::new(Vec::new()),
            notes: Mutex::new(Vec::new()),
            unwritable: AtomicBool::new(false),
        }
    }

    /// Judges the candidates of a group that have no verdict yet. An error is the task's: its reference
    /// fails, say.
    pub(super) fn judge(&self, group: &Group<'_>) -> Result<()> {
        let mut open = Vec::new();
        for (candidate, key) in &group.members {
            match self.file.get(&candidate.id) {
                Some(known) => self.keep(known.clone()),
                None => open.push((*candidate, key)),
            }
        }
        if open.is_empty() {
            return Ok(());
        }
        let is_problem = group.case.extension().is_some_and(|ending| ending == "py");
        let is_python = |candidate: &Candidate| {
            let text = candidate.text().unwrap_or_default();
            is_problem || candidate.language(&text) == Language::Python
        };
        let any_python = open.iter().any(|(candidate, _)| is_python(candidate));
        let task = match (is_problem, any_python) {
            (true, _) => Some(
                Task::of_problem(&group.case, self.seed, self.limits)
                    .map_err(anyhow::Error::msg)?,
            ),
            (false, true) => {
                let case = Case::open(&group.case)?;
                Some(Task::of_case(&case, self.seed, self.limits).map_err(explain)?)
            }
            (false, false) => Case::open(&group.case).map(|_| None)?,
        };
        if let Some(task) = &task {
            let notes = task.notes.iter();
            locked(&self.notes).extend(notes.map(|note| format!("{}: {note}", task.name())));
        }
        let next = AtomicUsize::new(0);
        let alone = Mutex::new(());
        let failure = Mutex::new(None);
        thread::scope(|scope| {
            for _ in 0..self.jobs.min(open.len()) {
                scope.spawn(|| {
                    let mut bench = task
                        .as_ref()
                        .map(|task| Bench::new(task, self.limits, &alone));
                    let seconds = self.limits.call.as_secs_f64();
                    let mut kernels =
                        KernelWorker::new(self.global, &group.case, self.seed, seconds, &alone);
                    while let Some((candidate, key)) =
                        open.get(next.fetch_add(1, Ordering::Relaxed))
                        && !self.cannot_write()
                    {
                        let judged = match (&mut bench, candidate.text()) {
                            (_, Err(detail)) => {
                                let outcome = Outcome::CompileFailure { line: None, detail };
                                Ok(Judgement::new(&candidate.id, self.seed, outcome))
                            }
                            (Some(bench), Ok(_)) if is_python(candidate) => bench.judge(candidate),
                            _ => kernels
                                .judge(candidate)
                                .map_err(|error| format!("{error:#}")),
                        };
                        // The judge's own failure is nobody's verdict, and the others go on.
                        let judgement = judged.unwrap_or_else(|error| {
                            Judgement::not_run(&candidate.id, self.seed, error)
                        });
                        if let Err(error) = self.write(judgement, key) {
                            locked(&failure).get_or_insert(error);
                        }
                    }
                });
            }
        });
        let failure = failure.into_inner();
        failure
            .unwrap_or_else(PoisonError::into_inner)
            .map_or(Ok(()), Err)
    }

    /// Notes for every candidate of a group that it was not run.
    pub(super) fn not_run(&self, group: &Group<'_>, why: &str) -> Result<()> {
        for (candidate, key) in &group.members {
            let done = locked(&self.judgements)
                .iter()
                .any(|one| one.id == candidate.id);
            if !done {
                let judgement = Judgement::not_run(&candidate.id, self.seed, why.to_owned());
                self.write(judgement, key)?;
            }
        }
        Ok(())
    }

    /// Whether the file of verdicts takes no more lines.
    pub(super) fn cannot_write(&self) -> bool {
        self.unwritable.load(Ordering::Relaxed)
    }

    fn write(&self, judgement: Judgement, key: &str) -> Result<()> {
        if let Err(error) = self.file.note(&judgement, key) {
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
            self.candidates,
            judgement.id,
            judgement.outcome.word()
        );
        output::progress(self.global, &line);
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

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
