//! The verb: what is tuned, where, and what is written.

use std::fs;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use clap::Args;
use warpsmith_case::{BegunReference, Case, Scope, Source};
use warpsmith_device::{Device, DeviceChoice, Nvrtc};

use super::journal::Journal;
use super::one_size::{Found, OneSize, is_restart};
use super::winners;
use crate::kernel::bench::Mode;
use crate::kernel::size_argument;
use crate::kernel::verify::case::{explain, without_gpu};
use warpsmith_console::exit::Outcome;
use warpsmith_console::global::Global;
use warpsmith_console::inputs;
use warpsmith_console::interruption::Interruption;
use warpsmith_console::numbers;
use warpsmith_console::output;

/// Find the tunables that make your own kernel fastest.
///
/// Small spaces are measured whole; of large ones a quarter (`--share`), chosen by a model and around the
/// fastest points. Every candidate is compared with the reference at two small sizes before it is timed, one
/// that leads also at the size itself, and the winner at every size that `verify` checks. The fastest race in
/// turns, and the winner's time comes from samples taken after that. What was tried lies in
/// `CASE.tune.jsonl` beside the case: a tuning that was stopped with Ctrl-C goes on with the same command,
/// and a candidate that took its process with it is not tried twice.
#[derive(Args)]
#[command(
    after_long_help = "Examples:\n  warpsmith tune softmax.toml\n  warpsmith tune softmax.toml --mode cold --share 0.5\n  \
                  warpsmith tune softmax.toml --size rows=4096,cols=4096 --output softmax.tuned.json"
)]
pub(crate) struct Tune {
    /// The case, with `[tunables]`.
    case: PathBuf,
    /// Only these sizes, `rows=64,cols=1000`; default: all that the case lists.
    #[arg(long = "size", value_name = "NAME=N,…", value_parser = size_argument::parse)]
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
        if !matches!(case.source, Source::Cuda(_) | Source::Callable(_)) {
            bail!(
                "{}: tunables are macros and compiler options of a `.cu` file, or arguments of a Python function",
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
        let (choice, _) = global.device.resolve()?;
        if matches!((&case.source, choice), (Source::Cuda(_), DeviceChoice::Cpu)) {
            return without_gpu(global, &case);
        }
        let begin = |size| BegunReference::begin(&case, size, self.seed).map_err(explain);
        let mut first_reference = sizes.first().map(begin).transpose()?;
        let device = Device::open(choice)?;
        let compiler = match (&case.source, device.cuda()) {
            (Source::Cuda(_), Some(gpu)) => Some((gpu, Arc::new(Nvrtc::find()?))),
            _ => None,
        };
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
        let nvrtc = compiler.as_ref().map(|(_, nvrtc)| nvrtc.as_ref());
        let mut journal = Journal::open(&path, &self.key(&case, &device, nvrtc)?)?;
        let interruption = Interruption::listen()?;
        device.warm_up()?;
        let (mut done, mut interrupted) = (Vec::new(), None);
        for size in &sizes {
            let one = OneSize {
                global,
                case: &case,
                size,
                device: &device,
                compiler: compiler.as_ref(),
                interruption: &interruption,
                mode: self.mode.into(),
                share: self.share,
                seed: self.seed,
                limit: Duration::try_from_secs_f64(self.limit)?,
            };
            let reference = match first_reference.take() {
                Some(begun) => begun,
                None => begin(size)?,
            };
            match one.tune(reference, &mut journal)? {
                Found::Winner(winner) => done.push(*winner),
                Found::Interrupted(words) => {
                    interrupted = Some(words);
                    break;
                }
            }
        }
        if !done.is_empty() {
            winners::write(&tuned, device.name(), &done)?;
            output::note(global, &format!("wrote {}", tuned.display()));
        }
        let report = output::report("tune", done);
        output::print(global, &report, |done| winners::describe(done, &case))?;
        Ok(match interrupted {
            None => Outcome::Fine,
            Some(words) => {
                output::note(global, &format!("interrupted: {words}"));
                output::note(global, "the same command goes on from here");
                Outcome::Undecided
            }
        })
    }

    /// What decides a result; where it differs, tuning starts again.
    fn key(&self, case: &Case, device: &Device, nvrtc: Option<&Nvrtc>) -> Result<String> {
        use std::hash::{DefaultHasher, Hash, Hasher};
        let mut hasher = DefaultHasher::new();
        fs::read(&case.file)?.hash(&mut hasher);
        fs::read(case.source.path())
            .with_context(|| format!("cannot read `{}`", case.source.path().display()))?
            .hash(&mut hasher);
        let driver = device.cuda().map(|gpu| &gpu.facts().driver_version);
        let compiler = nvrtc.map(Nvrtc::version);
        (device.name(), driver, compiler).hash(&mut hasher);
        format!(
            "{:?}",
            warpsmith_measure::run_sampler::RunMode::from(self.mode)
        )
        .hash(&mut hasher);
        Ok(format!("{:016x}", hasher.finish()))
    }
}
