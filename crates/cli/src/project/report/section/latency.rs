//! How long each workload takes here.

use std::time::{Duration, Instant};

use anyhow::Result;
use warpsmith_core::{Bytes, BytesPerSecond, Seconds};
use warpsmith_device::Device;
use warpsmith_measure::findings;
use warpsmith_measure::leak::resident::resident_bytes;
use warpsmith_measure::report::plot;
use warpsmith_measure::run_sampler::{RunMode, RunSampler};
use warpsmith_measure::statistics::stop_rule::StopPlan;
use warpsmith_workload::{Parameters, WorkloadError, affordable_settings};

use crate::catalogue;
use crate::measured::quantile_text;
use crate::project::report::document::{Block, Section};
use crate::project::report::job::Job;

/// Seconds of a quick report that this section takes.
const QUICK_SECONDS: f64 = 18.0;

pub(in crate::project::report) fn section(job: &Job) -> Result<Section> {
    job.device.warm_up()?;
    let workloads = catalogue::workloads();
    let started = Instant::now();
    let count = workloads.len();
    let mut section = Section::default();
    let mut rows = Vec::new();
    let mut raw = Vec::new();
    let mut plots = Vec::new();
    for (index, workload) in workloads.into_iter().enumerate() {
        let plan = plan(job, started.elapsed(), count - index);
        let settings = affordable_settings(workload.as_ref(), &[], job.run_budget())?;
        let parameters = Parameters::resolve(workload.parameters(), &settings)?;
        let mut sampler = RunSampler::new(&job.device, RunMode::Warm)?;
        let before = memory_held(&job.device);
        let prepared = match workload.prepare(&job.device, &parameters, 1) {
            // What has no form for this device has no time on it.
            Err(WorkloadError::Unsupported { .. }) => continue,
            other => other?,
        };
        let mut target = sampler.target(prepared)?;
        let memory = memory_held(&job.device)
            .zip(before)
            .map(|(now, then)| now.saturating_sub(then));
        let mut measurement = sampler.begin(workload.id(), &target);
        sampler.measure_round(&mut measurement, &mut target, &plan, &mut |_| {})?;
        let Some(figures) = measurement.figures() else {
            continue;
        };
        section
            .findings
            .extend(findings::of_measurement(&measurement, &figures));
        let (summary, interval) = (&figures.summary, &figures.interval);
        let time = |seconds: f64| Seconds(seconds).to_string();
        let quantile = |p: f64| summary.quantile(p).map_or("–".into(), quantile_text);
        let cost = workload.cost(&parameters);
        let rate = BytesPerSecond(cost.bytes.0 as f64 / interval.median).to_string();
        let half_width = 50.0 * (interval.high - interval.low) / interval.median;
        rows.push(vec![
            workload.id().to_owned(),
            time(interval.median),
            // A handful of samples supports no interval.
            if half_width.is_finite() {
                format!("±{half_width:.2} %")
            } else {
                "–".into()
            },
            time(summary.mean),
            time(summary.standard_deviation),
            quantile(0.95),
            quantile(0.99),
            if cost.bytes.0 == 0 {
                "–".into()
            } else {
                rate
            },
            match cost.units {
                0 => "–".into(),
                units => format!("{} / {}", time(interval.median / units as f64), cost.unit),
            },
            memory.map_or("–".into(), |bytes| Bytes(bytes).to_string()),
            summary.count.to_string(),
            parameters.to_string(),
        ]);
        let (_, mut sorted, _) = measurement.basis();
        sorted.sort_unstable_by(f64::total_cmp);
        plots.push(Block::Plot(plot::histogram(workload.id(), &sorted)));
        raw.push(serde_json::json!({ "parameters": parameters, "measurement": measurement }));
    }
    let headings = [
        "workload",
        ">median",
        ">95 %",
        ">mean",
        ">std",
        ">P95",
        ">P99",
        ">rate",
        ">each",
        ">memory",
        ">samples",
        "parameters",
    ];
    section.blocks.push(Block::sampled_table(
        &headings,
        rows,
        "/measurement/seconds",
    ));
    section.blocks.push(Block::Paragraph(format!(
        "On {}: the work alone, warm; by the monotonic clock on a CPU and by events behind a \
         blocking kernel on a GPU. Sampling stops when the interval of the median is narrow enough \
         or its time is up; a quantile that the samples do not support is not printed.",
        job.device.name()
    )));
    section.blocks.extend(plots);
    section.raw = raw.into();
    Ok(section)
}

/// In a quick report all workloads together take some eighteen seconds: what one took longer to
/// prepare, the others have less.
fn plan(job: &Job, elapsed: Duration, left: usize) -> StopPlan {
    if !job.quick {
        return StopPlan::default();
    }
    let share = (QUICK_SECONDS - elapsed.as_secs_f64()) / left as f64;
    StopPlan {
        target: 0.01,
        timeout: Duration::from_secs_f64(share.clamp(0.1, 3.0)),
        ..StopPlan::default()
    }
}

/// What a GPU's buffers hold, or what the process holds where the device is the CPU.
fn memory_held(device: &Device) -> Option<u64> {
    match device.cuda() {
        Some(gpu) => Some(gpu.ledger().stats().live),
        None => resident_bytes(None),
    }
}
