//! `audit` as JUnit XML: one test case per rule, so that any CI shows it.

use std::fmt::Write;

use warpsmith_core::Report;
use warpsmith_formats::html;

use crate::outcome::Outcome;
use crate::project::AuditBody;

/// The report as JUnit XML.
pub fn audit_junit(report: &Report<AuditBody>) -> String {
    let outcomes = &report.body.outcomes;
    let count = |wanted: &[Outcome]| {
        outcomes
            .iter()
            .filter(|o| wanted.contains(&o.outcome))
            .count()
    };
    let mut out = String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
    let _ = writeln!(
        out,
        "<testsuites><testsuite name=\"warpsmith audit\" tests=\"{}\" failures=\"{}\" errors=\"0\" skipped=\"{}\">",
        outcomes.len(),
        count(&[Outcome::Fail, Outcome::Warn]),
        count(&[Outcome::NotApplicable, Outcome::Unknown])
    );
    for outcome in outcomes {
        let _ = write!(
            out,
            "<testcase classname=\"{}\" name=\"{} {}\">",
            escape(outcome.area.title()),
            outcome.code,
            escape(&outcome.title)
        );
        match outcome.outcome {
            Outcome::Fail | Outcome::Warn => {
                let text: Vec<String> = report
                    .findings
                    .iter()
                    .filter(|f| f.code == outcome.code)
                    .map(|f| f.to_string())
                    .collect();
                let first = report
                    .findings
                    .iter()
                    .find(|f| f.code == outcome.code)
                    .map_or("", |f| f.message.as_str());
                let _ = write!(
                    out,
                    "<failure type=\"{}\" message=\"{}\">{}</failure>",
                    if outcome.outcome == Outcome::Fail {
                        "error"
                    } else {
                        "warning"
                    },
                    escape(first),
                    escape(&text.join("\n\n"))
                );
            }
            Outcome::Unknown | Outcome::NotApplicable => {
                let _ = write!(
                    out,
                    "<skipped message=\"{}\"/>",
                    escape(outcome.why.as_deref().unwrap_or(""))
                );
            }
            Outcome::Pass | Outcome::Info => {}
        }
        out.push_str("</testcase>\n");
    }
    out.push_str("</testsuite></testsuites>\n");
    out
}

fn escape(text: &str) -> String {
    // Control characters are not XML at all.
    let text = text
        .chars()
        .filter(|c| !c.is_control() || matches!(c, '\n' | '\t'));
    html::escape(&text.collect::<String>())
}
