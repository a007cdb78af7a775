//! `audit` as one HTML page without scripts or outside files.

use std::fmt::Write;

use warpsmith_core::{Report, Severity};
use warpsmith_formats::html::{escape, page};

use super::audit_text::score_line;
use crate::project::AuditBody;

const STYLE: &str = "body{font:16px/1.5 system-ui,sans-serif;max-width:70rem;margin:2rem auto;padding:0 1rem}\
         table{border-collapse:collapse;width:100%}td,th{border-bottom:1px solid #8884;padding:.3rem .6rem;text-align:left;vertical-align:top}\
         .error{color:#b00020}.warning{color:#8a5a00}.info{color:#555}code{white-space:pre-wrap}\
         @media(prefers-color-scheme:dark){body{background:#111;color:#ddd}.error{color:#ff8a8a}.warning{color:#ffcf70}.info{color:#aaa}}";

/// The report as a page.
pub fn audit_html(report: &Report<AuditBody>) -> String {
    let body = &report.body;
    let mut out = String::new();
    let _ = writeln!(
        out,
        "<h1>Audit of {}</h1>\n<p>{} files, {} with CUDA code.</p>\n<p>{}</p>",
        escape(&body.project),
        body.files,
        body.cuda_files,
        escape(&score_line(report))
    );
    let _ = writeln!(
        out,
        "<table><thead><tr><th>rule</th><th>place</th><th>finding</th><th>evidence</th><th>what to do</th></tr></thead><tbody>"
    );
    for finding in &report.findings {
        let class = match finding.severity {
            Severity::Error => "error",
            Severity::Warning => "warning",
            Severity::Info => "info",
        };
        let place = finding
            .span
            .as_ref()
            .map_or(String::new(), |s| format!("{}:{}", s.file, s.line));
        let evidence: Vec<String> = finding
            .evidence
            .iter()
            .map(|e| format!("{}: {}", e.source, e.seen))
            .collect();
        let _ = writeln!(
            out,
            "<tr class=\"{class}\"><td>{}</td><td><code>{}</code></td><td>{} ({class})</td><td>{}</td><td><code>{}</code></td></tr>",
            escape(&finding.code),
            escape(&place),
            escape(&finding.message),
            escape(&evidence.join("; ")),
            escape(finding.hint.as_deref().unwrap_or(""))
        );
    }
    let _ = writeln!(
        out,
        "</tbody></table>\n<h2>Areas</h2>\n<table><thead><tr><th>area</th><th>score</th><th>coverage</th></tr></thead><tbody>"
    );
    for area in &body.score.areas {
        let score = area.score_text();
        let _ = writeln!(
            out,
            "<tr><td>{}</td><td>{score}</td><td>{:.0} %</td></tr>",
            area.area.title(),
            100.0 * area.coverage
        );
    }
    let _ = writeln!(
        out,
        "</tbody></table>\n<h2>Twelve factors</h2>\n<table><tbody>"
    );
    for row in &body.twelve_factor {
        let _ = writeln!(
            out,
            "<tr><td>{}</td><td>{}</td><td>{}</td><td>{}</td></tr>",
            row.number,
            row.name,
            row.state,
            escape(&row.evidence)
        );
    }
    let _ = writeln!(out, "</tbody></table>\n<h2>Not assessed</h2>\n<ul>");
    for item in &body.not_assessed {
        let _ = writeln!(
            out,
            "<li>{}: {}</li>",
            escape(&item.item),
            escape(&item.question)
        );
    }
    out.push_str("</ul>");
    page("Audit", STYLE, &out)
}
