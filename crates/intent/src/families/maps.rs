//! Maps: every element by itself.

use super::skeletons::pointwise::Pointwise;
use super::vocabulary::{COMBINATIONS, EPSILONS, FACTORS, FRACTIONS};
use crate::axis::Axis;
use crate::family::{Contents, Family, Group};

const GROUP: Group = Group::Maps;
const X: (&str, Contents) = ("x", Contents::Any);
const Y: (&str, Contents) = ("y", Contents::Any);
const Z: (&str, Contents) = ("z", Contents::Any);

pub(crate) fn families() -> Vec<Family> {
    let families = [
        Pointwise {
            name: "function",
            group: GROUP,
            title: "$f.name_map",
            axes: vec![Axis::chain("f")],
            inputs: &[X],
            outputs: &["out"],
            steps: &[("v", "x"), ("v", "$f(v)"), ("out", "v")],
            phrasings: &[
                "For each element of `x`: $f.words. Write the result to the same place of `out`.",
                "`out[i]` is $f.of(`x[i]`).",
                "Fill `out` element by element with $f.of(the matching element of `x`).",
            ],
        },
        Pointwise {
            name: "combination",
            group: GROUP,
            title: "$h.name_$op.name_of_$f.name_and_$g.name",
            axes: vec![
                Axis::function("f"),
                Axis::function("g"),
                Axis::options("op", COMBINATIONS),
                Axis::function("h"),
            ],
            inputs: &[X, Y],
            outputs: &["out"],
            steps: &[
                ("a", "$f(x)"),
                ("b", "$g(y)"),
                ("v", "$op(a, b)"),
                ("v", "$h(v)"),
                ("out", "v"),
            ],
            phrasings: &[
                "Take an element of `x` and $f.words; take the element of `y` at the same place and $g.words. Form $op.words, then $h.words. Store the result in `out`.",
                "Let a be $f.of(`x[i]`) and b be $g.of(`y[i]`). Of a and b, form $op.words. `out[i]` is $h.of(that).",
                "`out` has the shape of `x` and `y`. Its elements are $h.of(c), where c is $op.words, and the two are first $f.of(`x[i]`) and second $g.of(`y[i]`).",
            ],
        },
        Pointwise {
            name: "blend",
            group: GROUP,
            title: "blend_$f.name_$h.name",
            axes: vec![
                Axis::constants("weight", FRACTIONS),
                Axis::function("f"),
                Axis::function("h"),
            ],
            inputs: &[X, Y],
            outputs: &["out"],
            steps: &[
                ("a", "$f(x)"),
                ("v", "y + $weight * (a - y)"),
                ("v", "$h(v)"),
                ("out", "v"),
            ],
            phrasings: &[
                "Blend two arrays: take $weight of ($f.of(`x[i]`)) and the rest, 1 - $weight, of `y[i]`. Then $h.words. Store the result in `out[i]`.",
                "With a being $f.of(`x[i]`), `out[i]` is $h.of(y[i] + $weight * (a - y[i])).",
                "Interpolate linearly from `y` (weight 0) to the transformed `x` (weight 1) at weight $weight, where `x` is transformed like this: $f.words. Then $h.words.",
            ],
        },
        Pointwise {
            name: "multiply_add",
            group: GROUP,
            title: "multiply_add_$f.name",
            axes: vec![Axis::constants("factor", FACTORS), Axis::chain("f")],
            inputs: &[X, Y, Z],
            outputs: &["out"],
            steps: &[("v", "$factor * x * y + z"), ("v", "$f(v)"), ("out", "v")],
            phrasings: &[
                "Multiply `x[i]` by `y[i]` and by $factor, and add `z[i]`. Then $f.words. Store the result in `out[i]`.",
                "`out[i]` is $f.of($factor * x[i] * y[i] + z[i]).",
                "Compute $factor * x * y + z element by element; then $f.words.",
            ],
        },
        Pointwise {
            name: "gate",
            group: GROUP,
            title: "$f.name_gated_by_$g.name",
            axes: vec![Axis::function("f"), Axis::function("g")],
            inputs: &[X, Y, Z],
            outputs: &["out"],
            steps: &[("a", "$f(y)"), ("b", "$g(z)"), ("out", "x + a * b")],
            phrasings: &[
                "Add a gated branch to a residual: `out[i]` is `x[i]` plus the product of ($f.of(`y[i]`)) and ($g.of(`z[i]`)).",
                "Take a value of `y` and $f.words. Take the gate from `z` and $g.words. Multiply the two and add the element of `x`.",
                "out = x + a * b element by element, where a is $f.of(`y[i]`) and b is $g.of(`z[i]`).",
            ],
        },
        Pointwise {
            name: "selection",
            group: GROUP,
            title: "select_$f.name_or_$g.name",
            axes: vec![Axis::function("f"), Axis::function("g")],
            inputs: &[X, Y],
            outputs: &["out"],
            steps: &[
                ("a", "$f(x)"),
                ("b", "$g(y)"),
                ("out", "where(x > y, a, b)"),
            ],
            phrasings: &[
                "Where `x[i]` is greater than `y[i]`, `out[i]` is $f.of(`x[i]`); elsewhere it is $g.of(`y[i]`).",
                "Compare `x` and `y` element by element. If `x` is greater, take it and $f.words; if not, take `y` and $g.words.",
                "Choose for each place: $f.of(`x[i]`) if x[i] > y[i], else $g.of(`y[i]`). Write the choice to `out`.",
            ],
        },
        Pointwise {
            name: "quantise",
            group: GROUP,
            title: "quantise_$f.name",
            axes: vec![
                Axis::constants("step", &[0.03125, 0.0625, 0.125, 0.25, 0.5]),
                Axis::constants("limit", &[1.0, 2.0, 4.0, 8.0]),
                Axis::function("f"),
            ],
            inputs: &[X],
            outputs: &["out"],
            steps: &[
                ("level", "floor(x / $step + 0.5)"),
                ("v", "clamp(level * $step, -$limit, $limit)"),
                ("v", "$f(v)"),
                ("out", "v"),
            ],
            phrasings: &[
                "Round each element of `x` to the nearest multiple of $step (halves go up), limit it to the range from -$limit to $limit, then $f.words.",
                "Let q be floor(x[i] / $step + 0.5) * $step, limited to [-$limit, $limit]. `out[i]` is $f.of(q).",
                "Quantise `x` in steps of $step with saturation at plus and minus $limit, and map the quantised value: $f.words.",
            ],
        },
        Pointwise {
            name: "momentum_step",
            group: GROUP,
            title: "momentum_step_$f.name",
            axes: vec![
                Axis::constants("rate", &[0.0009765625, 0.00390625, 0.015625, 0.0625]),
                Axis::constants("momentum", FRACTIONS),
                Axis::function("f"),
            ],
            inputs: &[
                ("weight", Contents::Any),
                ("gradient", Contents::Any),
                ("velocity", Contents::Any),
            ],
            outputs: &["new_velocity", "new_weight"],
            steps: &[
                ("g", "$f(gradient)"),
                ("v", "$momentum * velocity + g"),
                ("new_velocity", "v"),
                ("new_weight", "weight - $rate * v"),
            ],
            phrasings: &[
                "One step of gradient descent with momentum $momentum and learning rate $rate. The gradient that counts is $f.of(`gradient[i]`). The velocity becomes $momentum times itself plus that gradient; the weight goes down by $rate times the new velocity.",
                "Let g be $f.of(`gradient[i]`). new_velocity = $momentum * velocity + g, and new_weight = weight - $rate * new_velocity.",
                "Update weights by SGD with momentum (rate $rate, momentum $momentum); before use, take the gradient and $f.words.",
            ],
        },
        Pointwise {
            name: "adaptive_step",
            group: GROUP,
            title: "adaptive_step_$f.name",
            axes: vec![
                Axis::constants("rate", &[0.0009765625, 0.00390625, 0.015625]),
                Axis::constants("first", &[0.5, 0.75, 0.875, 0.9375]),
                Axis::constants("second", &[0.875, 0.9375, 0.984375]),
                Axis::constants("epsilon", EPSILONS),
                Axis::function("f"),
            ],
            inputs: &[
                ("weight", Contents::Any),
                ("gradient", Contents::Any),
                ("mean", Contents::Any),
                ("square", Contents::Uniform(0.0, 4.0)),
            ],
            outputs: &["new_mean", "new_square", "new_weight"],
            steps: &[
                ("g", "$f(gradient)"),
                ("m", "mean + (1 - $first) * (g - mean)"),
                ("s", "square + (1 - $second) * (g * g - square)"),
                ("new_mean", "m"),
                ("new_square", "s"),
                ("new_weight", "weight - $rate * m / (sqrt(s) + $epsilon)"),
            ],
            phrasings: &[
                "One Adam step without bias correction: rate $rate, betas $first and $second, epsilon $epsilon. The gradient that counts is $f.of(`gradient[i]`). Write the new first moment, second moment and weight.",
                "Let g be $f.of(`gradient[i]`). Move `mean` towards g (it keeps $first) and `square` towards g * g (it keeps $second); then new_weight = weight - $rate * new_mean / (sqrt(new_square) + $epsilon).",
                "Update weights with Adam ($rate, $first, $second, epsilon $epsilon, no bias correction). Before use, take the gradient and $f.words.",
            ],
        },
    ];
    families.into_iter().map(Pointwise::family).collect()
}
