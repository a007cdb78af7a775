//! Normalisations: a row's own figures decide what becomes of its elements.

use super::skeletons::rows::{Combine, Pass, Rows, Written};
use super::vocabulary::{EPSILONS, FACTORS};
use crate::axis::Axis;
use crate::family::{Family, Group};

const GROUP: Group = Group::Normalisations;

pub(crate) fn families() -> Vec<Family> {
    let families = [
        Rows {
            name: "softmax",
            group: Group::Attention,
            title: "softmax_$f.name",
            axes: vec![Axis::constants("factor", FACTORS), Axis::chain("f")],
            inputs: &["x"],
            weights: &[],
            passes: &[
                Pass {
                    name: "peak",
                    combine: Combine::Max,
                    steps: &[("v", "$factor * x"), ("v", "$f(v)")],
                    after: &[],
                },
                Pass {
                    name: "total",
                    combine: Combine::Sum,
                    steps: &[("v", "$factor * x"), ("v", "$f(v)"), ("v", "exp(v - peak)")],
                    after: &[],
                },
            ],
            written: Written::ForElement(&[
                ("v", "$factor * x"),
                ("v", "$f(v)"),
                ("v", "exp(v - peak) / total"),
            ]),
            phrasings: &[
                "Softmax of every row: multiply each element by $factor, then $f.words; take exponentials and divide by their sum over the row. Subtract the row's maximum before the exponential.",
                "With u[j] being $f.of($factor * x[i, j]), `out[i, j]` is exp(u[j]) divided by the sum of all exp(u), computed without overflow.",
                "Turn each row of logits into probabilities. A logit is $f.of($factor * x[i, j]). The result must be stable for large logits.",
            ],
        },
        Rows {
            name: "log_softmax",
            group: GROUP,
            title: "log_softmax_$f.name",
            axes: vec![Axis::constants("factor", FACTORS), Axis::function("f")],
            inputs: &["x"],
            weights: &[],
            passes: &[
                Pass {
                    name: "peak",
                    combine: Combine::Max,
                    steps: &[("v", "x")],
                    after: &[],
                },
                Pass {
                    name: "total",
                    combine: Combine::Sum,
                    steps: &[("v", "exp($factor * (x - peak))")],
                    after: &[("total", "log(total)")],
                },
            ],
            written: Written::ForElement(&[("v", "$factor * (x - peak) - total"), ("v", "$f(v)")]),
            phrasings: &[
                "The logarithm of the softmax of every row of `x` times $factor, computed stably; then $f.words.",
                "Let l[j] = $factor * x[i, j] - log(sum over t of exp($factor * x[i, t])). `out[i, j]` is $f.of(l[j]).",
                "Log-probabilities of each row at inverse temperature $factor (subtract the maximum first); on each, $f.words.",
            ],
        },
        Rows {
            name: "layer_norm",
            group: GROUP,
            title: "layer_norm_$f.name",
            axes: vec![Axis::constants("epsilon", EPSILONS), Axis::chain("f")],
            inputs: &["x"],
            weights: &["scale", "shift"],
            passes: &[
                Pass {
                    name: "mean",
                    combine: Combine::Sum,
                    steps: &[("v", "x")],
                    after: &[("mean", "mean / COLS")],
                },
                Pass {
                    name: "variance",
                    combine: Combine::Sum,
                    steps: &[("v", "x - mean"), ("v", "v * v")],
                    after: &[("variance", "1 / sqrt(variance / COLS + $epsilon)")],
                },
            ],
            written: Written::ForElement(&[
                ("v", "(x - mean) * variance * scale + shift"),
                ("v", "$f(v)"),
            ]),
            phrasings: &[
                "Layer normalisation of every row with epsilon $epsilon: subtract the mean, divide by the root of the variance plus epsilon, multiply by `scale[j]` and add `shift[j]`. Then $f.words.",
                "Let z[j] = (x[i, j] - mean) / sqrt(variance + $epsilon) * scale[j] + shift[j] with the row's mean and population variance. `out[i, j]` is $f.of(z[j]).",
                "Normalise rows to mean 0 and variance 1 (epsilon $epsilon), apply the columns' scale and shift, and map the result: $f.words.",
            ],
        },
        Rows {
            name: "rms_norm",
            group: GROUP,
            title: "rms_norm_$f.name",
            axes: vec![Axis::constants("epsilon", EPSILONS), Axis::chain("f")],
            inputs: &["x"],
            weights: &["scale"],
            passes: &[Pass {
                name: "size",
                combine: Combine::Sum,
                steps: &[("v", "x"), ("v", "v * v")],
                after: &[("size", "1 / sqrt(size / COLS + $epsilon)")],
            }],
            written: Written::ForElement(&[("v", "x * size * scale"), ("v", "$f(v)")]),
            phrasings: &[
                "RMS normalisation of every row: divide by the root of the mean square plus $epsilon and multiply by `scale[j]`. Then $f.words.",
                "Let z[j] = x[i, j] / sqrt(mean(x[i]^2) + $epsilon) * scale[j]. `out[i, j]` is $f.of(z[j]).",
                "Scale each row to unit root mean square (epsilon $epsilon), apply the columns' scale, and map the result: $f.words.",
            ],
        },
        Rows {
            name: "unit_rows",
            group: GROUP,
            title: "unit_rows_$f.name_$h.name",
            axes: vec![
                Axis::constants("epsilon", EPSILONS),
                Axis::function("f"),
                Axis::function("h"),
            ],
            inputs: &["x"],
            weights: &[],
            passes: &[Pass {
                name: "length",
                combine: Combine::Sum,
                steps: &[("v", "x"), ("v", "$f(v)"), ("v", "v * v")],
                after: &[("length", "sqrt(length) + $epsilon")],
            }],
            written: Written::ForElement(&[
                ("v", "x"),
                ("v", "$f(v)"),
                ("v", "v / length"),
                ("v", "$h(v)"),
            ]),
            phrasings: &[
                "Map the elements of each row ($f.words), divide them by the row's Euclidean length plus $epsilon, then $h.words.",
                "With u[j] being $f.of(`x[i, j]`), `out[i, j]` is $h.of(u[j] / (sqrt(sum of u^2) + $epsilon)).",
                "Scale each row to length 1 after this map: $f.words (add $epsilon to the length). Before storing an element, $h.words.",
            ],
        },
        Rows {
            name: "share_of_row",
            group: GROUP,
            title: "share_of_row_$h.name",
            axes: vec![Axis::constants("epsilon", EPSILONS), Axis::chain("h")],
            inputs: &["x"],
            weights: &[],
            passes: &[Pass {
                name: "total",
                combine: Combine::Sum,
                steps: &[("v", "abs(x)")],
                after: &[("total", "total + $epsilon")],
            }],
            written: Written::ForElement(&[("v", "x / total"), ("v", "$h(v)")]),
            phrasings: &[
                "Divide each element by the sum of the absolute values of its row plus $epsilon. Then $h.words.",
                "Let s = x[i, j] / (sum over t of |x[i, t]| + $epsilon). `out[i, j]` is $h.of(s).",
                "Normalise rows by their L1 norm (plus $epsilon), and map the shares: $h.words.",
            ],
        },
        Rows {
            name: "range_scaling",
            group: GROUP,
            title: "range_scaling_$h.name",
            axes: vec![Axis::constants("epsilon", EPSILONS), Axis::chain("h")],
            inputs: &["x"],
            weights: &[],
            passes: &[
                Pass {
                    name: "least",
                    combine: Combine::Min,
                    steps: &[("v", "x")],
                    after: &[],
                },
                Pass {
                    name: "most",
                    combine: Combine::Max,
                    steps: &[("v", "x")],
                    after: &[("most", "most - least + $epsilon")],
                },
            ],
            written: Written::ForElement(&[("v", "(x - least) / most"), ("v", "$h(v)")]),
            phrasings: &[
                "Scale every row to the range from 0 to 1: subtract its minimum and divide by (maximum - minimum + $epsilon). Then $h.words.",
                "Let s = (x[i, j] - min) / (max - min + $epsilon) with the row's minimum and maximum. `out[i, j]` is $h.of(s).",
                "Min-max scaling of rows with epsilon $epsilon; on each scaled element, $h.words.",
            ],
        },
        Rows {
            name: "peak_scaling",
            group: Group::Audio,
            title: "peak_scaling_$h.name",
            axes: vec![
                Axis::constants("level", &[0.25, 0.5, 0.75, 0.875]),
                Axis::constants("epsilon", EPSILONS),
                Axis::function("h"),
            ],
            inputs: &["x"],
            weights: &[],
            passes: &[Pass {
                name: "peak",
                combine: Combine::Max,
                steps: &[("v", "abs(x)")],
                after: &[("peak", "$level / (peak + $epsilon)")],
            }],
            written: Written::ForElement(&[("v", "x * peak"), ("v", "$h(v)")]),
            phrasings: &[
                "Each row is a signal. Scale it so that its peak is $level (divide by the largest absolute sample plus $epsilon, multiply by $level). Then $h.words.",
                "Let s = x[i, j] * $level / (max over t of |x[i, t]| + $epsilon). `out[i, j]` is $h.of(s).",
                "Peak-normalise every row to $level (epsilon $epsilon), and map the samples: $h.words.",
            ],
        },
    ];
    families.into_iter().map(Rows::family).collect()
}
