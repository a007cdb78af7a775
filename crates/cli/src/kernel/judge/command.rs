//! The verb: candidates in, a verdict for each out.

use std::collections::BTreeMap;
use std::hash::{BuildHasher, DefaultHasher, Hash, Hasher, RandomState};
use std::io::Read;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use clap::Args;
use warpsmith_case::judge::{Candidate, Judgement, Limits, candidates_of_folder, read_candidates};
use warpsmith_console::exit::Outcome;
use warpsmith_console::global::Global;
use warpsmith_console::numbers::{seconds, share};
use warpsmith_console::output;
use warpsmith_device::{Device, DeviceChoice};
use warpsmith_formats::is_stdout;

use super::counters;
use super::kernel_worker::work;
use super::session::{Group, Jobs, Session, Setup};
use super::summary::{Body, describe, findings};
use super::verdict_file::VerdictFile;

/// Judge kernels that others wrote: right, wrong, cheating, how fast.
///
/// Candidates are lines of JSON: `id`, `source` or `file`, and where they differ `entry`, `case`,
/// `language` (`python`, `cuda`, `warp`) and `launch` (`grid` and `block` of a CUDA kernel). `--case` is a case, or a KernelBench problem (`.py` with `Model`,
/// `get_inputs` and `get_init_inputs`; candidates then have a class `ModelNew`). A folder of KernelBench's
/// samples with `--case` naming its folder of problems is read too.
///
/// Each Python candidate runs in a process of its own, without network, processes and files of others, on
/// inputs from a secret seed; expected results, comparison and statistics stay with the judge. Verdicts
/// are lines of JSON too, written one by one: the same command continues where it stopped. A verdict is
/// `correct` (with its speed relative to the reference), `wrong`, `cheating` (with its kind and evidence),
/// `compile_failure`, `crashed`, `timed_out`, `out_of_memory` or `not_run`.
#[derive(Args)]
#[command(after_long_help = "Examples:
  warpsmith judge candidates.jsonl --case softmax.toml
  warpsmith judge candidates.jsonl --case KernelBench/level1/19_ReLU.py --output verdicts.jsonl
  warpsmith judge runs/mine --case KernelBench --jobs 4
  warpsmith judge candidates.jsonl --case KernelBench/level1/19_ReLU.py --set batch_size=64 --set dim=4096
  warpsmith judge candidates.jsonl --case matmul.toml --forbid numpy.matmul --forbid numpy.dot
  warpsmith judge candidates.jsonl --case softmax.toml --device cuda:1 --shards 1/8
  warpsmith judge tasks/candidates.jsonl --counters

Exit codes: 0 every candidate is correct, 1 some are not, 3 some could not be run.")]
pub(crate) struct Judge {
    /// Candidates as JSONL, `-` for standard input, or a folder of KernelBench's samples.
    candidates: PathBuf,
    /// The case or KernelBench problem; required unless every candidate names its own.
    #[arg(long, value_name = "FILE")]
    case: Option<PathBuf>,
    /// Output file for verdicts; default: the candidates' name with the ending `.verdicts.jsonl`.
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Judge again the candidates that have a verdict.
    #[arg(long)]
    fresh: bool,
    /// Candidates at a time; one of them is timed at a time. Default: half of the cores; on a GPU 4 Python
    /// programs, or as many kernels as cores, at most 12.
    #[arg(long, value_parser = clap::value_parser!(u16).range(1..=256))]
    jobs: Option<u16>,
    /// Judge only share I of N, counted from 0: `0/8`.
    #[arg(long, value_name = "I/N", default_value = "0/1", value_parser = share)]
    shards: (u64, u64),
    /// Seed of the inputs; secret by default.
    #[arg(long)]
    seed: Option<u64>,
    /// Stop a candidate whose call takes longer than this.
    #[arg(long, default_value = "20s", value_name = "TIME", value_parser = seconds)]
    limit: f64,
    /// Stop a candidate that takes longer to import and construct, compilation of kernels included.
    #[arg(long, default_value = "120s", value_name = "TIME", value_parser = seconds)]
    load_limit: f64,
    /// Memory limit in MiB, beside what Python itself takes.
    #[arg(long, default_value_t = 4096, value_name = "MIB", value_parser = clap::value_parser!(u64).range(16..=16_777_216))]
    memory: u64,
    /// A function or PyTorch operator that candidates may not call: `numpy.matmul`, `aten.mm`.
    #[arg(long, value_name = "NAME")]
    forbid: Vec<String>,
    /// Another value for a number of a KernelBench problem, if its own size is too large: `batch_size=64`.
    #[arg(long = "set", value_name = "NAME=VALUE", value_parser = number)]
    numbers: Vec<(String, i64)>,
    /// Allow compilers and other processes while a candidate loads; the default on a GPU.
    #[arg(long)]
    processes: bool,
    /// Check kernels and do not time them. Python candidates are timed all the same: timed calls show cheats.
    #[arg(long, conflicts_with = "counters")]
    untimed: bool,
    /// Count the launches of kernels that are right and slow with Nsight Compute (`ncu`), and say in their
    /// verdicts what limits them.
    #[arg(long)]
    counters: bool,
    #[arg(long, hide = true)]
    kernel_worker: bool,
    #[arg(long, hide = true)]
    counting_worker: bool,
}

impl Judge {
    pub(crate) fn run(&self, global: &Global) -> Result<Outcome> {
        if self.kernel_worker {
            return work(global);
        }
        if self.counting_worker {
            return counters::work(global, &self.candidates);
        }
        let path = self.verdicts();
        if self.counters && is_stdout(&path) {
            bail!(
                "`--counters` completes verdicts that are there already: name a file with `--output`"
            );
        }
        let global = &output::check_outputs(global, &[("--output", Some(&path))])?;
        let candidates = self.read()?;
        let limits = self.limits(global)?;
        let groups = self.groups(&candidates)?;
        let keys = groups.iter().flat_map(|group| &group.members);
        let keys: BTreeMap<String, String> = keys
            .map(|(candidate, key)| {
                // Under no key at all, no earlier verdict is the same.
                let key = if self.fresh { "" } else { key };
                (candidate.id.clone(), key.to_owned())
            })
            .collect();
        let seed = self.seed.unwrap_or_else(secret);
        let session = Session::new(Setup {
            global,
            limits: &limits,
            jobs: self.jobs(&limits),
            seed,
            file: VerdictFile::open(&path, &keys)?,
            candidates: candidates.len(),
        });
        session.judge(&groups)?;
        let mut ended = session.end();
        if self.counters {
            let mut keep = |judged: &[Judgement]| VerdictFile::amend(&path, judged);
            let inputs = (seed, self.limit);
            let why =
                counters::explain_slow(global, &groups, inputs, &mut ended.judgements, &mut keep)?;
            ended.notes.extend(why);
        }
        output::progress(global, "");
        let mut report = output::report("judge", Body::new(&path, &ended));
        report.findings = findings(&ended.judgements);
        output::print(global, &report, describe)?;
        let any = |word: &str| {
            ended
                .judgements
                .iter()
                .any(|one| one.outcome.word() == word)
        };
        let all = |word: &str| {
            ended
                .judgements
                .iter()
                .all(|one| one.outcome.word() == word)
        };
        Ok(match any("not_run") {
            true => Outcome::CannotHere,
            false => Outcome::fine_if(all("correct")),
        })
    }

    fn verdicts(&self) -> PathBuf {
        if let Some(path) = &self.output {
            return path.clone();
        }
        if is_stdout(&self.candidates) {
            return "-".into();
        }
        let ending = match self.shards {
            (_, 1) => "verdicts.jsonl".to_owned(),
            (part, parts) => format!("verdicts-{part}-of-{parts}.jsonl"),
        };
        self.candidates.with_extension(ending)
    }

    fn read(&self) -> Result<Vec<Candidate>> {
        let path = &self.candidates;
        let all = if path.is_dir() {
            let Some(problems) = &self.case else {
                bail!(
                    "`{}` is a folder of samples: `--case` names the folder of problems",
                    path.display()
                );
            };
            candidates_of_folder(path, problems).map_err(anyhow::Error::msg)?
        } else {
            let mut text = String::new();
            match is_stdout(path) {
                true => std::io::stdin()
                    .lock()
                    .read_to_string(&mut text)
                    .context("cannot read standard input")?,
                false => std::fs::File::open(path)
                    .and_then(|mut file| file.read_to_string(&mut text))
                    .with_context(|| format!("cannot read `{}`", path.display()))?,
            };
            let folder = path.parent().unwrap_or(Path::new("."));
            read_candidates(&path.display().to_string(), &text, folder)
                .map_err(anyhow::Error::msg)?
        };
        if all.is_empty() {
            bail!("`{}` has no candidates", path.display());
        }
        let (part, parts) = self.shards;
        let own = all.into_iter().enumerate();
        let own = own.filter(|(index, _)| *index as u64 % parts == part);
        Ok(own.map(|(_, candidate)| candidate).collect())
    }

    /// Candidates by case, each with what decides its verdict.
    fn groups<'a>(&self, candidates: &'a [Candidate]) -> Result<Vec<Group<'a>>> {
        let mut cases: BTreeMap<&Path, Vec<&Candidate>> = BTreeMap::new();
        for candidate in candidates {
            let case = candidate.case.as_ref().or(self.case.as_ref());
            let Some(case) = case else {
                bail!(
                    "candidate `{}` names no case: add `case`, or give `--case`",
                    candidate.id
                );
            };
            cases.entry(case).or_default().push(candidate);
        }
        let group = |(case, members): (&Path, Vec<&'a Candidate>)| {
            let text = std::fs::read_to_string(case)
                .with_context(|| format!("cannot read `{}`", case.display()))?;
            let member = |candidate: &'a Candidate| (candidate, self.key(candidate, &text));
            Ok(Group {
                case: case.to_owned(),
                members: members.into_iter().map(member).collect(),
            })
        };
        cases.into_iter().map(group).collect()
    }

    /// What decides a verdict beside the machine.
    fn key(&self, candidate: &Candidate, case: &str) -> String {
        let mut hasher = DefaultHasher::new();
        let source = candidate.text().unwrap_or_default();
        (source, case, &candidate.entry, &self.forbid).hash(&mut hasher);
        let launch = candidate.launch.as_ref();
        launch.map(|one| format!("{one:?}")).hash(&mut hasher);
        (self.seed, &self.numbers, self.memory).hash(&mut hasher);
        if self.untimed {
            "untimed".hash(&mut hasher);
        }
        (self.limit.to_bits(), self.load_limit.to_bits()).hash(&mut hasher);
        format!("{:016x}", hasher.finish())
    }

    fn limits(&self, global: &Global) -> Result<Limits> {
        let on_gpu = match global.device {
            DeviceChoice::Cpu => false,
            choice => Device::open(choice)?.cuda().is_some(),
        };
        Ok(Limits {
            load: Duration::try_from_secs_f64(self.load_limit)?,
            call: Duration::try_from_secs_f64(self.limit)?,
            memory: self.memory << 20,
            processes: self.processes || on_gpu,
            forbid: self.forbid.clone(),
            numbers: self.numbers.iter().cloned().collect(),
            device: on_gpu.then(|| "cuda".to_owned()),
            visible: match global.device {
                DeviceChoice::Cuda(index) => Some(index.to_string()),
                _ => None,
            },
            elements: if on_gpu { 1 << 26 } else { 1 << 22 },
        })
    }

    fn jobs(&self, limits: &Limits) -> Jobs {
        /// A context on a GPU takes half a gigabyte there.
        const MOST_CONTEXTS: usize = 12;
        let cores = thread::available_parallelism().map_or(1, usize::from);
        let on_gpu = limits.device.is_some();
        let given = self.jobs.map(usize::from);
        let half = (cores / 2).max(1);
        Jobs {
            programs: given.unwrap_or(if on_gpu { 4 } else { half }),
            kernels: given.unwrap_or(if on_gpu {
                cores.min(MOST_CONTEXTS)
            } else {
                half
            }),
            timed: !self.untimed,
        }
    }
}

/// `name=number`.
fn number(text: &str) -> Result<(String, i64), String> {
    let pair = text.split_once('=');
    pair.and_then(|(name, value)| Some((name.to_owned(), value.parse().ok()?)))
        .ok_or_else(|| "write it `name=number`".to_owned())
}

/// A seed that nobody can know before.
fn secret() -> u64 {
    RandomState::new().build_hasher().finish()
}
