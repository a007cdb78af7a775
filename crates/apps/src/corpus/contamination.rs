//! `warpsmith corpus contamination`: whether kernels of tasks stand in other people's files.

use std::fmt::Write;
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use clap::Args;
use serde::Serialize;
use serde_json::Value;
use warpsmith_corpus::{OtherTexts, WINDOW};

use warpsmith_console::exit::Outcome;
use warpsmith_console::global::Global;
use warpsmith_console::inputs;
use warpsmith_console::output;

/// Compare the kernels of tasks with other people's, such as a public benchmark.
///
/// Texts are compared by normalised syntax: other names, numbers, comments and layout hide nothing. What counts
/// is the share of a kernel's windows of 32 tokens that one other file has. Files that are read: CUDA, C++ and
/// Python sources, and JSON lines, of which every text counts. Exits with 1 where a kernel reaches the threshold.
#[derive(Args)]
#[command(after_long_help = "Examples:
  warpsmith corpus contamination tasks --against KernelBench
  warpsmith corpus contamination tasks --against problems.jsonl --threshold 0.3 --format json")]
pub(crate) struct Contamination {
    /// The folder of tasks.
    folder: PathBuf,
    /// A file or a folder of other people's kernels.
    #[arg(long, value_name = "PATH", required = true)]
    against: Vec<PathBuf>,
    /// The share of a kernel from which it counts as known.
    #[arg(long, value_name = "SHARE", default_value_t = 0.5)]
    threshold: f64,
}

#[derive(Serialize)]
struct Body {
    kernels: usize,
    other_texts: usize,
    threshold: f64,
    window_tokens: usize,
    /// Kernels that reach the threshold, most of them first.
    known: Vec<Known>,
}

#[derive(Serialize)]
struct Known {
    kernel: String,
    split: String,
    other: String,
    share: f64,
}

/// Endings of sources.
const SOURCES: [&str; 8] = ["cu", "cuh", "cpp", "cc", "c", "h", "hpp", "py"];

/// Longer files are data, not sources.
const MOST_BYTES: u64 = 8 << 20;

impl Contamination {
    pub(crate) fn run(&self, global: &Global) -> Result<Outcome> {
        inputs::check_folder(&self.folder)?;
        if !(0.0..=1.0).contains(&self.threshold) {
            bail!("`--threshold {}`: a share is from 0 to 1", self.threshold);
        }
        let mut others = OtherTexts::default();
        for path in &self.against {
            read(path, &mut others)?;
        }
        if others.is_empty() {
            bail!(
                "`--against {}` has no text to compare with: CUDA, C++ and Python sources and JSON lines are read",
                self.against[0].display()
            );
        }
        let (kernels, mut known) = self.compare(&others)?;
        known.sort_by(|a, b| b.share.total_cmp(&a.share).then(a.kernel.cmp(&b.kernel)));
        let clean = known.is_empty();
        let body = Body {
            kernels,
            other_texts: others.len(),
            threshold: self.threshold,
            window_tokens: WINDOW,
            known,
        };
        let report = output::report("corpus contamination", body);
        output::print(global, &report, describe)?;
        Ok(Outcome::fine_if(clean))
    }

    /// How many kernels there are, and those that the others have.
    fn compare(&self, others: &OtherTexts) -> Result<(usize, Vec<Known>)> {
        let path = self.folder.join("tasks.jsonl");
        let cannot = || {
            format!(
                "cannot read `{}`; did `warpsmith corpus tasks` write it?",
                path.display()
            )
        };
        let file = BufReader::new(fs::File::open(&path).with_context(cannot)?);
        let (mut kernels, mut known) = (0, Vec::new());
        for (index, line) in file.lines().enumerate() {
            let task: Value = serde_json::from_str(&line.with_context(cannot)?)
                .with_context(|| format!("`{}:{}` is not a task", path.display(), index + 1))?;
            let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
            let cuda = task["cuda"].as_array().into_iter().flatten();
            let cuda = cuda.map(|one| (text(&one["variant"]), text(&one["source"])));
            for (variant, source) in cuda.chain([("warp".to_owned(), text(&task["warp"]))]) {
                kernels += 1;
                if let Some(found) = others.overlap(&source)
                    && found.share >= self.threshold
                {
                    known.push(Known {
                        kernel: format!("{}/{variant}", text(&task["id"])),
                        split: text(&task["split"]),
                        other: found.other,
                        share: found.share,
                    });
                }
            }
        }
        Ok((kernels, known))
    }
}

/// Adds the texts of a file, or of a folder's files. Links are not followed: they may lead in circles.
fn read(path: &Path, others: &mut OtherTexts) -> Result<()> {
    let cannot = || format!("cannot read `{}`", path.display());
    let about = fs::metadata(path).with_context(cannot)?;
    if about.is_dir() {
        let mut entries = fs::read_dir(path)
            .with_context(cannot)?
            .collect::<std::io::Result<Vec<_>>>()
            .with_context(cannot)?;
        entries.sort_by_key(fs::DirEntry::file_name);
        for entry in entries {
            if !entry.file_type().with_context(cannot)?.is_symlink() {
                read(&entry.path(), others)?;
            }
        }
        return Ok(());
    }
    let ending = path.extension().unwrap_or_default().to_string_lossy();
    let name = path.display().to_string();
    if ending == "jsonl" {
        let file = BufReader::new(fs::File::open(path).with_context(cannot)?);
        for (index, line) in file.lines().enumerate() {
            let line = line.with_context(cannot)?;
            let value: Value = serde_json::from_str(&line)
                .with_context(|| format!("`{name}:{}` is not JSON", index + 1))?;
            let mut text = String::new();
            gather(&value, &mut text);
            others.add(format!("{name}:{}", index + 1), &text)?;
        }
    } else if SOURCES.contains(&ending.as_ref()) && about.len() <= MOST_BYTES {
        let bytes = fs::read(path).with_context(cannot)?;
        others.add(name, &String::from_utf8_lossy(&bytes))?;
    }
    Ok(())
}

/// Every text in a value, one below the other.
fn gather(value: &Value, text: &mut String) {
    match value {
        Value::String(part) => {
            text.push_str(part);
            text.push('\n');
        }
        Value::Array(values) => values.iter().for_each(|value| gather(value, text)),
        Value::Object(values) => values.values().for_each(|value| gather(value, text)),
        _ => {}
    }
}

fn describe(body: &Body) -> String {
    let mut text = format!(
        "{} of {} kernels have at least {:.0} % of their windows in one of {} other texts\n",
        body.known.len(),
        body.kernels,
        100.0 * body.threshold,
        body.other_texts
    );
    for one in body.known.iter().take(20) {
        let _ = writeln!(
            text,
            "  {} ({}): {:.0} % in `{}`",
            one.kernel,
            one.split,
            100.0 * one.share,
            one.other
        );
    }
    if body.known.len() > 20 {
        let _ = writeln!(
            text,
            "  and {} more: `--format json` has all",
            body.known.len() - 20
        );
    }
    text
}
