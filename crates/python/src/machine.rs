//! What `check`, `audit` and `baseline` say, as JSON.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use pyo3::prelude::*;
use warpsmith_doctor::{AuditOptions, RealHost, audit_project, check_machine, collect_machine};
use warpsmith_telemetry::baseline::{Collector, Expectation};
use warpsmith_telemetry::{Clock, Machine, Sampler, Schedule, Settings};

use crate::{failed, json};

#[pyfunction]
pub(crate) fn check(py: Python<'_>) -> PyResult<String> {
    py.detach(|| json(&check_machine(&collect_machine(&RealHost::new()))))
}

#[pyfunction]
pub(crate) fn audit(py: Python<'_>, path: PathBuf) -> PyResult<String> {
    py.detach(|| {
        let report = audit_project(&path, &AuditOptions::default()).map_err(failed)?;
        json(&report)
    })
}

#[pyfunction]
pub(crate) fn baseline(py: Python<'_>, seconds: f64, expect_load: bool) -> PyResult<String> {
    let duration = Duration::try_from_secs_f64(seconds).map_err(failed)?;
    let schedule = Schedule::default().with_host(Duration::from_millis(500));
    let settings = Settings {
        schedule: schedule.clone(),
        ..Settings::default()
    };
    let machine = py.detach(|| Machine::open(&settings)).map_err(failed)?;
    let expectation = match expect_load {
        true => Expectation::Load,
        false => Expectation::Idle,
    };
    let mut collector = Collector::new(
        machine.inventory().clone(),
        Clock::System.now(),
        duration,
        expectation,
        &schedule,
    );
    let started = Instant::now();
    let (sampler, events) = Sampler::start(machine, &settings);
    while let Some(left) = duration.checked_sub(started.elapsed()) {
        py.detach(|| std::thread::sleep(left.min(Duration::from_millis(200))));
        // Ctrl-C in Python ends the wait.
        py.check_signals()?;
        events.try_iter().for_each(|event| collector.push(&event));
    }
    py.detach(|| sampler.stop());
    events.try_iter().for_each(|event| collector.push(&event));
    json(&collector.finish())
}
