//! `warpsmith report`: the main job.

use std::io::{Write, stdout};
use std::path::{Path, PathBuf};
use std::time::Instant;

use anyhow::{Context, Result, bail};
use clap::Args;
use warpsmith_core::Severity;
use warpsmith_device::Device;
use warpsmith_formats::write_output;

use super::comparison::compare_with;
use super::document::{Document, FinishedSection, Section, Status};
use super::job::Job;
use super::parts::PARTS;
use super::progress::Bar;
use super::{html, markdown};
use crate::exit::Outcome;
use crate::global::{Format, Global};
use crate::output;

/// Measure this machine and write one page about it: HTML, Markdown, and the JSON behind both.
#[derive(Args)]
#[command(
    after_help = "Examples:\n  warpsmith report\n  warpsmith report --full --out my-report\n  \
                        warpsmith report --device cpu --format json\n  \
                        warpsmith report --out new --compare old/report.json"
)]
pub(crate) struct Report {
    /// Short runs, within a minute (the default).
    #[arg(long, conflicts_with = "full")]
    quick: bool,
    /// Long runs with narrower spreads.
    #[arg(long)]
    full: bool,
    /// Folder to write to; made where it is missing.
    #[arg(long, value_name = "DIR", default_value = "report")]
    out: PathBuf,
    /// Say what changed since this `report.json`, with significance.
    #[arg(long, value_name = "OLD.json")]
    compare: Option<PathBuf>,
}

impl Report {
    pub(crate) fn run(&self, global: &Global) -> Result<Outcome> {
        // Before the work, so that a folder that cannot be written costs no minute.
        std::fs::create_dir_all(&self.out)
            .with_context(|| format!("cannot make the folder `{}`", self.out.display()))?;
        let job = Job {
            device: Device::open(global.device)?,
            quick: !self.full,
        };
        let old = match &self.compare {
            Some(path) => Some(read_old(path)?),
            None => None,
        };
        let mut bar = Bar::new(global, job.quick);
        let mut sections = Vec::new();
        for part in PARTS {
            let start = Instant::now();
            let made = bar.during(part, || (part.make)(&job));
            sections.push(finished(part.id, part.title, start, made));
        }
        bar.finish();
        if let Some(old) = &old {
            let start = Instant::now();
            let made = compare_with(old, &sections);
            sections.insert(0, finished("changes", "What changed", start, made));
        }
        let mut report = output::report("report", Document { sections });
        report.findings = report
            .body
            .sections
            .iter()
            .flat_map(|section| section.content.findings.iter().cloned())
            .collect();
        report
            .findings
            .sort_by_key(|finding| std::cmp::Reverse(finding.severity));
        self.write(&report)?;
        let failed = report
            .body
            .sections
            .iter()
            .any(|s| matches!(s.status, Status::Failed(_)));
        if global.format == Format::Json {
            output::print(global, &report, |_| String::new())?;
        } else {
            summarise(&self.out, &report.body)?;
        }
        let bad = failed || report.worst() == Some(Severity::Error);
        Ok(Outcome::fine_if(!bad))
    }

    fn write(&self, report: &warpsmith_core::Report<Document>) -> Result<()> {
        let json = serde_json::to_string_pretty(report)?;
        for (name, text) in [
            ("report.json", json),
            ("report.md", markdown::text(report)),
            ("report.html", html::page(report, "report.json")),
        ] {
            write_output(&self.out.join(name), text.as_bytes())?;
        }
        Ok(())
    }
}

fn finished(
    id: &'static str,
    title: &'static str,
    start: Instant,
    made: Result<Section>,
) -> FinishedSection {
    let (status, content) = match made {
        Ok(section) => match &section.skipped {
            Some(why) => (Status::Skipped(why.clone()), section),
            None => (Status::Done, section),
        },
        Err(error) => (Status::Failed(format!("{error:#}")), Section::default()),
    };
    FinishedSection {
        id,
        title,
        status,
        seconds: start.elapsed().as_secs_f64(),
        content,
    }
}

/// Reads an old report before the new one is made: a wrong file must not cost a minute.
fn read_old(path: &Path) -> Result<serde_json::Value> {
    let text = std::fs::read(path).with_context(|| format!("cannot read `{}`", path.display()))?;
    let old: serde_json::Value = serde_json::from_slice(&text)
        .with_context(|| format!("`{}` is no JSON document", path.display()))?;
    if old["verb"] != "report" || !old["body"]["sections"].is_array() {
        bail!(
            "`{}` was not written by `warpsmith report`: give its report.json",
            path.display()
        );
    }
    Ok(old)
}

fn summarise(folder: &Path, document: &Document) -> Result<()> {
    let mut out = stdout().lock();
    for section in &document.sections {
        let status = match &section.status {
            Status::Done => "done".to_owned(),
            Status::Skipped(why) => format!("skipped: {why}"),
            Status::Failed(why) => format!("FAILED: {why}"),
        };
        writeln!(
            out,
            "{:<32} {:>6.1} s  {status}",
            section.title, section.seconds
        )?;
    }
    writeln!(out, "\n{}", folder.join("report.html").display())?;
    Ok(())
}
