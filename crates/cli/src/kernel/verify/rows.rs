//! How each kernel of a file fared: rows, counts, findings and the table, the same for every device.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};

use rayon::prelude::*;
use serde::Serialize;
use warpsmith_compiler::ir::Module;
use warpsmith_console::exit::Outcome;
use warpsmith_console::global::Global;
use warpsmith_console::output;
use warpsmith_console::table::Table;
use warpsmith_core::{Finding, Severity};
use warpsmith_execution::Difference;

use super::jobs::{Job, Kernels};

/// Longer tables show what is wrong alone.
const SHORT: usize = 20;

/// What a comparison of one kernel says.
pub(super) trait Verdict {
    /// In a few words, by which kernels are counted.
    fn word(&self) -> &'static str;
    /// What there is to say of this one.
    fn detail(&self) -> String;
    /// What follows from it.
    fn standing(&self) -> Standing<'_>;
}

/// What follows from a comparison of one kernel.
#[derive(Clone, Copy)]
pub(super) enum Standing<'a> {
    /// Something was compared, and agreed.
    Agrees,
    /// It agreed, but threads race, so that results depend on their order.
    Races(&'a Finding),
    /// The results differ.
    Disagrees,
    /// It did not run.
    Failed,
    /// The compiler refuses it.
    Refused,
    /// There was nothing to compare.
    NotCompared,
}

impl<'a> Standing<'a> {
    /// Of a kernel that agrees, and may have a race.
    pub(super) fn agreed(race: Option<&'a Finding>) -> Self {
        race.map_or(Self::Agrees, Self::Races)
    }
}

/// What a kernel is whose threads race, and which agrees with few of them.
pub(super) const RACES: &str = "not deterministic with many threads, agrees with few";

/// A kernel and how it fared.
#[derive(Serialize)]
pub(super) struct Row<V> {
    id: String,
    kernel: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    tier: Option<String>,
    #[serde(flatten)]
    pub(super) verdict: V,
}

impl<V: Verdict> Row<V> {
    fn new(job: &Job, verdict: V) -> Self {
        Self {
            id: job.id.clone(),
            kernel: job.kernel.clone().unwrap_or_else(|| job.id.clone()),
            tier: job.tier.clone(),
            verdict,
        }
    }

    fn is_wrong(&self) -> bool {
        matches!(
            self.verdict.standing(),
            Standing::Disagrees | Standing::Failed
        )
    }

    /// What is wrong with a kernel that ran `somewhere`.
    fn finding(&self, somewhere: &str) -> Option<Finding> {
        match self.verdict.standing() {
            Standing::Races(race) => Some(race.clone()),
            Standing::Disagrees => {
                let kernel = &self.kernel;
                let message =
                    format!("kernel `{kernel}` {somewhere} is not what the interpreter says");
                let finding = Finding::new("M050", Severity::Error, message);
                Some(finding.because(self.id.clone(), self.verdict.detail()))
            }
            _ => None,
        }
    }
}

/// Has each kernel compiled and `verify` compare it, on every core, with progress. It gets what the compiler said
/// where that refused the kernel.
pub(super) fn each<V: Verdict + Send>(
    global: &Global,
    kernels: &Kernels,
    verify: impl Fn(Result<Module, Vec<Finding>>) -> V + Sync,
) -> Vec<Row<V>> {
    let done = AtomicUsize::new(0);
    let count = kernels.jobs.len();
    let of_one = |job: &Job| {
        // A driver for the CPU compiles a large kernel for minutes.
        let so_far = done.load(Ordering::Relaxed);
        output::progress(
            global,
            &format!("{so_far} of {count} kernels, now `{}`", job.id),
        );
        let verdict = verify(kernels.compile(job));
        done.fetch_add(1, Ordering::Relaxed);
        Row::new(job, verdict)
    };
    let rows = kernels.jobs.par_iter().map(of_one).collect();
    output::progress(global, "");
    rows
}

/// What is wrong with kernels that ran `somewhere`.
pub(super) fn findings<V: Verdict>(rows: &[Row<V>], somewhere: &str) -> Vec<Finding> {
    let found = rows.iter().filter_map(|row| row.finding(somewhere));
    found.collect()
}

/// How a comparison of kernels ends: what is wrong or refused is not fine, and where nothing was compared nothing is
/// decided.
pub(super) fn outcome<V: Verdict>(rows: &[Row<V>]) -> Outcome {
    let mut standings = rows.iter().map(|row| row.verdict.standing());
    let wrong = |standing| {
        use Standing::{Disagrees, Failed, Refused};
        matches!(standing, Disagrees | Failed | Refused)
    };
    if standings.clone().any(wrong) {
        return Outcome::NotFine;
    }
    match standings.any(|standing| matches!(standing, Standing::Agrees | Standing::Races(_))) {
        true => Outcome::Fine,
        false => Outcome::Undecided,
    }
}

/// How many kernels have each verdict.
pub(super) fn counted<V: Verdict>(rows: &[Row<V>]) -> BTreeMap<&'static str, usize> {
    let mut counts = BTreeMap::new();
    for row in rows {
        *counts.entry(row.verdict.word()).or_default() += 1;
    }
    counts
}

/// The rows that are worth a look, and all verdicts with their numbers.
pub(super) fn table<V: Verdict>(rows: &[Row<V>], counts: &BTreeMap<&'static str, usize>) -> String {
    let mut table = Table::new(&["id", "kernel", "parity", "detail"]);
    for row in (rows.iter()).filter(|row| rows.len() <= SHORT || row.is_wrong()) {
        table.row([
            row.id.clone(),
            row.kernel.clone(),
            row.verdict.word().to_owned(),
            row.verdict.detail(),
        ]);
    }
    let mut text = format!("{table}\n");
    for (word, count) in counts {
        text.push_str(&format!("{count:>6}  {word}\n"));
    }
    text
}

/// Where a device differs from the interpreter.
pub(super) fn difference(direction: &str, threads: usize, difference: &Difference) -> String {
    format!(
        "{direction}, {threads} threads: {} at {} is {:?}, expected {:?}",
        difference.place, difference.index, difference.actual, difference.expected
    )
}

/// The line that a row has room for.
pub(super) fn first_line(reason: &str) -> String {
    reason.lines().next().unwrap_or_default().to_owned()
}
