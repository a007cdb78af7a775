//! The report as one page that needs nothing else: no network, light and dark, phone and paper.

use std::fmt::Write;

use warpsmith_core::Report;

use super::document::FinishedSection;
use super::{Block, Document, Status};

const STYLE: &str = include_str!("report.css");

/// The whole page. `json_name` is the file beside it that holds the raw numbers.
pub(crate) fn page(report: &Report<Document>, json_name: &str) -> String {
    let machine = &report.machine;
    let mut out = String::new();
    let _ = write!(
        out,
        "<!doctype html>\n<html lang=\"en\">\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <title>Warpsmith report</title>\n<link rel=\"icon\" href=\"data:,\">\n\
         <style>\n{STYLE}</style>\n<h1>Warpsmith report</h1>\n"
    );
    let gpus: String = machine
        .gpus
        .iter()
        .map(|gpu| format!(" · {}", escape(gpu)))
        .collect();
    let _ = writeln!(
        out,
        "<p class=\"where\">{} · {} · {} cores{gpus} · Warpsmith {} · raw numbers in \
         <code>{}</code></p>\n<nav>",
        escape(&machine.system),
        escape(&machine.cpu),
        machine.cores,
        escape(&report.version),
        escape(json_name)
    );
    for section in &report.body.sections {
        let _ = writeln!(
            out,
            "<a href=\"#{}\">{}</a>",
            section.id,
            escape(section.title)
        );
    }
    out.push_str("</nav>\n<main>\n");
    for section in &report.body.sections {
        write_section(&mut out, section);
    }
    out.push_str("</main>\n</html>\n");
    out
}

fn write_section(out: &mut String, section: &FinishedSection) {
    let _ = writeln!(
        out,
        "<section id=\"{}\">\n<h2>{}</h2>",
        section.id,
        escape(section.title)
    );
    match &section.status {
        Status::Done => {}
        Status::Skipped(why) => {
            let _ = writeln!(out, "<p class=\"skipped\">Skipped: {}.</p>", escape(why));
        }
        Status::Failed(why) => {
            let _ = writeln!(out, "<p class=\"failed\">Failed: {}.</p>", escape(why));
        }
    }
    for block in &section.content.blocks {
        match block {
            Block::Paragraph(text) => {
                let _ = writeln!(out, "<p class=\"how\">{}</p>", escape(text));
            }
            Block::Text(text) => {
                let _ = writeln!(out, "<pre>{}</pre>", escape(text.trim_end()));
            }
            Block::Plot(svg) => {
                let _ = writeln!(out, "<figure>{svg}</figure>");
            }
            Block::Table { headings, rows } => write_table(out, headings, rows),
        }
    }
    for finding in &section.content.findings {
        let _ = writeln!(out, "<pre>{}</pre>", escape(&finding.to_string()));
    }
    out.push_str("</section>\n");
}

fn write_table(out: &mut String, headings: &[String], rows: &[Vec<String>]) {
    let class = |column: usize| {
        let number = headings
            .get(column)
            .is_some_and(|heading| heading.starts_with('>'));
        if number { " class=\"number\"" } else { "" }
    };
    out.push_str("<div class=\"scroll\"><table>\n<thead><tr>");
    for (column, heading) in headings.iter().enumerate() {
        let heading = escape(heading.trim_start_matches('>'));
        let _ = write!(out, "<th scope=\"col\"{}>{heading}</th>", class(column));
    }
    out.push_str("</tr></thead>\n<tbody>\n");
    for row in rows {
        out.push_str("<tr>");
        for (column, cell) in row.iter().enumerate() {
            let _ = write!(out, "<td{}>{}</td>", class(column), escape(cell));
        }
        out.push_str("</tr>\n");
    }
    out.push_str("</tbody></table></div>\n");
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
        .replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use warpsmith_core::MachineIdentity;

    use super::super::Section;
    use super::*;

    fn report(status: Status) -> Report<Document> {
        let table = Block::table(
            &["name", ">value"],
            vec![vec!["<b>".into(), "1 & 2".into()]],
        );
        let content = Section {
            blocks: vec![table],
            ..Section::default()
        };
        let section = FinishedSection {
            id: "one",
            title: "One",
            status,
            seconds: 0.0,
            content,
        };
        Report::new(
            "report",
            MachineIdentity::default(),
            Document {
                sections: vec![section],
            },
        )
    }

    #[test]
    fn what_workloads_say_is_text_and_never_markup() {
        let page = page(&report(Status::Done), "report.json");
        assert!(page.contains("&lt;b&gt;") && page.contains("1 &amp; 2"));
        assert!(!page.contains("<b>"));
    }

    #[test]
    fn a_section_that_failed_says_why() {
        let page = page(
            &report(Status::Failed("the disk is full".into())),
            "report.json",
        );
        assert!(page.contains("Failed: the disk is full."));
    }

    #[test]
    fn the_page_asks_the_network_for_nothing() {
        let page = page(&report(Status::Done), "report.json");
        assert!(!page.contains("http://") && !page.contains("https://"));
    }
}
