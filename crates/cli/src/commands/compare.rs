//! `warpsmith compare A.json B.json`: two reports of the same verb against each other.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use clap::Args;
use serde_json::Value;
use warpsmith_core::REPORT_SCHEMA;

use super::compare_baselines;
use crate::arguments::Global;
use crate::exit::Outcome;

/// Compare two reports: what changed, what stayed the same, what they cannot tell.
///
/// Takes two files that `warpsmith baseline --json` wrote. The exit code is 0 when they are the
/// same, 1 when something changed or cannot be told.
#[derive(Args)]
#[command(
    after_help = "Examples:\n  warpsmith compare before.json after.json\n  \
                        warpsmith compare before.json after.json --threshold 5\n  \
                        warpsmith compare a.json b.json --any-machine --format json"
)]
pub(crate) struct Compare {
    /// The report to compare with.
    first: PathBuf,
    /// The report to judge.
    second: PathBuf,
    /// Differences below this many percent do not matter (points, where a quantity is a share);
    /// each quantity has its own threshold where this is not given.
    #[arg(long, value_name = "PERCENT")]
    threshold: Option<f64>,
    /// Compare reports of different machines all the same.
    #[arg(long)]
    any_machine: bool,
}

impl Compare {
    pub(crate) fn run(&self, global: &Global) -> Result<Outcome> {
        let (first, first_verb) = read(&self.first)?;
        let (second, second_verb) = read(&self.second)?;
        if first_verb != second_verb {
            bail!(
                "`{}` is of `{first_verb}` and `{}` is of `{second_verb}`: only reports of the \
                 same verb can be compared",
                self.first.display(),
                self.second.display()
            );
        }
        match first_verb.as_str() {
            "baseline" => compare_baselines::run(
                global,
                (&self.first, first),
                (&self.second, second),
                self.threshold,
                self.any_machine,
            ),
            other => bail!("reports of `{other}` cannot be compared"),
        }
    }
}

/// The report and its verb.
fn read(path: &Path) -> Result<(Value, String)> {
    let text = std::fs::read_to_string(path)
        .with_context(|| format!("cannot read `{}`", path.display()))?;
    let value: Value =
        serde_json::from_str(&text).with_context(|| format!("`{}` is not JSON", path.display()))?;
    let Some(verb) = value.get("verb").and_then(Value::as_str).map(str::to_owned) else {
        bail!(
            "`{}` is not a report of warpsmith: it has no `verb`",
            path.display()
        );
    };
    match value.get("schema").and_then(Value::as_u64) {
        Some(schema) if schema <= u64::from(REPORT_SCHEMA) => Ok((value, verb)),
        Some(schema) => bail!(
            "`{}` has report schema {schema}, this program reads up to {REPORT_SCHEMA}",
            path.display()
        ),
        None => bail!(
            "`{}` is not a report of warpsmith: it has no `schema`",
            path.display()
        ),
    }
}
