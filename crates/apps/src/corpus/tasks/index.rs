//! The files beside the tasks' folders: what a judge reads, and what a model is trained on.
//!
//! They are written line by line, because there may be more lines than memory holds, and again by every
//! run of the command: what a judge found out since the last one is in them then.

use std::collections::BTreeMap;
use std::io::Write as _;
use std::path::Path;

use anyhow::{Context, Result};
use serde::Serialize;
use serde_json::json;
use warpsmith_case::judge::Speed;
use warpsmith_formats::OutputFile;
use warpsmith_intent::{CudaKernel, Fault, Specification, Split, Task, faults};

use super::verdicts::Verdicts;

/// From how much faster on, with 95 % confidence, a kernel is an improvement on another.
const FASTER: f64 = 1.05;

/// What the files hold, in numbers.
#[derive(Clone, Debug, Default, Serialize)]
pub(super) struct Counts {
    pub(super) tasks: usize,
    pub(super) families: BTreeMap<&'static str, usize>,
    pub(super) groups: BTreeMap<String, usize>,
    pub(super) splits: BTreeMap<&'static str, usize>,
    /// Lines by file: `instructions`, `preferences`, `chains`, …
    pub(super) lines: BTreeMap<&'static str, usize>,
    /// Lines of divided files by kind and split.
    #[serde(skip)]
    pub(super) divided: BTreeMap<(&'static str, &'static str), usize>,
    /// Wrong kernels by the kind of their mistake.
    pub(super) kinds: BTreeMap<String, usize>,
    /// Wrong kernels by how they show; `not judged` where nobody looked.
    pub(super) shown: BTreeMap<&'static str, usize>,
    /// Tasks by difficulty; empty where nothing was timed.
    pub(super) difficulties: BTreeMap<u8, usize>,
    /// CUDA kernels with a measured speed.
    pub(super) timed: usize,
    /// Speed of the fastest kernel over the naive one, of the tasks whose kernels were timed.
    #[serde(skip)]
    headrooms: Vec<f64>,
}

/// How much faster than the naive kernels the fastest ones are, over all tasks that were timed.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub(super) struct Headroom {
    pub(super) tasks: usize,
    pub(super) median: f64,
    pub(super) least: f64,
    pub(super) most: f64,
    /// Tasks whose fastest kernel is at least twice as fast.
    pub(super) at_least_two: usize,
}

impl Counts {
    /// `None` where nothing was timed.
    pub(super) fn headroom(&self) -> Option<Headroom> {
        let mut sorted = self.headrooms.clone();
        sorted.sort_by(f64::total_cmp);
        let middle = sorted.len() / 2;
        Some(Headroom {
            tasks: sorted.len(),
            median: match sorted.len() % 2 {
                0 => (sorted.get(middle.checked_sub(1)?)? + sorted.get(middle)?) / 2.0,
                _ => *sorted.get(middle)?,
            },
            least: *sorted.first()?,
            most: *sorted.last()?,
            at_least_two: sorted.iter().filter(|speed| **speed >= 2.0).count(),
        })
    }
}

/// A line of `tasks.jsonl`.
#[derive(Serialize)]
struct Line<'a> {
    #[serde(flatten)]
    task: &'a Task,
    /// How much is to be gained over the naive kernel; `null` until a judge has timed the kernels.
    headroom: Option<f64>,
    /// From 1 to 4, by the headroom.
    difficulty: Option<u8>,
    /// The fastest kernel that is known, with its time and interval.
    best_known: Option<Measured<'a>>,
    reference: String,
    warp: String,
    cuda: &'a [CudaKernel],
    files: &'a str,
}

/// A kernel and how fast it is.
#[derive(Serialize)]
struct Measured<'a> {
    variant: &'a str,
    #[serde(flatten)]
    speed: Speed,
}

/// A line of `faults.jsonl`.
#[derive(Serialize)]
struct FaultLine<'a> {
    id: &'a str,
    task: &'a str,
    split: &'static str,
    #[serde(flatten)]
    fault: &'a Fault,
    /// The judge's verdict in a word, and the first wrong element or what else it saw; `null` until then.
    verdict: Option<&'static str>,
    shows: Option<String>,
}

/// The files, open.
pub(super) struct Index<'a> {
    folder: &'a Path,
    /// By their names below the folder, without the ending.
    files: BTreeMap<String, OutputFile>,
    kernels: Verdicts,
    wrong: Verdicts,
    pub(super) counts: Counts,
}

/// What is divided into a file for each split, so that nobody trains on a test by mistake.
pub(super) const DIVIDED: [&str; 3] = ["instructions", "preferences", "chains"];

/// What is in one file, because a judge reads it, or because it has a column for the split.
const WHOLE: [&str; 5] = ["tasks", "candidates", "warp", "faults", "fault_candidates"];

impl<'a> Index<'a> {
    /// Opens the files, and reads what a judge said about an earlier writing of them.
    pub(super) fn create(folder: &'a Path) -> Result<Self> {
        let wrong = Verdicts::read(folder, "fault_candidates")?;
        let kernels = Verdicts::read(folder, "candidates")?;
        let mut index = Self {
            folder,
            files: BTreeMap::new(),
            kernels,
            wrong,
            counts: Counts::default(),
        };
        for name in WHOLE {
            index.file(name)?;
        }
        index.counts.splits = Split::ALL.map(|split| (split.name(), 0)).into();
        Ok(index)
    }

    fn file(&mut self, name: &str) -> Result<&mut OutputFile> {
        if !self.files.contains_key(name) {
            let path = self.folder.join(format!("{name}.jsonl"));
            if let Some(parent) = path.parent() {
                std::fs::create_dir_all(parent)
                    .with_context(|| format!("cannot make `{}`", parent.display()))?;
            }
            self.files
                .insert(name.to_owned(), OutputFile::create(&path)?);
        }
        self.files.get_mut(name).context("a file that was opened")
    }

    fn line(&mut self, kind: &'static str, line: &impl Serialize) -> Result<()> {
        *self.counts.lines.entry(kind).or_default() += 1;
        let text = serde_json::to_string(line)?;
        Ok(writeln!(self.file(kind)?, "{text}")?)
    }

    fn divided(&mut self, kind: &'static str, split: Split, line: &impl Serialize) -> Result<()> {
        *self.counts.lines.entry(kind).or_default() += 1;
        *self.counts.divided.entry((kind, split.name())).or_default() += 1;
        let text = serde_json::to_string(line)?;
        let name = format!("data/{kind}/{}", split.name());
        Ok(writeln!(self.file(&name)?, "{text}")?)
    }

    /// Closes the files; one that an earlier run wrote and this one has no line for goes.
    pub(super) fn finish(self) -> Result<Counts> {
        for kind in DIVIDED {
            for split in Split::ALL {
                let name = format!("data/{kind}/{}", split.name());
                if !self.files.contains_key(&name) {
                    let _ = std::fs::remove_file(self.folder.join(format!("{name}.jsonl")));
                }
            }
        }
        for file in self.files.into_values() {
            file.finish()?;
        }
        Ok(self.counts)
    }

    /// Adds a task with its kernels, right and wrong.
    pub(super) fn add(
        &mut self,
        specification: &Specification,
        task: &Task,
        files: &str,
    ) -> Result<()> {
        let cuda = specification.cuda();
        let group = serde_json::to_value(task.group)?;
        let counts = &mut self.counts;
        counts.tasks += 1;
        *counts.families.entry(task.family).or_default() += 1;
        *counts
            .groups
            .entry(group.as_str().unwrap_or_default().to_owned())
            .or_default() += 1;
        *counts.splits.entry(task.split.name()).or_default() += 1;
        for kernel in &cuda {
            let line = json!({
                "id": format!("{}/{}", task.id, kernel.variant),
                "file": format!("{files}/{}.cu", kernel.variant),
                "case": format!("{files}/case.toml"),
                "launch": launch(kernel),
            });
            self.line("candidates", &line)?;
        }
        let warp = specification.warp();
        let line = json!({
            "id": format!("{}/warp", task.id),
            "file": format!("{files}/kernel.py"),
            "case": format!("{files}/warp.toml"),
            "language": "warp",
        });
        self.line("warp", &line)?;
        self.add_faults(specification, task, files, &cuda)?;
        self.add_answers(task, &cuda)?;
        let best = self.best(task, &cuda);
        let difficulty = best.map(|(_, speed)| difficulty(speed.speedup));
        self.counts
            .headrooms
            .extend(best.map(|(_, speed)| speed.speedup));
        if let Some(difficulty) = difficulty {
            *self.counts.difficulties.entry(difficulty).or_default() += 1;
        }
        let line = Line {
            task,
            headroom: best.map(|(_, speed)| speed.speedup.max(1.0)),
            difficulty,
            best_known: best.map(|(variant, speed)| Measured { variant, speed }),
            reference: specification.numpy(),
            warp,
            cuda: &cuda,
            files,
        };
        self.line("tasks", &line)
    }

    /// The wrong kernels, for a judge and for training.
    fn add_faults(
        &mut self,
        specification: &Specification,
        task: &Task,
        files: &str,
        cuda: &[CudaKernel],
    ) -> Result<()> {
        for fault in faults(specification) {
            let kind = serde_json::to_value(fault.kind)?;
            let kind = kind.as_str().unwrap_or_default();
            let id = format!("{}/{}/{kind}", task.id, fault.variant);
            let right = cuda.iter().find(|kernel| kernel.variant == fault.variant);
            let candidate = match right {
                Some(kernel) => json!({
                    "id": id, "source": fault.source, "case": format!("{files}/case.toml"),
                    "language": "cuda", "launch": launch(kernel),
                }),
                None => json!({
                    "id": id, "source": fault.source, "case": format!("{files}/warp.toml"),
                    "language": "warp",
                }),
            };
            self.line("fault_candidates", &candidate)?;
            let shows = self.wrong.shows(&id);
            *self.counts.kinds.entry(kind.to_owned()).or_default() += 1;
            let word = shows.as_ref().map_or("not judged", |(word, _)| *word);
            *self.counts.shown.entry(word).or_default() += 1;
            // A mistake that no input shows is none to learn from.
            if let Some(kernel) = right
                && word != "correct"
            {
                let line = json!({
                    "task": task.id, "family": task.family, "variant": fault.variant,
                    "prompt": task.prompt, "chosen": kernel.source, "rejected": fault.source,
                    "kind": kind, "reason": fault.because,
                    "shows": shows.as_ref().map(|(_, shows)| shows), "limits": null,
                });
                self.divided("preferences", task.split, &line)?;
            }
            let (verdict, shows) = shows.unzip();
            let line = FaultLine {
                id: &id,
                task: &task.id,
                split: task.split.name(),
                fault: &fault,
                verdict,
                shows,
            };
            self.line("faults", &line)?;
        }
        Ok(())
    }

    /// The right kernels as answers, and the way from the naive one to the fastest.
    fn add_answers(&mut self, task: &Task, cuda: &[CudaKernel]) -> Result<()> {
        let id = |kernel: &CudaKernel| format!("{}/{}", task.id, kernel.variant);
        let mut steps = Vec::new();
        for kernel in cuda {
            let speed = self.kernels.speed(&id(kernel));
            self.counts.timed += usize::from(speed.is_some());
            let line = json!({
                "task": task.id, "family": task.family, "variant": kernel.variant,
                "technique": kernel.technique, "prompt": task.prompt, "answer": kernel.source,
                "speed": speed, "limits": self.limits(&id(kernel)),
            });
            self.divided("instructions", task.split, &line)?;
            steps.push((kernel, speed));
        }
        let [(naive, _), rest @ ..] = &steps[..] else {
            return Ok(());
        };
        for (kernel, speed) in rest {
            if let Some(speed) = speed
                && speed.low >= FASTER
            {
                let line = json!({
                    "task": task.id, "family": task.family, "variant": kernel.variant,
                    "prompt": task.prompt, "chosen": kernel.source, "rejected": naive.source,
                    "kind": "slow", "reason": kernel.technique,
                    "shows": format!("{:.2} times as long ({:.2} to {:.2})", speed.speedup, speed.low, speed.high),
                    "limits": self.limits(&id(naive)),
                });
                self.divided("preferences", task.split, &line)?;
            }
        }
        // Slow to fast where times are known; else from the plainest to the most elaborate.
        steps[1..].sort_by(|(_, a), (_, b)| {
            let value = |speed: &Option<Speed>| speed.map_or(0.0, |speed| speed.speedup);
            value(a).total_cmp(&value(b))
        });
        if steps.len() > 1 {
            let steps: Vec<_> = steps
                .iter()
                .map(|(kernel, speed)| {
                    json!({
                        "variant": kernel.variant, "technique": kernel.technique,
                        "source": kernel.source, "speed": speed, "limits": self.limits(&id(kernel)),
                    })
                })
                .collect();
            let line = json!({
                "task": task.id, "family": task.family, "prompt": task.prompt, "steps": steps,
            });
            self.divided("chains", task.split, &line)?;
        }
        Ok(())
    }

    /// Why a kernel is slow, in sentences; `null` where no counters were read, or it is not slow.
    fn limits(&self, id: &str) -> Option<&[String]> {
        Some(&self.kernels.limits(id)?.sentences)
    }

    /// The fastest of a task's kernels, where they were timed.
    fn best<'k>(&self, task: &Task, cuda: &'k [CudaKernel]) -> Option<(&'k str, Speed)> {
        let timed = cuda.iter().filter_map(|kernel| {
            let speed = self
                .kernels
                .speed(&format!("{}/{}", task.id, kernel.variant))?;
            Some((kernel.variant, speed))
        });
        timed.max_by(|(_, a), (_, b)| a.speedup.total_cmp(&b.speedup))
    }
}

/// Difficulties, each with what the fastest known kernel gains over the naive one, at least.
pub(super) const DIFFICULTIES: [(u8, f64); 4] = [(1, 0.0), (2, 1.1), (3, 2.0), (4, 5.0)];

/// A task's difficulty by what is to be gained over its naive kernel.
fn difficulty(headroom: f64) -> u8 {
    let reached = DIFFICULTIES.iter().filter(|(_, least)| headroom >= *least);
    reached
        .map(|(difficulty, _)| *difficulty)
        .max()
        .unwrap_or(1)
}

fn launch(kernel: &CudaKernel) -> serde_json::Value {
    json!({"grid": kernel.grid, "block": kernel.block})
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headroom_and_difficulty_follow_from_speeds() {
        let mut counts = Counts::default();
        assert_eq!(counts.headroom(), None);
        counts.headrooms = vec![3.0, 0.9, 1.5, 2.0];
        let all = counts.headroom().unwrap();
        assert_eq!((all.tasks, all.at_least_two), (4, 2));
        assert_eq!((all.median, all.least, all.most), (1.75, 0.9, 3.0));
        let levels = [0.5, 1.0, 1.1, 1.99, 2.0, 5.0, 75.0].map(difficulty);
        assert_eq!(levels, [1, 1, 2, 2, 3, 4, 4]);
    }

    /// Two tasks, one of them judged: its mistakes, times and chain are in the files, the other's are open.
    #[test]
    fn what_a_judge_found_is_in_the_files() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path();
        let all: Vec<Specification> = (0..Specification::families().len() as u64)
            .filter_map(Specification::at)
            .filter(|one| one.cuda().len() > 2)
            .take(2)
            .collect();
        let write = || {
            let mut index = Index::create(path).unwrap();
            for one in &all {
                let task = Task::of(one).unwrap();
                index.add(one, &task, "somewhere").unwrap();
            }
            index.finish().unwrap()
        };
        let read = |name: &str| -> Vec<serde_json::Value> {
            let text = std::fs::read_to_string(path.join(name)).unwrap_or_default();
            text.lines()
                .map(|line| serde_json::from_str(line).unwrap())
                .collect()
        };
        let divided = |kind: &str| -> Vec<serde_json::Value> {
            let splits = Split::ALL.map(|split| format!("data/{kind}/{}.jsonl", split.name()));
            splits.iter().flat_map(|name| read(name)).collect()
        };
        let before = write();
        assert_eq!((before.tasks, before.timed), (2, 0));
        assert!(read("tasks.jsonl")[0]["headroom"].is_null());
        let (task, variants) = (Task::of(&all[0]).unwrap(), all[0].cuda());
        let mut kernels = String::new();
        // The last is as fast as the naive one, the second three times as fast.
        for (kernel, speed) in variants.iter().zip([1.0, 3.0, 1.0]) {
            kernels += &json!({
                "id": format!("{}/{}", task.id, kernel.variant), "verdict": "correct", "calls": 9, "took": 1.0,
                "speed": {"speedup": speed, "low": speed * 0.9, "high": speed * 1.1, "seconds": 1e-4,
                    "reference_seconds": speed * 1e-4, "rounds": 20},
                "limits": (speed < 2.0).then(|| json!({"sentences": ["it waits"], "counters": {"values": {}}})),
            })
            .to_string();
            kernels.push('\n');
        }
        std::fs::write(path.join("candidates.verdicts.jsonl"), kernels).unwrap();
        // Only CUDA kernels become preferences.
        let cuda_faults = || -> Vec<serde_json::Value> {
            let all = read("faults.jsonl").into_iter();
            all.filter(|fault| fault["language"] == "cuda").collect()
        };
        let faults = cuda_faults();
        let verdict = |fault: &serde_json::Value, rest: &str| {
            format!(r#"{{"id":{},"calls":1,"took":1.0,{rest}}}"#, fault["id"]) + "\n"
        };
        let wrong = verdict(
            &faults[0],
            r#""verdict":"wrong","detail":"out[7] is 0, not 1""#,
        ) + &verdict(&faults[1], r#""verdict":"correct""#);
        std::fs::write(path.join("fault_candidates.verdicts.jsonl"), wrong).unwrap();
        let preferred = divided("preferences").len();
        let after = write();
        assert_eq!(after.timed, variants.len().min(3));
        assert_eq!(after.headroom().unwrap().median, 3.0);
        let tasks = read("tasks.jsonl");
        assert_eq!(tasks[0]["best_known"]["variant"], variants[1].variant);
        assert_eq!(
            (&tasks[0]["headroom"], &tasks[0]["difficulty"]),
            (&json!(3.0), &json!(3))
        );
        assert!(tasks[1]["best_known"].is_null());
        let faults = cuda_faults();
        assert_eq!(faults[0]["shows"], "out[7] is 0, not 1");
        assert_eq!(faults[1]["verdict"], "correct");
        assert!(faults[2]["verdict"].is_null());
        // One mistake that never shows is gone; one slow kernel came.
        assert_eq!(divided("preferences").len(), preferred);
        let slow: Vec<_> = divided("preferences")
            .into_iter()
            .filter(|row| row["kind"] == "slow")
            .collect();
        assert_eq!(slow.len(), 1);
        assert_eq!(slow[0]["chosen"], variants[1].source);
        assert_eq!(slow[0]["limits"], json!(["it waits"]));
        let chains = divided("chains");
        let chain = chains
            .iter()
            .find(|chain| chain["task"] == *task.id)
            .unwrap();
        let last = chain["steps"].as_array().unwrap().last().unwrap();
        assert_eq!(last["variant"], variants[1].variant);
        assert!(last["limits"].is_null());
    }
}
