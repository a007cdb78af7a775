//! What is wrong with the machine's CUDA environment, and what mends it.

use anyhow::Result;
use warpsmith_doctor::{Detail, RealHost, check_machine, check_text, collect_machine};

use crate::project::report::document::{Block, Section};
use crate::project::report::job::Job;

pub(in crate::project::report) fn section(_: &Job) -> Result<Section> {
    let report = check_machine(&collect_machine(&RealHost::new()));
    Ok(Section {
        blocks: vec![Block::Text(check_text(&report, Detail::Summary))],
        raw: serde_json::to_value(&report.body)?,
        findings: report.findings,
        ..Section::default()
    })
}
