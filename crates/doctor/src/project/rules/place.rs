//! How audit rules say where something stands.

use warpsmith_core::{Finding, Severity, Span};

use crate::conclude::finding;

/// A finding at a line of a file, with what was seen there.
pub(super) fn at(
    code: &str,
    file: &str,
    line: u32,
    message: impl Into<String>,
    seen: impl Into<String>,
) -> Finding {
    finding(code, message)
        .because(format!("{file}:{line}"), seen)
        .at(Span::line(file, line.max(1)))
}

/// The same, as information.
pub(super) fn as_info(mut finding: Finding) -> Finding {
    finding.severity = Severity::Info;
    finding
}

/// The same, as a warning.
pub(super) fn as_warning(mut finding: Finding) -> Finding {
    finding.severity = Severity::Warning;
    finding
}
