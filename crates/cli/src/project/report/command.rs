//! `warpsmith report`: the main job.

use std::io::{IsTerminal, Write, stdout};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use anyhow::{Context, Result, anyhow};
use clap::Args;
use warpsmith_core::{Report as Envelope, Severity};
use warpsmith_device::Device;
use warpsmith_formats::write_output;
use warpsmith_measure::cpu::steal::CpuTicks;
use warpsmith_report::chapters::changes::{self, Older};
use warpsmith_report::document::RunKind;
use warpsmith_report::{Document, compose, markdown, page, terminal};

use super::collect::subject;
use super::job::Job;
use super::sections;
use warpsmith_console::exit::Outcome;
use warpsmith_console::global::{Format, Global};
use warpsmith_console::inputs;
use warpsmith_console::interruption::Interruption;
use warpsmith_console::output;

/// Measure this machine and write one page about it.
///
/// The page is written as HTML and as Markdown, with the JSON behind both.
#[derive(Args)]
#[command(
    after_long_help = "Examples:\n  warpsmith report --open\n  warpsmith report --full --output my-report\n  \
                        warpsmith report --device cpu --format json\n  \
                        warpsmith report --output new --compare old/report.json\n\n\
                        Exit code: 0 when the report was made, 1 with `--strict` where it has \
                        findings of error level, 130 after Ctrl-C (what was measured is written)."
)]
pub(crate) struct Report {
    /// Short runs, within a minute (the default).
    #[arg(long, conflicts_with = "full")]
    quick: bool,
    /// Long runs with narrower intervals, all workloads, peers and sound; within ten minutes.
    #[arg(long)]
    full: bool,
    /// Output folder; created if missing.
    #[arg(
        short,
        long,
        alias = "out",
        value_name = "DIR",
        default_value = "report"
    )]
    output: PathBuf,
    /// Say what changed since this `report.json`, by the clock that both runs allow.
    #[arg(long, value_name = "OLD.json", value_parser = inputs::file())]
    compare: Option<PathBuf>,
    /// Exit with 1 where the report has findings of error level.
    #[arg(long)]
    strict: bool,
    /// Open the page in a browser.
    #[arg(long)]
    open: bool,
}

impl Report {
    pub(crate) fn run(&self, global: &Global) -> Result<Outcome> {
        // Before the work, so that a folder that cannot be written and a wrong file cost no minute.
        inputs::check_output_folder("--output", &self.output)?;
        prepare_folder(&self.output)?;
        let old = self.compare.as_deref().map(read_old).transpose()?;
        let kind = if self.full {
            RunKind::Full
        } else {
            RunKind::Quick
        };
        let device = Device::open(global.device)?;
        let mut job = Job::new(global, device, kind, Interruption::listen()?);
        let mut report = measure(global, &mut job)?;
        if let Some(old) = &old {
            let chapter = changes::chapter(old, &report).map_err(|error| anyhow!(error))?;
            report.body.chapters.insert(0, chapter);
        }
        self.write(&report)?;
        let page = self.output.join("report.html");
        if global.format == Format::Json {
            output::print(global, &report, |_| String::new())?;
        } else if global.quiet {
            writeln!(stdout(), "{}", page.display())?;
        } else {
            let utf8 = !stdout().is_terminal() || speaks_utf8();
            write!(
                stdout(),
                "{}",
                terminal::lines(&report, utf8, &page, self.strict)
            )?;
        }
        if self.open {
            open(global, &page);
        }
        if job.interruption.came() {
            return Ok(Outcome::Interrupted);
        }
        let bad = self.strict && report.worst() == Some(Severity::Error);
        Ok(Outcome::fine_if(!bad))
    }

    fn write(&self, report: &Envelope<Document>) -> Result<()> {
        // In one line: half as long as with indentation.
        let json = serde_json::to_string(report)?;
        for (name, text) in [
            ("report.json", json),
            ("report.md", markdown::text(report)),
            ("report.html", page::html(report)),
        ] {
            write_output(&self.output.join(name), text.as_bytes())?;
        }
        Ok(())
    }
}

/// Measures, and judges what was measured.
fn measure(global: &Global, job: &mut Job) -> Result<Envelope<Document>> {
    let started = Instant::now();
    let ticks = CpuTicks::read();
    let mut facts = subject::begin(job, sections::allowed_seconds(job));
    let started_unix = facts.subject.started_unix;
    sections::run(global, job, &mut facts);
    output::progress(global, "");
    facts.fitness.steal = ticks
        .zip(CpuTicks::read())
        .and_then(|(early, late)| late.stolen_share_since(&early));
    facts.subject.seconds = started.elapsed().as_secs_f64();
    let mut report = output::report("report", compose(facts)?);
    report.started_unix = Some(started_unix);
    report.findings = report
        .body
        .chapters
        .iter()
        .flat_map(|chapter| chapter.findings.iter().cloned())
        .collect();
    report
        .findings
        .sort_by_key(|finding| std::cmp::Reverse(finding.severity));
    Ok(report)
}

/// Makes the folder, and makes sure that files can be written there.
fn prepare_folder(folder: &Path) -> Result<()> {
    std::fs::create_dir_all(folder)
        .with_context(|| format!("cannot make the folder `{}`", folder.display()))?;
    tempfile::Builder::new()
        .prefix(".warpsmith-")
        .tempfile_in(folder)
        .with_context(|| format!("cannot write to the folder `{}`", folder.display()))?;
    Ok(())
}

/// Reads an old report before the new one is made: a wrong file must not cost a minute.
fn read_old(path: &Path) -> Result<Older> {
    let text = std::fs::read(path).with_context(|| format!("cannot read `{}`", path.display()))?;
    changes::read(&text, &path.display().to_string()).map_err(|error| anyhow!(error))
}

/// Whether the terminal's locale has more letters than ASCII.
fn speaks_utf8() -> bool {
    // The first that is set decides.
    ["LC_ALL", "LC_CTYPE", "LANG"]
        .iter()
        .find_map(|name| std::env::var(name).ok().filter(|value| !value.is_empty()))
        .is_some_and(|locale| {
            let locale = locale.to_ascii_lowercase();
            locale.contains("utf-8") || locale.contains("utf8")
        })
}

/// Shows the page in the user's browser; a machine without one says so.
fn open(global: &Global, page: &Path) {
    let opener = if cfg!(target_os = "macos") {
        "open"
    } else {
        "xdg-open"
    };
    if let Err(error) = Command::new(opener).arg(page).spawn() {
        let path = page.display();
        output::note(
            global,
            &format!("note: cannot open `{path}` with `{opener}`: {error}"),
        );
    }
}
