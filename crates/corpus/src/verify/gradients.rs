//! Gradients against differences of the results.

use warpsmith_compiler::Scalar;
use warpsmith_compiler::ir::Module;
use warpsmith_interpreter::{Argument, ArrayArgument, Interpreter};

use super::arguments::{Layout, arguments, read_float, write_float};
use super::executed::{each_array, element_of, launch, rank, seed_gradients};
use super::level::Check;
use crate::features::Features;
use crate::random::Random;
use crate::record::Origin;

/// Elements of each input that are moved.
const PROBES: usize = 4;

/// How far an element is moved: far enough that rounding does not count, and nearer where a kink or a
/// jump was in between.
const STEPS: [f64; 2] = [1.0 / 128.0, 1.0 / 1024.0];

/// A central difference in single precision: the step's square, and the rounding of a sum.
const TOLERANCE: f64 = 0.05;

/// Builtins that Warp gives no adjoint although their results follow their arguments, one that leaves out
/// that a part is overwritten, so that gradients also flow to the value from before, or one that takes a
/// random state that has moved on since.
const OTHER_ADJOINT: [&str; 9] = [
    "assign_inplace",
    "atomic_cas",
    "atomic_exch",
    "curlnoise",
    "frac",
    "noise",
    "pnoise",
    "transform_set_rotation",
    "transform_set_translation",
];

/// Conversions whose steps are as wide as the differences.
const COARSE: [&str; 2] = ["bfloat16", "float16"];

/// What a moved element says about its gradient.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Probe {
    Agrees,
    Disagrees,
    /// The differences contradict each other: there is no derivative to compare with.
    Nothing,
}

/// Moves single elements of the inputs and compares how the weighted sum of the results changes with
/// what the adjoint says. Left out is what Warp's adjoint, which the corpus reproduces, does not claim:
/// dynamic loops, whose overwritten values have no derivative in it, and some builtins.
pub(super) fn compare_gradients(
    module: &Module,
    origin: Origin,
    forward: &Interpreter<'_>,
    adjoint: &Interpreter<'_>,
) -> Result<Check, Check> {
    let mut functions = module.functions.iter().chain([&module.kernel]);
    if functions.any(|function| !function.loops.is_empty()) {
        return Err(Check::Skipped("a dynamic loop".to_owned()));
    }
    let builtins = Features::of(module).builtins;
    if let Some(name) = OTHER_ADJOINT.iter().find(|name| builtins.contains(name)) {
        let reason = format!("the adjoint of `{name}` is not its derivative");
        return Err(Check::Skipped(reason));
    }
    if let Some(name) = COARSE.iter().find(|name| builtins.contains(name)) {
        let reason = format!("`{name}` rounds to steps as wide as the differences");
        return Err(Check::Skipped(reason));
    }
    compare(module, origin, forward, adjoint)
}

/// Compares, whatever the kernel is made of.
fn compare(
    module: &Module,
    origin: Origin,
    forward: &Interpreter<'_>,
    adjoint: &Interpreter<'_>,
) -> Result<Check, Check> {
    // Indices that come from the inputs are below 100.
    let dim = [100, 8, 4, 3];
    let rank = rank(module).clamp(1, 4);
    let dim = vec![dim[rank - 1]; rank];
    let mut random = Random::of_pair(origin.seed, origin.index, u32::MAX - 2);
    let given = arguments(module, &dim, &mut random).map_err(Check::Skipped)?;
    let mut results = given.clone();
    launch(forward, &dim, &mut results)?;
    let mut weights = given.clone();
    seed_gradients(module, &mut weights, &results, &mut random);
    // A tape walks back over what the forward pass left, which `atomic_max` relies on; a kernel that
    // overwrites what it reads has its derivative only where the values are those from before.
    let mut before = weights.clone();
    launch(adjoint, &dim, &mut before)?;
    let mut after = weights.clone();
    for (seeded, result) in after.iter_mut().zip(&results) {
        if let (Argument::Array(seeded), Argument::Array(result)) = (seeded, result) {
            seeded.data.clone_from(&result.data);
        }
    }
    launch(adjoint, &dim, &mut after)?;
    // For each of the two walks: probes that agree, and those that do not.
    let mut counts = [[0_usize; 2]; 2];
    for (position, (_, variable)) in module.kernel.parameters().enumerate() {
        let Some(layout) = element_of(module, variable.ty).and_then(|e| Layout::of(module, e))
        else {
            continue;
        };
        let (Argument::Array(array), Argument::Array(result)) =
            (&given[position], &results[position])
        else {
            continue;
        };
        if array.data != result.data
            || !layout.is_floating()
            || layout.scalars.iter().any(|(_, s)| *s == Scalar::F16)
        {
            continue;
        }
        let elements = array.data.len() / layout.bytes;
        for _ in 0..PROBES {
            let place = random.below(elements) * layout.bytes;
            let (offset, scalar) = layout.scalars[random.below(layout.scalars.len())];
            let at = place + offset;
            let Some(value) = read_float(&array.data[at..], scalar) else {
                continue;
            };
            let mut change = |moved_to: f64| -> Result<Change, Check> {
                let mut moved = given.clone();
                if let Argument::Array(array) = &mut moved[position] {
                    write_float(&mut array.data[at..], scalar, moved_to);
                }
                launch(forward, &dim, &mut moved)?;
                Ok(weighted_change(module, &weights, &results, &moved))
            };
            let mut sides = Vec::with_capacity(STEPS.len());
            for (walk, counts) in [&before, &after].into_iter().zip(&mut counts) {
                let Some(derivative) = gradient_at(&walk[position], at, scalar) else {
                    continue;
                };
                match judge(derivative, value, &mut sides, &mut change)? {
                    Probe::Agrees => counts[0] += 1,
                    Probe::Disagrees => counts[1] += 1,
                    Probe::Nothing => {}
                }
            }
        }
    }
    let [best, other] = counts;
    let best = if other[1] < best[1] { other } else { best };
    Ok(match best {
        [0, 0] => Check::Skipped("no input that gradients flow to".to_owned()),
        [_, 0] => Check::Passed,
        [agree, disagree] => {
            Check::Failed(format!("{agree} of {} differences agree", agree + disagree))
        }
    })
}

/// How the results changed, each times its seed, and how much of that may be rounding.
#[derive(Clone, Copy)]
struct Change {
    sum: f64,
    rounding: f64,
}

/// Holds a derivative against differences; `sides` keeps the changes on both sides, one entry a step,
/// for the next derivative of the same element.
fn judge(
    derivative: f64,
    value: f64,
    sides: &mut Vec<[Change; 2]>,
    change: &mut dyn FnMut(f64) -> Result<Change, Check>,
) -> Result<Probe, Check> {
    let mut earlier: Option<f64> = None;
    for (number, step) in STEPS.into_iter().enumerate() {
        if sides.len() <= number {
            sides.push([change(value - step)?, change(value + step)?]);
        }
        let [low, high] = sides[number];
        let (left, right) = (-low.sum / step, high.sum / step);
        let difference = (left + right) / 2.0;
        let scale = |a: f64, b: f64| TOLERANCE * a.abs().max(b.abs()).max(1.0);
        let close = |a: f64, b: f64| (a - b).abs() <= scale(a, b);
        // At a kink the adjoint is that of one side.
        if [difference, left, right]
            .iter()
            .any(|difference| close(*difference, derivative))
        {
            return Ok(Probe::Agrees);
        }
        let rounding = 4.0 * (low.rounding + high.rounding) / step;
        let sure = rounding < scale(difference, derivative);
        if earlier.is_some_and(|earlier| sure && close(earlier, difference) && close(left, right)) {
            return Ok(Probe::Disagrees);
        }
        earlier = Some(difference);
    }
    Ok(Probe::Nothing)
}

/// What moving an input did to the results. Element by element, so that large results which did not
/// change hide nothing.
fn weighted_change(
    module: &Module,
    weights: &[Argument],
    before: &[Argument],
    after: &[Argument],
) -> Change {
    fn arrays(arguments: &[Argument]) -> impl Iterator<Item = &ArrayArgument> {
        arguments.iter().filter_map(|argument| match argument {
            Argument::Array(array) => Some(array),
            _ => None,
        })
    }
    let mut others = arrays(weights).zip(arrays(before));
    let mut change = Change {
        sum: 0.0,
        rounding: 0.0,
    };
    // Where nothing changed at all, the change may have been rounded away.
    let mut unchanged = 0.0_f64;
    let _ = each_array(module, after, &mut |_, layout, after| {
        let Some((weight, before)) = others.next() else {
            return Ok(());
        };
        let Some(gradient) = &weight.gradient else {
            return Ok(());
        };
        for start in (0..after.data.len()).step_by(layout.bytes.max(1)) {
            for (offset, scalar) in &layout.scalars {
                let at = start + offset;
                let read = |bytes: &[u8]| read_float(&bytes[at..], *scalar).unwrap_or(0.0);
                let (value, weight) = (read(&after.data), read(gradient));
                let rounding = (value * weight).abs() * epsilon(*scalar);
                let difference = value - read(&before.data);
                if difference == 0.0 {
                    unchanged = unchanged.max(rounding);
                } else {
                    change.sum += difference * weight;
                    change.rounding += rounding;
                }
            }
        }
        Ok(())
    });
    if change.sum == 0.0 {
        change.rounding = unchanged;
    }
    change
}

/// Half a unit in the last place of one.
fn epsilon(scalar: Scalar) -> f64 {
    match scalar {
        Scalar::F16 => f64::powi(2.0, -11),
        Scalar::F32 => f64::powi(2.0, -24),
        _ => f64::powi(2.0, -53),
    }
}

fn gradient_at(argument: &Argument, at: usize, scalar: Scalar) -> Option<f64> {
    match argument {
        Argument::Array(array) => read_float(&array.gradient.as_ref()?[at..], scalar),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::verify::Executor;
    use warpsmith_compiler::{Compiler, Options};

    const ORIGIN: Origin = Origin {
        seed: 3,
        index: 0,
        attempt: 0,
    };

    fn compile(parameters: &str, body: &[&str]) -> Module {
        let source = format!(
            "import warp as wp\n\n\n@wp.kernel\ndef f({parameters}):\n    i = wp.tid()\n    {}\n",
            body.join("\n    ")
        );
        Compiler::new()
            .compile(&source, &Options::default())
            .unwrap()
    }

    fn differences(parameters: &str, body: &[&str]) -> Check {
        let module = compile(parameters, body);
        let forward = Interpreter::forward(&module).unwrap();
        let adjoint = Interpreter::adjoint(&module).unwrap();
        compare(&module, ORIGIN, &forward, &adjoint).unwrap()
    }

    /// Warp's `eig3` reads the lower triangle, and its adjoint is that of a symmetric matrix.
    #[test]
    fn eigenvalues_have_their_derivative_where_the_matrix_is_symmetric() {
        let vectors =
            "v: wp.array(dtype=wp.vec3), w: wp.array(dtype=wp.vec3), out: wp.array(dtype=wp.vec3)";
        let of = |left: &str, right: &str| {
            let call = format!("q, d = wp.eig3(wp.diag(v[i]) + wp.outer({left}, {right}))");
            differences(vectors, &[&call, "out[i] = d"])
        };
        assert_eq!(of("w[i]", "w[i]"), Check::Passed);
        assert!(matches!(of("v[i]", "w[i]"), Check::Failed(_)));
    }

    /// Warp's adjoint of a part that is set in place leaves the gradient of what was there before.
    #[test]
    fn a_part_set_in_place_keeps_the_gradient_of_what_it_replaced() {
        let arrays =
            "x: wp.array(dtype=wp.vec3), y: wp.array(dtype=wp.vec3), out: wp.array(dtype=wp.vec3)";
        let of = |first: &str| {
            let made = format!("t = wp.transform({first}, wp.quat_identity())");
            let set = "wp.transform_set_translation(t, y[i])";
            let read = "out[i] = wp.transform_get_translation(t) + x[i]";
            differences(arrays, &[&made, set, read])
        };
        assert_eq!(of("wp.vec3(1.0, 2.0, 3.0)"), Check::Passed);
        assert!(matches!(of("x[i]"), Check::Failed(_)));
        let module = compile(
            arrays,
            &[
                "t = wp.transform(x[i], wp.quat_identity())",
                "wp.transform_set_translation(t, y[i])",
                "out[i] = wp.transform_get_translation(t)",
            ],
        );
        let execution = Executor::default().execute(&module, ORIGIN, true);
        assert_eq!(execution.executed, Check::Passed);
        assert!(matches!(execution.gradient, Check::Skipped(_)));
    }

    /// The adjoint of a conversion has the type of what was converted to.
    #[test]
    fn a_gradient_beyond_the_range_of_a_half_is_not_finite() {
        let arrays = "x: wp.array(dtype=float), out: wp.array(dtype=float)";
        let of = |factor: &str| {
            let line = format!("out[i] = float(wp.float16(0.001 * x[i])) * {factor}");
            let module = compile(arrays, &[&line]);
            Executor::default().execute(&module, ORIGIN, false).executed
        };
        assert_eq!(of("100.0"), Check::Passed);
        let seen = of("1000000.0");
        assert!(
            matches!(&seen, Check::Failed(reason) if reason.contains("gradient of `x` is not finite")),
            "{seen:?}"
        );
    }

    /// The adjoint of `erfinv` grows as the exponential of its result squared, and reads that result
    /// from a variable which a dynamic loop has changed since.
    #[test]
    fn a_loop_that_changes_a_result_changes_what_its_adjoint_reads() {
        let arrays = "x: wp.array(dtype=float), out: wp.array(dtype=float), n: int";
        let of = |made: &str| {
            let made = format!("y = {made}");
            let body = [
                made.as_str(),
                "for k in range(wp.min(n, 0) + 40):",
                "    y += 0.5",
                "out[i] = y",
            ];
            let module = compile(arrays, &body);
            Executor::default().execute(&module, ORIGIN, false).executed
        };
        let made = "wp.erfinv(wp.clamp(x[i], -0.9, 0.9))";
        assert!(matches!(of(made), Check::Failed(_)));
        assert_eq!(of(&format!("0.5 * {made}")), Check::Passed);
    }

    /// A difference of two numbers that were rounded to eight bits is no derivative.
    #[test]
    fn coarse_conversions_have_no_differences() {
        let arrays = "x: wp.array(dtype=float), out: wp.array(dtype=float)";
        let line = "out[i] = float(wp.bfloat16(2.75 - x[i]))";
        let module = compile(arrays, &[line]);
        let execution = Executor::default().execute(&module, ORIGIN, true);
        assert_eq!(execution.executed, Check::Passed);
        assert!(matches!(execution.gradient, Check::Skipped(_)));
    }
}
