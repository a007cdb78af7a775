//! `audit` as Markdown, for a pull request or a wiki.

use std::fmt::Write;

use warpsmith_core::{Report, Severity};

use super::audit_text::score_line;
use crate::project::AuditBody;

/// The report as Markdown.
pub fn audit_markdown(report: &Report<AuditBody>) -> String {
    let mut out = String::new();
    let body = &report.body;
    let _ = writeln!(
        out,
        "# Audit of {}\n\n{} files, {} with CUDA code. {}\n",
        cell(&body.project),
        body.files,
        body.cuda_files,
        score_line(report)
    );
    for (severity, title) in [
        (Severity::Error, "Errors"),
        (Severity::Warning, "Warnings"),
        (Severity::Info, "Notes"),
    ] {
        let found: Vec<_> = report
            .findings
            .iter()
            .filter(|f| f.severity == severity)
            .collect();
        if found.is_empty() {
            continue;
        }
        let _ = writeln!(
            out,
            "## {title}\n\n| rule | place | finding | what to do |\n|---|---|---|---|"
        );
        for finding in found {
            let place = finding
                .span
                .as_ref()
                .map_or(String::new(), |s| format!("`{}:{}`", s.file, s.line));
            let _ = writeln!(
                out,
                "| {} | {place} | {} | {} |",
                finding.code,
                cell(&finding.message),
                cell(finding.hint.as_deref().unwrap_or(""))
            );
        }
        out.push('\n');
    }
    let _ = writeln!(
        out,
        "## Areas\n\n| area | score | coverage |\n|---|---|---|"
    );
    for area in &body.score.areas {
        let score = area.score_text();
        let _ = writeln!(
            out,
            "| {} | {score} | {:.0} % |",
            area.area.title(),
            100.0 * area.coverage
        );
    }
    let _ = writeln!(
        out,
        "\n## Twelve factors\n\n| | factor | state | evidence |\n|---|---|---|---|"
    );
    for row in &body.twelve_factor {
        let _ = writeln!(
            out,
            "| {} | {} | {} | {} |",
            row.number,
            row.name,
            row.state,
            cell(&row.evidence)
        );
    }
    let _ = writeln!(out, "\n## Not assessed\n");
    for item in &body.not_assessed {
        let _ = writeln!(out, "- {}: {}", item.item, item.question);
    }
    out
}

fn cell(text: &str) -> String {
    text.replace('|', "\\|")
        .replace('\n', "<br>")
        .replace('<', "&lt;")
        .replace("&lt;br>", "<br>")
}
