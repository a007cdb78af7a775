//! The machine at rest: what its GPUs and its host do when nothing is requested of them.

use std::time::{Duration, Instant};

use anyhow::Result;
use warpsmith_core::Severity;
use warpsmith_report::Facts;
use warpsmith_telemetry::baseline::{Collector, Expectation};
use warpsmith_telemetry::{Clock, Machine, Sampler, Schedule, Settings};

use crate::project::report::job::Job;

pub(in crate::project::report) fn collect(job: &Job, facts: &mut Facts) -> Result<Option<String>> {
    let duration = job.left().max(Duration::from_secs(1));
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
        if job.interruption.wait(left.min(Duration::from_millis(200))) {
            break;
        }
        events.try_iter().for_each(|event| collector.push(&event));
    }
    sampler.stop();
    events.try_iter().for_each(|event| collector.push(&event));
    let mut report = collector.finish();
    for finding in &mut report.findings {
        // Fatal to a baseline; a report says that it is not fit to measure and goes on.
        if ["B002", "B040"].contains(&finding.code.as_str()) {
            finding.severity = finding.severity.min(Severity::Warning);
        }
    }
    facts.rest = Some(report);
    Ok(None)
}
