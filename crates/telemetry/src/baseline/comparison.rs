//! Two baselines against each other: what changed, what stayed, what they cannot tell.
//!
//! A quantity has changed when the difference of its medians or of its 95th percentiles is at
//! least its threshold and the block-bootstrap interval of that difference excludes zero. It is
//! the same when the whole interval lies inside of the threshold. Otherwise the two cannot tell.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};
use warpsmith_core::{Finding, Report, Severity};

use super::bootstrap::Resampler;
use super::document::{BaselineBody, GpuBaseline, Metric};
use super::statistics::{Estimate, quantile};

/// What a comparison concludes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// No difference that matters.
    Same,
    /// The samples do not settle it.
    CannotTell,
    /// A difference that matters.
    Changed,
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Same => "same",
            Self::CannotTell => "cannot tell",
            Self::Changed => "changed",
        })
    }
}

/// Which differences matter.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Threshold {
    /// By quantity: 2 points of utilisation, 1.5 % of power, 2 °C, 1 % of a clock, …
    #[default]
    ByQuantity,
    /// This many percent of the first baseline's figure; points where the quantity is a share.
    Percent(f64),
}

/// A difference, second less first, with its interval.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Difference {
    /// Figure of the first baseline.
    pub first: f64,
    /// Figure of the second.
    pub second: f64,
    /// Second less first.
    pub difference: Estimate,
}

/// One quantity compared.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MetricComparison {
    /// The quantity's name.
    pub name: String,
    /// Medians.
    pub p50: Difference,
    /// 95th percentiles.
    pub p95: Difference,
    /// The smallest difference that matters.
    pub threshold: f64,
    /// What follows.
    pub verdict: Verdict,
}

/// What `warpsmith compare` has to say about two baselines.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Comparison {
    /// The worst over all quantities.
    pub verdict: Verdict,
    /// By GPU, in the first baseline's order: its index and its quantities.
    pub gpus: Vec<(u32, Vec<MetricComparison>)>,
    /// The host's quantities.
    pub host: Vec<MetricComparison>,
}

/// Why two baselines cannot be compared.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum ComparisonError {
    /// Not the same machine.
    #[error(
        "the baselines are of different machines: `{first}` against `{second}` \
         (hint: `--any-machine` compares them anyway)"
    )]
    OtherMachine {
        /// GPUs of the first.
        first: String,
        /// GPUs of the second.
        second: String,
    },
    /// A series with times that fall or values that are no numbers.
    #[error("the samples of `{metric}` in the {which} baseline are not sound")]
    Unsound {
        /// Which quantity.
        metric: String,
        /// `first` or `second`.
        which: &'static str,
    },
}

/// Compares two baselines.
pub fn compare(
    first: &Report<BaselineBody>,
    second: &Report<BaselineBody>,
    threshold: Threshold,
    any_machine: bool,
) -> Result<Report<Comparison>, ComparisonError> {
    let names = |report: &Report<BaselineBody>| match report.machine.gpus.as_slice() {
        [] => report.machine.cpu.clone(),
        gpus => gpus.join(", "),
    };
    let (name_first, name_second) = (names(first), names(second));
    if name_first != name_second && !any_machine {
        return Err(ComparisonError::OtherMachine {
            first: name_first,
            second: name_second,
        });
    }
    let mut findings = conditions(first, second);
    let mut gpus = Vec::new();
    for (a, b) in pairs(&first.body, &second.body) {
        if a.gpu.uuid != b.gpu.uuid {
            findings.push(
                Finding::new(
                    "B062",
                    Severity::Warning,
                    format!("GPU {}: another GPU of the same kind", a.gpu.index),
                )
                .because("first", a.gpu.uuid.clone())
                .because("second", b.gpu.uuid.clone()),
            );
        }
        gpus.push((
            a.gpu.index,
            compare_metrics(&a.metrics, &b.metrics, threshold)?,
        ));
    }
    let host = compare_metrics(
        &first.body.host.metrics,
        &second.body.host.metrics,
        threshold,
    )?;
    // The host's figures are shown; GPUs are what the verdict is about, where there are any.
    let judged: Vec<(String, &MetricComparison)> = if gpus.is_empty() {
        host.iter()
            .map(|metric| ("host".to_owned(), metric))
            .collect()
    } else {
        gpus.iter()
            .flat_map(|(index, metrics)| metrics.iter().map(move |m| (format!("GPU {index}"), m)))
            .collect()
    };
    let verdict = judged
        .iter()
        .map(|(_, metric)| metric.verdict)
        .max()
        .unwrap_or(Verdict::CannotTell);
    for (place, metric) in &judged {
        let (code, severity, what) = match metric.verdict {
            Verdict::Same => continue,
            Verdict::Changed => ("B060", Severity::Error, "changed"),
            Verdict::CannotTell => ("B061", Severity::Warning, "cannot be told apart or equal"),
        };
        let show = |d: &Difference| {
            format!(
                "{:.2} to {:.2}, difference {:+.2} [{:+.2}, {:+.2}]",
                d.first, d.second, d.difference.value, d.difference.low, d.difference.high
            )
        };
        findings.push(
            Finding::new(code, severity, format!("{place}: `{}` {what}", metric.name))
                .because("median", show(&metric.p50))
                .because("P95", show(&metric.p95))
                .because(
                    "smallest difference that matters",
                    format!("{:.2}", metric.threshold),
                ),
        );
    }
    let body = Comparison {
        verdict,
        gpus,
        host,
    };
    let mut report = Report::new("compare", first.machine.clone(), body);
    report.findings = findings;
    Ok(report)
}

/// GPUs by identity where it is the same, by position otherwise.
fn pairs<'body>(
    first: &'body BaselineBody,
    second: &'body BaselineBody,
) -> Vec<(&'body GpuBaseline, &'body GpuBaseline)> {
    first
        .gpus
        .iter()
        .enumerate()
        .filter_map(|(position, a)| {
            let same = second.gpus.iter().find(|b| b.gpu.uuid == a.gpu.uuid);
            Some((a, same.or_else(|| second.gpus.get(position))?))
        })
        .collect()
}

fn conditions(first: &Report<BaselineBody>, second: &Report<BaselineBody>) -> Vec<Finding> {
    let mut differing = Vec::new();
    if first.machine.driver != second.machine.driver {
        let show = |driver: &Option<String>| driver.clone().unwrap_or_else(|| "none".into());
        differing.push((
            "driver",
            show(&first.machine.driver),
            show(&second.machine.driver),
        ));
    }
    if first.body.expect_load != second.body.expect_load {
        let show = |load: bool| if load { "load" } else { "idle" }.to_owned();
        differing.push((
            "expectation",
            show(first.body.expect_load),
            show(second.body.expect_load),
        ));
    }
    for (a, b) in pairs(&first.body, &second.body) {
        if a.power_limit_w != b.power_limit_w {
            let show =
                |limit: Option<f64>| limit.map_or_else(|| "?".into(), |w| format!("{w:.0} W"));
            differing.push(("power limit", show(a.power_limit_w), show(b.power_limit_w)));
        }
    }
    differing
        .into_iter()
        .map(|(what, a, b)| {
            Finding::new(
                "B063",
                Severity::Warning,
                format!("the baselines differ in {what}"),
            )
            .because("first", a)
            .because("second", b)
        })
        .collect()
}

/// The smallest difference that matters by default: `(absolute, share of the first figure)`.
fn default_threshold(name: &str) -> (f64, f64) {
    match name {
        "busy_percent" | "memory_busy_percent" => (2.0, 0.0),
        "power_w" => (1.0, 0.015),
        "temperature_c" | "memory_temperature_c" => (3.0, 0.0),
        "sm_clock_mhz" | "memory_clock_mhz" => (15.0, 0.01),
        "memory_used_mib" => (64.0, 0.01),
        _ => (5.0, 0.0),
    }
}

fn compare_metrics(
    first: &BTreeMap<String, Metric>,
    second: &BTreeMap<String, Metric>,
    threshold: Threshold,
) -> Result<Vec<MetricComparison>, ComparisonError> {
    let mut compared = Vec::new();
    for (name, a) in first {
        let Some(b) = second.get(name) else { continue };
        for (metric, which) in [(a, "first"), (b, "second")] {
            if !metric.series.is_sound() {
                return Err(ComparisonError::Unsound {
                    metric: name.clone(),
                    which,
                });
            }
        }
        compared.extend(compare_metric(name, a, b, threshold));
    }
    Ok(compared)
}

fn compare_metric(
    name: &str,
    a: &Metric,
    b: &Metric,
    threshold: Threshold,
) -> Option<MetricComparison> {
    let (first, second) = (Resampler::new(&a.series)?, Resampler::new(&b.series)?);
    let (whole_first, whole_second) = (first.whole(), second.whole());
    // Different seeds: the two runs have nothing to do with each other.
    let (drawn_first, drawn_second) = (first.resample(0xA), second.resample(0xB));
    let widen = first.widening().max(second.widening());
    let difference = |figure: usize| {
        let value = whole_second[figure] - whole_first[figure];
        let mut drawn: Vec<f64> = drawn_first
            .iter()
            .zip(&drawn_second)
            .map(|(a, b)| b[figure] - a[figure])
            .collect();
        drawn.sort_by(f64::total_cmp);
        let edge = |p| value + (quantile(&drawn, p).unwrap_or(value) - value) * widen;
        Difference {
            first: whole_first[figure],
            second: whole_second[figure],
            difference: Estimate {
                value,
                low: edge(0.025).min(value),
                high: edge(0.975).max(value),
            },
        }
    };
    let (p50, p95) = (difference(1), difference(2));
    let limit = match threshold {
        Threshold::ByQuantity => {
            let (absolute, relative) = default_threshold(name);
            absolute.max(relative * p50.first.abs())
        }
        Threshold::Percent(points) if name.ends_with("_percent") => points,
        Threshold::Percent(percent) => percent / 100.0 * p50.first.abs(),
    };
    let judge = |d: &Difference| {
        let Estimate { value, low, high } = d.difference;
        let excludes_zero = low > 0.0 || high < 0.0;
        if excludes_zero && value.abs() >= limit {
            Verdict::Changed
        } else if low > -limit && high < limit {
            Verdict::Same
        } else {
            Verdict::CannotTell
        }
    };
    // A restless tail alone does not make a steady median doubtful.
    let verdict = match (judge(&p50), judge(&p95)) {
        (Verdict::Changed, _) | (_, Verdict::Changed) => Verdict::Changed,
        (p50, _) => p50,
    };
    Some(MetricComparison {
        name: name.to_owned(),
        p50,
        p95,
        threshold: limit,
        verdict,
    })
}
