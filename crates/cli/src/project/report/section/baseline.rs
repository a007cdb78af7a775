//! The machine at rest: what its GPUs and its host do when nothing is asked of them.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use anyhow::Result;
use warpsmith_core::Severity;
use warpsmith_measure::report::plot::{Curve, curves};
use warpsmith_telemetry::baseline::{Collector, Expectation, Metric, baseline_text};
use warpsmith_telemetry::{Clock, Machine, Sampler, Schedule, Settings};

use crate::project::report::document::{Block, Section};
use crate::project::report::job::Job;

pub(in crate::project::report) fn section(job: &Job) -> Result<Section> {
    let duration = Duration::from_secs(if job.quick { 5 } else { 30 });
    let schedule = Schedule::default().with_host(Duration::from_millis(100));
    let settings = Settings {
        schedule: schedule.clone(),
        ..Settings::default()
    };
    let machine = Machine::open(&settings)?;
    let mut collector = Collector::new(
        machine.inventory().clone(),
        Clock::System.now(),
        duration,
        Expectation::Idle,
        &schedule,
    )
    .measured_by(std::process::id());
    let started = Instant::now();
    let (sampler, events) = Sampler::start(machine, &settings);
    while let Some(left) = duration.checked_sub(started.elapsed()) {
        std::thread::sleep(left.min(Duration::from_millis(200)));
        events.try_iter().for_each(|event| collector.push(&event));
    }
    sampler.stop();
    events.try_iter().for_each(|event| collector.push(&event));
    let mut report = collector.finish();
    for finding in &mut report.findings {
        // Fatal to a baseline; here a busy machine makes the figures below worse, not wrong.
        finding.severity = finding.severity.min(Severity::Warning);
    }

    let mut blocks = vec![Block::Text(baseline_text(&report.body))];
    for (index, gpu) in report.body.gpus.iter().enumerate() {
        blocks.extend(plots(&format!("GPU {index}"), &gpu.metrics));
    }
    blocks.extend(plots("host", &report.body.host.metrics));
    Ok(Section {
        blocks,
        raw: serde_json::to_value(&report.body)?,
        findings: report.findings,
        ..Section::default()
    })
}

/// A plot for each metric that moved: a flat line says no more than its row in the table.
fn plots(whose: &str, metrics: &BTreeMap<String, Metric>) -> Vec<Block> {
    let moved = |metric: &&(&String, &Metric)| metric.1.summary.max > metric.1.summary.min;
    let all: Vec<(&String, &Metric)> = metrics.iter().collect();
    all.iter()
        .filter(moved)
        .map(|(name, metric)| {
            let series = &metric.series;
            let seconds = series.at_ms.iter().map(|ms| f64::from(*ms) / 1000.0);
            let curve = Curve {
                name,
                points: seconds.zip(series.values.iter().copied()).collect(),
            };
            Block::Plot(curves(
                &format!("{whose}: {name}"),
                &[curve],
                false,
                "s",
                "",
            ))
        })
        .collect()
}
