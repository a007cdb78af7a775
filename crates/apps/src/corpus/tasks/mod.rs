//! `warpsmith corpus tasks`: kernels to write, with what judges them.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use clap::Args;
use serde::{Deserialize, Serialize};
use warpsmith_formats::{OutputFile, write_output};
use warpsmith_intent::{CudaKernel, Fault, Specification, Split, Task, faults, files};

use warpsmith_console::exit::Outcome;
use warpsmith_console::global::Global;
use warpsmith_console::inputs;
use warpsmith_console::output;

/// Write tasks: a kernel described in English, its reference, and kernels that solve it.
///
/// Every task is one specification, and no two tasks are the same one. A task has a folder: `case.toml`
/// and `reference.py` judge CUDA kernels, `naive.cu` and its faster variants solve it, `kernel.py` with
/// `warp.toml` is the same in Warp-style Python, and `problem.py` is the task for KernelBench's harness.
/// `tasks.jsonl` has all of it with the prompts; `candidates.jsonl` and `warp.jsonl` are what
/// `warpsmith judge` reads. `faults.jsonl` has wrong kernels with the kind of their mistake and the repair as a
/// diff, and judging `fault_candidates.jsonl` shows the first wrong element of each. A run that was stopped
/// goes on when the same command is given again.
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
    tasks: usize,
    written: usize,
    faults: usize,
    families: BTreeMap<&'static str, usize>,
    splits: BTreeMap<&'static str, usize>,
    specifications: u64,
}

/// A line of `tasks.jsonl`.
#[derive(Serialize)]
struct Line<'a> {
    #[serde(flatten)]
    task: &'a Task,
    reference: String,
    warp: String,
    cuda: Vec<CudaKernel>,
    files: String,
}

/// A line of `faults.jsonl`.
#[derive(Serialize)]
struct FaultLine<'a> {
    id: String,
    task: &'a str,
    #[serde(flatten)]
    fault: Fault,
}

/// The files beside the tasks' folders, line by line: there may be more of them than memory holds.
struct Index {
    tasks: OutputFile,
    candidates: OutputFile,
    warp: OutputFile,
    faults: OutputFile,
    fault_candidates: OutputFile,
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
        let mut body = Body {
            folder: self.output.display().to_string(),
            tasks: 0,
            written: 0,
            faults: 0,
            families: BTreeMap::new(),
            splits: Split::ALL.map(|split| (split.name(), 0)).into(),
            specifications: Specification::count(),
        };
        for specification in &chosen {
            let task = Task::of(specification).context("a specification without a number")?;
            let folder = format!("{}/{}", task.split.name(), task.id);
            body.written += usize::from(self.write(specification, &task, &folder)?);
            body.tasks += 1;
            *body.families.entry(task.family).or_default() += 1;
            *body.splits.entry(task.split.name()).or_default() += 1;
            body.faults += index.add(specification, &task, &folder)?;
            output::progress(global, &format!("{} of {} tasks", body.tasks, chosen.len()));
        }
        output::progress(global, "");
        index.finish()?;
        let manifest = serde_json::to_string_pretty(&settings)? + "\n";
        write_output(&self.output.join(MANIFEST), manifest.as_bytes())?;
        let report = output::report("corpus tasks", body);
        output::print(global, &report, describe)?;
        Ok(Outcome::Fine)
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

impl Index {
    fn create(folder: &Path) -> Result<Self> {
        let file = |name: &str| OutputFile::create(&folder.join(name));
        Ok(Self {
            tasks: file("tasks.jsonl")?,
            candidates: file("candidates.jsonl")?,
            warp: file("warp.jsonl")?,
            faults: file("faults.jsonl")?,
            fault_candidates: file("fault_candidates.jsonl")?,
        })
    }

    fn finish(self) -> Result<()> {
        for file in [
            self.tasks,
            self.candidates,
            self.warp,
            self.faults,
            self.fault_candidates,
        ] {
            file.finish()?;
        }
        Ok(())
    }

    /// Adds a task with its kernels, right and wrong; how many are wrong.
    fn add(&mut self, specification: &Specification, task: &Task, folder: &str) -> Result<usize> {
        let cuda = specification.cuda();
        let case = format!("{folder}/case.toml");
        let launch =
            |kernel: &CudaKernel| serde_json::json!({"grid": kernel.grid, "block": kernel.block});
        for kernel in &cuda {
            let line = serde_json::json!({
                "id": format!("{}/{}", task.id, kernel.variant),
                "file": format!("{folder}/{}.cu", kernel.variant),
                "case": case,
                "launch": launch(kernel),
            });
            writeln!(self.candidates, "{line}")?;
        }
        let warp_case = format!("{folder}/warp.toml");
        let line = serde_json::json!({
            "id": format!("{}/warp", task.id),
            "file": format!("{folder}/kernel.py"),
            "case": warp_case,
            "language": "warp",
        });
        writeln!(self.warp, "{line}")?;
        let wrong = faults(specification);
        let count = wrong.len();
        for fault in wrong {
            let kind = serde_json::to_value(fault.kind)?;
            let id = format!(
                "{}/{}/{}",
                task.id,
                fault.variant,
                kind.as_str().unwrap_or_default()
            );
            let line = match cuda.iter().find(|kernel| kernel.variant == fault.variant) {
                Some(kernel) => serde_json::json!({
                    "id": id, "source": fault.source, "case": case, "language": "cuda", "launch": launch(kernel),
                }),
                None => serde_json::json!({
                    "id": id, "source": fault.source, "case": warp_case, "language": "warp",
                }),
            };
            writeln!(self.fault_candidates, "{line}")?;
            let line = FaultLine {
                id,
                task: &task.id,
                fault,
            };
            writeln!(self.faults, "{}", serde_json::to_string(&line)?)?;
        }
        let line = Line {
            task,
            reference: specification.numpy(),
            warp: specification.warp(),
            cuda,
            files: folder.to_owned(),
        };
        writeln!(self.tasks, "{}", serde_json::to_string(&line)?)?;
        Ok(count)
    }
}

fn describe(body: &Body) -> String {
    let mut text = format!(
        "{} tasks of {} families in `{}`, {} written now, {} wrong kernels; there are {} specifications\n",
        body.tasks,
        body.families.len(),
        body.folder,
        body.written,
        body.faults,
        body.specifications
    );
    for (split, count) in &body.splits {
        let _ = writeln!(text, "  {split}: {count}");
    }
    text
}
