//! Candidates that are kernels, CUDA or Warp-style: device code alone, which needs no cage but a process
//! whose loss costs nothing.
//!
//! Inputs and answers are made once for all candidates of a case, before anybody needs the device: other
//! processes judge on it meanwhile. A candidate's outputs are poisoned before each run, so that what an
//! earlier one left on the device helps nobody. Checks of several processes share the device, because time
//! does not count there; a clock has it alone.

use std::time::{Duration, Instant};

use tempfile::TempDir;
use warpsmith_device::{Device, Nvrtc, Target};
use warpsmith_measure::comparison::evaluation::evaluate;
use warpsmith_measure::kernel_file::Direction;
use warpsmith_measure::run_sampler::{RunMode, RunSampler, RunTarget};
use warpsmith_workload::random::Random;
use warpsmith_workload::{Output, Prepared, WorkloadError};

use super::candidate::{Candidate, CandidateLaunch, Language};
use super::evidence::IMPRECISE;
use super::judgement::{Cheat, Judgement, Outcome, Speed};
use crate::description::{Case, ReferenceKind, Source, TunableValue};
use crate::expression::Scope;
use crate::instance::{Contents, Instance};
use crate::program::{Fault, KernelOf, Program, Settings, SharedArrays, compile_cuda};
use crate::verify::{Expectation, Verdict, Verifier};

/// Sizes that are checked beside the timed one.
const SIZES: usize = 6;
/// Elements of all arrays of such a check.
const SMALL: i64 = 1 << 18;
/// Elements of all arrays of a timed launch, where a listed size is that small.
const TIMED: i64 = 1 << 22;
/// Fresh contents among which timed launches change.
const CONTENTS: usize = 3;
/// Pairs of samples.
const ROUNDS: usize = 15;

/// Judges the kernels of one case, one after the other, in a process that may be lost.
pub struct KernelBench<'a> {
    pub(super) case: &'a Case,
    pub(super) device: &'a Device,
    pub(super) settings: Settings,
    pub(super) choice: Vec<(String, TunableValue)>,
    seed: u64,
    /// Whether what is right is timed.
    is_timed: bool,
    checks: Vec<Input>,
    pub(super) timed: Vec<Input>,
    /// What timed launches get: making it takes longer than judging a kernel on it.
    timed_contents: Vec<(Instance, Contents)>,
    /// With the program of the candidate that was loaded last.
    verifier: Option<Verifier<'a>>,
    /// The case's own kernel, where it could be compiled.
    rival: Option<Program>,
    /// That kernel on the timed inputs.
    rival_prepared: Vec<Box<dyn Prepared>>,
    rival_targets: Vec<RunTarget>,
}

/// What times kernels, of one case after the other: its own cost is measured once.
#[derive(Default)]
pub struct KernelClock(Option<RunSampler>);

impl KernelClock {
    fn sampler(&mut self, device: &Device, limit: Duration) -> Result<&mut RunSampler, Fault> {
        let mut sampler = match self.0.take() {
            Some(sampler) => sampler,
            None => RunSampler::new(device, RunMode::Cold)?,
        };
        sampler.set_limit(limit);
        // Each side has run in its checks, and the first pair is left out.
        sampler.set_settle(Duration::ZERO);
        Ok(self.0.insert(sampler))
    }
}

/// Decides what a launch gets.
#[derive(Clone)]
pub(super) struct Input {
    pub(super) size: Scope,
    pub(super) seed: u64,
    pub(super) round: usize,
}

/// A case whose kernel is a candidate's; its file lies in the folder.
pub(super) struct OwnCase {
    pub(super) case: Case,
    pub(super) language: Language,
    folder: TempDir,
}

impl OwnCase {
    pub(super) fn new(case: &Case, candidate: &Candidate) -> Result<Self, String> {
        let text = candidate.text()?;
        let language = candidate.language(&text);
        let folder = tempfile::tempdir().map_err(|error| error.to_string())?;
        let path = folder.path().join(match language {
            Language::Cuda => "candidate.cu",
            _ => "candidate.py",
        });
        // Our own temporary folder: no user's file.
        std::fs::write(&path, &text)
            .map_err(|error| format!("cannot write a candidate's file: {error}"))?;
        let mut case = case.clone();
        case.source = match language {
            Language::Cuda => Source::Cuda(path),
            _ => Source::Warp(path),
        };
        case.kernel = candidate.entry.clone().or(case.kernel);
        Ok(Self {
            case,
            language,
            folder,
        })
    }
}

/// A candidate that is compiled and loaded; the bench has its program.
pub struct LoadedKernel {
    judgement: Judgement,
    own: Case,
    language: Language,
    /// Its kernel on the timed inputs, once it is right.
    prepared: Vec<Box<dyn Prepared>>,
    targets: Vec<RunTarget>,
    /// Seconds of the case's own kernel and of this one.
    pairs: Vec<(f64, f64)>,
    folder: TempDir,
    begun: Instant,
}

impl<'a> KernelBench<'a> {
    /// A bench for a case; `seed` decides its inputs.
    pub fn new(
        case: &'a Case,
        device: &'a Device,
        seed: u64,
        settings: Settings,
    ) -> Result<Self, Fault> {
        if case.reference.is_none() {
            return Err(Fault::Unsupported(format!(
                "`{}` has no reference: nothing can be judged by it",
                case.file.display()
            )));
        }
        if let Some(ReferenceKind::Workload(_)) = case.reference.as_ref().map(|one| &one.kind) {
            return Err(Fault::Unsupported(format!(
                "`{}`: a built-in workload answers to its own inputs alone, and candidates get others",
                case.file.display()
            )));
        }
        let choice = case.first_choice();
        let mut random = Random::seeded(seed);
        let elements = |size: &Scope| case.elements(size, &choice).unwrap_or(i64::MAX);
        let listed = case.listed_sizes(&choice)?;
        let fitting = listed.iter().filter(|size| elements(size) <= TIMED);
        let size = fitting
            .max_by_key(|size| elements(size))
            .or_else(|| listed.iter().min_by_key(|size| elements(size)))
            .cloned()
            .ok_or_else(|| {
                Fault::Unsupported(format!("`{}` lists no size", case.file.display()))
            })?;
        let timed: Vec<Input> = (0..CONTENTS)
            .map(|_| Input {
                size: size.clone(),
                seed: random.bits(),
                round: 0,
            })
            .collect();
        let mut sizes = case.verification_sizes(&choice)?.sizes;
        sizes.retain(|size| elements(size) <= SMALL);
        random.shuffle(&mut sizes);
        sizes.truncate(SIZES);
        let mut checks: Vec<Input> = sizes
            .into_iter()
            .enumerate()
            .map(|(round, size)| Input {
                size,
                seed: random.bits(),
                round,
            })
            .collect();
        // Twice at one size: a result kept from the first time is wrong the second time.
        checks.extend(timed.iter().take(2).cloned());
        Ok(Self {
            case,
            device,
            settings,
            choice,
            seed,
            is_timed: device.cuda().is_some() && !matches!(case.source, Source::Callable(_)),
            checks,
            timed,
            timed_contents: Vec::new(),
            verifier: None,
            rival: None,
            rival_prepared: Vec::new(),
            rival_targets: Vec::new(),
        })
    }

    /// The same bench, which does not time what is right.
    pub fn untimed(self) -> Self {
        Self {
            is_timed: false,
            ..self
        }
    }

    /// Compiles and loads a candidate, or says what is wrong with it; the first one waits until the reference
    /// has answered.
    pub fn load(
        &mut self,
        candidate: &Candidate,
    ) -> Result<Result<LoadedKernel, Judgement>, String> {
        let begun = Instant::now();
        let OwnCase {
            case: own,
            language,
            folder,
        } = OwnCase::new(self.case, candidate)?;
        let mut judgement = Judgement::not_run(&candidate.id, self.seed, String::new());
        judgement.protection.insert(
            "code".into(),
            "device code alone, in a process that may be lost".into(),
        );
        let launch = candidate.launch.as_ref().map(CandidateLaunch::read);
        let launch = match launch.transpose() {
            Ok(launch) => launch,
            Err(detail) => {
                let outcome = Outcome::CompileFailure { line: None, detail };
                return Ok(Err(finished(judgement, outcome, &folder, begun)));
            }
        };
        let kernel = KernelOf {
            launch: launch.as_ref(),
            ..KernelOf::case(&own)
        };
        let program = Program::of(&kernel, &self.choice, self.device, self.settings);
        match program.and_then(|program| self.make_ready(program)) {
            Ok(()) => Ok(Ok(LoadedKernel {
                judgement: Judgement {
                    load_seconds: Some(begun.elapsed().as_secs_f64()),
                    ..judgement
                },
                own,
                language,
                prepared: Vec::new(),
                targets: Vec::new(),
                pairs: Vec::new(),
                folder,
                begun,
            })),
            Err(fault) => {
                let outcome = failed(fault, &own, language)?;
                Ok(Err(finished(judgement, outcome, &folder, begun)))
            }
        }
    }

    /// Checks `program` from now on, with everything that needs no device at hand.
    fn make_ready(&mut self, program: Program) -> Result<(), Fault> {
        if let Some(verifier) = &mut self.verifier {
            return verifier.set_program(&self.choice, program, self.device, self.settings);
        }
        let expectation =
            Expectation::prepare(self.case, &self.choice, self.device, self.settings)?;
        let mut verifier = Verifier::for_several(self.case, &self.choice, program, expectation);
        let timed = self.timed.iter().filter(|_| self.is_timed);
        for input in self.checks.iter().chain(timed) {
            verifier.answer_ahead(&input.size, input.seed, input.round)?;
        }
        self.verifier = Some(verifier);
        if self.is_timed {
            self.fill_timed_contents()?;
            // A rival that does not compile is an error where it is needed.
            self.rival = Program::prepare(self.case, &self.choice, self.device, self.settings).ok();
        }
        Ok(())
    }

    fn fill_timed_contents(&mut self) -> Result<(), Fault> {
        for input in &self.timed[self.timed_contents.len()..] {
            let instance = self.case.instance(&input.size, &self.choice)?;
            let contents = instance
                .contents(input.seed, input.round, false)
                .map_err(Fault::Unsupported)?;
            self.timed_contents.push((instance, contents));
        }
        Ok(())
    }

    /// Checks a candidate; what is right and can be timed is still to be. An error is the judge's own: its
    /// reference fails, say.
    pub fn check(&mut self, mut loaded: LoadedKernel) -> Result<Stage, String> {
        let checked = match self.examine(&mut loaded.judgement.calls) {
            Ok(Outcome::Correct { .. }) if self.is_timed => {
                self.prepare_to_time(&mut loaded).map(|()| None)
            }
            other => other.map(Some),
        };
        match checked {
            Ok(None) => Ok(Stage::Open(Box::new(loaded))),
            Ok(Some(outcome)) => Ok(Stage::Judged(Box::new(loaded.finished(outcome)))),
            Err(fault) => loaded.failed(fault).map(Stage::Judged),
        }
    }

    /// Times a candidate in turns with the case's own kernel: the device must be nobody else's meanwhile.
    pub fn time(
        &mut self,
        mut loaded: LoadedKernel,
        clock: &mut KernelClock,
    ) -> Result<Stage, String> {
        match self.sample_pairs(&mut loaded, clock) {
            Ok(()) => Ok(Stage::Open(Box::new(loaded))),
            Err(fault) => loaded.failed(fault).map(Stage::Judged),
        }
    }

    /// What a candidate that was timed is worth.
    pub fn conclude(&mut self, mut loaded: LoadedKernel) -> Result<Judgement, String> {
        // A Warp-style kernel has nowhere to count its launches.
        let spoiled = match loaded.language {
            Language::Cuda => self.still_computes(&mut loaded.targets, &mut loaded.judgement.calls),
            _ => Ok(None),
        };
        match spoiled {
            Ok(Some(outcome)) => Ok(loaded.finished(outcome)),
            Ok(None) => {
                let speed = speed(&loaded.pairs[1..]);
                Ok(loaded.finished(Outcome::Correct {
                    speed: Some(speed),
                    error_over_plain: None,
                }))
            }
            Err(fault) => loaded.failed(fault).map(|judgement| *judgement),
        }
    }

    fn examine(&mut self, calls: &mut usize) -> Result<Outcome, Fault> {
        let Some(mut verifier) = self.verifier.take() else {
            return Err(Fault::Unsupported("no candidate was loaded".into()));
        };
        let mut outcome = Outcome::Correct {
            speed: None,
            error_over_plain: None,
        };
        for input in &self.checks {
            let check = verifier.check(&input.size, input.seed, input.round, false)?;
            *calls += 1;
            match self.concluded(&check.verdict) {
                Some(Outcome::Wrong { detail }) => {
                    let right = match *calls - 1 {
                        0 => String::new(),
                        right => format!("after {right} right checks, "),
                    };
                    let detail = format!("{right}{}: {detail}", check.size);
                    outcome = Outcome::Wrong { detail };
                }
                Some(other) => outcome = other,
                None => continue,
            }
            break;
        }
        self.verifier = Some(verifier);
        Ok(outcome)
    }

    /// What a check says against a candidate.
    fn concluded(&self, verdict: &Verdict) -> Option<Outcome> {
        Some(match verdict {
            Verdict::Right { outputs, .. } => {
                let large = outputs.iter().filter(|output| output.compared >= 64);
                let ratios = large.filter_map(|output| output.error_over_plain);
                let ratio = ratios.fold(0.0, f64::max);
                if ratio <= IMPRECISE || self.case.tolerance.is_none() {
                    return None;
                }
                let detail = format!(
                    "an error {ratio:.0} times that of the same formula in its own type: narrower arithmetic inside"
                );
                Outcome::cheating(Cheat::Narrow, detail)
            }
            Verdict::InputChanged { .. } => Outcome::cheating(Cheat::InputChanged, verdict.words()),
            Verdict::Fault {
                never_ended: true,
                reason,
            } => Outcome::TimedOut {
                detail: reason.clone(),
            },
            Verdict::Fault { reason, .. } => Outcome::Crashed {
                line: line_of(reason),
                detail: reason.clone(),
            },
            other => Outcome::Wrong {
                detail: other.words(),
            },
        })
    }

    /// Lays the timed inputs out on the device, for both sides.
    fn prepare_to_time(&mut self, loaded: &mut LoadedKernel) -> Result<(), Fault> {
        self.fill_timed_contents()?;
        if self.rival_targets.is_empty() && self.rival_prepared.is_empty() {
            self.rival_prepared = self.prepared(self.case, self.rival.as_ref())?;
        }
        let program = self.verifier.as_ref().map(Verifier::program);
        loaded.prepared = self.prepared(&loaded.own, program)?;
        Ok(())
    }

    /// A case's kernel, or the program that was loaded already, on the timed inputs.
    fn prepared(
        &self,
        case: &Case,
        program: Option<&Program>,
    ) -> Result<Vec<Box<dyn Prepared>>, Fault> {
        let prepared =
            |(instance, contents): &(Instance, Contents)| match (program, self.device.cuda()) {
                (Some(program), Some(gpu)) if program.shares_arrays() => {
                    // Arrays of its own: a candidate that writes its input spoils nobody else's.
                    let arrays = SharedArrays::upload(gpu, instance, contents)?;
                    program.prepared_on(instance, &arrays)
                }
                _ => Program::prepare(case, &self.choice, self.device, self.settings)?
                    .prepared(instance, contents),
            };
        self.timed_contents.iter().map(prepared).collect()
    }

    /// Cold times in turns with the case's own kernel, on contents that change from round to round.
    fn sample_pairs(
        &mut self,
        loaded: &mut LoadedKernel,
        clock: &mut KernelClock,
    ) -> Result<(), Fault> {
        let sampler = clock.sampler(self.device, self.settings.limit)?;
        let targets = |prepared: &mut Vec<Box<dyn Prepared>>| -> Result<Vec<RunTarget>, Fault> {
            let target = |one| sampler.target(one).map_err(of_workload);
            prepared.drain(..).map(target).collect()
        };
        if self.rival_targets.is_empty() {
            self.rival_targets = targets(&mut self.rival_prepared)?;
        }
        loaded.targets = targets(&mut loaded.prepared)?;
        for round in 0..=ROUNDS {
            let at = round % loaded.targets.len();
            let (theirs, ours) = (&mut self.rival_targets[at], &mut loaded.targets[at]);
            let mut sample = |target: &mut RunTarget| -> Result<f64, Fault> {
                Ok(sampler.sample(target).map_err(of_workload)?.seconds)
            };
            // Whoever runs after whom must not matter.
            loaded.pairs.push(match round % 2 {
                0 => (sample(theirs)?, sample(ours)?),
                _ => {
                    let ours = sample(ours)?;
                    (sample(theirs)?, ours)
                }
            });
        }
        Ok(())
    }

    /// What is wrong with results of one more launch on each input, after the clock has stopped: timed
    /// launches must still compute.
    fn still_computes(
        &mut self,
        targets: &mut [RunTarget],
        calls: &mut usize,
    ) -> Result<Option<Outcome>, Fault> {
        let arguments = self
            .case
            .instance(&self.timed[0].size, &self.choice)?
            .arguments;
        let updates = |direction| direction == Some(Direction::InOut);
        if arguments.iter().any(|one| updates(one.direction())) {
            // Every launch goes on from the result of the one before.
            return Ok(None);
        }
        let Some(verifier) = &mut self.verifier else {
            return Ok(None);
        };
        for (input, target) in self.timed.iter().zip(targets) {
            let Output::U8(bytes) = target.fresh_output().map_err(of_workload)? else {
                continue;
            };
            *calls += 1;
            let outputs = verifier.compare_outputs(&input.size, input.seed, input.round, &bytes)?;
            if let Some(output) = outputs.iter().find(|output| output.wrong > 0) {
                let detail = format!(
                    "right in every check, and after it was timed {} of {} elements of `{}` are wrong: earlier launches decide",
                    output.wrong, output.compared, output.name
                );
                return Ok(Some(Outcome::cheating(Cheat::FirstCalls, detail)));
            }
        }
        Ok(None)
    }
}

pub(super) fn of_workload(error: WorkloadError) -> Fault {
    match error {
        WorkloadError::Device(error) => error.into(),
        other => Fault::Unsupported(other.to_string()),
    }
}

/// How far a candidate has come.
pub enum Stage {
    /// Right so far.
    Open(Box<LoadedKernel>),
    /// Nothing more is to be done.
    Judged(Box<Judgement>),
}

impl LoadedKernel {
    fn finished(self, outcome: Outcome) -> Judgement {
        finished(self.judgement, outcome, &self.folder, self.begun)
    }

    fn failed(self, fault: Fault) -> Result<Box<Judgement>, String> {
        let outcome = failed(fault, &self.own, self.language)?;
        Ok(Box::new(self.finished(outcome)))
    }
}

/// From pairs of seconds, the reference's first.
fn speed(pairs: &[(f64, f64)]) -> Speed {
    let ratios: Vec<f64> = pairs
        .iter()
        .map(|(theirs, ours)| (ours / theirs).ln())
        .collect();
    let found = evaluate(&ratios, 0.02, 0.05);
    let (reference, mine): (Vec<f64>, Vec<f64>) = pairs.iter().copied().unzip();
    Speed::of(&found, &mine, &reference)
}

/// The judgement with its outcome; the candidate's folder is gone by the time somebody reads it.
fn finished(
    mut judgement: Judgement,
    mut outcome: Outcome,
    folder: &TempDir,
    begun: Instant,
) -> Judgement {
    if let Outcome::CompileFailure { detail, .. } | Outcome::Crashed { detail, .. } = &mut outcome {
        *detail = detail.replace(&format!("{}/", folder.path().display()), "");
    }
    judgement.outcome = outcome;
    judgement.took = begun.elapsed().as_secs_f64();
    judgement
}

/// The candidate's line that a message names.
fn line_of(text: &str) -> Option<u64> {
    let after = text.split("candidate.").nth(1)?;
    let digits = after.trim_start_matches(|c: char| !c.is_ascii_digit());
    let end = digits.find(|c: char| !c.is_ascii_digit());
    digits[..end.unwrap_or(digits.len())].parse().ok()
}

/// A fault as a verdict, or as an error where it is not the candidate's.
fn failed(fault: Fault, own: &Case, language: Language) -> Result<Outcome, String> {
    Ok(match fault {
        Fault::NoGpu if language == Language::Cuda => {
            // It can be compiled all the same, which finds most mistakes.
            let compiled = Nvrtc::find().map(|nvrtc| {
                let (major, _) = nvrtc.version();
                // The oldest architecture that every NVRTC of that version still has.
                let target = Target::Ptx(if major >= 13 { 75 } else { 70 });
                compile_cuda(own, &own.first_choice(), &nvrtc, target, &[])
            });
            match compiled {
                Ok(Err(fault)) => {
                    let detail = fault.to_string();
                    Outcome::CompileFailure {
                        line: line_of(&detail),
                        detail,
                    }
                }
                Ok(Ok(_)) => Outcome::NotRun {
                    detail: "it compiles; running it needs a GPU".into(),
                },
                Err(_) => Outcome::NotRun {
                    detail: "running it needs a GPU, and compiling it NVRTC".into(),
                },
            }
        }
        Fault::Case(error) => Outcome::CompileFailure {
            line: None,
            detail: error.to_string(),
        },
        Fault::Device(error) if error.is_never_ended() => Outcome::TimedOut {
            detail: error.to_string(),
        },
        Fault::Device(error) => {
            let detail = error.to_string();
            match line_of(&detail) {
                Some(line) => Outcome::CompileFailure {
                    line: Some(line),
                    detail,
                },
                None => Outcome::Crashed { line: None, detail },
            }
        }
        Fault::Findings(_) => {
            let detail = fault.to_string();
            Outcome::CompileFailure {
                line: line_of(&detail),
                detail,
            }
        }
        other => return Err(other.to_string()),
    })
}
