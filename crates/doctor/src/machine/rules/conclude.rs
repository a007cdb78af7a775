//! The short words that rules end in.

use warpsmith_core::{Finding, Severity, Verdict};

use crate::catalog::rule_info;
use crate::machine::facts::MachineFacts;

/// A finding of `code` at its catalogue severity.
pub(super) fn finding(code: &str, message: impl Into<String>) -> Finding {
    let severity = rule_info(code).map_or(Severity::Warning, |info| info.severity);
    Finding::new(code, severity, message)
}

/// `Found` where there are findings, otherwise `Pass`.
pub(super) fn verdict(findings: Vec<Finding>) -> Verdict {
    if findings.is_empty() {
        Verdict::Pass
    } else {
        Verdict::Found(findings)
    }
}

pub(super) fn one(finding: Finding) -> Verdict {
    Verdict::Found(vec![finding])
}

pub(super) fn unknown(why: &str) -> Verdict {
    Verdict::Unknown(why.to_owned())
}

pub(super) fn not_applicable(why: &str) -> Verdict {
    Verdict::NotApplicable(why.to_owned())
}

/// The verdict of a GPU rule on a machine without one; `None` where there is one.
pub(super) fn without_gpu(facts: &MachineFacts) -> Option<Verdict> {
    (!facts.has_gpu()).then(|| not_applicable("no NVIDIA GPU in this machine"))
}
