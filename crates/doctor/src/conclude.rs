//! The short words that rules end in.

use warpsmith_core::{Finding, Severity, Verdict};

use crate::catalog::rule_info;

/// A finding of `code` at its catalogue severity.
pub(crate) fn finding(code: &str, message: impl Into<String>) -> Finding {
    let severity = rule_info(code).map_or(Severity::Warning, |info| info.severity);
    Finding::new(code, severity, message)
}

/// `Found` where there are findings, otherwise `Pass`.
pub(crate) fn verdict(findings: Vec<Finding>) -> Verdict {
    if findings.is_empty() {
        Verdict::Pass
    } else {
        Verdict::Found(findings)
    }
}

pub(crate) fn one(finding: Finding) -> Verdict {
    Verdict::Found(vec![finding])
}

pub(crate) fn unknown(why: &str) -> Verdict {
    Verdict::Unknown(why.to_owned())
}

pub(crate) fn not_applicable(why: &str) -> Verdict {
    Verdict::NotApplicable(why.to_owned())
}
