//! A baseline as people read it.

use std::fmt::Write;

use warpsmith_core::Bytes;

use super::document::{BaselineBody, GpuBaseline, Metric};
use super::statistics::Estimate;
use crate::event::{Presence, Vendor};

/// What a metric is called and how many decimals it is shown with.
pub(super) fn label(name: &str) -> (&str, usize) {
    match name {
        "busy_percent" => ("busy %", 1),
        "memory_busy_percent" => ("memory busy %", 1),
        "sm_active_percent" => ("SM active %", 1),
        "sm_occupancy_percent" => ("SM occupancy %", 1),
        "tensor_active_percent" => ("tensor active %", 1),
        "dram_active_percent" => ("DRAM active %", 1),
        "power_w" => ("power W", 1),
        "temperature_c" => ("temperature °C", 1),
        "hotspot_temperature_c" => ("hotspot °C", 1),
        "memory_temperature_c" => ("memory temp. °C", 1),
        "media_percent" => ("video %", 1),
        "awake_percent" => ("awake %", 1),
        "sm_clock_mhz" => ("SM clock MHz", 0),
        "memory_clock_mhz" => ("memory clock MHz", 0),
        "memory_used_mib" => ("memory used MiB", 0),
        "shared_memory_used_mib" => ("shared mem. MiB", 0),
        "cpu_busy_percent" => ("CPU busy %", 1),
        "cpu_io_wait_percent" => ("CPU I/O wait %", 1),
        "load_per_core_percent" => ("load per core %", 1),
        "memory_used_percent" => ("memory used %", 1),
        other => (other, 2),
    }
}

/// The body as text; the findings are for whoever prints reports.
pub fn baseline_text(body: &BaselineBody) -> String {
    let mut out = String::new();
    let _ = writeln!(
        out,
        "baseline over {:.1} s{}: {}",
        body.seconds,
        if body.expect_load { " under load" } else { "" },
        body.fitness
    );
    for gpu in &body.gpus {
        gpu_text(&mut out, gpu);
    }
    out.push_str("\nhost\n");
    table(&mut out, body.host.metrics.iter());
    out
}

fn gpu_text(out: &mut String, baseline: &GpuBaseline) {
    let gpu = &baseline.gpu;
    let _ = write!(
        out,
        "\nGPU {}  {}: {}",
        gpu.index, gpu.name, baseline.fitness
    );
    if let Some(band) = baseline.thermal {
        let _ = write!(out, ", temperature {band}");
        if let Some(margin) = baseline.margin_min_c {
            let _ = write!(out, " (margin {margin:.0} °C)");
        }
    }
    match baseline.worst_presence {
        Presence::Live => {}
        Presence::Stale => out.push_str(", hung for a while"),
        Presence::Lost => out.push_str(", lost for a while"),
    }
    if let Some(share) = baseline.asleep_share {
        let _ = write!(out, ", asleep {:.0} % of the time", share * 100.0);
    }
    out.push('\n');
    table_of(out, baseline.metrics.iter(), gpu.vendor);
    for unread in &gpu.unread {
        let _ = writeln!(out, "  not read: {unread}");
    }
    if let Some(energy) = &baseline.energy {
        let _ = write!(
            out,
            "  energy {:.1} J by the counter over {:.1} s, {:.1} W",
            energy.counter_joules, energy.seconds, energy.mean_watts
        );
        if let Some(sampled) = energy.sampled_joules {
            let off = (sampled / energy.counter_joules - 1.0) * 100.0;
            let _ = write!(out, "; from samples {sampled:.1} J ({off:+.2} %)");
        }
        out.push('\n');
    }
    let held: Vec<String> = baseline
        .throttle
        .iter()
        .filter(|held| held.seconds > 0.0)
        .map(|held| {
            let sampled = if held.counted { "" } else { " (by samples)" };
            format!(
                "{} {:.1} %{sampled}",
                held.reason.name(),
                held.share * 100.0
            )
        })
        .collect();
    if !held.is_empty() {
        let _ = writeln!(out, "  held back: {}", held.join(", "));
    }
    for instance in &baseline.mig {
        let _ = writeln!(out, "  MIG {}  {}", instance.index, instance.name);
    }
    match &baseline.processes {
        None => out.push_str("  processes: not listed by the driver\n"),
        Some(processes) if processes.is_empty() => out.push_str("  processes: none\n"),
        Some(processes) => {
            for process in processes.iter().take(10) {
                let memory = process
                    .memory_bytes
                    .and_then(|bytes| u64::try_from(bytes).ok())
                    .map_or_else(|| "?".to_owned(), |bytes| Bytes(bytes).to_string());
                let _ = writeln!(
                    out,
                    "  process {:>7}  {:>9}  {}  {}{}",
                    process.identity.pid,
                    memory,
                    process.identity.user.as_deref().unwrap_or("?"),
                    process
                        .identity
                        .name
                        .as_deref()
                        .unwrap_or("name not visible"),
                    if process.compute { "" } else { " (graphics)" },
                );
            }
            if processes.len() > 10 {
                let _ = writeln!(out, "  and {} more processes", processes.len() - 10);
            }
        }
    }
    if let Some(hidden) = baseline.hidden_processes {
        let _ = writeln!(out, "  {hidden} processes of other users are not visible");
    }
    for (code, why) in &baseline.unknown {
        let _ = writeln!(out, "  {code} not judged: {why}");
    }
}

fn table<'metric>(
    out: &mut String,
    metrics: impl Iterator<Item = (&'metric String, &'metric Metric)>,
) {
    table_of(out, metrics, Vendor::Nvidia);
}

/// The table with the words of a GPU's vendor.
fn table_of<'metric>(
    out: &mut String,
    metrics: impl Iterator<Item = (&'metric String, &'metric Metric)>,
    vendor: Vendor,
) {
    let _ = writeln!(
        out,
        "  {:<17} {:>9} {:>9} {:>9} {:>22} {:>22} {:>22} {:>6}",
        "", "mean", "min", "max", "P50 [95 %]", "P95 [95 %]", "P99 [95 %]", "n"
    );
    for (name, metric) in metrics {
        let (label, decimals) = label(name);
        let label = label.replace("SM clock", &format!("{} clock", vendor.core_clock()));
        let summary = &metric.summary;
        let interval = |estimate: Estimate| {
            format!(
                "{:.decimals$} [{:.decimals$}, {:.decimals$}]",
                estimate.value, estimate.low, estimate.high
            )
        };
        let p99 = summary
            .p99
            .map_or_else(|| "n too small".to_owned(), interval);
        let _ = writeln!(
            out,
            "  {label:<17} {:>9.decimals$} {:>9.decimals$} {:>9.decimals$} {:>22} {:>22} {p99:>22} {:>6}",
            summary.mean.value,
            summary.min,
            summary.max,
            interval(summary.p50),
            interval(summary.p95),
            summary.n
        );
    }
}
