//! The project in whose folder the report is made: is it ready to ship?

use std::path::Path;

use anyhow::Result;
use warpsmith_doctor::{AuditOptions, audit_project, audit_text};

use crate::project::report::document::{Block, Section};
use crate::project::report::job::Job;

/// What a folder holds when it is the root of a project.
const ROOTS: [&str; 7] = [
    ".git",
    "CMakeLists.txt",
    "Cargo.toml",
    "Makefile",
    "meson.build",
    "pyproject.toml",
    "setup.py",
];

pub(in crate::project::report) fn section(_: &Job) -> Result<Section> {
    let here = Path::new(".");
    if !ROOTS.iter().any(|name| here.join(name).exists()) {
        let skipped = Some("the report was not made inside a project".to_owned());
        return Ok(Section {
            skipped,
            ..Section::default()
        });
    }
    let report = audit_project(here, &AuditOptions::default())?;
    Ok(Section {
        blocks: vec![Block::Text(audit_text(&report, false))],
        raw: serde_json::to_value(&report)?,
        findings: report.findings,
        ..Section::default()
    })
}
