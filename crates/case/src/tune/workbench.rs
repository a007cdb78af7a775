//! Tries candidates on a device, one after the other, with everything that they share: the context, the
//! arrays, the reference's answers.
//!
//! A candidate is checked at two small sizes with tails before it is timed. One that is faster than all before
//! is checked at the size itself before it counts, and the winner at every size: the full check of a candidate
//! that loses anyway would be most of the time of a search. Nothing waits for a slow reference but the winner:
//! its answers to every size are prepared from the start, while candidates compile.

use std::time::Duration;

use warpsmith_device::Device;
use warpsmith_measure::run_sampler::{RunMode, RunSampler, RunTarget};
use warpsmith_workload::WorkloadError;

use super::race::Lane;
use super::space::Point;
use crate::description::{Case, ReferenceKind, Source};
use crate::expression::Scope;
use crate::program::{Fault, Program, Settings, SharedArrays, TimedFunction};
use crate::reference::{WorkerError, timed_contents};
use crate::verify::{Expectation, Verdict, Verifier, wanted_answers};

/// Samples of a candidate before anything is concluded.
const FIRST: usize = 5;
/// Samples after which a hopeless candidate is dropped.
const HOPELESS_AFTER: usize = 2;
/// A candidate whose fastest sample takes this much longer than the best median is hopeless.
const HOPELESS: f64 = 1.3;
/// Bytes of all arrays of a size that is checked for every candidate.
const SMALL: u64 = 1 << 20;
/// The warm-up of a candidate: the GPU is warm from the one before.
const SETTLE: Duration = Duration::from_micros(500);

/// What came of a candidate.
#[derive(Clone, Debug, PartialEq)]
pub enum Attempt {
    /// Seconds of each sample.
    Measured(Vec<f64>),
    /// It does not compile, is wrong, or cannot be launched.
    Refused(String),
    /// It took the context on the GPU with it: this process can run nothing more.
    Fatal(String),
}

/// A candidate that can be sampled.
#[allow(clippy::large_enum_variant)] // There are a handful of these.
pub enum Contender {
    /// A kernel that this process launches.
    Kernel(RunTarget),
    /// A Python function that times itself.
    Function(TimedFunction),
}

/// A device at one size of a case.
pub struct Workbench<'a> {
    case: &'a Case,
    device: &'a Device,
    size: Scope,
    mode: RunMode,
    seed: u64,
    settings: Settings,
    /// Nothing for a Python function, which times itself.
    sampler: Option<RunSampler>,
    /// A Python function that answers already, until there is a verifier.
    expectation: Option<Expectation>,
    /// From the first candidate that compiles on.
    verifier: Option<Verifier<'a>>,
    /// Small sizes that every candidate is checked at.
    small: Vec<Scope>,
    /// Whether a reference can answer at the size itself.
    answers_itself: bool,
    /// The arrays, and the arguments that they belong to.
    arrays: Option<(String, SharedArrays)>,
}

/// What candidates are compared with, begun before there is a device: a Python function takes as long to start
/// as a context on a GPU.
pub struct BegunReference {
    size: Scope,
    seed: u64,
    /// A Python function that answers already.
    expectation: Option<Expectation>,
    /// Small sizes that every candidate is checked at.
    small: Vec<Scope>,
    /// Whether a reference can answer at the size itself.
    answers_itself: bool,
}

impl BegunReference {
    /// Begins with what every candidate needs first, then what the winner needs.
    pub fn begin(case: &Case, size: &Scope, seed: u64) -> Result<Self, Fault> {
        let first = case.first_choice();
        let all = case.verification_sizes(&first)?.sizes;
        let small = small_sizes(case, &all);
        let answers_itself = case.reference.is_some() && all.contains(size);
        let mut expectation = case.reference.as_ref().and_then(|one| match &one.kind {
            ReferenceKind::Function(callable) => Some(Expectation::of_function(one, callable)),
            _ => None,
        });
        if let Some(expectation) = &mut expectation {
            let sizes = in_order_of_need(case, &small, size, all);
            let jobs = sizes.iter().map(|one| (one, (seed, 0, false)));
            expectation.look_ahead(wanted_answers(case, &first, jobs)?);
        }
        Ok(Self {
            size: size.clone(),
            seed,
            expectation,
            small,
            answers_itself,
        })
    }
}

impl<'a> Workbench<'a> {
    /// Calibrates the timer.
    pub fn new(
        case: &'a Case,
        device: &'a Device,
        reference: BegunReference,
        mode: RunMode,
        limit: Duration,
    ) -> Result<Self, Fault> {
        let settings = Settings {
            limit,
            ..Settings::default()
        };
        let BegunReference {
            size,
            seed,
            expectation,
            small,
            answers_itself,
        } = reference;
        let sampler = match case.source {
            Source::Callable(_) => None,
            _ => {
                let mut sampler = RunSampler::new(device, mode)?;
                sampler.set_limit(limit);
                sampler.set_settle(SETTLE);
                Some(sampler)
            }
        };
        Ok(Self {
            case,
            device,
            size,
            mode,
            seed,
            settings,
            sampler,
            expectation,
            verifier: None,
            small,
            answers_itself,
            arrays: None,
        })
    }

    /// Checks a candidate and takes its first samples; `best` is the fastest median so far. A mistake of
    /// the case or of its reference is an error.
    pub fn attempt(&mut self, point: &Point, best: Option<f64>) -> Result<Attempt, Fault> {
        let program = match self.program(point) {
            Ok(program) => program,
            Err(fault) => return refusal(fault),
        };
        self.take_on(point, program)?;
        let allowed = |size: &&Scope| self.case.allows(size, point).unwrap_or(false);
        let small: Vec<Scope> = self.small.iter().filter(allowed).cloned().collect();
        for size in &small {
            if let Some(attempt) = self.refused_at(size)? {
                return Ok(attempt);
            }
        }
        let checked_itself = small.is_empty() && self.answers_itself;
        if checked_itself && let Some(attempt) = self.refused_at(&self.size.clone())? {
            return Ok(attempt);
        }
        let mut target = match self.target(point) {
            Ok(target) => target,
            Err(fault) => return refusal(fault),
        };
        let mut samples = Vec::new();
        while samples.len() < FIRST {
            match self.sample(&mut target) {
                Ok(seconds) => samples.push(seconds),
                Err(fault) => return refusal(fault),
            }
            let least = samples.iter().copied().fold(f64::INFINITY, f64::min);
            if samples.len() >= HOPELESS_AFTER && best.is_some_and(|best| least > HOPELESS * best) {
                return Ok(Attempt::Measured(samples));
            }
        }
        let leads = best.is_none_or(|best| median(&samples) < best);
        if leads
            && self.answers_itself
            && !checked_itself
            && self.is_ready()?
            && let Some(attempt) = self.refused_at(&self.size.clone())?
        {
            return Ok(attempt);
        }
        Ok(Attempt::Measured(samples))
    }

    /// Goes on with this candidate.
    fn take_on(&mut self, point: &Point, program: Program) -> Result<(), Fault> {
        if let Some(verifier) = &mut self.verifier {
            return verifier.set_program(point, program, self.device, self.settings);
        }
        let expectation = match self.expectation.take() {
            Some(begun) => begun,
            None => Expectation::prepare(self.case, point, self.device, self.settings)?,
        };
        let verifier = Verifier::for_several(self.case, point, program, expectation);
        self.verifier = Some(verifier);
        Ok(())
    }

    /// Whether the reference has its answer to the size itself.
    fn is_ready(&mut self) -> Result<bool, Fault> {
        let (seed, size) = (self.seed, self.size.clone());
        self.verifier()?.is_ready(&size, seed)
    }

    /// The candidate that was taken on last.
    fn verifier(&mut self) -> Result<&mut Verifier<'a>, Fault> {
        let none = || Fault::Unsupported("no candidate is loaded".into());
        self.verifier.as_mut().ok_or_else(none)
    }

    /// Why a candidate is not right at a size; `None` where it is.
    fn refused_at(&mut self, size: &Scope) -> Result<Option<Attempt>, Fault> {
        let seed = self.seed;
        let verifier = self.verifier()?;
        let check = match verifier.check(size, seed, 0, false) {
            Ok(check) => check,
            Err(fault) => return refusal(fault).map(Some),
        };
        Ok(match check.verdict {
            Verdict::Right { .. } => None,
            verdict if verifier.context_ended => Some(Attempt::Fatal(verdict.words())),
            verdict => Some(Attempt::Refused(match check.size.as_str() {
                "" => verdict.words(),
                words => format!("{words}: {}", verdict.words()),
            })),
        })
    }

    /// The candidate as a program. One process serves all candidates where the kernel is a Python function.
    fn program(&self, point: &Point) -> Result<Program, Fault> {
        let known = self.verifier.as_ref();
        match known.and_then(|verifier| verifier.program().again()) {
            Some(program) => Ok(program),
            None => Program::prepare(self.case, point, self.device, self.settings),
        }
    }

    /// A candidate that is ready to be sampled, on the arrays that all share.
    fn target(&mut self, point: &Point) -> Result<Contender, Fault> {
        let instance = self.case.instance(&self.size, point)?;
        let (Some(sampler), Some(gpu)) = (&self.sampler, self.device.cuda()) else {
            let contents = timed_contents(self.case, &instance, self.seed)?;
            let mode = self.mode;
            let program = self.verifier()?.program();
            let none = || Fault::Unsupported("only kernels and Python functions are tuned".into());
            let timed = program.timed(&instance, &contents, mode)?;
            return timed.map(Contender::Function).ok_or_else(none);
        };
        let key = format!("{:?}", instance.arguments);
        let arrays = match self.arrays.take().filter(|(known, _)| *known == key) {
            Some(arrays) => arrays,
            None => {
                let contents = timed_contents(self.case, &instance, self.seed)?;
                (key, SharedArrays::upload(gpu, &instance, &contents)?)
            }
        };
        let none = || Fault::Unsupported("no candidate is loaded".into());
        let verifier = self.verifier.as_ref().ok_or_else(none)?;
        let prepared = verifier.program().prepared_on(&instance, &arrays.1)?;
        self.arrays = Some(arrays);
        sampler
            .target(prepared)
            .map(Contender::Kernel)
            .map_err(fault_of)
    }

    /// A candidate that was right before, to be sampled again.
    pub fn contender(&mut self, point: &Point) -> Result<Contender, Fault> {
        let program = self.program(point)?;
        self.take_on(point, program)?;
        self.target(point)
    }

    /// One more sample.
    pub fn sample(&mut self, target: &mut Contender) -> Result<f64, Fault> {
        let sample = match (target, &mut self.sampler) {
            (Contender::Kernel(target), Some(sampler)) => {
                sampler.sample(target).map_err(fault_of)?
            }
            (Contender::Function(function), _) => function.sample()?,
            (Contender::Kernel(_), None) => {
                return Err(Fault::Unsupported("there is no sampler for kernels".into()));
            }
        };
        Ok(sample.seconds)
    }

    /// Checks a candidate at every size of the case; why it is not right, where it is not.
    pub fn right_everywhere(
        &mut self,
        point: &Point,
        watch: &mut dyn FnMut(usize, usize),
    ) -> Result<Option<Attempt>, Fault> {
        let program = self.program(point)?;
        self.take_on(point, program)?;
        let sizes = self.case.verification_sizes(point)?.sizes;
        let seed = self.seed;
        let verifier = self.verifier()?;
        verifier.keep_what_is_ahead()?;
        let mut missing = Vec::new();
        for size in &sizes {
            if !verifier.has_kept(size, seed)? {
                missing.push(size);
            }
        }
        verifier.look_ahead(missing.into_iter().map(|size| (size, (seed, 0, false))))?;
        for (at, size) in sizes.iter().enumerate() {
            watch(at, sizes.len());
            if let Some(refused) = self.refused_at(size)? {
                return Ok(Some(refused));
            }
        }
        Ok(None)
    }
}

/// The sizes that a reference answers: every candidate's, the size itself, then the winner's.
fn in_order_of_need(case: &Case, small: &[Scope], size: &Scope, all: Vec<Scope>) -> Vec<Scope> {
    let first = case.first_choice();
    let mut sizes: Vec<Scope> = small.to_vec();
    let itself = all.contains(size).then(|| size.clone());
    let mut rest = all;
    rest.sort_by_key(|one| case.bytes(one, &first));
    for one in itself.into_iter().chain(rest) {
        if !sizes.contains(&one) && case.allows(&one, &first).unwrap_or(false) {
            sizes.push(one);
        }
    }
    sizes
}

/// Two sizes that are cheap to check: the largest, which has several blocks and a tail, and one amid them.
fn small_sizes(case: &Case, sizes: &[Scope]) -> Vec<Scope> {
    let first = case.first_choice();
    let small: Vec<&Scope> = sizes
        .iter()
        .filter(|size| case.bytes(size, &first) < SMALL)
        .collect();
    let mut chosen: Vec<Scope> = Vec::new();
    for at in [small.len() / 2, small.len().saturating_sub(1)] {
        if let Some(size) = small.get(at)
            && !chosen.contains(size)
        {
            chosen.push((*size).clone());
        }
    }
    chosen
}

/// What a fault says about a candidate; one that is not the candidate's is an error.
fn refusal(fault: Fault) -> Result<Attempt, Fault> {
    match fault {
        Fault::Worker(_)
        | Fault::Function(WorkerError::NoPython { .. })
        | Fault::Case(_)
        | Fault::NoGpu => Err(fault),
        fault if fault.ends_context() => Ok(Attempt::Fatal(fault.to_string())),
        fault => Ok(Attempt::Refused(fault.to_string())),
    }
}

fn fault_of(error: WorkloadError) -> Fault {
    match error {
        WorkloadError::Device(error) => Fault::Device(error),
        other => Fault::Unsupported(other.to_string()),
    }
}

fn median(samples: &[f64]) -> f64 {
    Lane {
        seconds: samples.to_vec(),
        out: false,
    }
    .median()
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    #[test]
    fn every_candidate_is_checked_at_two_cheap_sizes_with_tails() {
        let text = "source = \"a.cu\"\n[sizes]\nrows = [4096]\ncols = [4096]\n[[arguments]]\nname = \"x\"\n\
                    direction = \"in\"\ntype = \"f32\"\nshape = [\"rows\", \"cols\"]\n[launch]\n\
                    grid = \"rows\"\nblock = 256\n";
        let case = Case::parse(Path::new("a.toml"), text).unwrap();
        let sizes = case.verification_sizes(&[]).unwrap().sizes;
        let small = small_sizes(&case, &sizes);
        assert_eq!(small.len(), 2);
        assert!(small.iter().all(|size| case.bytes(size, &[]) < SMALL));
        assert!(!small.contains(&case.sizes.listed[0]));
        assert!(case.bytes(&small[1], &[]) > case.bytes(&small[0], &[]));
    }

    #[test]
    fn a_mistake_of_the_case_is_no_fault_of_a_candidate() {
        assert!(refusal(Fault::NoGpu).is_err());
        let refused = refusal(Fault::Unsupported("too many threads".into()));
        assert_eq!(
            refused.unwrap(),
            Attempt::Refused("too many threads".into())
        );
    }
}
