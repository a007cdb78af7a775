//! Gradients against differences of the results.

use warpsmith_compiler::Argument;
use warpsmith_compiler::Interpreter;
use warpsmith_compiler::ir::Module;

use super::arguments::{Layout, arguments, read_float, write_float};
use super::executed::{each_array, element_of, launch, rank, seed_gradients};
use super::level::Check;
use crate::random::Random;
use crate::record::Origin;

/// Elements of each input that are moved.
const PROBES: usize = 4;

/// Moves single elements of the inputs and compares how the weighted sum of the results changes with
/// what the adjoint says. Kernels have kinks (`abs`, `where`, `floor`), so single elements may disagree;
/// most must not. Dynamic loops are left out: Warp's adjoint of a value that a loop overwrites is not
/// its derivative, and the corpus reproduces Warp.
pub(super) fn compare_gradients(
    module: &Module,
    origin: Origin,
    forward: &Interpreter<'_>,
    adjoint: &Interpreter<'_>,
) -> Result<Check, Check> {
    let functions = module.functions.iter().chain([&module.kernel]);
    if functions.clone().any(|function| !function.loops.is_empty()) {
        return Err(Check::Skipped("a dynamic loop".to_owned()));
    }
    // Indices that come from the inputs are below 100.
    let dim = [100, 8, 4, 3];
    let rank = rank(module).clamp(1, 4);
    let dim = vec![dim[rank - 1]; rank];
    let mut random = Random::of_pair(origin.seed, origin.index, u32::MAX - 2);
    let given = arguments(module, &dim, &mut random).map_err(Check::Skipped)?;
    let mut results = given.clone();
    launch(forward, &dim, &mut results)?;
    let mut seeded = given.clone();
    seed_gradients(module, &mut seeded, &results, &mut random);
    let weights = seeded.clone();
    launch(adjoint, &dim, &mut seeded)?;
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
        for _ in 0..PROBES {
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
                launch(forward, &dim, &mut moved)?;
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
