//! `warpsmith corpus generate`: make a data set, or go on with one.

use std::fmt::Write;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use clap::{Args, ValueEnum};
use serde::Serialize;
use warpsmith_corpus::{
    Category, Compression, Keep, Level, Manifest, PrepareError, Progress, RunError, Settings,
    SplitRule, Tools, Verifier, card, discard_other, generate, manifest_findings, statistics,
};
use warpsmith_formats::write_output;

use super::origin::Origin;
use warpsmith_console::exit::Outcome;
use warpsmith_console::global::Global;
use warpsmith_console::inputs;
use warpsmith_console::numbers::share;
use warpsmith_console::output;
use warpsmith_server::process::cpu_time;

/// Write pairs of a Python kernel and its CUDA and CPU C++, forward and backward.
///
/// Pair i of a seed is the same bytes whatever the number of threads or shares. A run that was stopped,
/// however roughly, goes on when the same command is given again, and ends with the same bytes.
#[derive(Args)]
#[command(after_long_help = "Examples:
  warpsmith corpus generate --count 1000000 --output pairs
  warpsmith corpus generate --count 20000 --output checked --verify executed,compiled
  warpsmith corpus generate --count 5000 --output rich --verify executed,compiled --keep inputs,outputs,gradients,ptx,sass
  warpsmith corpus generate --count 2000 --output sampled --verify warp --warp-every 10 --python venv/bin/python
  warpsmith corpus generate --count 10000000 --output pairs --shards $SLURM_ARRAY_TASK_ID/64")]
pub(crate) struct Generate {
    /// How many pairs, in all shares together.
    #[arg(long, value_name = "N")]
    count: u64,
    #[command(flatten)]
    origin: Origin,
    /// Only these categories.
    #[arg(long, value_delimiter = ',')]
    categories: Vec<Category>,
    /// Only these difficulties: `3`, `1,2` or `1-3`.
    #[arg(long, default_value = "1-5")]
    difficulty: String,
    /// What to check besides the text: `executed`, `compiled`, `gpu`, `executed:vulkan`, `warp`.
    #[arg(long, value_delimiter = ',')]
    verify: Vec<Level>,
    /// One pair of how many is compared with Warp, at the level `warp`.
    #[arg(hide_short_help = true, long, default_value_t = 1000)]
    warp_every: u64,
    /// A Python with warp-lang 1.19.0, for the level `warp`.
    #[arg(hide_short_help = true, long, value_name = "FILE")]
    python: Option<PathBuf>,
    /// The NVRTC library, for the level `compiled`; found by itself in Python environments and toolkits.
    #[arg(hide_short_help = true, long, value_name = "FILE")]
    nvrtc: Option<PathBuf>,
    /// ptxas, for the level `compiled`; looked for on the path.
    #[arg(hide_short_help = true, long, value_name = "FILE")]
    ptxas: Option<PathBuf>,
    /// The architectures that the level `compiled` assembles for; the PTX is for the lowest.
    #[arg(
        hide_short_help = true,
        long,
        default_value = "80",
        value_name = "SM",
        value_delimiter = ','
    )]
    architecture: Vec<u32>,
    /// Columns that are empty otherwise: `inputs`, `outputs`, `gradients` (whole, of the level
    /// `executed`), `ptx`, `sass` (of the level `compiled`).
    #[arg(long, value_name = "COLUMNS", value_delimiter = ',')]
    keep: Vec<Keep>,
    /// The format of the files.
    #[arg(long = "as", value_name = "FORM", value_enum, default_value_t = FileFormat::Parquet)]
    file_format: FileFormat,
    /// How texts are stored in Parquet: `zstd`, or `none`, which takes seven times the space and less CPU
    /// time.
    #[arg(long, value_name = "KIND")]
    compression: Option<Compression>,
    /// Pairs of one shard.
    #[arg(hide_short_help = true, long, default_value_t = 5_000)]
    shard_pairs: u64,
    /// Make only share I of N, counted from 0: `0/8`.
    #[arg(long, value_name = "I/N", default_value = "0/1", value_parser = share)]
    shards: (u64, u64),
    /// Replace a data set of other settings that the folder holds.
    #[arg(long, conflicts_with = "shards")]
    force: bool,
    /// Keep pairs whose shape was there before.
    #[arg(hide_short_help = true, long)]
    keep_duplicates: bool,
    /// Builtins whose pairs go to a split of their own; `none` for none.
    #[arg(hide_short_help = true, long, value_delimiter = ',')]
    hold_out_builtins: Vec<String>,
    /// Categories whose pairs go to a split of their own; `none` for none.
    #[arg(hide_short_help = true, long, value_delimiter = ',')]
    hold_out_categories: Vec<String>,
    /// Threads; default: one for each core.
    #[arg(long, value_name = "N")]
    threads: Option<usize>,
}

#[derive(Clone, Copy, ValueEnum)]
enum FileFormat {
    Parquet,
    Jsonl,
}

/// `3`, `1,2` or `1-3`.
fn difficulties(text: &str) -> Result<Vec<u8>> {
    let mut levels = Vec::new();
    for part in text.split(',') {
        let (from, to) = part.split_once('-').unwrap_or((part, part));
        match (from.trim().parse::<u8>(), to.trim().parse::<u8>()) {
            (Ok(from), Ok(to)) if (1..=5).contains(&from) && (from..=5).contains(&to) => {
                levels.extend(from..=to);
            }
            _ => bail!("`--difficulty {text}`: difficulties are 1 to 5, e.g. `1-3` or `2,4`"),
        }
    }
    levels.sort_unstable();
    levels.dedup();
    Ok(levels)
}

#[derive(Serialize)]
struct Body {
    folder: String,
    pairs: u64,
    drafts: u64,
    files: usize,
    bytes: u64,
    compression: Compression,
    /// Pairs that this run made; the others were there before.
    made: u64,
    seconds: f64,
    pairs_per_second: f64,
    cpu_seconds: f64,
    pairs_per_cpu_second: f64,
    splits: std::collections::BTreeMap<String, u64>,
    levels: std::collections::BTreeMap<String, warpsmith_corpus::LevelCounts>,
}

impl Generate {
    pub(crate) fn run(&self, global: &Global) -> Result<Outcome> {
        inputs::check_output_folder("--output", &self.origin.output)?;
        let settings = self.settings()?;
        let tools = Tools {
            nvrtc: self.nvrtc.clone(),
            ptxas: self.ptxas.clone(),
            architectures: self.architecture.clone(),
            python: self.python.clone(),
        };
        let verifier = match Verifier::new(&settings.verify, &tools, settings.warp_every) {
            Ok(verifier) => verifier,
            Err(error @ PrepareError::Warp(_)) => {
                return Err(error).context("name a Python with `--python`");
            }
            Err(error) => return Err(error.into()),
        };
        if self.force {
            discard_other(&settings, &self.origin.output)?;
        }
        let (start, cpu_before) = (Instant::now(), cpu_time());
        let mut before = 0;
        let mut line = ProgressLine::new(start);
        let mut show = |progress: Progress| {
            before = progress.before;
            output::progress(global, &line.text(progress));
        };
        let mut pool = rayon::ThreadPoolBuilder::new();
        if let Some(threads) = self.threads {
            pool = pool.num_threads(threads);
        }
        let manifest = pool.build()?.install(|| {
            generate(
                &settings,
                self.shards,
                &self.origin.output,
                &verifier,
                &mut show,
            )
        });
        output::progress(global, "");
        let manifest = match manifest {
            Err(error @ RunError::OtherRun { .. }) => {
                bail!("{error}; `--force` replaces it");
            }
            manifest => manifest?,
        };
        let cost = Cost {
            made: manifest.tally.pairs - before,
            seconds: start.elapsed().as_secs_f64(),
            cpu_seconds: cpu_time().saturating_sub(cpu_before).as_secs_f64(),
        };
        self.write_card(global)?;
        let mut report = output::report("corpus generate", body(&manifest, self, &cost));
        report.findings = manifest_findings(&manifest);
        output::print(global, &report, describe)?;
        let wrong = report
            .findings
            .iter()
            .any(|finding| finding.severity == warpsmith_core::Severity::Error);
        Ok(Outcome::fine_if(!wrong))
    }

    fn settings(&self) -> Result<Settings> {
        let defaults = SplitRule::default();
        let named = |given: &[String]| -> Option<Vec<String>> {
            match given {
                [] => None,
                [one] if one == "none" => Some(Vec::new()),
                several => Some(several.to_vec()),
            }
        };
        let held_out = match named(&self.hold_out_categories) {
            Some(names) => names
                .iter()
                .map(|name| name.parse())
                .collect::<Result<Vec<Category>, _>>()?,
            None => defaults.categories.clone(),
        };
        let builtins = named(&self.hold_out_builtins).unwrap_or(defaults.builtins);
        let mut verify = vec![Level::Text];
        verify.extend(
            self.verify
                .iter()
                .copied()
                .filter(|level| *level != Level::Text),
        );
        verify.sort();
        verify.dedup();
        let mut keep = self.keep.clone();
        keep.sort();
        keep.dedup();
        if let Some(column) = keep.iter().find(|column| !verify.contains(&column.level())) {
            bail!(
                "`--keep {column}` needs `--verify {}`, which brings it to light",
                column.level()
            );
        }
        Ok(Settings {
            seed: self.origin.seed,
            count: self.count,
            categories: match self.categories.is_empty() {
                true => Category::ALL.to_vec(),
                false => self.categories.clone(),
            },
            difficulties: difficulties(&self.difficulty)?,
            deduplicate: !self.keep_duplicates,
            split: SplitRule {
                builtins,
                categories: held_out,
                ..SplitRule::default()
            },
            verify,
            warp_every: self.warp_every,
            keep,
            format: match self.file_format {
                FileFormat::Parquet => "parquet",
                FileFormat::Jsonl => "jsonl",
            }
            .to_owned(),
            compression: self.compression()?,
            shard_pairs: self.shard_pairs,
            ..Settings::default()
        })
    }

    /// JSON lines are text that anything can read, and never compressed.
    fn compression(&self) -> Result<Compression> {
        match (self.file_format, self.compression) {
            (FileFormat::Parquet, given) => Ok(given.unwrap_or(Compression::Zstd)),
            (FileFormat::Jsonl, None | Some(Compression::None)) => Ok(Compression::None),
            (FileFormat::Jsonl, Some(given)) => bail!(
                "`--compression {given}` is for Parquet; leave out `--as jsonl`, or compress the files afterwards"
            ),
        }
    }

    /// Writes the card, once every share is there.
    fn write_card(&self, global: &Global) -> Result<()> {
        let manifests = Manifest::read_all(&self.origin.output)?;
        let done: u64 = manifests.iter().map(|manifest| manifest.shards_done).sum();
        let settings = &manifests[0].settings;
        if done < settings.shards() {
            output::note(
                global,
                "other shares are still to come: `warpsmith corpus card` then writes the card",
            );
            return Ok(());
        }
        let statistics = statistics(&self.origin.output)?;
        write_output(
            &self.origin.output.join("README.md"),
            card(&statistics).as_bytes(),
        )?;
        Ok(())
    }
}

/// What a run cost, its card left out.
struct Cost {
    made: u64,
    seconds: f64,
    cpu_seconds: f64,
}

fn body(manifest: &Manifest, command: &Generate, cost: &Cost) -> Body {
    let made = cost.made as f64;
    Body {
        folder: command.origin.output.display().to_string(),
        pairs: manifest.tally.pairs,
        drafts: manifest.tally.drafts,
        files: manifest.files.len(),
        bytes: manifest.files.iter().map(|file| file.bytes).sum(),
        compression: manifest.settings.compression,
        made: cost.made,
        seconds: cost.seconds,
        pairs_per_second: made / cost.seconds,
        cpu_seconds: cost.cpu_seconds,
        pairs_per_cpu_second: made / cost.cpu_seconds,
        splits: manifest.tally.splits.clone(),
        levels: manifest.tally.levels.clone(),
    }
}

fn describe(body: &Body) -> String {
    let mut text = format!(
        "{} pairs in `{}`: {} files, {:.1} MB\n{} drafts were made, {:.2} % of them duplicates\n",
        body.pairs,
        body.folder,
        body.files,
        body.bytes as f64 / 1e6,
        body.drafts,
        100.0 * (1.0 - body.pairs as f64 / body.drafts.max(1) as f64)
    );
    if body.made > 0 {
        let _ = writeln!(
            text,
            "{} pairs per CPU-second, compression {}",
            body.pairs_per_cpu_second.round(),
            body.compression
        );
    }
    for (split, count) in &body.splits {
        let _ = writeln!(text, "  {split}: {count}");
    }
    for (level, counts) in &body.levels {
        let _ = writeln!(
            text,
            "  {level}: {} passed, {} skipped, {} failed",
            counts.passed, counts.skipped, counts.failed
        );
    }
    text
}

/// The line that shows how far a run is.
struct ProgressLine {
    start: Instant,
}

impl ProgressLine {
    fn new(start: Instant) -> Self {
        Self { start }
    }

    fn text(&mut self, progress: Progress) -> String {
        let made = progress.pairs - progress.before;
        let seconds = self.start.elapsed().as_secs_f64();
        let filled = (progress.pairs * 24 / progress.of.max(1)) as usize;
        let bar: String = (0..24)
            .map(|n| if n < filled { '#' } else { '.' })
            .collect();
        let mut text = format!("[{bar}] {} of {} pairs", progress.pairs, progress.of);
        if made > 0 && seconds > 0.0 {
            let rate = made as f64 / seconds;
            let left = Duration::from_secs_f64((progress.of - progress.pairs) as f64 / rate);
            let duplicates = 1.0 - made as f64 / progress.drafts.max(made) as f64;
            let _ = write!(
                text,
                ", {rate:.0}/s, {} left, {:.1} % duplicates",
                clock(left),
                100.0 * duplicates
            );
        }
        text
    }
}

fn clock(time: Duration) -> String {
    let seconds = time.as_secs();
    match seconds / 3600 {
        0 => format!("{}:{:02}", seconds / 60, seconds % 60),
        hours => format!("{hours}:{:02}:{:02}", seconds / 60 % 60, seconds % 60),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_and_difficulties_are_read() {
        assert_eq!(share("3/64"), Ok((3, 64)));
        assert!(share("64/64").is_err() && share("1").is_err());
        assert_eq!(difficulties("1-3,5").unwrap(), [1, 2, 3, 5]);
        assert!(difficulties("0-2").is_err() && difficulties("x").is_err());
    }
}
