//! Every scenario file under `scenarios/` gets the verdict that it names: sampled through the fake
//! library in virtual time, collected, judged.

mod support;

use std::fs;
use std::path::Path;
use std::time::Duration;

use libtest_mimic::{Arguments, Failed, Trial};
use serde::Deserialize;
use support::{Fake, proc_folder};
use warpsmith_telemetry::Schedule;
use warpsmith_telemetry::baseline::{
    BaselineBody, Collector, Expectation, Fitness, ThermalBand, baseline_text,
};

/// A scenario with what should be said about it.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Case {
    about: String,
    scenario: serde_json::Value,
    expect_load: bool,
    seconds: u64,
    processes: Vec<(u32, String)>,
    pid_namespace: bool,
    #[serde(default)]
    measured_by: Option<u32>,
    fitness: Fitness,
    codes: Vec<String>,
    /// Lines that the findings have to have.
    #[serde(default)]
    evidence: Vec<String>,
    thermal: Option<ThermalBand>,
}

fn judge(path: &Path) -> Result<(), Failed> {
    let case: Case = serde_json::from_str(&fs::read_to_string(path)?)?;
    let fake = Fake::new(&case.scenario.to_string());
    let visible: Vec<(u32, &str)> = case
        .processes
        .iter()
        .map(|(pid, name)| (*pid, name.as_str()))
        .collect();
    let proc_root = proc_folder(&visible);
    if case.pid_namespace {
        fs::remove_dir_all(proc_root.path().join("2"))?;
    }
    let settings = fake.settings(proc_root.path());
    let span = Duration::from_secs(case.seconds);
    let (inventory, events) = fake.sample(&settings, span)?;
    let expectation = if case.expect_load {
        Expectation::Load
    } else {
        Expectation::Idle
    };
    let start = events.first().ok_or("no events")?.at;
    let mut collector = Collector::new(inventory, start, span, expectation, &Schedule::default());
    if let Some(pid) = case.measured_by {
        collector = collector.measured_by(pid);
    }
    events.iter().for_each(|event| collector.push(event));
    let report = collector.finish();
    let mut codes: Vec<&str> = report
        .findings
        .iter()
        .map(|finding| finding.code.as_str())
        .collect();
    codes.sort_unstable();
    let thermal = report.body.gpus.last().and_then(|gpu| gpu.thermal);
    let said = (report.body.fitness, codes, thermal);
    let expected = (
        case.fitness,
        case.codes.iter().map(String::as_str).collect(),
        case.thermal,
    );
    if said != expected {
        return Err(format!(
            "{}\nsaid     {said:?}\nexpected {expected:?}\n{}",
            case.about,
            baseline_text(&report.body)
        )
        .into());
    }
    let all: String = report
        .findings
        .iter()
        .map(|finding| format!("{finding}\n"))
        .collect();
    if let Some(missing) = case
        .evidence
        .iter()
        .find(|line| !all.contains(line.as_str()))
    {
        return Err(format!("`{missing}` is not in\n{all}").into());
    }
    // What is said survives JSON, and the statistics agree with the energy counter.
    let json = serde_json::to_string(&report)?;
    let back: warpsmith_core::Report<BaselineBody> = serde_json::from_str(&json)?;
    if back.findings != report.findings || back.body.fitness != report.body.fitness {
        return Err("the report does not survive JSON".into());
    }
    for gpu in &report.body.gpus {
        let Some(energy) = gpu.energy else { continue };
        let Some(sampled) = energy.sampled_joules else {
            continue;
        };
        let off = (sampled / energy.counter_joules - 1.0).abs();
        if off > 0.005 && gpu.coverage > 0.9 {
            return Err(format!("energy from samples is off by {:.2} %", off * 100.0).into());
        }
    }
    Ok(())
}

fn main() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/scenarios");
    let mut paths: Vec<_> = fs::read_dir(folder)
        .expect("the scenarios are there")
        .map(|entry| entry.expect("a readable folder").path())
        .collect();
    paths.sort();
    assert!(paths.len() >= 30, "only {} scenarios", paths.len());
    let trials = paths.into_iter().map(|path| {
        let name = path
            .file_stem()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned();
        Trial::test(name, move || judge(&path))
    });
    libtest_mimic::run(&Arguments::from_args(), trials.collect()).exit();
}
