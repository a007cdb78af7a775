//! The `executed` level: a kernel and its adjoint run on random inputs as native code, which has the
//! interpreter's bits and findings, and the interpreter watches some threads for races.

use warpsmith_compiler::ir::{FunctionKind, Module};
use warpsmith_compiler::{Scalar, Type, TypeId};
use warpsmith_core::Finding;
use warpsmith_interpreter::{Argument, Interpreter};

use super::arguments::{Layout, arguments, read_float, write_float};
use super::gradients::compare_gradients;
use super::keep::Keep;
use super::level::Check;
use super::values::{gradients_text, inputs_text, results_text};
use crate::random::Random;
use crate::record::{Extra, Origin};

/// Values of each changed array that a record keeps, unless it keeps all of them.
const KEPT: usize = 8;

/// Threads in each dimension when threads are watched for races: every index that generated kernels
/// compute meets another thread's within so few, if it meets any.
const WATCHED: [usize; 4] = [128, 12, 5, 4];

/// Iterations after which loops are taken to be endless. Those of generated kernels end after hundreds;
/// a wrong text may have turned one round.
const MOST_ITERATIONS: u64 = 100_000;

/// The exponent of a `float`; all ones where it is not finite.
const EXPONENT: u32 = 0x7f80_0000;

/// What came of running a pair.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Execution {
    /// Whether it ran as it should.
    pub executed: Check,
    /// Whether its gradients agree with differences.
    pub gradient: Check,
    /// Inputs, results and gradients, as far as they are kept.
    pub extra: Extra,
}

/// Runs pairs.
#[derive(Clone, Copy, Debug, Default)]
pub struct Executor {
    inputs: bool,
    outputs: bool,
    gradients: bool,
}

/// The grid on which a kernel of this many dimensions is run: about a thousand threads.
pub fn launch_shape(rank: usize) -> Vec<usize> {
    match rank {
        0 | 1 => vec![1000],
        2 => vec![32, 32],
        3 => vec![10, 10, 10],
        _ => vec![5, 5, 5, 8],
    }
}

pub(super) fn rank(module: &Module) -> usize {
    match &module.kernel.kind {
        FunctionKind::Kernel { launch_rank, .. } => *launch_rank as usize,
        FunctionKind::Device { .. } => 1,
    }
}

impl Executor {
    /// An executor that keeps what is named.
    pub fn new(keep: &[Keep]) -> Self {
        Self {
            inputs: keep.contains(&Keep::Inputs),
            outputs: keep.contains(&Keep::Outputs),
            gradients: keep.contains(&Keep::Gradients),
        }
    }

    /// Runs the kernel of `module` and its adjoint; `differences` also compares its gradients with
    /// differences.
    pub fn execute(&self, module: &Module, origin: Origin, differences: bool) -> Execution {
        let mut execution = Execution::default();
        execution.executed = match self.run(module, origin, differences, &mut execution) {
            Ok(()) => Check::Passed,
            Err(check) => check,
        };
        if execution.executed != Check::Passed {
            execution.extra = Extra::default();
        }
        execution
    }

    fn run(
        &self,
        module: &Module,
        origin: Origin,
        differences: bool,
        execution: &mut Execution,
    ) -> Result<(), Check> {
        let forward = planned(Interpreter::forward(module))?.with_iteration_limit(MOST_ITERATIONS);
        let dim = launch_shape(rank(module));
        let mut random = Random::of_pair(origin.seed, origin.index, u32::MAX - 1);
        let given = arguments(module, &dim, &mut random).map_err(Check::Skipped)?;
        let mut results = given.clone();
        launch(&forward, &dim, &mut results)?;
        // Once in a while everything is run again: what differs was never deterministic.
        if origin.index.is_multiple_of(16) {
            let mut again = given.clone();
            launch(&forward, &dim, &mut again)?;
            if again != results {
                return Err(Check::Failed("two runs differ".to_owned()));
            }
        }
        let kept = if self.outputs { usize::MAX } else { KEPT };
        execution.extra.expected = results_text(module, &dim, &given, &results, kept)?;
        if self.inputs {
            execution.extra.inputs = inputs_text(module, &dim, &given);
        }
        let adjoint = planned(Interpreter::adjoint(module))?.with_iteration_limit(MOST_ITERATIONS);
        let mut seeded = given;
        seed_gradients(module, &mut seeded, &results, &mut random);
        let seeds = self.gradients.then(|| seeded.clone());
        launch(&adjoint, &dim, &mut seeded)?;
        each_array(module, &seeded, &mut |name, layout, argument| {
            let gradient = argument.gradient.as_deref().unwrap_or_default();
            match first_not_finite(layout, gradient) {
                Some(place) => Err(Check::Failed(format!(
                    "the gradient of `{name}` is not finite at {place}"
                ))),
                None => Ok(()),
            }
        })?;
        if let Some(seeds) = seeds {
            execution.extra.gradients = gradients_text(module, &seeds, &seeded);
        }
        if differences {
            let compared = compare_gradients(module, origin, &forward, &adjoint);
            execution.gradient = compared.unwrap_or_else(|check| check);
        }
        race_free(module, forward, &mut random)
    }
}

/// Watches a few threads for places that two of them meet at and one of them changes.
fn race_free(module: &Module, forward: Interpreter<'_>, random: &mut Random) -> Result<(), Check> {
    let rank = rank(module).clamp(1, 4);
    let dim = vec![WATCHED[rank - 1]; rank];
    let mut arguments = arguments(module, &dim, random).map_err(Check::Skipped)?;
    let outcome = forward.checking_races().run(&dim, &mut arguments);
    let outcome = outcome.map_err(|error| Check::Failed(error.to_string()))?;
    match outcome.races.first() {
        None => Ok(()),
        Some(race) => {
            let line = race.span.as_ref().map_or(0, |span| span.line);
            let reason = format!("not race-free: {} (line {line})", race.message);
            Err(Check::Failed(reason))
        }
    }
}

fn planned<'m>(result: Result<Interpreter<'m>, Vec<Finding>>) -> Result<Interpreter<'m>, Check> {
    result.map_err(|findings| {
        let reason = findings.first().map(|finding| finding.message.clone());
        Check::Skipped(reason.unwrap_or_default())
    })
}

pub(super) fn launch(
    interpreter: &Interpreter<'_>,
    dim: &[usize],
    arguments: &mut [Argument],
) -> Result<(), Check> {
    match interpreter.run_native(dim, arguments) {
        Ok(outcome) => match outcome.findings.first() {
            None => Ok(()),
            Some(finding) => {
                let line = finding.span.as_ref().map_or(0, |span| span.line);
                let reason = format!("{} {} (line {line})", finding.code, finding.message);
                Err(Check::Failed(reason))
            }
        },
        Err(error) => Err(Check::Failed(error.to_string())),
    }
}

pub(super) type Visit<'v> =
    dyn FnMut(&str, &Layout, &warpsmith_interpreter::ArrayArgument) -> Result<(), Check> + 'v;

/// Visits every array parameter.
pub(super) fn each_array(
    module: &Module,
    arguments: &[Argument],
    visit: &mut Visit<'_>,
) -> Result<(), Check> {
    for ((_, variable), argument) in module.kernel.parameters().zip(arguments) {
        if let (Some(element), Argument::Array(array)) = (element_of(module, variable.ty), argument)
        {
            let name = variable.name.map_or("", |name| module.names.get(name));
            if let Some(layout) = Layout::of(module, element) {
                visit(name, &layout, array)?;
            }
        }
    }
    Ok(())
}

pub(super) fn element_of(module: &Module, ty: TypeId) -> Option<TypeId> {
    match module.types.get(ty) {
        Type::Array { element, .. } => Some(element),
        _ => None,
    }
}

pub(super) fn first_not_finite(layout: &Layout, data: &[u8]) -> Option<usize> {
    // Elements of `float`s alone, as most are, have no gaps: whole vector registers at once.
    if layout.only_scalar() == Some(Scalar::F32) {
        let finite = data.as_chunks::<4>().0.iter().fold(true, |finite, bytes| {
            finite & (u32::from_le_bytes(*bytes) & EXPONENT != EXPONENT)
        });
        if finite {
            return None;
        }
    }
    data.chunks_exact(layout.bytes.max(1)).position(|element| {
        layout.scalars.iter().any(|(offset, scalar)| {
            read_float(&element[*offset..], *scalar).is_some_and(|value| !value.is_finite())
        })
    })
}

/// Gives changed arrays of floats random gradients and the others gradients of zero.
pub(super) fn seed_gradients(
    module: &Module,
    arguments: &mut [Argument],
    results: &[Argument],
    random: &mut Random,
) {
    for (((_, variable), argument), result) in
        module.kernel.parameters().zip(arguments).zip(results)
    {
        let Some(layout) = element_of(module, variable.ty).and_then(|e| Layout::of(module, e))
        else {
            continue;
        };
        let (Argument::Array(array), Argument::Array(result)) = (argument, result) else {
            continue;
        };
        if !layout.is_floating() {
            continue;
        }
        let changed = array.data != result.data;
        let mut gradient = vec![0; array.data.len()];
        let weight = |random: &mut Random| (random.below(257) as f64 - 128.0) / 128.0;
        if changed && layout.only_scalar() == Some(Scalar::F32) {
            for word in gradient.as_chunks_mut::<4>().0 {
                *word = (weight(random) as f32).to_le_bytes();
            }
        } else if changed {
            for element in gradient.chunks_exact_mut(layout.bytes) {
                for (offset, scalar) in &layout.scalars {
                    write_float(&mut element[*offset..], *scalar, weight(random));
                }
            }
        }
        array.gradient = Some(gradient);
    }
}
