//! The `executed` level: the interpreter runs a kernel and its adjoint on random inputs.

use std::fmt::Write;

use warpsmith_compiler::ir::{FunctionKind, Module};
use warpsmith_compiler::{Argument, Interpreter, Type, TypeId};
use warpsmith_core::Finding;

use super::arguments::{Layout, arguments, read_float, read_integer, write_float};
use super::level::Check;
use super::races::race_free;
use crate::random::Random;
use crate::record::Origin;

/// Values of each changed array that a record keeps.
const KEPT: usize = 8;

/// Elements that are moved when gradients are compared with differences.
const PROBES: usize = 12;

/// What came of running a pair.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Execution {
    /// Whether it ran as it should.
    pub executed: Check,
    /// Whether its gradients agree with differences.
    pub gradient: Check,
    /// Launch and results, as JSON.
    pub expected: String,
}

/// The grid on which a kernel of this many dimensions is run: about a thousand threads.
pub fn launch_shape(rank: usize) -> Vec<usize> {
    match rank {
        0 | 1 => vec![1000],
        2 => vec![32, 32],
        3 => vec![10, 10, 10],
        _ => vec![6, 6, 6, 6],
    }
}

fn rank(module: &Module) -> usize {
    match &module.kernel.kind {
        FunctionKind::Kernel { launch_rank, .. } => *launch_rank as usize,
        FunctionKind::Device { .. } => 1,
    }
}

/// Runs the kernel of `module`; `differences` also compares its gradients with differences.
pub fn execute(module: &Module, origin: Origin, differences: bool) -> Execution {
    let mut execution = Execution::default();
    match run(module, origin, &mut execution) {
        Ok(()) => execution.executed = Check::Passed,
        Err(check) => execution.executed = check,
    }
    if differences && execution.executed == Check::Passed {
        execution.gradient = match compare_gradients(module, origin) {
            Ok(check) => check,
            Err(check) => check,
        };
    }
    execution
}

fn planned<'m>(result: Result<Interpreter<'m>, Vec<Finding>>) -> Result<Interpreter<'m>, Check> {
    result.map_err(|findings| {
        let reason = findings.first().map(|finding| finding.message.clone());
        Check::Skipped(reason.unwrap_or_default())
    })
}

fn run(module: &Module, origin: Origin, execution: &mut Execution) -> Result<(), Check> {
    race_free(module).map_err(|reason| Check::Failed(format!("not race-free: {reason}")))?;
    let forward = planned(Interpreter::forward(module))?;
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
    execution.expected = expected(module, &dim, &given, &results)?;
    let adjoint = planned(Interpreter::adjoint(module))?;
    let mut seeded = given;
    seed_gradients(module, &mut seeded, &results, &mut random);
    launch(&adjoint, &dim, &mut seeded)?;
    each_array(module, &seeded, &mut |name, layout, argument| {
        let gradient = argument.gradient.as_deref().unwrap_or_default();
        match first_not_finite(layout, gradient) {
            Some(place) => Err(Check::Failed(format!(
                "the gradient of `{name}` is not finite at {place}"
            ))),
            None => Ok(()),
        }
    })
}

fn launch(
    interpreter: &Interpreter<'_>,
    dim: &[usize],
    arguments: &mut [Argument],
) -> Result<(), Check> {
    match interpreter.run(dim, arguments) {
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

type Visit<'v> =
    dyn FnMut(&str, &Layout, &warpsmith_compiler::ArrayArgument) -> Result<(), Check> + 'v;

/// Visits every array parameter.
fn each_array(module: &Module, arguments: &[Argument], visit: &mut Visit<'_>) -> Result<(), Check> {
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

fn element_of(module: &Module, ty: TypeId) -> Option<TypeId> {
    match module.types.get(ty) {
        Type::Array { element, .. } => Some(element),
        _ => None,
    }
}

fn first_not_finite(layout: &Layout, data: &[u8]) -> Option<usize> {
    data.chunks_exact(layout.bytes.max(1)).position(|element| {
        layout.scalars.iter().any(|(offset, scalar)| {
            read_float(&element[*offset..], *scalar).is_some_and(|value| !value.is_finite())
        })
    })
}

/// The launch and the head of every array that it changed; fails where one of them is not finite.
fn expected(
    module: &Module,
    dim: &[usize],
    given: &[Argument],
    results: &[Argument],
) -> Result<String, Check> {
    let mut text = format!("{{\"dim\":{dim:?},\"changed\":{{");
    let mut first = true;
    let mut position = 0;
    let before: Vec<&Argument> = given
        .iter()
        .filter(|argument| matches!(argument, Argument::Array(_)))
        .collect();
    each_array(module, results, &mut |name, layout, array| {
        let unchanged =
            matches!(before.get(position), Some(Argument::Array(old)) if old.data == array.data);
        position += 1;
        if unchanged {
            return Ok(());
        }
        if let Some(place) = first_not_finite(layout, &array.data) {
            return Err(Check::Failed(format!("`{name}` is not finite at {place}")));
        }
        if !std::mem::take(&mut first) {
            text.push(',');
        }
        let _ = write!(text, "\"{name}\":[");
        let values = array
            .data
            .chunks_exact(layout.bytes.max(1))
            .flat_map(|element| {
                layout
                    .scalars
                    .iter()
                    .map(move |(at, s)| (&element[*at..], *s))
            })
            .take(KEPT);
        for (n, (bytes, scalar)) in values.enumerate() {
            if n > 0 {
                text.push(',');
            }
            if let Some(value) = read_float(bytes, scalar) {
                let _ = write!(text, "{value}");
            } else if let Some(value) = read_integer(bytes, scalar) {
                let _ = write!(text, "{value}");
            }
        }
        text.push(']');
        Ok(())
    })?;
    text.push_str("}}");
    Ok(text)
}

/// Gives changed arrays of floats random gradients and the others gradients of zero.
fn seed_gradients(
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
        if changed {
            for element in gradient.chunks_exact_mut(layout.bytes) {
                for (offset, scalar) in &layout.scalars {
                    let weight = (random.below(257) as f64 - 128.0) / 128.0;
                    write_float(&mut element[*offset..], *scalar, weight);
                }
            }
        }
        array.gradient = Some(gradient);
    }
}

/// Moves single elements of the inputs and compares how the weighted sum of the results changes with
/// what the adjoint says. Kernels have kinks (`abs`, `where`, `floor`), so single elements may disagree;
/// most must not. Dynamic loops are left out: Warp's adjoint of a value that a loop overwrites is not
/// its derivative, and the corpus reproduces Warp.
fn compare_gradients(module: &Module, origin: Origin) -> Result<Check, Check> {
    let functions = module.functions.iter().chain([&module.kernel]);
    if functions.clone().any(|function| !function.loops.is_empty()) {
        return Err(Check::Skipped("a dynamic loop".to_owned()));
    }
    let forward = planned(Interpreter::forward(module))?;
    let adjoint = planned(Interpreter::adjoint(module))?;
    let dim = [64, 8, 4, 3];
    let rank = rank(module).clamp(1, 4);
    let dim = vec![dim[rank - 1]; rank];
    let mut random = Random::of_pair(origin.seed, origin.index, u32::MAX - 2);
    let given = arguments(module, &dim, &mut random).map_err(Check::Skipped)?;
    let mut results = given.clone();
    launch(&forward, &dim, &mut results)?;
    let mut seeded = given.clone();
    seed_gradients(module, &mut seeded, &results, &mut random);
    let weights = seeded.clone();
    launch(&adjoint, &dim, &mut seeded)?;
    let loss = |results: &[Argument]| -> f64 {
        let mut sum = 0.0;
        let mut weights = weights.iter();
        let _ = each_array(module, results, &mut |_, layout, array| {
            let weight = weights.find_map(|w| match w {
                Argument::Array(w) => Some(w),
                _ => None,
            });
            let Some(gradient) = weight.and_then(|w| w.gradient.as_ref()) else {
                return Ok(());
            };
            let elements = array.data.chunks_exact(layout.bytes);
            for (value, weight) in elements.zip(gradient.chunks_exact(layout.bytes)) {
                for (at, scalar) in &layout.scalars {
                    let value = read_float(&value[*at..], *scalar).unwrap_or(0.0);
                    sum += value * read_float(&weight[*at..], *scalar).unwrap_or(0.0);
                }
            }
            Ok(())
        });
        sum
    };
    let (mut agree, mut tried) = (0, 0);
    for (position, (_, variable)) in module.kernel.parameters().enumerate() {
        let Some(layout) = element_of(module, variable.ty).and_then(|e| Layout::of(module, e))
        else {
            continue;
        };
        let (Argument::Array(array), Argument::Array(after), Argument::Array(result)) =
            (&given[position], &seeded[position], &results[position])
        else {
            continue;
        };
        let Some(gradient) = &after.gradient else {
            continue;
        };
        if array.data != result.data || layout.scalars.iter().any(|(_, s)| width_of(*s) < 4) {
            continue;
        }
        let elements = array.data.len() / layout.bytes;
        for _ in 0..PROBES / 3 {
            let place = random.below(elements) * layout.bytes;
            let (offset, scalar) = layout.scalars[random.below(layout.scalars.len())];
            let at = place + offset;
            let (Some(value), Some(derivative)) = (
                read_float(&array.data[at..], scalar),
                read_float(&gradient[at..], scalar),
            ) else {
                continue;
            };
            let step = 1.0 / 128.0;
            let mut sides = [0.0; 2];
            for (side, sign) in sides.iter_mut().zip([-1.0, 1.0]) {
                let mut moved = given.clone();
                if let Argument::Array(array) = &mut moved[position] {
                    write_float(&mut array.data[at..], scalar, value + sign * step);
                }
                launch(&forward, &dim, &mut moved)?;
                *side = loss(&moved);
            }
            let difference = (sides[1] - sides[0]) / (2.0 * step);
            let scale = derivative.abs().max(difference.abs()).max(1.0);
            tried += 1;
            // A central difference in single precision: the step's square and the rounding of a sum.
            agree += usize::from((difference - derivative).abs() <= 0.05 * scale);
        }
    }
    Ok(match tried {
        0 => Check::Skipped("no input that gradients flow to".to_owned()),
        _ if agree * 3 >= tried * 2 => Check::Passed,
        _ => Check::Failed(format!("{agree} of {tried} differences agree")),
    })
}

fn width_of(scalar: warpsmith_compiler::Scalar) -> usize {
    match scalar {
        warpsmith_compiler::Scalar::F32 => 4,
        warpsmith_compiler::Scalar::F64 => 8,
        _ => 2,
    }
}
