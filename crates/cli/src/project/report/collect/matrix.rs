//! Techniques on and off.

use std::time::Instant;

use anyhow::Result;
use warpsmith_measure::ablation::{AblationRow, Setting, ablate};
use warpsmith_measure::comparison::paired_rounds::ComparisonPlan;
use warpsmith_measure::run_sampler::RunMode;
use warpsmith_report::Facts;
use warpsmith_report::facts::{Default, TechniqueFacts};
use warpsmith_workload::{Parameters, Technique, Workload, WorkloadError, affordable_settings};

use crate::project::report::job::Job;
use warpsmith_console::catalogue;

/// The six most telling, first.
const TELLING: [&str; 6] = [
    "lattice/rd",
    "md/lj",
    "md/network",
    "lattice/catalytic",
    "machine/launch",
    "synth/phrase",
];

pub(in crate::project::report) fn collect(job: &Job, facts: &mut Facts) -> Result<Option<String>> {
    let plan = match job.is_quick() {
        true => ComparisonPlan {
            rounds: 8,
            extra_rounds: 4,
            maximum_rounds: 12,
            pairs: 3,
            settle: job.settle().mul_f64(0.5),
            ..ComparisonPlan::default()
        },
        false => ComparisonPlan::default(),
    };
    let place = |workload: &dyn Workload| {
        let telling = TELLING.iter().position(|id| *id == workload.id());
        telling.unwrap_or(TELLING.len())
    };
    let acts = |technique: &Technique| technique.acts_on.includes(&job.device);
    let mut workloads: Vec<Box<dyn Workload>> = catalogue::workloads()
        .into_iter()
        .filter(|workload| workload.techniques().iter().any(acts))
        .filter(|workload| !job.is_quick() || place(workload.as_ref()) < TELLING.len())
        .collect();
    workloads.sort_by_key(|workload| place(workload.as_ref()));
    let count = workloads.len();
    let mut left_out = Vec::new();
    for (index, workload) in workloads.iter().enumerate() {
        if job.is_over() {
            left_out.push(workload.id());
            continue;
        }
        job.step(format!("{} of {count}: {}", index + 1, workload.id()));
        // A technique that is off can cost ten times as much as all of them on.
        let settings = affordable_settings(workload.as_ref(), &[], job.run_budget() / 20.0)?;
        let slow = match seconds_of_a_run(workload.as_ref(), job, &settings) {
            Ok(seconds) => seconds > job.pick(0.004, 0.25),
            // `ablate` says what is wrong.
            Err(_) => false,
        };
        if slow {
            left_out.push(workload.id());
            continue;
        }
        let rows = ablate(
            workload.as_ref(),
            &job.device,
            &settings,
            RunMode::EndToEnd,
            &plan,
            &mut |_| {},
        );
        match rows {
            Err(WorkloadError::Unsupported { .. }) => continue,
            rows => facts.matrix.extend(techniques(workload.as_ref(), &rows?)),
        }
    }
    if !left_out.is_empty() {
        let names = left_out.join(", ");
        facts.left_out.push(format!(
            "techniques of {names} (`warpsmith ablate` measures them)"
        ));
    }
    Ok(None)
}

/// How long a run takes with every technique off: what no cost tells.
fn seconds_of_a_run(
    workload: &dyn Workload,
    job: &Job,
    settings: &[(String, String)],
) -> Result<f64, WorkloadError> {
    let mut settings = settings.to_vec();
    for technique in workload.techniques() {
        settings.retain(|(name, _)| name != technique.parameter);
        settings.push((technique.parameter.to_owned(), technique.off.to_owned()));
    }
    let parameters = Parameters::resolve(workload.parameters(), &settings)?;
    let mut prepared = workload.prepare(&job.device, &parameters, 1)?;
    let mut run = || -> Result<f64, WorkloadError> {
        let begun = Instant::now();
        prepared.run_once()?;
        if let Some(stream) = prepared.stream() {
            stream.synchronize()?;
        }
        Ok(begun.elapsed().as_secs_f64())
    };
    // The first run warms up.
    run()?;
    run()
}

/// One row per technique: alone, and among all others.
fn techniques(workload: &dyn Workload, rows: &[AblationRow]) -> Vec<TechniqueFacts> {
    let alone = rows
        .iter()
        .filter(|row| row.setting == Setting::AloneOnBase);
    alone
        .filter_map(|row| {
            let technique = workload
                .techniques()
                .iter()
                .find(|technique| technique.name == row.technique)?;
            let among = rows.iter().find(|other| {
                other.technique == row.technique && other.setting == Setting::MissingFromFull
            });
            Some(TechniqueFacts {
                workload: workload.id().to_owned(),
                technique: technique.name.to_owned(),
                setting: (technique.parameter.to_owned(), technique.on.to_owned()),
                default: default_of(workload, technique),
                effort: technique.effort.to_string(),
                risk: technique.risk.to_string(),
                alone: thin(row),
                among: among.map(thin),
                mode: row.comparison.a.conditions.mode,
            })
        })
        .collect()
}

/// The row without its single samples: the ratios of its rounds are what the verdict rests on.
fn thin(row: &AblationRow) -> AblationRow {
    let mut row = row.clone();
    for side in [&mut row.comparison.a, &mut row.comparison.b] {
        side.seconds.clear();
        side.cpu_seconds.clear();
        side.clock_mhz.clear();
        side.preempted.clear();
        side.round_starts.clear();
    }
    row
}

fn default_of(workload: &dyn Workload, technique: &Technique) -> Default {
    let spec = workload
        .parameters()
        .iter()
        .find(|spec| spec.name == technique.parameter);
    let value = spec.map_or(String::new(), |spec| spec.kind.default().to_string());
    match value {
        value if value == technique.on => Default::On,
        value if value == technique.off => Default::Off,
        value => Default::Other(value),
    }
}
