//! How results leave the program: one JSON document, or text; and notes on stderr.

use std::io::{IsTerminal, Write, stderr, stdout};
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::{Context, Result};
use serde::Serialize;
use warpsmith_core::{Finding, Report};
use warpsmith_device::machine_identity;

use crate::global::{Format, Global};

/// An envelope for `body`, made on this machine, now.
pub(crate) fn report<Body>(verb: &str, body: Body) -> Report<Body> {
    let mut report = Report::new(verb, machine_identity(), body);
    report.started_unix = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .ok()
        .map(|since| since.as_secs());
    report
}

/// Prints a report as JSON, or what `human` says about it, followed by its findings.
pub(crate) fn print<Body: Serialize>(
    global: &Global,
    report: &Report<Body>,
    human: impl FnOnce(&Body) -> String,
) -> Result<()> {
    let mut out = stdout().lock();
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

fn print_finding(out: &mut impl Write, finding: &Finding) -> Result<()> {
    writeln!(out, "\n{finding}")?;
    Ok(())
}

/// Says something that is not data, unless the user asked for quiet.
pub(crate) fn note(global: &Global, text: &str) {
    if !global.quiet {
        // Nothing can be done about a standard error that is closed.
        let _ = writeln!(stderr(), "{text}");
    }
}

/// Whether somebody watches progress.
pub(crate) fn is_watched(global: &Global) -> bool {
    !global.quiet && stderr().is_terminal()
}

/// A line that is overwritten by the next one, where somebody watches.
pub(crate) fn progress(global: &Global, text: &str) {
    if is_watched(global) {
        let _ = write!(stderr(), "\r\x1b[K{text}");
        let _ = stderr().flush();
    }
}

/// Writes a file under a temporary name beside it and renames it, so that a reader sees the old one
/// or the new one, whole.
pub(crate) fn write_file(path: &Path, contents: &[u8]) -> Result<()> {
    let folder = path
        .parent()
        .filter(|folder| !folder.as_os_str().is_empty());
    let write = || -> std::io::Result<()> {
        let mut builder = tempfile::Builder::new();
        // A temporary file is private by default; what the user asked for is an ordinary one.
        #[cfg(unix)]
        builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
        let mut file = builder.tempfile_in(folder.unwrap_or(Path::new(".")))?;
        file.write_all(contents)?;
        file.persist(path).map_err(|error| error.error)?;
        Ok(())
    };
    write().with_context(|| format!("cannot write `{}`", path.display()))
}
