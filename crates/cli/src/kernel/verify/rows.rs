//! How each kernel of a file fared: rows, counts, findings and the table, the same for every device.

use std::collections::BTreeMap;

use serde::Serialize;
use warpsmith_console::exit::Outcome;
use warpsmith_console::table::Table;
use warpsmith_core::{Finding, Severity};
use warpsmith_execution::Difference;

use super::jobs::Job;

/// Longer tables show what is wrong alone.
const SHORT: usize = 20;

/// What a comparison of one kernel says.
pub(super) trait Verdict {
    /// In a few words, by which kernels are counted.
    fn word(&self) -> &'static str;
    /// What there is to say of this one.
    fn detail(&self) -> String;
    /// Whether the results are other ones.
    fn disagrees(&self) -> bool;
    /// Whether it did not run.
    fn failed(&self) -> bool;
    /// Whether the compiler refuses it.
    fn refused(&self) -> bool;
    /// What threads race about, so that results depend on their order.
    fn race(&self) -> Option<&Finding>;
    /// Whether something was compared, and agreed.
    fn agrees(&self) -> bool;
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
    pub(super) fn new(job: &Job, verdict: V) -> Self {
        Self {
            id: job.id.clone(),
            kernel: job.kernel.clone().unwrap_or_else(|| job.id.clone()),
            tier: job.tier.clone(),
            verdict,
        }
    }

    fn is_wrong(&self) -> bool {
        self.verdict.disagrees() || self.verdict.failed()
    }

    /// What is wrong with a kernel that ran `somewhere`.
    fn finding(&self, somewhere: &str) -> Option<Finding> {
        if let Some(race) = self.verdict.race() {
            return Some(race.clone());
        }
        self.verdict.disagrees().then(|| {
            let kernel = &self.kernel;
            let message = format!("kernel `{kernel}` {somewhere} is not what the interpreter says");
            Finding::new("M050", Severity::Error, message)
                .because(self.id.clone(), self.verdict.detail())
        })
    }
}

/// What is wrong with kernels that ran `somewhere`.
pub(super) fn findings<V: Verdict>(rows: &[Row<V>], somewhere: &str) -> Vec<Finding> {
    let found = rows.iter().filter_map(|row| row.finding(somewhere));
    found.collect()
}

/// How a comparison of kernels ends: what is wrong or refused is not fine, and where nothing was compared nothing is
/// decided.
pub(super) fn outcome<V: Verdict>(rows: &[Row<V>]) -> Outcome {
    if rows
        .iter()
        .any(|row| row.is_wrong() || row.verdict.refused())
    {
        return Outcome::NotFine;
    }
    match rows.iter().any(|row| row.verdict.agrees()) {
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
