//! How results leave the program: one JSON document, or text; and notes on stderr.

use std::io::{IsTerminal, Write, stderr, stdout};
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::Result;
use serde::Serialize;
use warpsmith_core::{Finding, Report};
use warpsmith_device::machine_identity;
use warpsmith_formats::{check_distinct, is_stdout};

use crate::global::{Format, Global, ReportStream};

/// An envelope for `body`, made on this machine, now.
pub fn report<Body>(verb: &str, body: Body) -> Report<Body> {
    let mut report = Report::new(verb, machine_identity(), body);
    report.started_unix = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .ok()
        .map(|since| since.as_secs());
    report
}

/// Prints a report as JSON, or what `human` says about it, followed by its findings.
pub fn print<Body: Serialize>(
    global: &Global,
    report: &Report<Body>,
    human: impl FnOnce(&Body) -> String,
) -> Result<()> {
    let mut out = writer(global);
    if global.format == Format::Json {
        serde_json::to_writer_pretty(&mut out, report)?;
        writeln!(out)?;
        return Ok(());
    }
    write!(out, "{}", human(&report.body))?;
    for finding in &report.findings {
        print_finding(&mut out, finding)?;
    }
    Ok(())
}

/// The stream that reports go to.
pub fn writer(global: &Global) -> Box<dyn Write> {
    match global.report_stream {
        ReportStream::Stdout => Box::new(stdout().lock()),
        ReportStream::Stderr => Box::new(stderr().lock()),
    }
}

/// Checks the files that a call writes, before any work: each option's name, and its path where one is
/// given. No two may be one file, and none may share the standard output with a JSON report. Returns
/// the options for the rest of the call: where a file is the standard output, a report in words goes
/// to standard error.
pub fn check_outputs(global: &Global, outputs: &[(&str, Option<&Path>)]) -> Result<Global> {
    let mut given: Vec<(&str, &Path)> = outputs
        .iter()
        .filter_map(|(name, path)| Some((*name, (*path)?)))
        .collect();
    if global.format == Format::Json {
        given.push(("--format json", Path::new("-")));
    }
    check_distinct(&given)?;
    let taken = global.format == Format::Human && given.iter().any(|(_, path)| is_stdout(path));
    Ok(Global {
        report_stream: if taken {
            ReportStream::Stderr
        } else {
            global.report_stream
        },
        ..global.clone()
    })
}

fn print_finding(out: &mut impl Write, finding: &Finding) -> Result<()> {
    writeln!(out, "\n{finding}")?;
    Ok(())
}

/// Says something that is not data, unless the user requested quiet.
pub fn note(global: &Global, text: &str) {
    if !global.quiet {
        // Nothing can be done about a standard error that is closed.
        let _ = writeln!(stderr(), "{text}");
    }
}

/// Whether somebody watches progress.
pub fn is_watched(global: &Global) -> bool {
    !global.quiet && stderr().is_terminal()
}

/// A line that is overwritten by the next one, where somebody watches.
pub fn progress(global: &Global, text: &str) {
    if is_watched(global) {
        let _ = write!(stderr(), "\r\x1b[K{text}");
        let _ = stderr().flush();
    }
}
