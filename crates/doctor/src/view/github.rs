//! `audit` as GitHub workflow commands: each finding becomes an annotation on its line.

use std::fmt::Write;

use warpsmith_core::{Report, Severity};

use crate::project::AuditBody;

/// The report as annotations, one to a line; information is left out, because a job shows ten.
pub fn audit_github(report: &Report<AuditBody>) -> String {
    let mut out = String::new();
    for finding in &report.findings {
        let level = match finding.severity {
            Severity::Error => "error",
            Severity::Warning => "warning",
            Severity::Info => continue,
        };
        let place = finding.span.as_ref().map_or(String::new(), |span| {
            format!("file={},line={},", property(&span.file), span.line.max(1))
        });
        let mut text = finding.message.clone();
        if let Some(hint) = &finding.hint {
            text = format!("{text}\n{hint}");
        }
        let _ = writeln!(
            out,
            "::{level} {place}title={}::{}",
            property(&finding.code),
            data(&text)
        );
    }
    out
}

/// The message of a command: GitHub reads these three escapes.
fn data(text: &str) -> String {
    text.replace('%', "%25")
        .replace('\r', "%0D")
        .replace('\n', "%0A")
}

/// A property of a command: two more characters would end it.
fn property(text: &str) -> String {
    data(text).replace(':', "%3A").replace(',', "%2C")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_would_end_a_command_is_escaped() {
        assert_eq!(property("a,b:c%\n.cu"), "a%2Cb%3Ac%25%0A.cu");
        assert_eq!(data("50 %: a, b\r\n"), "50 %25: a, b%0D%0A");
    }
}
