//! The workloads, and whether the GPU computes what the CPU says.

use anyhow::Result;
use warpsmith_core::{Evidence, Finding, Severity};
use warpsmith_device::{Device, DeviceChoice};
use warpsmith_measure::{Parity, check_parity};
use warpsmith_workload::{Parameters, Workload, WorkloadError, affordable_settings};

use crate::catalogue;
use crate::project::report::document::{Block, Section};
use crate::project::report::job::Job;

pub(in crate::project::report) fn section(job: &Job) -> Result<Section> {
    let reference = Device::open(DeviceChoice::Cpu)?;
    let mut rows = Vec::new();
    let mut raw = Vec::new();
    let mut findings = Vec::new();
    for workload in catalogue::workloads() {
        // The reference has to take its turn on the CPU.
        let settings = affordable_settings(workload.as_ref(), &[], 1e8)?;
        let parameters = Parameters::resolve(workload.parameters(), &settings)?;
        let parity = agreement(job, &reference, workload.as_ref(), &parameters)?;
        let seen = match &parity {
            Some(Parity::Agrees { worst, .. }) => worst.to_string(),
            Some(Parity::Disagrees { agreement, .. }) => agreement.to_string(),
            Some(Parity::Incomparable { reason }) => reason.clone(),
            None => "–".to_owned(),
        };
        let holds = parity.as_ref().map(Parity::holds);
        if holds == Some(false) {
            let message = format!("`{}` on the GPU is not what the CPU says", workload.id());
            let mut finding = Finding::new("M050", Severity::Error, message);
            finding.evidence.push(Evidence {
                source: workload.id().to_owned(),
                seen: seen.clone(),
            });
            findings.push(finding);
        }
        let word = match holds {
            Some(true) => "agrees",
            Some(false) => "DISAGREES",
            None if job.device.cuda().is_some() => "has no GPU form",
            None => "skipped",
        };
        let because = workload.tolerance(&parameters).because;
        let row = [workload.id(), workload.summary(), word, &seen, because];
        rows.push(row.map(str::to_owned).to_vec());
        raw.push(serde_json::json!({ "workload": workload.id(), "parity": parity }));
    }
    let headings = [
        "workload",
        "what it does",
        "parity",
        "seen",
        "tolerance because",
    ];
    let mut blocks = vec![Block::sampled_table(&headings, rows, "/parity")];
    if job.device.cuda().is_none() {
        let why = "Parity is skipped: there is no GPU to compare with the CPU.";
        blocks.push(Block::Paragraph(why.to_owned()));
    }
    Ok(Section {
        blocks,
        findings,
        raw: raw.into(),
        ..Section::default()
    })
}

/// What two fresh inputs say; nothing where there is no GPU, or no form of the workload for it.
fn agreement(
    job: &Job,
    reference: &Device,
    workload: &dyn Workload,
    parameters: &Parameters,
) -> Result<Option<Parity>> {
    if job.device.cuda().is_none() {
        return Ok(None);
    }
    match check_parity(workload, &job.device, reference, parameters, &[1, 2]) {
        Err(WorkloadError::Unsupported { .. }) => Ok(None),
        other => Ok(Some(other?)),
    }
}
