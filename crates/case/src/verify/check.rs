//! Runs a kernel over sizes and inputs, and compares.
//!
//! Every input is run at least twice, with different bytes in what the kernel only writes: a result
//! that follows those bytes was never written. Where two runs differ otherwise, the kernel is not
//! deterministic, which is no error as long as every run is right.
//!
//! The reference answers in the inputs' own type and in float64. How far the inputs' last bits move the
//! result takes twenty-one more answers, so that is asked only where an element is not right without it.

use warpsmith_device::Device;
use warpsmith_workload::random::Random;

use super::comparison::{Judge, OutputComparison};
use super::expectation::Expectation;
use super::leftover::{Leftover, poisons};
use super::verdict::{Check, Plan, Verdict};
use crate::description::{Case, TunableValue};
use crate::element::float_at;
use crate::expression::Scope;
use crate::instance::{Contents, Instance};
use crate::program::{Fault, Program, Ran, Settings};
use crate::reference::{Answer, Wanted};
use crate::sizes::size_words;

/// Bytes of inputs that are kept with their answers for the next kernel; answers have a few times as many.
const MOST_KEPT: usize = 1 << 29;

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
    /// Whether the last fault ended the context on the GPU.
    pub context_ended: bool,
}

fn uses_fast_math(case: &Case, choice: &[(String, TunableValue)]) -> bool {
    let flags = case.flags.iter().map(String::as_str);
    let chosen = choice.iter().map(|(name, _)| name.as_str());
    flags
        .chain(chosen)
        .any(|flag| flag.contains("use_fast_math"))
}

/// The input of a check with its right answer.
struct Kept {
    key: String,
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
        Self {
            case,
            program,
            expectation,
            choice: choice.to_vec(),
            fast_math: uses_fast_math(case, choice),
            fan_in: Vec::new(),
            kept: None,
            notes: Vec::new(),
            context_ended: false,
        }
    }

    /// For several kernels that are to do what the case says, one after the other: the reference is asked
    /// once for each input.
    pub(crate) fn for_several(
        case: &'a Case,
        choice: &[(String, TunableValue)],
        first: Program,
        expectation: Expectation,
    ) -> Self {
        let mut verifier = Self::of(case, choice, first, expectation);
        verifier.kept = Some(Vec::new());
        verifier
    }

    /// Checks another kernel from now on, with these tunables.
    pub(crate) fn set_program(
        &mut self,
        choice: &[(String, TunableValue)],
        program: Program,
        device: &Device,
        settings: Settings,
    ) -> Result<(), Fault> {
        self.program = program;
        if self.choice != choice {
            // A kernel that is the reference is compiled and launched with the same tunables.
            if matches!(self.expectation, Expectation::Kernel(_)) {
                self.expectation = Expectation::prepare(self.case, choice, device, settings)?;
            }
            self.fast_math = uses_fast_math(self.case, choice);
            self.choice = choice.to_vec();
            // A tunable may decide an argument, and with it how many terms there are.
            self.fan_in.clear();
        }
        Ok(())
    }

    /// The program that is checked.
    pub(crate) fn program(&self) -> &Program {
        &self.program
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
        let wanted = wanted_answers(self.case, &self.choice, jobs)?;
        self.expectation.look_ahead(wanted);
        Ok(())
    }

    /// Waits for the answers that were prepared, and keeps them for checks to come.
    pub(crate) fn keep_what_is_ahead(&mut self) -> Result<(), Fault> {
        while let Some((wanted, answered)) = self.expectation.take_next() {
            let (contents, answer) = answered?;
            let answer = self.noted(&wanted, answer);
            self.keep(&wanted, contents, Some(answer));
        }
        Ok(())
    }

    /// Whether a check would not wait for the reference.
    pub(crate) fn is_ready(&self, size: &Scope, seed: u64) -> Result<bool, Fault> {
        let wanted = self.wanted(size, seed, 0, false)?;
        Ok(self.has_kept(size, seed)? || self.expectation.is_ready(&wanted))
    }

    /// Whether the answer to a check is kept.
    pub(crate) fn has_kept(&self, size: &Scope, seed: u64) -> Result<bool, Fault> {
        let key = key_of(&self.wanted(size, seed, 0, false)?);
        let mut kept = self.kept.iter().flatten();
        Ok(kept.any(|one| one.key == key))
    }

    /// Asks the reference for the answer to a check and keeps it, where that needs no device.
    pub(crate) fn answer_ahead(
        &mut self,
        size: &Scope,
        seed: u64,
        round: usize,
    ) -> Result<(), Fault> {
        if !matches!(self.expectation, Expectation::Function(_)) {
            return Ok(());
        }
        let wanted = self.wanted(size, seed, round, false)?;
        let (contents, answer) = self.answered(&wanted)?;
        self.keep(&wanted, contents, answer);
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
            Err(Examined::Kernel(fault)) => {
                self.context_ended |= fault.ends_context();
                match fault {
                    Fault::Device(_) | Fault::Findings(_) => Verdict::Fault {
                        never_ended: matches!(&fault, Fault::Device(error) if error.is_never_ended()),
                        reason: fault.to_string(),
                    },
                    other => return Err(other),
                }
            }
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
            let key = key_of(wanted);
            let at = kept.iter().position(|one| one.key == key)?;
            Some(kept.swap_remove(at))
        });
        if let Some(kept) = kept {
            return Ok((kept.contents, kept.answer));
        }
        let (contents, answer) = self.expectation.answer(wanted)?;
        Ok((contents, answer.map(|answer| self.noted(wanted, answer))))
    }

    fn keep(&mut self, wanted: &Wanted, contents: Contents, answer: Option<Answer>) {
        let Some(kept) = &mut self.kept else {
            return;
        };
        let bytes = |contents: &Contents| contents.iter().flatten().map(Vec::len).sum::<usize>();
        let held: usize = kept.iter().map(|one| bytes(&one.contents)).sum();
        if held + bytes(&contents) <= MOST_KEPT {
            kept.push(Kept {
                key: key_of(wanted),
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

    /// Checks a size once more with warps held back at their accesses to shared memory: a kernel that is
    /// right only as long as they run in step lacks a barrier. `None` where that shows nothing: it is right,
    /// it has no shared memory, or it takes too long like that.
    pub fn check_order(
        &mut self,
        device: &Device,
        settings: Settings,
        size: &Scope,
        seed: u64,
    ) -> Result<Option<Check>, Fault> {
        let settings = Settings {
            delays: true,
            ..settings
        };
        let program = match Program::prepare(self.case, &self.choice, device, settings) {
            Ok(program) => program,
            Err(Fault::Unsupported(_)) => return Ok(None),
            Err(fault) => return Err(fault),
        };
        let usual = std::mem::replace(&mut self.program, program);
        let checked = self.check(size, seed, 0, false);
        self.program = usual;
        let mut check = checked?;
        check.verdict = match check.verdict {
            Verdict::Right { .. } | Verdict::Fault { .. } => return Ok(None),
            wrong => Verdict::Race {
                reason: format!(
                    "wrong when some warps are held back at their accesses to shared memory: {}; \
                     code that relies on the threads of a warp running in step, without \
                     `__syncwarp()`, can be wrong here too",
                    wrong.words()
                ),
            },
        };
        Ok(Some(check))
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

/// The answers to these checks, in their order; the first of each size also says how many terms decide an element.
pub(crate) fn wanted_answers<'j>(
    case: &Case,
    choice: &[(String, TunableValue)],
    jobs: impl Iterator<Item = (&'j Scope, (u64, usize, bool))>,
) -> Result<Vec<Wanted>, Fault> {
    let mut wanted: Vec<Wanted> = Vec::new();
    for (size, (seed, round, special)) in jobs {
        let seen = |one: &Wanted| one.instance.size == *size && !one.special;
        let probe = !special && !wanted.iter().any(seen);
        wanted.push(Wanted {
            instance: case.instance(size, choice)?,
            seed,
            round,
            special,
            probe,
        });
    }
    Ok(wanted)
}

/// What decides an answer: the size, its arguments, which may follow tunables, and the input.
fn key_of(wanted: &Wanted) -> String {
    let Wanted {
        instance,
        seed,
        round,
        special,
        ..
    } = wanted;
    let Instance {
        size, arguments, ..
    } = instance;
    format!("{size:?} {arguments:?} {seed} {round} {special}")
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
        _ => Vec::new(),
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

#[cfg(test)]
mod tests {
    use warpsmith_device::DeviceChoice;

    use super::*;

    const KERNEL: &str = "import warp as wp\n\n@wp.kernel\n\
        def scale(x: wp.array(dtype=float), y: wp.array(dtype=float)):\n    \
        i = wp.tid()\n    y[i] = 2.0 * x[i]\n";
    const CASE: &str = "source = \"scale.py\"\nreference = { interpreter = true }\n[sizes]\nn = [100]\n\
        [[arguments]]\nname = \"x\"\ndirection = \"in\"\ntype = \"f32\"\nshape = \"n\"\n\
        [[arguments]]\nname = \"y\"\ndirection = \"out\"\ntype = \"f32\"\nshape = \"n\"\n[launch]\ndim = \"n\"\n";

    #[test]
    fn the_next_program_is_compared_with_the_same_answers() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("scale.toml");
        std::fs::write(folder.path().join("scale.py"), KERNEL).unwrap();
        std::fs::write(&file, CASE).unwrap();
        let case = Case::open(&file).unwrap();
        let device = Device::open(DeviceChoice::Cpu).unwrap();
        let settings = Settings::default();
        let first = Program::prepare(&case, &[], &device, settings).unwrap();
        let expectation = Expectation::prepare(&case, &[], &device, settings).unwrap();
        let mut verifier = Verifier::for_several(&case, &[], first, expectation);
        let size = case.sizes.listed[0].clone();
        assert!(
            verifier
                .check(&size, 1, 0, false)
                .unwrap()
                .verdict
                .is_right()
        );
        let kept = contents_at(&verifier, 0);
        // Another program of the same case, with a kernel that is wrong.
        std::fs::write(folder.path().join("scale.py"), KERNEL.replace("2.0", "3.0")).unwrap();
        let wrong = Program::prepare(&case, &[], &device, settings).unwrap();
        verifier.set_program(&[], wrong, &device, settings).unwrap();
        assert!(
            !verifier
                .check(&size, 1, 0, false)
                .unwrap()
                .verdict
                .is_right()
        );
        assert_eq!(verifier.kept.as_ref().unwrap().len(), 1);
        assert_eq!(contents_at(&verifier, 0), kept);
        verifier.check(&size, 2, 0, false).unwrap();
        assert_eq!(verifier.kept.as_ref().unwrap().len(), 2);
    }

    /// Where the bytes of a kept input are: the same place means that they were not made again.
    fn contents_at(verifier: &Verifier<'_>, at: usize) -> *const u8 {
        let kept = &verifier.kept.as_ref().unwrap()[at];
        kept.contents[0].as_ref().unwrap().as_ptr()
    }

    #[test]
    fn a_tunable_that_decides_an_argument_gets_answers_of_its_own() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("scale.toml");
        let kernel = KERNEL
            .replace("y: wp", "k: float, y: wp")
            .replace("2.0", "k");
        std::fs::write(folder.path().join("scale.py"), kernel).unwrap();
        let number = "[[arguments]]\nname = \"k\"\ntype = \"f32\"\nvalue = \"K\"\n";
        let text = CASE.replace(
            "[[arguments]]\nname = \"y\"",
            &format!("{number}[[arguments]]\nname = \"y\""),
        );
        std::fs::write(&file, format!("{text}[tunables]\nK = [2, 3]\n")).unwrap();
        let case = Case::open(&file).unwrap();
        let device = Device::open(DeviceChoice::Cpu).unwrap();
        let settings = Settings::default();
        let size = case.sizes.listed[0].clone();
        let [two, three] = [2, 3].map(|value| vec![("K".to_owned(), TunableValue::Whole(value))]);
        let program = |choice: &[(String, TunableValue)]| {
            Program::prepare(&case, choice, &device, settings).unwrap()
        };
        let first = program(&two);
        let expectation = Expectation::prepare(&case, &two, &device, settings).unwrap();
        let mut verifier = Verifier::for_several(&case, &two, first, expectation);
        let right = verifier.check(&size, 1, 0, false).unwrap();
        assert!(right.verdict.is_right(), "{:?}", right.verdict);
        verifier
            .set_program(&three, program(&three), &device, settings)
            .unwrap();
        let right = verifier.check(&size, 1, 0, false).unwrap();
        assert!(right.verdict.is_right(), "{:?}", right.verdict);
        assert_eq!(verifier.kept.as_ref().unwrap().len(), 2);
    }
}
