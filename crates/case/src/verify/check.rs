//! Runs a kernel over sizes and inputs, and compares.
//!
//! Every input is run at least twice, with different bytes in what the kernel only writes: a result
//! that follows those bytes was never written. Where two runs differ otherwise, the kernel is not
//! deterministic, which is no error as long as every run is right.
//!
//! The reference answers in the inputs' own type and in float64. How far the inputs' last bits move the
//! result takes five more answers, so that is asked only where an element is not right without it.

use serde::{Deserialize, Serialize};
use warpsmith_device::Device;
use warpsmith_workload::random::Random;

use super::comparison::{Judge, OutputComparison};
use super::expectation::Expectation;
use super::leftover::{Leftover, poisons};
use crate::description::{Case, TunableValue};
use crate::element::float_at;
use crate::expression::Scope;
use crate::instance::{Contents, Instance};
use crate::program::{Fault, Program, Ran, Settings};
use crate::reference::{Answer, Wanted};
use crate::sizes::size_words;

/// What is checked.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Random inputs for each size.
    pub inputs: usize,
    /// Decides the inputs.
    pub seed: u64,
    /// Whether infinities, NaN and denormals are among the inputs of one more round.
    pub special: bool,
}

/// One size with one input.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Check {
    /// The size in words.
    pub size: String,
    /// The dimensions.
    pub dimensions: Scope,
    /// Decides the input.
    pub seed: u64,
    /// Which of the fills that a case leaves open was used.
    pub round: usize,
    /// Whether special values were among the inputs.
    pub special: bool,
    /// What was found.
    pub verdict: Verdict,
}

/// What was found at one size with one input.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "verdict", rename_all = "snake_case")]
pub enum Verdict {
    /// Everything was right, as far as there was something to compare with.
    Right {
        /// How far each output is from the reference; empty without one.
        outputs: Vec<OutputComparison>,
        /// Whether two runs gave different bits.
        varies: bool,
    },
    /// An output is not what the reference says.
    Wrong {
        /// How far each output is from the reference.
        outputs: Vec<OutputComparison>,
        /// Whether two runs gave different bits.
        varies: bool,
        /// The outputs' dimensions, for words.
        axes: Vec<Vec<String>>,
    },
    /// The result follows what an output held before.
    StaleOutput {
        /// The output.
        argument: String,
        /// Elements that follow.
        elements: usize,
    },
    /// Memory outside of an array was written.
    OutOfBounds {
        /// The argument whose array it was.
        argument: String,
        /// Bytes from the array's end to the first byte written; negative before its start.
        offset: i64,
        /// Bytes that were changed.
        bytes: usize,
    },
    /// An input was changed.
    InputChanged {
        /// The input.
        argument: String,
        /// The first element.
        element: usize,
    },
    /// Threads race: the order in which they run decides the result.
    Race {
        /// Where.
        reason: String,
    },
    /// The kernel faulted, never ended or could not be launched.
    Fault {
        /// What was seen.
        reason: String,
        /// Whether it never ended.
        never_ended: bool,
    },
}

impl Verdict {
    /// Whether nothing is wrong.
    pub fn is_right(&self) -> bool {
        matches!(self, Self::Right { .. })
    }
}

/// Everything that was checked.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Verification {
    /// Every size with every input.
    pub checks: Vec<Check>,
    /// Listed sizes that were left out because a reference would take too long.
    pub too_large: Vec<String>,
    /// What the user should know about the reference.
    pub notes: Vec<String>,
    /// Whether there was a reference.
    pub compared: bool,
}

/// A case with its program and its reference.
pub struct Verifier<'a> {
    case: &'a Case,
    program: Program,
    expectation: Expectation,
    choice: Vec<(String, TunableValue)>,
    fast_math: bool,
    /// How many terms decide an element, by size: asked once.
    fan_in: Vec<(Scope, Vec<f64>)>,
    /// Inputs and answers of earlier checks, where other kernels are to get the same ones.
    kept: Option<Vec<Kept>>,
    /// What the user should know about the reference.
    pub notes: Vec<String>,
}

/// The input of a check with its right answer.
struct Kept {
    size: Scope,
    seed: u64,
    round: usize,
    contents: Contents,
    answer: Option<Answer>,
}

impl<'a> Verifier<'a> {
    /// Prepares the case's kernel and its reference.
    pub fn prepare(
        case: &'a Case,
        choice: &[(String, TunableValue)],
        device: &Device,
        settings: Settings,
    ) -> Result<Self, Fault> {
        // The program first: a machine without a GPU says so before Python starts.
        let program = Program::prepare(case, choice, device, settings)?;
        let expectation = Expectation::prepare(case, choice, device, settings)?;
        Ok(Self::of(case, choice, program, expectation))
    }

    fn of(
        case: &'a Case,
        choice: &[(String, TunableValue)],
        program: Program,
        expectation: Expectation,
    ) -> Self {
        let flags = case.flags.iter().map(String::as_str);
        let chosen = choice.iter().map(|(name, _)| name.as_str());
        let fast_math = flags
            .chain(chosen)
            .any(|flag| flag.contains("use_fast_math"));
        Self {
            case,
            program,
            expectation,
            choice: choice.to_vec(),
            fast_math,
            fan_in: Vec::new(),
            kept: None,
            notes: Vec::new(),
        }
    }

    /// For several kernels that are to do what the case says, one after the other: the reference is asked
    /// once for each input.
    pub(crate) fn for_several(
        case: &'a Case,
        choice: &[(String, TunableValue)],
        first: Program,
        device: &Device,
        settings: Settings,
    ) -> Result<Self, Fault> {
        let expectation = Expectation::prepare(case, choice, device, settings)?;
        let mut verifier = Self::of(case, choice, first, expectation);
        verifier.kept = Some(Vec::new());
        Ok(verifier)
    }

    /// Checks another kernel from now on.
    pub(crate) fn set_program(&mut self, program: Program) {
        self.program = program;
    }

    /// Whether there is something to compare with.
    pub fn compares(&self) -> bool {
        !matches!(self.expectation, Expectation::Nothing)
    }

    /// The sizes to check, each with the rounds of its inputs: seed, round, and whether it is special.
    pub fn rounds(plan: &Plan) -> Vec<(u64, usize, bool)> {
        let mut random = Random::seeded(plan.seed);
        let mut rounds: Vec<(u64, usize, bool)> = (0..plan.inputs.max(1))
            .map(|round| (random.bits(), round, false))
            .collect();
        if plan.special {
            rounds.push((random.bits(), 0, true));
        }
        rounds
    }

    /// Prepares the answers to these checks in the background, in this order: seed, round, and whether it
    /// is special, for each size. Checks that come in another order, or are not among them, are right all
    /// the same.
    pub fn look_ahead<'j>(
        &mut self,
        jobs: impl Iterator<Item = (&'j Scope, (u64, usize, bool))>,
    ) -> Result<(), Fault> {
        let mut wanted: Vec<Wanted> = Vec::new();
        for (size, (seed, round, special)) in jobs {
            let seen = |one: &Wanted| one.instance.size == *size && !one.special;
            let probe = !special && !wanted.iter().any(seen);
            wanted.push(Wanted {
                instance: self.case.instance(size, &self.choice)?,
                seed,
                round,
                special,
                probe,
            });
        }
        self.expectation.look_ahead(wanted);
        Ok(())
    }

    /// Checks one size with one input. A fault of the reference or of the case is an error; one of the
    /// kernel is a verdict.
    pub fn check(
        &mut self,
        size: &Scope,
        seed: u64,
        round: usize,
        special: bool,
    ) -> Result<Check, Fault> {
        let wanted = self.wanted(size, seed, round, special)?;
        let verdict = match self.examine(&wanted) {
            Ok(verdict) => verdict,
            Err(Examined::Reference(fault)) => return Err(fault),
            Err(Examined::Kernel(fault)) => match fault {
                Fault::Device(_) | Fault::Findings(_) => Verdict::Fault {
                    never_ended: matches!(&fault, Fault::Device(error) if error.is_never_ended()),
                    reason: fault.to_string(),
                },
                other => return Err(other),
            },
        };
        Ok(Check {
            size: size_words(size, &self.case.sizes.names),
            dimensions: size.clone(),
            seed,
            round,
            special,
            verdict,
        })
    }

    /// How outputs that were computed elsewhere from this input compare, one array's bytes behind the
    /// other's; nothing where the reference has no answer.
    pub(crate) fn compare_outputs(
        &mut self,
        size: &Scope,
        seed: u64,
        round: usize,
        bytes: &[u8],
    ) -> Result<Vec<OutputComparison>, Fault> {
        let wanted = self.wanted(size, seed, round, false)?;
        let (contents, mut answer) = self.answered(&wanted)?;
        let ran = [Ran::of_outputs(&wanted.instance, bytes)];
        let outputs = self.compared_closely(&wanted, &contents, &mut answer, &ran, false, [0; 2]);
        self.keep(&wanted, contents, answer);
        outputs
    }

    fn wanted(
        &self,
        size: &Scope,
        seed: u64,
        round: usize,
        special: bool,
    ) -> Result<Wanted, Fault> {
        let known = self.fan_in.iter().any(|(known, _)| known == size);
        Ok(Wanted {
            instance: self.case.instance(size, &self.choice)?,
            seed,
            round,
            special,
            probe: !known && !special,
        })
    }

    /// The input and its right answer, from an earlier check where that was kept.
    fn answered(&mut self, wanted: &Wanted) -> Result<(Contents, Option<Answer>), Fault> {
        let kept = self.kept.as_mut().and_then(|kept| {
            let at = kept.iter().position(|one| {
                let Kept {
                    size, seed, round, ..
                } = one;
                (size, *seed, *round) == (&wanted.instance.size, wanted.seed, wanted.round)
            })?;
            Some(kept.swap_remove(at))
        });
        if let Some(kept) = kept {
            return Ok((kept.contents, kept.answer));
        }
        let (contents, answer) = self.expectation.answer(wanted)?;
        Ok((contents, answer.map(|answer| self.noted(wanted, answer))))
    }

    fn keep(&mut self, wanted: &Wanted, contents: Contents, answer: Option<Answer>) {
        if let (Some(kept), false) = (&mut self.kept, wanted.special) {
            kept.push(Kept {
                size: wanted.instance.size.clone(),
                seed: wanted.seed,
                round: wanted.round,
                contents,
                answer,
            });
        }
    }

    fn examine(&mut self, wanted: &Wanted) -> Result<Verdict, Examined> {
        let (contents, mut answer) = self.answered(wanted).map_err(Examined::Reference)?;
        let verdict = self.examine_with(wanted, &contents, &mut answer);
        self.keep(wanted, contents, answer);
        verdict
    }

    fn examine_with(
        &mut self,
        wanted: &Wanted,
        contents: &Contents,
        answer: &mut Option<Answer>,
    ) -> Result<Verdict, Examined> {
        let instance = &wanted.instance;
        let poisons = poisons(wanted.round);
        let mut runs = Vec::new();
        for poison in poisons {
            let ran = self
                .program
                .run(instance, contents, poison)
                .map_err(Examined::Kernel)?;
            if let Some(verdict) = outside(instance, contents, &ran) {
                return Ok(verdict);
            }
            runs.push(ran);
        }
        let [first, second] = [&runs[0], &runs[1]];
        let varies = differs(instance, first, second);
        let mut outputs = self
            .compared_closely(wanted, contents, answer, &runs, varies, poisons)
            .map_err(Examined::Reference)?;
        if wrong(&outputs) {
            if let Some(leftover) = Leftover::of(instance, [first, second], poisons) {
                for output in &mut outputs {
                    output.follow_what_was_there = leftover.elements_of(instance, &output.name);
                }
            }
            let axes = instance
                .arguments
                .iter()
                .filter(|argument| argument.is_output());
            return Ok(Verdict::Wrong {
                outputs,
                varies,
                axes: axes.map(axes_of).collect(),
            });
        }
        // Two runs with different poisons that are both right follow neither.
        if varies && answer.is_none() {
            let mut leftover = Leftover::of(instance, [first, second], poisons);
            if leftover.is_some() {
                let mut again = Vec::new();
                for poison in poisons {
                    let ran = self.program.run(instance, contents, poison);
                    again.push(ran.map_err(Examined::Kernel)?);
                }
                leftover =
                    leftover.and_then(|left| left.again(instance, [&again[0], &again[1]], poisons));
            }
            if let Some(leftover) = leftover {
                let (argument, elements) = leftover.told(instance);
                return Ok(Verdict::StaleOutput { argument, elements });
            }
        }
        if let Some(reason) = first.races.first() {
            return Ok(Verdict::Race {
                reason: reason.clone(),
            });
        }
        Ok(Verdict::Right { outputs, varies })
    }

    /// The answer with what is known about its size, and its note kept.
    fn noted(&mut self, wanted: &Wanted, mut answer: Answer) -> Answer {
        let size = &wanted.instance.size;
        match self.fan_in.iter().find(|(known, _)| known == size) {
            Some((_, known)) => {
                for (truth, fan_in) in answer.outputs.iter_mut().zip(known) {
                    truth.fan_in = *fan_in;
                }
            }
            None if wanted.probe => {
                let fan_in = answer.outputs.iter().map(|truth| truth.fan_in).collect();
                self.fan_in.push((size.clone(), fan_in));
            }
            None => {}
        }
        if let Some(note) = &answer.note
            && !self.notes.contains(note)
        {
            self.notes.push(note.clone());
        }
        answer
    }

    /// How the outputs compare; where an element is wrong, also by how far the inputs' last bits move it.
    fn compared_closely(
        &mut self,
        wanted: &Wanted,
        contents: &Contents,
        answer: &mut Option<Answer>,
        runs: &[Ran],
        varies: bool,
        poisons: [u8; 2],
    ) -> Result<Vec<OutputComparison>, Fault> {
        let instance = &wanted.instance;
        let outputs = self.compared(instance, answer.as_ref(), runs, varies, poisons);
        match answer {
            Some(answered) if wrong(&outputs) && answered.lacks_spread() => {
                self.expectation
                    .measure_spread(wanted, contents, answered)?;
                Ok(self.compared(instance, Some(&*answered), runs, varies, poisons))
            }
            _ => Ok(outputs),
        }
    }

    /// How the outputs compare: those of the first run, or of the second where only that one is wrong.
    fn compared(
        &self,
        instance: &Instance,
        answer: Option<&Answer>,
        runs: &[Ran],
        varies: bool,
        poisons: [u8; 2],
    ) -> Vec<OutputComparison> {
        let Some(answer) = answer else {
            return Vec::new();
        };
        let judge = Judge {
            stated: self.case.tolerance.as_ref(),
            wide: answer.wide,
            fast_math: self.fast_math,
        };
        let of = |ran: &Ran, poison: u8| -> Vec<OutputComparison> {
            let pairs = instance.arguments.iter().zip(&ran.arrays);
            pairs
                .filter(|(argument, _)| argument.is_output())
                .zip(&answer.outputs)
                .map(|((argument, bytes), truth)| {
                    let poison = contents_free(argument).then_some(poison);
                    judge.compare(
                        argument,
                        bytes.as_deref().unwrap_or_default(),
                        truth,
                        poison,
                    )
                })
                .collect()
        };
        let first = of(&runs[0], poisons[0]);
        // The same bits compare the same.
        if wrong(&first) || !varies {
            return first;
        }
        let second = of(&runs[1], poisons[1]);
        if wrong(&second) { second } else { first }
    }
}

fn wrong(outputs: &[OutputComparison]) -> bool {
    outputs.iter().any(|output| output.wrong > 0)
}

/// Whose fault it was.
enum Examined {
    Kernel(Fault),
    Reference(Fault),
}

fn contents_free(argument: &crate::instance::BoundArgument) -> bool {
    argument.direction() == Some(warpsmith_measure::kernel_file::Direction::Out)
}

fn axes_of(argument: &crate::instance::BoundArgument) -> Vec<String> {
    match &argument.value {
        crate::instance::BoundValue::Array { axes, .. } => axes.clone(),
        crate::instance::BoundValue::Number { .. } => Vec::new(),
    }
}

/// What a run did outside of its outputs.
fn outside(instance: &Instance, contents: &Contents, ran: &Ran) -> Option<Verdict> {
    if let Some(guard) = ran.guards.first() {
        return Some(Verdict::OutOfBounds {
            argument: guard.argument.clone(),
            offset: guard.offset,
            bytes: guard.bytes,
        });
    }
    for ((argument, content), after) in instance.arguments.iter().zip(contents).zip(&ran.arrays) {
        if let (Some(content), Some(after), false) = (content, after, argument.is_output())
            && content != after
        {
            let at = content
                .iter()
                .zip(after)
                .position(|(a, b)| a != b)
                .unwrap_or(0);
            return Some(Verdict::InputChanged {
                argument: argument.name.clone(),
                element: at / argument.scalar.bytes(),
            });
        }
    }
    None
}

fn differs(instance: &Instance, a: &Ran, b: &Ran) -> bool {
    first_difference(instance, a, b).is_some()
}

/// The first output whose bits differ, and in how many elements. Two NaN count as equal.
fn first_difference(instance: &Instance, a: &Ran, b: &Ran) -> Option<(String, usize)> {
    for ((argument, a), b) in instance.arguments.iter().zip(&a.arrays).zip(&b.arrays) {
        let (Some(a), Some(b), true) = (a, b, argument.is_output()) else {
            continue;
        };
        if a == b {
            continue;
        }
        let width = argument.scalar.bytes();
        let different = |index: &usize| {
            let range = index * width..(index + 1) * width;
            a[range.clone()] != b[range]
                && !(float_at(argument.scalar, a, *index).is_nan()
                    && float_at(argument.scalar, b, *index).is_nan())
        };
        let count = (0..argument.elements()).filter(different).count();
        if count > 0 {
            return Some((argument.name.clone(), count));
        }
    }
    None
}
