//! `warpsmith corpus stats`: what a data set is made of.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::PathBuf;

use anyhow::Result;
use clap::Args;
use warpsmith_corpus::{Statistics, page, statistics};
use warpsmith_formats::write_output;

use warpsmith_console::exit::Outcome;
use warpsmith_console::global::Global;
use warpsmith_console::inputs;
use warpsmith_console::output;
use warpsmith_console::table::Table;

/// Describe a data set: distinct pairs, categories, sizes, builtins, verification.
#[derive(Args)]
#[command(after_long_help = "Examples:
  warpsmith corpus stats pairs
  warpsmith corpus stats pairs --html stats.html
  warpsmith corpus stats pairs --format json")]
pub(crate) struct Stats {
    /// The data set's folder.
    folder: PathBuf,
    /// Also write one HTML page with plots; it needs no network.
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
}

impl Stats {
    pub(crate) fn run(&self, global: &Global) -> Result<Outcome> {
        let global = &output::check_outputs(global, &[("--html", self.html.as_deref())])?;
        inputs::check_folder(&self.folder)?;
        let report = output::report("corpus stats", statistics(&self.folder)?);
        if let Some(path) = &self.html {
            write_output(path, page(&report.body).as_bytes())?;
            output::note(global, &format!("wrote `{}`", path.display()));
        }
        output::print(global, &report, describe)?;
        Ok(Outcome::Fine)
    }
}

fn describe(s: &Statistics) -> String {
    let mut text = format!(
        "seed {}: {} pairs in {} files, {:.1} MB\n\n",
        s.settings.seed,
        s.pairs,
        s.files,
        s.bytes as f64 / 1e6
    );
    let mut table = Table::new(&["distinct", ">pairs", ">share"]);
    for (name, count) in [
        ("exact source", s.distinct_exact),
        ("up to names", s.distinct_modulo_names),
        ("shape of the syntax tree", s.distinct_shapes),
        ("MinHash signature", s.distinct_minhash),
    ] {
        table.row([name.to_owned(), count.to_string(), share(count, s.pairs)]);
    }
    let _ = writeln!(text, "{table}");
    counts(&mut text, "category", &s.categories, s.pairs);
    let levels = s
        .difficulties
        .iter()
        .map(|(level, count)| (level.to_string(), *count))
        .collect();
    counts(&mut text, "difficulty", &levels, s.pairs);
    counts(&mut text, "split", &s.splits, s.pairs);
    counts(&mut text, "construct", &s.constructs, s.pairs);
    let mut table = Table::new(&["size", ">min", ">median", ">p90", ">max"]);
    for (name, d) in &s.distributions {
        table.row([
            (*name).to_owned(),
            d.min.to_string(),
            d.median.to_string(),
            d.p90.to_string(),
            d.max.to_string(),
        ]);
    }
    let _ = writeln!(text, "{table}");
    if !s.levels.is_empty() {
        let mut table = Table::new(&["verified", ">passed", ">skipped", ">failed"]);
        for (level, counts) in &s.levels {
            table.row([
                level.clone(),
                counts.passed.to_string(),
                counts.skipped.to_string(),
                counts.failed.to_string(),
            ]);
        }
        let _ = writeln!(text, "{table}");
    }
    let used = s.core_builtins - s.unused_builtins.len();
    let _ = writeln!(text, "{used} of {} core builtins are used", s.core_builtins);
    if !s.unused_builtins.is_empty() {
        let _ = writeln!(text, "not used: {}", s.unused_builtins.join(", "));
    }
    text
}

fn counts(text: &mut String, name: &str, counts: &BTreeMap<String, u64>, of: u64) {
    let mut table = Table::new(&[name, ">pairs", ">share"]);
    for (key, count) in counts {
        table.row([key.clone(), count.to_string(), share(*count, of)]);
    }
    let _ = writeln!(text, "{table}");
}

fn share(count: u64, of: u64) -> String {
    format!("{:.1} %", 100.0 * count as f64 / of.max(1) as f64)
}
