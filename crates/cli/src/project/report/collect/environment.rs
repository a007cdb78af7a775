//! The CUDA environment.

use anyhow::Result;
use warpsmith_doctor::{RealHost, check_machine, collect_machine};
use warpsmith_report::Facts;

use crate::project::report::job::Job;

pub(in crate::project::report) fn collect(_: &Job, facts: &mut Facts) -> Result<Option<String>> {
    facts.environment = Some(check_machine(&collect_machine(&RealHost::new())));
    Ok(None)
}
