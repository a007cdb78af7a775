//! The short words that rules are made of.

use warpsmith_core::{Finding, Severity, Verdict};

use crate::catalog::rule_info;

/// What a rule found, nothing where it passes; or the verdict of one that could not look.
pub(crate) type Judgement<T = Vec<Finding>> = Result<T, Verdict>;

/// A finding of `code` at its catalogue severity.
pub(crate) fn finding(code: &str, message: impl Into<String>) -> Finding {
    let severity = rule_info(code).map_or(Severity::Warning, |info| info.severity);
    Finding::new(code, severity, message)
}

pub(crate) fn pass() -> Judgement {
    Ok(Vec::new())
}

pub(crate) fn one(finding: Finding) -> Judgement {
    Ok(vec![finding])
}

pub(crate) fn unknown<T>(why: &str) -> Judgement<T> {
    Err(Verdict::Unknown(why.to_owned()))
}

pub(crate) fn not_applicable<T>(why: &str) -> Judgement<T> {
    Err(Verdict::NotApplicable(why.to_owned()))
}

/// Ends a rule as unknown, for `otherwise`, where `condition` does not hold.
pub(crate) fn known(condition: bool, otherwise: &str) -> Judgement<()> {
    if condition {
        Ok(())
    } else {
        unknown(otherwise)
    }
}

/// Ends a rule as not applicable, for `otherwise`, where `condition` does not hold.
pub(crate) fn applies(condition: bool, otherwise: &str) -> Judgement<()> {
    if condition {
        Ok(())
    } else {
        not_applicable(otherwise)
    }
}

/// The verdict that a judgement comes to.
pub(crate) fn verdict(judgement: Judgement) -> Verdict {
    match judgement {
        Ok(findings) if findings.is_empty() => Verdict::Pass,
        Ok(findings) => Verdict::Found(findings),
        Err(verdict) => verdict,
    }
}
