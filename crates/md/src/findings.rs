//! What trajectories lead to conclude: the `T…` findings and their stories.

use warpsmith_core::{Family, Finding, Severity, Story};

use crate::error::MdError;

/// What each code about a trajectory means.
pub static FAMILY: Family = Family::new(include_str!("stories/T.md"));

/// What the user did or has, where an error is about that and not about us.
pub fn of_error(error: &MdError) -> Option<Finding> {
    let code = match error {
        MdError::Overlap { .. } => "T001",
        MdError::NotFinite { .. } => "T002",
        MdError::BlowUp { .. } => "T003",
        _ => return None,
    };
    Some(Finding::new(code, Severity::Error, error.to_string()).hint(fix_of(code)))
}

/// The trend of the total energy over a run without thermostat, relative to its size, where it is
/// above what `precision_limit` allows.
pub fn drift_finding(relative_drift: f64, precision_limit: f64) -> Option<Finding> {
    let drifts = relative_drift.is_nan() || relative_drift.abs() > precision_limit;
    drifts.then(|| {
        let message = format!("the total energy drifted by {relative_drift:.1e} of its size");
        Finding::new("T004", Severity::Warning, message)
            .because("limit for this precision", format!("{precision_limit:.0e}"))
            .hint(fix_of("T004"))
    })
}

/// The checkpoint was written by other arithmetic than continues it.
pub fn mixed_arithmetic(written: &str, running: &str) -> Option<Finding> {
    (written != running).then(|| {
        let message = "this run continues the checkpoint, but not bit for bit";
        Finding::new("T005", Severity::Warning, message)
            .because("written with", written)
            .because("running with", running)
            .hint(fix_of("T005"))
    })
}

fn fix_of(code: &str) -> String {
    FAMILY.story(code).map(Story::hint).unwrap_or_default()
}
