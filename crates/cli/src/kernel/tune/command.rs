//! The verb: for every size a search, each candidate verified before it is timed, a race at the end.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::time::Instant;

use anyhow::{Context, Result, bail};
use clap::Args;
use rayon::prelude::*;
use serde::{Deserialize, Serialize};
use warpsmith_case::{
    Case, Fault, Point, Program, Scope, Search, Settings, Source, Space, TunableValue, Verifier,
    compile_cuda, race, size_words,
};
use warpsmith_core::Seconds;
use warpsmith_device::{CudaDevice, Device, Nvrtc, Target};
use warpsmith_formats::write_output;
use warpsmith_measure::run_sampler::{RunSampler, RunTarget};
use warpsmith_workload::WorkloadError;

use super::journal::{Journal, Tried};
use crate::kernel::bench::Mode;
use crate::kernel::verify::case::{explain, without_gpu};
use warpsmith_console::exit::Outcome;
use warpsmith_console::global::Global;
use warpsmith_console::inputs;
use warpsmith_console::numbers;
use warpsmith_console::output;
use warpsmith_console::table::Table;

/// Samples of a candidate before anything is concluded.
const FIRST: usize = 5;
/// Samples of each finalist at most.
const MOST: usize = 320;
/// Candidates that race at the end.
const FINALISTS: usize = 6;

/// Find the tunables that make your own kernel fastest.
///
/// Small spaces are measured whole; of large ones a quarter (`--share`), chosen by a model and around the
/// fastest points. Every candidate is compared with the reference before it is timed, at the size and at a
/// smaller one with a tail. The fastest race in turns, and the winner's time comes from samples taken
/// after that. What was tried lies in `CASE.tune.jsonl` beside the case, so that a tuning that was
/// stopped, or a candidate that took its process with it, costs nothing twice.
#[derive(Args)]
#[command(
    after_long_help = "Examples:\n  warpsmith tune softmax.toml\n  warpsmith tune softmax.toml --mode cold --share 0.5\n  \
                  warpsmith tune softmax.toml --size rows=4096,cols=4096 --output softmax.tuned.json"
)]
pub(crate) struct Tune {
    /// The case, with `[tunables]`.
    case: PathBuf,
    /// Only these sizes, `rows=64,cols=1000`; default: all that the case lists.
    #[arg(long = "size", value_name = "NAME=N,…", value_parser = parse_size)]
    sizes: Vec<Scope>,
    /// What is timed.
    #[arg(long, value_enum, default_value_t = Mode::Cold)]
    mode: Mode,
    /// Share of a large space that is measured.
    #[arg(long, value_name = "0..1", default_value_t = 0.25)]
    share: f64,
    /// Decides which points come first.
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    /// Give up a launch on a GPU that takes longer than this.
    #[arg(long, default_value = "20s", value_name = "TIME", value_parser = numbers::seconds)]
    limit: f64,
    /// Forget what was tried before.
    #[arg(long)]
    fresh: bool,
    /// Where to write the winners; default: the case with the ending `.tuned.json`.
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
}

fn parse_size(text: &str) -> Result<Scope, String> {
    text.split(',')
        .map(|part| {
            let pair = part.split_once('=');
            let pair = pair.and_then(|(name, value)| Some((name.to_owned(), value.parse().ok()?)));
            pair.ok_or_else(|| format!("`{part}` is not `name=number`"))
        })
        .collect()
}

/// The file that a program loads: winners by GPU and size.
#[derive(Default, Serialize, Deserialize)]
struct Tuned {
    /// By the GPU's name.
    gpus: BTreeMap<String, Vec<Winner>>,
}

#[derive(Clone, Serialize, Deserialize)]
struct Winner {
    size: Scope,
    /// Values of the tunables.
    choice: BTreeMap<String, serde_json::Value>,
    /// Median of samples taken after the choice was made.
    seconds: f64,
    /// The first values of the tunables, for comparison.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    first_choice_seconds: Option<f64>,
    /// The next one, and how much longer it takes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    second: Option<(BTreeMap<String, serde_json::Value>, f64)>,
    /// Points that were measured, of how many; and how many were refused.
    measured: usize,
    points: usize,
    refused: usize,
    /// Seconds that the search took.
    took: f64,
    /// How much of the spread each tunable explains by itself.
    importance: Vec<(String, f64)>,
}

impl Tune {
    pub(crate) fn run(&self, global: &Global) -> Result<Outcome> {
        inputs::check_case(&self.case)?;
        let case = Case::open(&self.case)?;
        let tuned = self
            .output
            .clone()
            .unwrap_or_else(|| self.case.with_extension("tuned.json"));
        let global = &output::check_outputs(global, &[("--output", Some(&tuned))])?;
        if case.tunables.is_empty() {
            bail!(
                "{}: there is nothing to tune: `[tunables]` is missing",
                self.case.display()
            );
        }
        if !matches!(case.source, Source::Cuda(_)) {
            bail!(
                "{}: tunables are macros and compiler options of a `.cu` file",
                self.case.display()
            );
        }
        if !(self.share > 0.0 && self.share <= 1.0) {
            bail!("`--share` is above 0 and at most 1");
        }
        let sizes = match self.sizes.is_empty() {
            true => case.sizes.listed.clone(),
            false => self.sizes.clone(),
        };
        for size in &sizes {
            if !size.keys().eq(case.sizes.listed[0].keys()) {
                bail!(
                    "`--size` names {:?}; the case has {}",
                    size.keys(),
                    case.sizes.names.join(", ")
                );
            }
        }
        let device = Device::open(global.device)?;
        let Some(gpu) = device.cuda() else {
            return without_gpu(global, &case);
        };
        let nvrtc = Nvrtc::find()?;
        let path = self.case.with_extension("tune.jsonl");
        if self.fresh && !is_restart() {
            match fs::remove_file(&path) {
                Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                    return Err(error)
                        .with_context(|| format!("cannot remove `{}`", path.display()));
                }
                _ => {}
            }
        }
        let mut journal = Journal::open(&path, &self.key(&case, gpu, &nvrtc)?)?;
        device.warm_up()?;
        let mut winners = Vec::new();
        for size in &sizes {
            winners.push(self.one_size(global, &case, size, &device, gpu, &nvrtc, &mut journal)?);
        }
        output::progress(global, "");
        self.write(&tuned, &gpu.facts().name, &winners)?;
        output::note(global, &format!("wrote {}", tuned.display()));
        let report = output::report("tune", winners);
        output::print(global, &report, |winners| describe(winners, &case))?;
        Ok(Outcome::Fine)
    }

    /// What decides a result; where it differs, tuning starts again.
    fn key(&self, case: &Case, gpu: &CudaDevice, nvrtc: &Nvrtc) -> Result<String> {
        use std::hash::{DefaultHasher, Hash, Hasher};
        let mut hasher = DefaultHasher::new();
        fs::read(&case.file)?.hash(&mut hasher);
        fs::read(case.source.path())
            .with_context(|| format!("cannot read `{}`", case.source.path().display()))?
            .hash(&mut hasher);
        let facts = gpu.facts();
        (&facts.name, &facts.driver_version, nvrtc.version()).hash(&mut hasher);
        format!(
            "{:?}",
            warpsmith_measure::run_sampler::RunMode::from(self.mode)
        )
        .hash(&mut hasher);
        Ok(format!("{:016x}", hasher.finish()))
    }

    #[allow(clippy::too_many_arguments)] // One size with everything it needs; a struct would be read once.
    fn one_size(
        &self,
        global: &Global,
        case: &Case,
        size: &Scope,
        device: &Device,
        gpu: &CudaDevice,
        nvrtc: &Nvrtc,
        journal: &mut Journal,
    ) -> Result<Winner> {
        let begun = Instant::now();
        let words = size_words(size, &case.sizes.names);
        let space = Space::of(case, size)?;
        if space.is_empty() {
            bail!(
                "{}: no choice of tunables satisfies the constraints at {words}",
                case.file.display()
            );
        }
        let mut search = Search::new(&space, self.share, self.seed);
        let mut sampler = RunSampler::new(device, self.mode.into())?;
        sampler.set_limit(std::time::Duration::try_from_secs_f64(self.limit)?);
        let (mut measured, mut refused) = (Vec::new(), 0);
        loop {
            let batch = search.propose(&space);
            if batch.is_empty() {
                break;
            }
            let open: Vec<usize> = batch
                .iter()
                .copied()
                .filter(|at| {
                    journal
                        .get(&words, &point_words(space.point(*at)))
                        .is_none()
                })
                .collect();
            // Compiling is most of the work and uses every core; what it leaves in the cache, loading finds.
            let target = Target::Ptx(gpu.facts().sm());
            let failed: Vec<(usize, String)> = open
                .par_iter()
                .filter_map(|at| {
                    let compiled = compile_cuda(case, space.point(*at), nvrtc, target, &[]);
                    compiled.err().map(|fault| (*at, fault.to_string()))
                })
                .collect();
            for at in batch {
                let point = space.point(at);
                let name = point_words(point);
                output::progress(
                    global,
                    &format!(
                        "{words}: {} of {}, {name}",
                        measured.len() + refused,
                        search.budget()
                    ),
                );
                let known = match journal.get(&words, &name) {
                    Some(Tried::Begun) => {
                        Some(Tried::Refused("it took its process with it".into()))
                    }
                    other => other.cloned(),
                };
                let tried = match known {
                    Some(tried) => tried,
                    None => {
                        let compile_error = failed.iter().find(|(one, _)| *one == at);
                        let tried = match compile_error {
                            Some((_, error)) => Tried::Refused(error.clone()),
                            None => {
                                journal.note(&words, &name, Tried::Begun)?;
                                self.try_point(global, case, size, point, device, &mut sampler)?
                            }
                        };
                        journal.note(&words, &name, tried.clone())?;
                        tried
                    }
                };
                match tried {
                    Tried::Measured(samples) => {
                        let median = median(&samples);
                        search.tell(at, Some(median));
                        measured.push((at, median));
                    }
                    Tried::Refused(reason) => {
                        if global.verbose {
                            output::note(global, &format!("{name}: {reason}"));
                        }
                        search.tell(at, None);
                        refused += 1;
                    }
                    Tried::Begun => {}
                }
            }
        }
        if measured.is_empty() {
            bail!(
                "{}: none of {refused} candidates at {words} is right; `-v` says why",
                case.file.display()
            );
        }
        measured.sort_by(|a, b| a.1.total_cmp(&b.1));
        let final_round = self.final_round(case, size, &space, &measured, device, &mut sampler)?;
        let [(winner, seconds), rest @ ..] = &final_round[..] else {
            bail!("the race at {words} has no winner");
        };
        let first = case.first_choice();
        let first_time = measured.iter().find(|(at, _)| *space.point(*at) == first);
        Ok(Winner {
            size: size.clone(),
            choice: as_json(space.point(*winner)),
            seconds: *seconds,
            first_choice_seconds: first_time.map(|(_, seconds)| *seconds),
            second: rest
                .first()
                .map(|(at, other)| (as_json(space.point(*at)), other / seconds - 1.0)),
            measured: measured.len(),
            points: space.len(),
            refused,
            took: begun.elapsed().as_secs_f64(),
            importance: space.importance(&measured),
        })
    }

    /// Verifies a point, then takes its first samples. A fault of the kernel ends the context: the
    /// process replaces itself and goes on without the point.
    fn try_point(
        &self,
        global: &Global,
        case: &Case,
        size: &Scope,
        point: &Point,
        device: &Device,
        sampler: &mut RunSampler,
    ) -> Result<Tried> {
        let settings = Settings {
            limit: std::time::Duration::try_from_secs_f64(self.limit)?,
            ..Settings::default()
        };
        let refused = |fault: Fault| -> Result<Tried> {
            if fault.ends_context() {
                restart(global)?;
            }
            Ok(Tried::Refused(fault.to_string()))
        };
        if case.reference.is_some() {
            let mut verifier = match Verifier::prepare(case, point, device, settings) {
                Ok(verifier) => verifier,
                Err(fault @ (Fault::Worker(_) | Fault::Case(_))) => return Err(explain(fault)),
                Err(fault) => return refused(fault),
            };
            let sizes = case.verification_sizes(point)?;
            // The largest awkward size that is cheap, and the size itself where a reference can say.
            let awkward = sizes
                .sizes
                .iter()
                .rev()
                .find(|one| case.bytes(one, point) < 1 << 20);
            let itself = sizes.sizes.iter().find(|one| *one == size);
            for one in awkward.into_iter().chain(itself) {
                match verifier.check(one, self.seed, 0, false) {
                    Ok(check) if check.verdict.is_right() => {}
                    Ok(check) => {
                        if matches!(check.verdict, warpsmith_case::Verdict::Fault { .. }) {
                            // Whether the context lives is not known here: a new one is cheap.
                            restart(global)?;
                        }
                        return Ok(Tried::Refused(check.verdict.words()));
                    }
                    Err(fault) => return Err(explain(fault)),
                }
            }
        }
        let mut target = match self.target(case, size, point, device, sampler) {
            Ok(target) => target,
            Err(fault) => return refused(fault),
        };
        let mut samples = Vec::new();
        for _ in 0..FIRST {
            samples.push(sampler.sample(&mut target)?.seconds);
        }
        Ok(Tried::Measured(samples))
    }

    fn target(
        &self,
        case: &Case,
        size: &Scope,
        point: &Point,
        device: &Device,
        sampler: &RunSampler,
    ) -> Result<RunTarget, Fault> {
        let program = Program::prepare(case, point, device, Settings::default())?;
        let instance = case.instance(size, point)?;
        let contents = instance
            .contents(self.seed, 0, false)
            .map_err(Fault::Unsupported)?;
        let prepared = program.prepared(&instance, &contents)?;
        sampler.target(prepared).map_err(|error| match error {
            WorkloadError::Device(error) => Fault::Device(error),
            other => Fault::Unsupported(other.to_string()),
        })
    }

    /// The fastest in turns; the order of the result is by fresh samples taken after the race.
    fn final_round(
        &self,
        case: &Case,
        size: &Scope,
        space: &Space,
        measured: &[(usize, f64)],
        device: &Device,
        sampler: &mut RunSampler,
    ) -> Result<Vec<(usize, f64)>> {
        let finalists: Vec<usize> = measured.iter().take(FINALISTS).map(|(at, _)| *at).collect();
        let mut targets = Vec::new();
        for at in &finalists {
            targets.push(
                self.target(case, size, space.point(*at), device, sampler)
                    .map_err(explain)?,
            );
        }
        let lanes = race(finalists.len(), FIRST, MOST, 0.005, self.seed, &mut |at| {
            sampler
                .sample(&mut targets[at])
                .map(|sample| sample.seconds)
        })?;
        let mut order: Vec<usize> = (0..finalists.len()).collect();
        order.sort_by(|a, b| lanes[*a].median().total_cmp(&lanes[*b].median()));
        let mut result = Vec::new();
        for at in order.into_iter().take(2) {
            // The smallest of many noisy medians is biased: fresh samples are not.
            let fresh = (0..4 * FIRST).map(|_| {
                sampler
                    .sample(&mut targets[at])
                    .map(|sample| sample.seconds)
            });
            let fresh = fresh.collect::<Result<Vec<f64>, _>>()?;
            result.push((finalists[at], median(&fresh)));
        }
        Ok(result)
    }

    /// Puts the winners of this GPU into the file, and leaves other GPUs and sizes as they are.
    fn write(&self, path: &Path, gpu: &str, winners: &[Winner]) -> Result<()> {
        let mut tuned: Tuned = match fs::read(path) {
            Ok(bytes) => serde_json::from_slice(&bytes).with_context(|| {
                format!(
                    "`{}` is no file of winners; name another with `--output`",
                    path.display()
                )
            })?,
            Err(_) => Tuned::default(),
        };
        let rows = tuned.gpus.entry(gpu.to_owned()).or_default();
        for winner in winners {
            rows.retain(|row| row.size != winner.size);
            rows.push(winner.clone());
        }
        Ok(write_output(path, &serde_json::to_vec_pretty(&tuned)?)?)
    }
}

/// Set in a process that goes on after a candidate that took its context with it.
const RESTARTED: &str = "WARPSMITH_TUNE_RESTARTED";

fn is_restart() -> bool {
    std::env::var_os(RESTARTED).is_some()
}

/// Replaces this process by the same command line in a new context; the journal says what was begun.
fn restart(global: &Global) -> Result<()> {
    let mut command = global.host.command()?;
    command.args(&global.words).env(RESTARTED, "1");
    // Returns only where it fails.
    Err(command.exec()).context("cannot restart after a candidate that faulted")
}

fn point_words(point: &Point) -> String {
    let words = point.iter().map(|(name, value)| format!("{name}={value}"));
    words.collect::<Vec<_>>().join(" ")
}

fn as_json(point: &Point) -> BTreeMap<String, serde_json::Value> {
    let pairs = point.iter().map(|(name, value)| {
        let value = match value {
            TunableValue::Whole(value) => (*value).into(),
            TunableValue::Word(word) => word.clone().into(),
        };
        (name.clone(), value)
    });
    pairs.collect()
}

fn median(samples: &[f64]) -> f64 {
    warpsmith_case::Lane {
        seconds: samples.to_vec(),
        out: false,
    }
    .median()
}

fn describe(winners: &[Winner], case: &Case) -> String {
    let mut table = Table::new(&[
        "size",
        "best",
        ">time",
        ">first values",
        ">next",
        ">measured",
        ">refused",
        ">took",
    ]);
    for winner in winners {
        let choice: Vec<String> = winner
            .choice
            .iter()
            .map(|(name, value)| format!("{name}={value}"))
            .collect();
        table.row([
            size_words(&winner.size, &case.sizes.names),
            choice.join(" "),
            Seconds(winner.seconds).to_string(),
            winner.first_choice_seconds.map_or("-".into(), |first| {
                format!("{:.2} ×", first / winner.seconds)
            }),
            winner.second.as_ref().map_or("-".into(), |(_, margin)| {
                format!("{:+.1} %", 100.0 * margin)
            }),
            format!("{} of {}", winner.measured, winner.points),
            winner.refused.to_string(),
            format!("{:.1} s", winner.took),
        ]);
    }
    let mut text = table.to_string();
    for winner in winners {
        let size = size_words(&winner.size, &case.sizes.names);
        text.push_str(&format!(
            "\nwhat mattered{}{size}\n",
            if size.is_empty() { "" } else { " at " }
        ));
        for (name, share) in &winner.importance {
            let bar = "#".repeat((share * 40.0).round() as usize);
            text.push_str(&format!("  {name:<16} {:>5.1} %  {bar}\n", 100.0 * share));
        }
    }
    text
}
