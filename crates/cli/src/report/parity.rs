//! Whether the GPU computes what the CPU says.

use anyhow::Result;
use warpsmith_core::{Evidence, Finding, Severity};
use warpsmith_device::{Device, DeviceChoice};
use warpsmith_measure::{Parameters, Parity, WorkloadError, affordable_settings, check_parity};

use super::{Block, Job, Section};
use crate::catalogue;

pub(super) fn section(job: &Job) -> Result<Section> {
    if job.device.cuda().is_none() {
        let skipped = Some("there is no GPU to compare with the CPU".to_owned());
        return Ok(Section {
            skipped,
            ..Section::default()
        });
    }
    let reference = Device::open(DeviceChoice::Cpu)?;
    let mut rows = Vec::new();
    let mut raw = Vec::new();
    let mut findings = Vec::new();
    for workload in catalogue::workloads() {
        // The reference has to take its turn on the CPU.
        let settings = affordable_settings(workload.as_ref(), &[], 1e8)?;
        let parameters = Parameters::resolve(workload.parameters(), &settings)?;
        let checked = check_parity(
            workload.as_ref(),
            &job.device,
            &reference,
            &parameters,
            &[1, 2],
        );
        let parity = match checked {
            Err(WorkloadError::Unsupported { .. }) => continue,
            other => other?,
        };
        let seen = match &parity {
            Parity::Agrees { worst, .. } => worst.to_string(),
            Parity::Disagrees { agreement, .. } => agreement.to_string(),
            Parity::Incomparable { reason } => reason.clone(),
        };
        if !parity.holds() {
            let message = format!("`{}` on the GPU is not what the CPU says", workload.id());
            let mut finding = Finding::new("M050", Severity::Error, message);
            finding.evidence.push(Evidence {
                source: workload.id().to_owned(),
                seen: seen.clone(),
            });
            findings.push(finding);
        }
        rows.push(vec![
            workload.id().to_owned(),
            if parity.holds() {
                "agrees"
            } else {
                "DISAGREES"
            }
            .to_owned(),
            seen,
            workload.tolerance(&parameters).because.to_owned(),
        ]);
        raw.push(serde_json::json!({ "workload": workload.id(), "parity": parity }));
    }
    let headings = ["workload", "parity", "seen", "tolerance because"];
    let blocks = vec![Block::table(&headings, rows)];
    Ok(Section {
        blocks,
        findings,
        raw: raw.into(),
        ..Section::default()
    })
}
