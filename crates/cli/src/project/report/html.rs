//! The report as one page that needs nothing else: no network, light and dark, phone and paper.

use std::fmt::Write;

use warpsmith_core::{Finding, Report, Severity};
use warpsmith_formats::base64;
use warpsmith_formats::html::{self, escape};
use warpsmith_measure::report::plot;

use super::document::{Block, Document, FinishedSection, Status};

const STYLE: &str = include_str!("report.css");

/// The whole page. `json_name` is the file beside it that holds the raw numbers.
pub(crate) fn page(report: &Report<Document>, json_name: &str) -> String {
    let machine = &report.machine;
    let mut out = String::from("<h1>Warpsmith report</h1>\n");
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
    write_findings(&mut out, report);
    for (index, section) in report.body.sections.iter().enumerate() {
        let raw = format!("{json_name}#/body/sections/{index}/raw");
        write_section(&mut out, section, &raw);
    }
    out.push_str("</main>");
    html::page(
        "Warpsmith report",
        &format!("\n{}\n{STYLE}", plot::STYLE),
        &out,
    )
}

/// What needs attention, the worst first; each stands with its evidence in its own section. What is
/// said of many things alike is one line: a list of thirty is not read.
fn write_findings(out: &mut String, report: &Report<Document>) {
    struct Line<'a> {
        first: &'a Finding,
        section: &'a str,
        count: usize,
    }
    let mut lines: Vec<Line<'_>> = Vec::new();
    for section in &report.body.sections {
        let findings = section.content.findings.iter();
        for finding in findings.filter(|finding| finding.severity > Severity::Info) {
            let alike = lines.iter_mut().find(|line| {
                line.section == section.id
                    && line.first.code == finding.code
                    && line.first.severity == finding.severity
            });
            match alike {
                Some(line) => line.count += 1,
                None => lines.push(Line {
                    first: finding,
                    section: section.id,
                    count: 1,
                }),
            }
        }
    }
    out.push_str("<section id=\"findings\">\n<h2>Findings</h2>\n");
    if lines.is_empty() {
        out.push_str("<p>Nothing needs attention.</p>\n");
    } else {
        // The sort is stable: within a severity, the order of the page.
        lines.sort_by_key(|line| std::cmp::Reverse(line.first.severity));
        out.push_str("<ul class=\"findings\">\n");
        for Line {
            first,
            section,
            count,
        } in lines
        {
            let severity = first.severity;
            let more = match count {
                1 => String::new(),
                _ => format!(", and {} more like it", count - 1),
            };
            let _ = writeln!(
                out,
                "<li class=\"{severity}\"><a href=\"#{section}\">{severity}</a> {} {}{more}</li>",
                escape(&first.code),
                escape(&first.message),
            );
        }
        out.push_str("</ul>\n");
    }
    out.push_str("</section>\n");
}

fn write_section(out: &mut String, section: &FinishedSection, raw: &str) {
    let _ = writeln!(
        out,
        "<section id=\"{}\">\n<h2>{}</h2>",
        section.id,
        escape(section.title)
    );
    if !section.content.raw.is_null() {
        let _ = writeln!(
            out,
            "<p class=\"raw\"><a href=\"{0}\" title=\"{0}\">raw numbers</a></p>",
            escape(raw)
        );
    }
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
                let _ = writeln!(
                    out,
                    "<pre class=\"screen\">{}</pre>",
                    escape(text.trim_end())
                );
            }
            Block::Plot(svg) => {
                let _ = writeln!(out, "<figure>{svg}</figure>");
            }
            Block::Table {
                headings,
                rows,
                samples,
            } => write_table(out, headings, rows, samples, raw),
            Block::Sound { caption, wav } => {
                let _ = writeln!(
                    out,
                    "<figure class=\"sound\"><figcaption>{}</figcaption>\
                     <audio controls src=\"data:audio/wav;base64,{}\"></audio></figure>",
                    escape(caption),
                    base64::encode(wav)
                );
            }
        }
    }
    let (notes, others): (Vec<&Finding>, Vec<&Finding>) = section
        .content
        .findings
        .iter()
        .partition(|finding| finding.severity <= Severity::Info);
    for finding in others {
        let _ = writeln!(out, "<pre>{}</pre>", escape(&finding.to_string()));
    }
    // What needs no attention is there for who asks.
    if !notes.is_empty() {
        let plural = if notes.len() == 1 { "note" } else { "notes" };
        let _ = writeln!(out, "<details><summary>{} {plural}</summary>", notes.len());
        for finding in notes {
            let _ = writeln!(out, "<pre>{}</pre>", escape(&finding.to_string()));
        }
        out.push_str("</details>\n");
    }
    out.push_str("</section>\n");
}

fn write_table(
    out: &mut String,
    headings: &[String],
    rows: &[Vec<String>],
    samples: &[String],
    raw: &str,
) {
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
    if !samples.is_empty() {
        out.push_str("<th scope=\"col\">raw</th>");
    }
    out.push_str("</tr></thead>\n<tbody>\n");
    for (index, row) in rows.iter().enumerate() {
        out.push_str("<tr>");
        for (column, cell) in row.iter().enumerate() {
            let _ = write!(out, "<td{}>{}</td>", class(column), escape(cell));
        }
        if let Some(place) = samples.get(index) {
            let _ = write!(
                out,
                "<td><a href=\"{0}{1}\" title=\"{0}{1}\">samples</a></td>",
                escape(raw),
                escape(place)
            );
        }
        out.push_str("</tr>\n");
    }
    out.push_str("</tbody></table></div>\n");
}

#[cfg(test)]
mod tests {
    use warpsmith_core::MachineIdentity;

    use super::super::document::Section;
    use super::*;

    fn report(status: Status) -> Report<Document> {
        let table = Block::table(
            &["name", ">value"],
            vec![vec!["<b>".into(), "1 & 2".into()]],
        );
        let content = Section {
            blocks: vec![table],
            raw: serde_json::json!([1]),
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
    fn every_section_says_where_its_raw_numbers_are() {
        let page = page(&report(Status::Done), "report.json");
        assert!(page.contains("href=\"report.json#/body/sections/0/raw\""));
    }

    #[test]
    fn what_is_said_of_many_is_one_line_above_and_whole_below() {
        let mut report = report(Status::Done);
        let of = |name: &str| Finding::new("M030", Severity::Warning, format!("{name} is odd"));
        report.body.sections[0].content.findings = vec![of("one"), of("two"), of("three")];
        let page = page(&report, "report.json");
        assert!(page.contains("M030 one is odd, and 2 more like it</li>"));
        assert_eq!(page.matches("three is odd").count(), 1);
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
