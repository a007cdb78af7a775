//! The report as Markdown.

use std::fmt::Write;

use warpsmith_core::Report;

use super::document::{Block, Document, Status};

/// The whole report as text.
pub(crate) fn text(report: &Report<Document>) -> String {
    let mut out = String::from("# Warpsmith report\n\n");
    let machine = &report.machine;
    let _ = writeln!(
        out,
        "{} · {} · {} cores",
        machine.system, machine.cpu, machine.cores
    );
    for gpu in &machine.gpus {
        let _ = writeln!(out, " · {gpu}");
    }
    for section in &report.body.sections {
        let _ = writeln!(out, "\n## {}\n", section.title);
        match &section.status {
            Status::Done => {}
            Status::Skipped(why) => {
                let _ = writeln!(out, "Skipped: {why}.");
            }
            Status::Failed(why) => {
                let _ = writeln!(out, "Failed: {why}.");
            }
        }
        for block in &section.content.blocks {
            match block {
                Block::Paragraph(text) => {
                    let _ = writeln!(out, "\n{text}");
                }
                Block::Text(text) => {
                    let _ = writeln!(out, "\n```\n{}\n```", text.trim_end());
                }
                // Markdown has no pictures or sounds of its own; the page beside it shows them.
                Block::Plot(_) | Block::Sound { .. } => {}
                Block::Table { headings, rows, .. } => table(&mut out, headings, rows),
            }
        }
        for finding in &section.content.findings {
            let _ = writeln!(out, "\n```\n{finding}\n```");
        }
    }
    out
}

fn table(out: &mut String, headings: &[String], rows: &[Vec<String>]) {
    let cell = |text: &str| text.replace('|', "\\|").replace('\n', " ");
    let line = |cells: Vec<String>| format!("| {} |\n", cells.join(" | "));
    out.push_str(&line(
        headings
            .iter()
            .map(|text| cell(text.trim_start_matches('>')))
            .collect(),
    ));
    let rule = |text: &String| if text.starts_with('>') { "---:" } else { "---" }.to_owned();
    out.push_str(&line(headings.iter().map(rule).collect()));
    for row in rows {
        out.push_str(&line(row.iter().map(|text| cell(text)).collect()));
    }
}
