//! `warpsmith corpus tasks`: kernels to write, with what judges them.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use clap::Args;
use serde::{Deserialize, Serialize};
use warpsmith_formats::write_output;
use warpsmith_intent::{Specification, Task, files};

use warpsmith_console::exit::Outcome;
use warpsmith_console::global::Global;
use warpsmith_console::inputs;
use warpsmith_console::output;

mod card;
mod index;
mod verdicts;

use index::{Counts, Headroom, Index};

/// Write tasks: a kernel described in English, its reference, and kernels that solve it.
///
/// Every task is one specification, and no two tasks are the same one. A task has a folder: `case.toml`
/// and `reference.py` judge CUDA kernels, `naive.cu` and its faster variants solve it, `kernel.py` with
/// `warp.toml` is the same in Warp-style Python, and `problem.py` is the task for KernelBench's harness.
/// `tasks.jsonl` has all of it with the prompts; `candidates.jsonl` and `warp.jsonl` are what
/// `warpsmith judge` reads. `faults.jsonl` has wrong kernels with the kind of their mistake and the repair as a
/// diff, and judging `fault_candidates.jsonl` shows the first wrong element of each. `data` has the same for
/// training: instructions, preferences, and chains from slow to fast; `README.md` is the card that
/// `datasets.load_dataset` reads. A run that was stopped goes on when the same command is given again; after a
/// judge has been there, it adds times, difficulties and how mistakes show.
#[derive(Args)]
#[command(after_long_help = "Examples:
  warpsmith corpus tasks --count 500 --output tasks
  warpsmith judge tasks/warp.jsonl --device cpu
  warpsmith judge tasks/candidates.jsonl
  warpsmith judge tasks/fault_candidates.jsonl
  warpsmith corpus tasks --count 200 --families row_reduction,softmax --output rows
  warpsmith corpus tasks --count 1000 --first 50000 --output later --format json")]
pub(crate) struct Tasks {
    /// How many tasks.
    #[arg(long, value_name = "N")]
    count: u64,
    /// Output folder; created if missing.
    #[arg(short, long, alias = "out", value_name = "DIR")]
    output: PathBuf,
    /// The first specification, by its number.
    #[arg(long, value_name = "N", default_value_t = 0)]
    first: u64,
    /// Only these families.
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    families: Vec<String>,
}

/// What decides the contents of a folder.
#[derive(Serialize, Deserialize, PartialEq)]
struct Settings {
    version: u32,
    first: u64,
    count: u64,
    families: Vec<String>,
}

#[derive(Serialize)]
struct Body {
    folder: String,
    written: usize,
    faults: usize,
    specifications: u64,
    /// How much faster than the naive kernels the fastest are; `null` until a judge has timed them.
    headroom: Option<Headroom>,
    #[serde(flatten)]
    counts: Counts,
}

const MANIFEST: &str = "manifest.json";
/// Written last: a folder that has it is complete.
const TASK: &str = "task.json";

impl Tasks {
    pub(crate) fn run(&self, global: &Global) -> Result<Outcome> {
        inputs::check_output_folder("--output", &self.output)?;
        let chosen = self.chosen()?;
        let settings = Settings {
            version: 1,
            first: self.first,
            count: self.count,
            families: self.families.clone(),
        };
        check_settings(&self.output.join(MANIFEST), &settings)?;
        std::fs::create_dir_all(&self.output)
            .with_context(|| format!("cannot make `{}`", self.output.display()))?;
        let mut index = Index::create(&self.output)?;
        let mut written = 0;
        for (done, specification) in chosen.iter().enumerate() {
            let task = Task::of(specification).context("a specification without a number")?;
            let folder = format!("{}/{}", task.split.name(), task.id);
            written += usize::from(self.write(specification, &task, &folder)?);
            index.add(specification, &task, &folder)?;
            output::progress(global, &format!("{} of {} tasks", done + 1, chosen.len()));
        }
        output::progress(global, "");
        let counts = index.finish()?;
        let command = self.command();
        write_output(
            &self.output.join("README.md"),
            card::card(&counts, &command).as_bytes(),
        )?;
        let manifest = serde_json::to_string_pretty(&settings)? + "\n";
        write_output(&self.output.join(MANIFEST), manifest.as_bytes())?;
        let body = Body {
            folder: self.output.display().to_string(),
            written,
            faults: counts.kinds.values().sum(),
            specifications: Specification::count(),
            headroom: counts.headroom(),
            counts,
        };
        let report = output::report("corpus tasks", body);
        output::print(global, &report, describe)?;
        Ok(Outcome::Fine)
    }

    /// The command that makes the same tasks.
    fn command(&self) -> String {
        let mut command = format!("warpsmith corpus tasks --count {}", self.count);
        if self.first > 0 {
            let _ = write!(command, " --first {}", self.first);
        }
        if !self.families.is_empty() {
            let _ = write!(command, " --families {}", self.families.join(","));
        }
        command + " --output DIR"
    }

    fn chosen(&self) -> Result<Vec<Specification>> {
        let known = Specification::families();
        for name in &self.families {
            if !known.contains(&name.as_str()) {
                bail!(
                    "`--families {name}`: there is no such family; there are {}",
                    known.join(", ")
                );
            }
        }
        let wanted = |one: &Specification| {
            self.families.is_empty() || self.families.iter().any(|name| name == one.family())
        };
        let chosen: Vec<Specification> = (self.first..Specification::count())
            .filter_map(Specification::at)
            .filter(wanted)
            .take(usize::try_from(self.count)?)
            .collect();
        if (chosen.len() as u64) < self.count {
            bail!(
                "`--count {}`: there are only {} from number {} on",
                self.count,
                chosen.len(),
                self.first
            );
        }
        Ok(chosen)
    }

    /// Writes a task's folder unless it is complete; whether it did.
    fn write(&self, specification: &Specification, task: &Task, folder: &str) -> Result<bool> {
        let folder = self.output.join(folder);
        let last = folder.join(TASK);
        let text = serde_json::to_string_pretty(task)? + "\n";
        if std::fs::read_to_string(&last).is_ok_and(|written| written == text) {
            return Ok(false);
        }
        std::fs::create_dir_all(&folder)
            .with_context(|| format!("cannot make `{}`", folder.display()))?;
        for (name, text) in files(specification) {
            write_output(&folder.join(name), text.as_bytes())?;
        }
        write_output(&folder.join("prompt.md"), task.prompt.as_bytes())?;
        write_output(&last, text.as_bytes())?;
        Ok(true)
    }
}

/// Refuses a folder that holds something else.
fn check_settings(path: &Path, settings: &Settings) -> Result<()> {
    let Ok(text) = std::fs::read_to_string(path) else {
        return Ok(());
    };
    match serde_json::from_str::<Settings>(&text) {
        Ok(found) if found == *settings => Ok(()),
        _ => bail!(
            "`{}` is of another command: choose another folder with `--output`",
            path.display()
        ),
    }
}

fn describe(body: &Body) -> String {
    let mut text = format!(
        "{} tasks of {} families in `{}`, {} written now, {} wrong kernels; there are {} specifications\n",
        body.counts.tasks,
        body.counts.families.len(),
        body.folder,
        body.written,
        body.faults,
        body.specifications
    );
    for (split, count) in &body.counts.splits {
        let _ = writeln!(text, "  {split}: {count}");
    }
    if let Some(gain) = body.headroom {
        let _ = writeln!(
            text,
            "fastest kernel over the naive one, {} tasks: median {:.2} times as fast, from {:.2} to {:.2}; at least twice in {}",
            gain.tasks, gain.median, gain.least, gain.most, gain.at_least_two
        );
    }
    text
}
