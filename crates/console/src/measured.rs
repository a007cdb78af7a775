//! What the measuring verbs share: figures as text, files on request, a progress line that narrows.

use std::path::{Path, PathBuf};

use anyhow::Result;
use clap::Args;
use warpsmith_core::Seconds;
use warpsmith_formats::write_output;
use warpsmith_measure::cpu::closure::Progress;
use warpsmith_measure::measurement::{Basis, Figures, Measurement};
use warpsmith_measure::report::html::{Section, page};
use warpsmith_measure::report::{csv, plot, sparkline};
use warpsmith_measure::statistics::quantile::{QuantileEstimate, minimum_count};

use crate::global::Global;
use crate::output;
use crate::table::Table;

/// Files that a measuring verb can leave behind.
#[derive(Args)]
pub struct Files {
    /// Also write every sample as CSV.
    #[arg(long, value_name = "FILE")]
    pub csv: Option<PathBuf>,
    /// Also write one HTML page with plots; it needs no network.
    #[arg(long, value_name = "FILE")]
    pub html: Option<PathBuf>,
    /// Also write the report as JSON, every sample in it, which `compare` and `history` read.
    #[arg(long, value_name = "FILE")]
    pub save: Option<PathBuf>,
}

impl Files {
    /// As [`output::check_outputs`], for these files and `others`.
    pub fn check(&self, global: &Global, others: &[(&str, Option<&Path>)]) -> Result<Global> {
        let mut outputs = vec![
            ("--csv", self.csv.as_deref()),
            ("--html", self.html.as_deref()),
            ("--save", self.save.as_deref()),
        ];
        outputs.extend_from_slice(others);
        output::check_outputs(global, &outputs)
    }

    /// Writes what was requested.
    pub fn write(
        &self,
        global: &Global,
        title: &str,
        measurements: &[&Measurement],
        sections: impl FnOnce() -> Vec<Section>,
        report: &impl serde::Serialize,
    ) -> Result<()> {
        if let Some(path) = &self.csv {
            write_output(path, csv::samples(measurements).as_bytes())?;
            output::note(global, &format!("wrote {}", path.display()));
        }
        if let Some(path) = &self.html {
            write_output(path, page(title, &sections()).as_bytes())?;
            output::note(global, &format!("wrote {}", path.display()));
        }
        if let Some(path) = &self.save {
            write_output(path, &serde_json::to_vec(report)?)?;
            output::note(global, &format!("wrote {}", path.display()));
        }
        Ok(())
    }
}

/// Tells how far sampling has come: the interval narrows towards its target.
pub fn show_progress(global: &Global, name: &str, target: f64, progress: &Progress<'_>) {
    let state = match progress.interval {
        Some(interval) if interval.relative_half_width().is_finite() => {
            let half = interval.relative_half_width();
            // Full when the target is met, half full at twice the target.
            let filled = ((target / half).min(1.0) * 20.0) as usize;
            format!(
                "[{}{}] {} ±{:.2} %",
                "#".repeat(filled),
                "-".repeat(20 - filled),
                Seconds(interval.median),
                100.0 * half
            )
        }
        _ => "settling".to_owned(),
    };
    output::progress(
        global,
        &format!(
            "{name}  {state}  {} samples, {:.1} s",
            progress.count,
            progress.elapsed.as_secs_f64()
        ),
    );
}

/// Half the width of an interval as a share of the median: `±0.12 %`. One that is narrower than a step of the
/// clock says no more than that step: `< 0.23 %`.
fn interval_width((low, high): (f64, f64), median: f64, sorted: &[f64]) -> String {
    let half = 0.5 * (high - low) / median;
    if !half.is_finite() {
        return "too few".to_owned();
    }
    // Neighbours that differ by less than a millionth are the same reading, rounded twice.
    let steps = sorted.windows(2).map(|pair| pair[1] - pair[0]);
    let step = steps
        .filter(|step| *step > 1e-6 * median)
        .fold(f64::INFINITY, f64::min);
    let floor = match step.is_finite() {
        true => step / median,
        false => 0.0,
    };
    match half < 0.5 * floor || half < 5e-5 {
        true => format!("< {:.2} %", (100.0 * floor).max(0.01)),
        false => format!("±{:.2} %", 100.0 * half),
    }
}

/// Measurements with their figures as a table with small distribution plots.
pub fn table(rows: &[(&Measurement, &Figures)]) -> String {
    let mut table = Table::new(&[
        "name",
        ">median",
        ">95 % interval",
        ">mean",
        ">P5",
        ">P95",
        ">P99",
        ">max",
        ">samples",
        "distribution (P1 to P99)",
    ]);
    for (measurement, figures) in rows {
        let summary = &figures.summary;
        let interval = &figures.interval;
        let (_, mut sorted, _) = measurement.basis();
        sorted.sort_unstable_by(f64::total_cmp);
        let width = interval_width((interval.low, interval.high), interval.median, &sorted);
        let quantile = |p: f64| summary.quantile(p).map_or("-".to_owned(), quantile_text);
        let noted = match figures.basis {
            Basis::CpuTime => " (CPU)",
            Basis::Disturbed => " (!)",
            Basis::AllSamples | Basis::Undisturbed => "",
        };
        table.row([
            measurement.name.clone(),
            format!("{}{noted}", Seconds(interval.median)),
            width,
            Seconds(summary.mean).to_string(),
            quantile(0.05),
            quantile(0.95),
            quantile(0.99),
            Seconds(summary.max).to_string(),
            match measurement.disturbed().len() {
                0 => summary.count.to_string(),
                disturbed => format!("{} (+{disturbed} disturbed)", summary.count),
            },
            format!("|{}|", sparkline::histogram(&sorted, 24)),
        ]);
    }
    table.to_string()
}

/// A quantile, or the bound that the samples support.
pub fn quantile_text(quantile: &QuantileEstimate) -> String {
    match (quantile.point, quantile.low, quantile.high) {
        (Some(point), ..) => Seconds(point).to_string(),
        (None, Some(low), _) => format!("≥{}", Seconds(low)),
        (None, None, Some(high)) => format!("≤{}", Seconds(high)),
        _ => format!("n<{}", minimum_count(quantile.probability, 0.95)),
    }
}

/// Text and plots of one measurement for a page.
pub fn section(measurement: &Measurement, figures: &Figures) -> Section {
    let (_, samples, _) = measurement.basis();
    let mut sorted = samples.clone();
    sorted.sort_unstable_by(f64::total_cmp);
    Section {
        heading: measurement.name.clone(),
        text: format!(
            "{}\nconditions: {}",
            table(&[(measurement, figures)]),
            serde_json::to_string_pretty(&measurement.conditions).unwrap_or_default()
        ),
        plots: vec![
            plot::histogram("histogram", &sorted),
            plot::distribution("distribution", &sorted),
            plot::series("in the order taken", &measurement.seconds, "sample", "s"),
        ],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_interval_says_no_more_than_the_clock() {
        // Samples of an event clock with steps of 32 ns: most agree to the tick.
        let ticks: Vec<f64> = (0..100)
            .map(|at| 32e-9 * f64::from(440 + at / 90))
            .collect();
        let median = 440.0 * 32e-9;
        assert_eq!(interval_width((median, median), median, &ticks), "< 0.23 %");
        let wide = (0.99 * median, 1.01 * median);
        assert_eq!(interval_width(wide, median, &ticks), "±1.00 %");
        assert_eq!(interval_width((1.0, 1.0), 1.0, &[1.0; 9]), "< 0.01 %");
        assert_eq!(interval_width((0.0, f64::INFINITY), 1.0, &[1.0]), "too few");
    }
}
