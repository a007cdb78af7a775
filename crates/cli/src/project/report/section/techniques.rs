//! The optimisation matrix: each technique on and off, measured where others estimate.

use std::time::{Duration, Instant};

use anyhow::Result;
use warpsmith_core::Bytes;
use warpsmith_measure::ablation::{AblationRow, Setting, ablate};
use warpsmith_measure::comparison::paired_rounds::ComparisonPlan;
use warpsmith_measure::report::plot::{ForestRow, forest};
use warpsmith_measure::run_sampler::RunMode;
use warpsmith_workload::{
    Judgement, Parameters, Technique, Workload, WorkloadError, affordable_settings,
};

use crate::catalogue;
use crate::project::report::document::{Block, Section};
use crate::project::report::job::Job;

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

pub(in crate::project::report) fn section(job: &Job) -> Result<Section> {
    let plan = if job.quick {
        ComparisonPlan {
            rounds: 8,
            extra_rounds: 8,
            maximum_rounds: 16,
            pairs: 3,
            ..ComparisonPlan::default()
        }
    } else {
        ComparisonPlan::default()
    };
    let mut section = Section::default();
    let mut rows = Vec::new();
    let mut raw: Vec<serde_json::Value> = Vec::new();
    let mut samples = Vec::new();
    let mut plots = Vec::new();
    let started = Instant::now();
    let budget = Duration::from_secs(if job.quick { 8 } else { 90 });
    let mut left_out = Vec::new();
    for workload in catalogue::workloads() {
        if workload.techniques().is_empty() {
            continue;
        }
        if started.elapsed() > budget {
            left_out.push(format!("`warpsmith ablate {}`", workload.id()));
            continue;
        }
        // A technique that is off can cost ten times as much as all of them on.
        let settings = affordable_settings(workload.as_ref(), &[], job.run_budget() / 20.0)?;
        let slow = match seconds_of_a_run(workload.as_ref(), job, &settings) {
            Ok(seconds) => seconds > if job.quick { 0.01 } else { 0.25 },
            // `ablate` says what is wrong.
            Err(_) => false,
        };
        if slow {
            left_out.push(format!("`warpsmith ablate {}`", workload.id()));
            continue;
        }
        let measured = ablate(
            workload.as_ref(),
            &job.device,
            &settings,
            RunMode::EndToEnd,
            &plan,
            &mut |_| {},
        );
        let measured = match measured {
            Err(WorkloadError::Unsupported { reason, .. }) => {
                section.blocks.push(Block::Paragraph(format!(
                    "`{}` has a technique that this device has not: {reason}.",
                    workload.id()
                )));
                continue;
            }
            other => other?,
        };
        let names: Vec<String> = measured.iter().map(change).collect();
        samples.extend((0..measured.len()).map(|row| format!("/{}/rows/{row}", raw.len())));
        rows.extend(
            measured
                .iter()
                .zip(&names)
                .map(|(row, name)| line(workload.as_ref(), row, name)),
        );
        let bars: Vec<ForestRow<'_>> = measured
            .iter()
            .zip(&names)
            .map(|(row, name)| ForestRow::of(name, &row.evaluation))
            .collect();
        plots.push(Block::Plot(forest(workload.id(), &bars, plan.margin)));
        raw.push(serde_json::json!({ "workload": workload.id(), "rows": measured }));
    }
    let headings = [
        "workload",
        "technique",
        "verdict",
        ">time with / without",
        ">95 % interval",
        ">memory",
        ">quality: max difference",
        "output",
        "effort (judged)",
        "risk (judged)",
    ];
    section
        .blocks
        .push(Block::linked_table(&headings, rows, samples));
    section.blocks.push(Block::Paragraph(
        "End to end, in paired rounds that take turns; ratios below 1 are faster; verdicts are \
         corrected for their number. How much work a technique is and how risky are judgements \
         in a word, which no clock measures."
            .into(),
    ));
    if !left_out.is_empty() {
        section.blocks.push(Block::Paragraph(format!(
            "The time was up before these, which measure the rest: {}.",
            left_out.join(", ")
        )));
    }
    section.blocks.extend(plots);
    section.raw = raw.into();
    Ok(section)
}

fn change(row: &AblationRow) -> String {
    match row.setting {
        Setting::AloneOnBase => row.technique.clone(),
        Setting::MissingFromFull => format!("all but {}", row.technique),
        Setting::FullOnBase => "all".to_owned(),
    }
}

fn line(workload: &dyn Workload, row: &AblationRow, name: &str) -> Vec<String> {
    let evaluation = &row.evaluation;
    let technique = workload
        .techniques()
        .iter()
        .find(|technique| technique.name == row.technique);
    let judged = |word: fn(&Technique) -> Judgement| {
        technique.map_or("–".into(), |technique| word(technique).to_string())
    };
    let memory = |bytes: i64| {
        let sign = if bytes < 0 { "−" } else { "+" };
        format!("{sign}{}", Bytes(bytes.unsigned_abs()))
    };
    vec![
        workload.id().to_owned(),
        name.to_owned(),
        evaluation.verdict.to_string(),
        format!("{:.3}", evaluation.ratio),
        format!("{:.3} to {:.3}", evaluation.low, evaluation.high),
        row.memory_bytes.map_or("–".into(), memory),
        row.output_difference
            .map_or("–".into(), |difference| format!("{difference:.1e}")),
        match row.output_agrees {
            Some(true) => "agrees",
            Some(false) => "DISAGREES",
            None => "–",
        }
        .to_owned(),
        judged(|technique| technique.effort),
        judged(|technique| technique.risk),
    ]
}
