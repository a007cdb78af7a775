//! The project in whose folder the report is made.

use std::path::Path;

use anyhow::Result;
use warpsmith_doctor::{AuditOptions, audit_project};
use warpsmith_report::Facts;

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

pub(in crate::project::report) fn collect(_: &Job, facts: &mut Facts) -> Result<Option<String>> {
    let here = Path::new(".");
    if !ROOTS.iter().any(|name| here.join(name).exists()) {
        return Ok(Some("the report was not made inside a project".to_owned()));
    }
    facts.project = Some(audit_project(here, &AuditOptions::default())?);
    Ok(None)
}
