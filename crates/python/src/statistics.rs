//! The statistics of `measure`, for samples that Python took.

use std::time::Duration;

use pyo3::prelude::*;
use warpsmith_measure::comparison::adjacent_pairs::{self, AdjacentPair};
use warpsmith_measure::comparison::clock::Clock;
use warpsmith_measure::comparison::evaluation::evaluate;
use warpsmith_measure::comparison::paired_rounds::log_ratio;
use warpsmith_measure::comparison::stored;
use warpsmith_measure::leak::detector::{LeakPlan, judge};
use warpsmith_measure::measurement::{Measurement, Sample, SampleMode};
use warpsmith_measure::report::plot;
use warpsmith_measure::statistics::stop_rule::{MedianStop, StopPlan};

use crate::{failed, json};

/// Decides when enough samples have been taken.
#[pyclass]
pub(crate) struct Stop {
    rule: MedianStop,
}

#[pymethods]
impl Stop {
    #[new]
    fn new(target: f64, timeout: f64, minimum: usize, maximum: usize) -> PyResult<Self> {
        let plan = StopPlan {
            target,
            timeout: Duration::try_from_secs_f64(timeout).map_err(failed)?,
            minimum_count: minimum,
            maximum_count: maximum,
            ..StopPlan::default()
        };
        Ok(Self {
            rule: MedianStop::new(plan),
        })
    }

    /// Whether a look is due; cheap.
    fn is_due(&self, count: usize, elapsed: f64) -> bool {
        let elapsed = Duration::try_from_secs_f64(elapsed).unwrap_or(Duration::MAX);
        self.rule.is_due(count, elapsed)
    }

    /// Why to stop, or nothing.
    fn look(&mut self, samples: Vec<f64>, elapsed: f64) -> PyResult<Option<String>> {
        let elapsed = Duration::try_from_secs_f64(elapsed).unwrap_or(Duration::MAX);
        match self.rule.look(&samples, elapsed) {
            Some(reason) => Ok(Some(json(&reason)?.trim_matches('"').to_owned())),
            None => Ok(None),
        }
    }
}

/// Figures of samples in the order taken, as JSON; nothing where there are none.
#[pyfunction]
pub(crate) fn summarise(
    samples: Vec<f64>,
    round_starts: Vec<usize>,
    cpu: Vec<f64>,
    preempted: Vec<usize>,
) -> PyResult<Option<String>> {
    let mut measurement = closure(samples, cpu, preempted);
    if !round_starts.is_empty() {
        measurement.round_starts = round_starts;
    }
    measurement
        .figures()
        .map(|figures| json(&figures))
        .transpose()
}

/// Samples of a call on this thread; CPU times only where they stand for the work.
fn closure(samples: Vec<f64>, cpu: Vec<f64>, preempted: Vec<usize>) -> Measurement {
    let mut measurement = Measurement::imported("", samples);
    measurement.conditions.mode = SampleMode::CpuClosure;
    measurement.cpu_seconds = cpu;
    measurement.preempted = preempted;
    measurement
}

/// Wall times, CPU times and the indices of disturbed samples of one side in one round.
type Taken = (Vec<f64>, Vec<f64>, Vec<usize>);

/// ln(B/A) of one round, and whether CPU time decided it.
#[pyfunction]
pub(crate) fn round_log_ratio(a: Taken, b: Taken) -> (f64, bool) {
    let samples = |(seconds, cpu, preempted): Taken| -> Vec<Sample> {
        let sample = |(index, seconds): (usize, f64)| Sample {
            cpu_seconds: cpu.get(index).copied(),
            preempted: preempted.binary_search(&index).is_ok(),
            ..Sample::of_seconds(seconds)
        };
        seconds.into_iter().enumerate().map(sample).collect()
    };
    let (ratio, clock) = log_ratio(&samples(a), &samples(b));
    (ratio, clock == Clock::Cpu)
}

/// The verdict on rounds that took turns, from ln(B/A) of each.
#[pyfunction]
pub(crate) fn evaluate_rounds(log_ratios: Vec<f64>, margin: f64, alpha: f64) -> PyResult<String> {
    json(&evaluate(&log_ratios, margin, alpha))
}

/// ln(B/A), whether A came first, and whether the earlier and the later call followed a switch.
type Pair = (f64, bool, bool, bool);

fn adjacent(pairs: &[Pair]) -> Vec<AdjacentPair> {
    let pair = |&(log_ratio, a_first, earlier, later): &Pair| AdjacentPair {
        log_ratio,
        a_first,
        after_switch: [earlier, later],
    };
    pairs.iter().map(pair).collect()
}

/// The verdict on calls that followed one another.
#[pyfunction]
pub(crate) fn evaluate_pairs(pairs: Vec<Pair>, margin: f64, alpha: f64) -> PyResult<String> {
    json(&adjacent_pairs::evaluate(&adjacent(&pairs), margin, alpha))
}

/// Centre and standard error of ln(B/A) over calls that followed one another; nothing of too few.
#[pyfunction]
pub(crate) fn estimate_pairs(pairs: Vec<Pair>) -> Option<(f64, f64)> {
    let estimate = adjacent_pairs::estimate(&adjacent(&pairs))?;
    Some((estimate.centre, estimate.error))
}

/// The verdict on two results beside the same loop, from ln(time / time of the loop) of pieces.
#[pyfunction]
pub(crate) fn compare_relative(
    base: Vec<f64>,
    candidate: Vec<f64>,
    margin: f64,
    alpha: f64,
) -> PyResult<String> {
    json(&stored::compare_relative(&base, &candidate, margin, alpha))
}

/// The verdict on two stored measurements, given and returned as JSON.
#[pyfunction]
pub(crate) fn compare_stored(a: &str, b: &str, margin: f64, alpha: f64) -> PyResult<String> {
    let read = |text: &str| serde_json::from_str::<Measurement>(text).map_err(failed);
    let (a, b) = (read(a)?, read(b)?);
    let fitness = stored::Fitness::default();
    let side = |measurement| stored::StoredResult {
        measurement,
        fitness: &fitness,
    };
    let compared = stored::compare_stored(&[(side(&a), side(&b))], margin, alpha);
    json(&compared[0])
}

/// Whether a memory trace leaks.
#[pyfunction]
pub(crate) fn judge_leak(
    trace: Vec<f64>,
    budget: f64,
    grain: f64,
    free: Option<f64>,
) -> PyResult<String> {
    let plan = LeakPlan {
        budget,
        grain,
        free,
    };
    json(&judge(&trace, &plan))
}

/// A histogram as SVG, with its style inside, for a notebook.
#[pyfunction]
pub(crate) fn histogram(title: &str, mut samples: Vec<f64>) -> String {
    samples.sort_unstable_by(f64::total_cmp);
    format!(
        "<style>{}</style>{}",
        plot::STYLE,
        plot::histogram(title, &samples)
    )
}

/// Ratios with their intervals as SVG, with its style inside.
#[pyfunction]
pub(crate) fn forest(title: &str, rows: Vec<(String, f64, f64, f64)>, margin: f64) -> String {
    let rows: Vec<plot::ForestRow<'_>> = rows
        .iter()
        .map(|(name, ratio, low, high)| plot::ForestRow {
            name,
            ratio: (*ratio, *low, *high),
        })
        .collect();
    format!(
        "<style>{}</style>{}",
        plot::STYLE,
        plot::forest(title, &rows, margin)
    )
}

/// Values over their index as SVG, with its style inside.
#[pyfunction]
pub(crate) fn trace(title: &str, values: Vec<f64>, unit: &str) -> String {
    let points = values.iter().enumerate();
    let curve = plot::Curve {
        name: title,
        points: points.map(|(step, value)| (step as f64, *value)).collect(),
    };
    format!(
        "<style>{}</style>{}",
        plot::STYLE,
        plot::curves(title, &[curve], false, "step", unit)
    )
}
