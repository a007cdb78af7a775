//! The part of `warpsmith compare` that is about baselines.

use std::fmt::Write;
use std::path::Path;

use anyhow::{Context, Result, bail};
use serde_json::Value;
use warpsmith_core::{REPORT_SCHEMA, Report};
use warpsmith_formats::write_output;
use warpsmith_measure::report::html::{Section, page};
use warpsmith_measure::report::plot;
use warpsmith_telemetry::baseline::{
    BaselineBody, Comparison, Threshold, Verdict, baseline_text, compare, comparison_text,
};

use warpsmith_console::exit::Outcome;
use warpsmith_console::global::Global;
use warpsmith_console::measured::Files;
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

/// Two baselines and what follows from them.
pub(super) struct Compared {
    baselines: Baselines,
    report: Report<Comparison>,
}

impl Baselines {
    /// Compares them.
    pub(super) fn compare(self, threshold: Option<f64>, any_machine: bool) -> Result<Compared> {
        let threshold = threshold.map_or(Threshold::ByQuantity, Threshold::Percent);
        let report = compare(&self.first, &self.second, threshold, any_machine)?;
        Ok(Compared {
            baselines: self,
            report,
        })
    }

    /// Every sample of both: `side,where,quantity,milliseconds,value`.
    fn samples_csv(&self) -> String {
        let mut out = "side,where,quantity,milliseconds,value\n".to_owned();
        for (side, report) in [("a", &self.first), ("b", &self.second)] {
            let gpus = report.body.gpus.iter();
            let parts = gpus.map(|gpu| (format!("gpu{}", gpu.gpu.index), &gpu.metrics));
            let host = ("host".to_owned(), &report.body.host.metrics);
            for (place, metrics) in parts.chain([host]) {
                for (name, metric) in metrics {
                    let series = &metric.series;
                    for (at, value) in series.at_ms.iter().zip(&series.values) {
                        // Writing to a string cannot fail.
                        let _ = writeln!(out, "{side},{place},{name},{at},{value}");
                    }
                }
            }
        }
        out
    }
}

impl Compared {
    /// Writes the files that were requested.
    pub(super) fn write(
        &self,
        global: &Global,
        files: &Files,
        markdown: Option<&Path>,
    ) -> Result<()> {
        let write = |path: Option<&Path>, text: &dyn Fn() -> Result<Vec<u8>>| -> Result<()> {
            if let Some(path) = path {
                write_output(path, &text()?)?;
                output::note(global, &format!("wrote {}", path.display()));
            }
            Ok(())
        };
        write(files.csv.as_deref(), &|| {
            Ok(self.baselines.samples_csv().into_bytes())
        })?;
        write(files.html.as_deref(), &|| {
            Ok(page("compare", &self.sections()).into_bytes())
        })?;
        write(files.save.as_deref(), &|| {
            Ok(serde_json::to_vec(&self.report)?)
        })?;
        write(markdown, &|| Ok(self.markdown().into_bytes()))
    }

    /// Prints it, and the exit code that follows.
    pub(super) fn print(&self, global: &Global) -> Result<Outcome> {
        output::print(global, &self.report, comparison_text)?;
        Ok(match self.report.body.verdict {
            Verdict::Same => Outcome::Fine,
            Verdict::Changed => Outcome::NotFine,
            Verdict::CannotTell => Outcome::Undecided,
        })
    }

    /// The verdict, then each quantity of the GPUs over time, side A and side B.
    fn sections(&self) -> Vec<Section> {
        let findings = self.report.findings.iter();
        let findings: Vec<String> = findings.map(|finding| format!("\n{finding}")).collect();
        let mut sections = vec![Section {
            heading: "baselines".to_owned(),
            text: comparison_text(&self.report.body) + &findings.join("\n"),
            plots: Vec::new(),
        }];
        let sides = [("A", &self.baselines.first), ("B", &self.baselines.second)];
        for (side, report) in sides {
            for gpu in &report.body.gpus {
                let plots = gpu.metrics.iter().map(|(name, metric)| {
                    plot::series(name, &metric.series.values, "sample", name)
                });
                sections.push(Section {
                    heading: format!("{side}: GPU {} {}", gpu.gpu.index, gpu.gpu.name),
                    text: baseline_text(&report.body),
                    plots: plots.collect(),
                });
            }
        }
        sections
    }

    fn markdown(&self) -> String {
        let body = &self.report.body;
        let mut out = format!(
            "**{}**\n\n| where | quantity | P50 A | P50 B | P95 A | P95 B | verdict |\n\
             |---|---|--:|--:|--:|--:|---|\n",
            body.verdict
        );
        let gpus = body.gpus.iter();
        let parts = gpus.map(|(index, metrics)| (format!("GPU {index}"), metrics));
        for (place, metrics) in parts.chain([("host".to_owned(), &body.host)]) {
            for metric in metrics {
                let _ = writeln!(
                    out,
                    "| {place} | {} | {:.2} | {:.2} | {:.2} | {:.2} | {} |",
                    metric.name,
                    metric.p50.first,
                    metric.p50.second,
                    metric.p95.first,
                    metric.p95.second,
                    metric.verdict
                );
            }
        }
        out
    }
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
