//! A comparison as people read it.

use std::fmt::Write;

use super::comparison::{Comparison, Difference, MetricComparison};
use super::text::label;

/// The body as text; the findings are for whoever prints reports.
pub fn comparison_text(body: &Comparison) -> String {
    let mut out = format!("{}\n", body.verdict);
    for (index, metrics) in &body.gpus {
        let _ = writeln!(out, "\nGPU {index}");
        table(&mut out, metrics);
    }
    if !body.host.is_empty() {
        let _ = writeln!(out, "\nhost");
        table(&mut out, &body.host);
    }
    out
}

fn table(out: &mut String, metrics: &[MetricComparison]) {
    let _ = writeln!(
        out,
        "  {:<17} {:>9} {:>9} {:>30} {:>9} {:>9} {:>30} {:>8}  verdict",
        "", "P50 A", "P50 B", "difference [95 %]", "P95 A", "P95 B", "difference [95 %]", "matters"
    );
    for metric in metrics {
        let (label, decimals) = label(&metric.name);
        let show = |d: &Difference| {
            format!(
                "{:+.decimals$} [{:+.decimals$}, {:+.decimals$}]",
                d.difference.value, d.difference.low, d.difference.high
            )
        };
        let _ = writeln!(
            out,
            "  {label:<17} {:>9.decimals$} {:>9.decimals$} {:>30} {:>9.decimals$} {:>9.decimals$} {:>30} {:>8.2}  {}",
            metric.p50.first,
            metric.p50.second,
            show(&metric.p50),
            metric.p95.first,
            metric.p95.second,
            show(&metric.p95),
            metric.threshold,
            metric.verdict
        );
    }
}
