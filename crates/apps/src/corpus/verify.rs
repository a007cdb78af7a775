//! `warpsmith corpus verify`: whether a data set is what its manifest and its rows say.

use std::path::PathBuf;

use anyhow::Result;
use clap::Args;
use serde::Serialize;
use warpsmith_core::Severity;
use warpsmith_corpus::{Inspection, inspect};

use warpsmith_console::exit::Outcome;
use warpsmith_console::global::Global;
use warpsmith_console::inputs;
use warpsmith_console::output;

/// Check a data set: checksums, hashes, duplicates, leaks between splits, and the text of a sample.
#[derive(Args)]
#[command(after_long_help = "Examples:
  warpsmith corpus verify pairs
  warpsmith corpus verify pairs --recompile-every 1
  warpsmith corpus verify pairs --format json")]
pub(crate) struct Verify {
    /// The data set's folder.
    folder: PathBuf,
    /// Compile the source of one row of so many again and compare the texts; 0 for none.
    #[arg(long, default_value_t = 10)]
    recompile_every: u64,
}

#[derive(Serialize)]
struct Body {
    folder: String,
    #[serde(flatten)]
    inspection: Inspection,
}

impl Verify {
    pub(crate) fn run(&self, global: &Global) -> Result<Outcome> {
        inputs::check_folder(&self.folder)?;
        let mut show = |done: u64, of: u64| {
            output::progress(global, &format!("{done} of {of} files"));
        };
        let (inspection, findings) = inspect(&self.folder, self.recompile_every, &mut show)?;
        output::progress(global, "");
        let folder = self.folder.display().to_string();
        let mut report = output::report("corpus verify", Body { folder, inspection });
        report.findings = findings;
        output::print(global, &report, |body| {
            format!(
                "`{}`: {} files have their checksums, {} rows their hashes; {} sources were compiled \
                 again\n",
                body.folder,
                body.inspection.files,
                body.inspection.rows,
                body.inspection.recompiled
            )
        })?;
        let wrong = report
            .findings
            .iter()
            .any(|finding| finding.severity == Severity::Error);
        Ok(Outcome::fine_if(!wrong))
    }
}
