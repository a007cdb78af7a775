//! The part of `warpsmith compare` that is about baselines.

use std::path::Path;

use anyhow::{Context, Result};
use serde_json::Value;
use warpsmith_core::Report;
use warpsmith_telemetry::baseline::{BaselineBody, Threshold, Verdict, compare, comparison_text};

use crate::arguments::Global;
use crate::exit::Outcome;
use crate::output;

/// Compares two baselines that were read from `(path, JSON)`.
pub(super) fn run(
    global: &Global,
    first: (&Path, Value),
    second: (&Path, Value),
    threshold: Option<f64>,
    any_machine: bool,
) -> Result<Outcome> {
    let (first, second) = (parse(first)?, parse(second)?);
    let threshold = threshold.map_or(Threshold::ByQuantity, Threshold::Percent);
    let report = compare(&first, &second, threshold, any_machine)?;
    output::print(global, &report, comparison_text)?;
    Ok(match report.body.verdict {
        Verdict::Same => Outcome::Fine,
        Verdict::Changed | Verdict::CannotTell => Outcome::NotFine,
    })
}

fn parse((path, value): (&Path, Value)) -> Result<Report<BaselineBody>> {
    serde_json::from_value(value)
        .with_context(|| format!("`{}` is not a baseline that can be read", path.display()))
}
