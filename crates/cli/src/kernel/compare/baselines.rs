//! The part of `warpsmith compare` that is about baselines.

use std::path::Path;

use anyhow::{Context, Result, bail};
use serde_json::Value;
use warpsmith_core::{REPORT_SCHEMA, Report};
use warpsmith_telemetry::baseline::{BaselineBody, Threshold, Verdict, compare, comparison_text};

use warpsmith_console::exit::Outcome;
use warpsmith_console::global::Global;
use warpsmith_console::output;

/// Two baselines, as read.
pub(super) struct Baselines {
    first: Report<BaselineBody>,
    second: Report<BaselineBody>,
}

/// Both files, if they are baselines; `None` where neither is.
pub(super) fn read_both(first: &Path, second: &Path) -> Result<Option<Baselines>> {
    let (first_value, second_value) = (read(first)?, read(second)?);
    match (is_baseline(&first_value), is_baseline(&second_value)) {
        (false, false) => Ok(None),
        (true, true) => Ok(Some(Baselines {
            first: parse(first, first_value)?,
            second: parse(second, second_value)?,
        })),
        (true, false) => bail!(
            "`{}` is a baseline, `{}` is not",
            first.display(),
            second.display()
        ),
        (false, true) => bail!(
            "`{}` is a baseline, `{}` is not",
            second.display(),
            first.display()
        ),
    }
}

/// A file as JSON; one that is no JSON at all may still be samples in another tool's format.
fn read(path: &Path) -> Result<Value> {
    let text = std::fs::read_to_string(path)
        .with_context(|| format!("cannot read `{}`", path.display()))?;
    Ok(serde_json::from_str(&text).unwrap_or(Value::Null))
}

fn is_baseline(report: &Value) -> bool {
    report.get("verb").and_then(Value::as_str) == Some("baseline")
}

/// Compares two baselines.
pub(super) fn run(
    global: &Global,
    Baselines { first, second }: Baselines,
    threshold: Option<f64>,
    any_machine: bool,
) -> Result<Outcome> {
    let threshold = threshold.map_or(Threshold::ByQuantity, Threshold::Percent);
    let report = compare(&first, &second, threshold, any_machine)?;
    output::print(global, &report, comparison_text)?;
    Ok(match report.body.verdict {
        Verdict::Same => Outcome::Fine,
        Verdict::Changed => Outcome::NotFine,
        Verdict::CannotTell => Outcome::Undecided,
    })
}

fn parse(path: &Path, value: Value) -> Result<Report<BaselineBody>> {
    let schema = value.get("schema").and_then(Value::as_u64);
    if let Some(schema) = schema.filter(|&schema| schema > u64::from(REPORT_SCHEMA)) {
        let path = path.display();
        bail!("`{path}` has report schema {schema}, this program reads up to {REPORT_SCHEMA}");
    }
    serde_json::from_value(value)
        .with_context(|| format!("`{}` is not a baseline that can be read", path.display()))
}
