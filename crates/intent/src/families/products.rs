//! Products of matrices and their relatives, with epilogues.

use super::skeletons::product::Product;
use super::vocabulary::FACTORS;
use crate::axis::Axis;
use crate::family::{Family, Group};

const PLAIN: [&str; 2] = ["a @ b", "a @ b"];
const TRANSPOSED: [&str; 2] = ["a @ b.T", "a @ b.T"];

/// Sizes of a timed launch; a reference without a library for it gets less to do.
const LARGE: [i64; 3] = [1024, 1024, 512];
const SMALL: [i64; 3] = [512, 512, 256];

pub(crate) fn families() -> Vec<Family> {
    let families = [
        Product {
            name: "product",
            group: Group::Products,
            title: "product_$f.name",
            axes: vec![Axis::constants("factor", FACTORS), Axis::chain("f")],
            transposed: false,
            term: "p * q",
            after: &[("v", "$factor * sum"), ("v", "$f(v)")],
            columns: &[],
            matrices: &[],
            whole: PLAIN,
            timed: LARGE,
            phrasings: &[
                "Multiply the matrices `a` (m × k) and `b` (k × n). Of each result times $factor, write: $f.of(the product).",
                "Let p[i, j] be $factor times the sum over t of a[i, t] * b[t, j]. `out[i, j]` is $f.of(p[i, j]).",
                "A matrix product scaled by $factor with an epilogue in the same kernel: $f.words.",
            ],
        },
        Product {
            name: "linear_layer",
            group: Group::Products,
            title: "linear_layer_$f.name",
            axes: vec![Axis::chain("f")],
            transposed: true,
            term: "p * q",
            after: &[("v", "sum + bias"), ("v", "$f(v)")],
            columns: &["bias"],
            matrices: &[],
            whole: TRANSPOSED,
            timed: LARGE,
            phrasings: &[
                "A linear layer: multiply `a` (m × k) by the transpose of `b` (n × k), add `bias[j]` to column j, then $f.words.",
                "Let z[i, j] be the sum over t of a[i, t] * b[j, t], plus bias[j]. `out[i, j]` is $f.of(z[i, j]).",
                "Dot every row of `a` with every row of `b`, add the bias of the column, and map the result: $f.words. All in one kernel.",
            ],
        },
        Product {
            name: "residual_product",
            group: Group::Products,
            title: "residual_product_$f.name_$h.name",
            axes: vec![Axis::function("f"), Axis::function("h")],
            transposed: false,
            term: "p * q",
            after: &[("v", "$f(sum)"), ("v", "v + residual"), ("v", "$h(v)")],
            columns: &[],
            matrices: &["residual"],
            whole: PLAIN,
            timed: LARGE,
            phrasings: &[
                "Multiply `a` (m × k) by `b` (k × n). To each result do this: $f.words. Add the element of `residual`, then $h.words.",
                "Let p[i, j] be the sum over t of a[i, t] * b[t, j], and z be $f.of(p[i, j]). `out[i, j]` is $h.of(z + residual[i, j]).",
                "A matrix product with a residual connection: map the product ($f.words), add `residual`, and map the sum ($h.words).",
            ],
        },
        Product {
            name: "gated_product",
            group: Group::Products,
            title: "gated_product_$f.name_$g.name",
            axes: vec![Axis::function("f"), Axis::function("g")],
            transposed: true,
            term: "p * q",
            after: &[
                ("u", "$f(sum)"),
                ("w", "gate"),
                ("w", "$g(w)"),
                ("v", "u * w"),
            ],
            columns: &[],
            matrices: &["gate"],
            whole: TRANSPOSED,
            timed: LARGE,
            phrasings: &[
                "Dot every row of `a` with every row of `b`. `out[i, j]` is ($f.of(the dot product)) times ($g.of(`gate[i, j]`)).",
                "Multiply `a` by the transpose of `b` and map it: $f.words. Map `gate`: $g.words. Multiply the two element by element.",
                "out = u * w, where u is $f.of((a b^T)[i, j]) and w is $g.of(`gate[i, j]`).",
            ],
        },
        Product {
            name: "squared_distances",
            group: Group::Products,
            title: "squared_distances_$f.name",
            axes: vec![Axis::constants("factor", FACTORS), Axis::chain("f")],
            transposed: true,
            term: "(p - q) * (p - q)",
            after: &[("v", "$factor * sum"), ("v", "$f(v)")],
            columns: &[],
            matrices: &[],
            whole: [
                "np.stack([np.sum((row - b) ** 2, axis=1) for row in a])",
                "torch.cdist(a, b) ** 2",
            ],
            timed: SMALL,
            phrasings: &[
                "The rows of `a` and `b` are points in k dimensions. For each pair take the squared Euclidean distance times $factor, then $f.words.",
                "Let d[i, j] be $factor times the sum over t of (a[i, t] - b[j, t])^2. `out[i, j]` is $f.of(d[i, j]).",
                "All pairs of squared distances between rows of `a` and rows of `b`, scaled by $factor; on each, $f.words.",
            ],
        },
        Product {
            name: "city_distances",
            group: Group::Products,
            title: "city_distances_$f.name",
            axes: vec![Axis::constants("factor", FACTORS), Axis::chain("f")],
            transposed: true,
            term: "abs(p - q)",
            after: &[("v", "$factor * sum"), ("v", "$f(v)")],
            columns: &[],
            matrices: &[],
            whole: [
                "np.stack([np.sum(np.abs(row - b), axis=1) for row in a])",
                "torch.cdist(a, b, p=1.0)",
            ],
            timed: SMALL,
            phrasings: &[
                "For each row of `a` and each row of `b`, add up the absolute differences of their elements, multiply by $factor, then $f.words.",
                "Let d[i, j] be $factor times the sum over t of |a[i, t] - b[j, t]|. `out[i, j]` is $f.of(d[i, j]).",
                "All pairs of city-block distances between rows of `a` and rows of `b`, scaled by $factor; on each, $f.words.",
            ],
        },
        Product {
            name: "attention_scores",
            group: Group::Attention,
            title: "attention_scores_$f.name",
            axes: vec![
                Axis::constants(
                    "scale",
                    &[
                        0.0625,
                        0.08838834764831845,
                        0.125,
                        0.17677669529663687,
                        0.25,
                    ],
                ),
                Axis::constants("hidden", &[10000.0, 30000.0, 60000.0]),
                Axis::function("f"),
            ],
            transposed: true,
            term: "p * q",
            after: &[
                ("v", "$scale * sum"),
                ("v", "$f(v)"),
                ("v", "where(COL > ROW, -$hidden, v)"),
            ],
            columns: &[],
            matrices: &[],
            whole: TRANSPOSED,
            timed: LARGE,
            phrasings: &[
                "Causal attention scores: dot query i (row of `a`) with key j (row of `b`), multiply by $scale, then $f.words. Where j is greater than i, write -$hidden instead.",
                "For j <= i, `out[i, j]` is $f.of($scale * (a[i] . b[j])). For j > i it is -$hidden.",
                "Scores of queries `a` against keys `b`, scaled by $scale and mapped ($f.words), with a causal mask that sets every key after the query to -$hidden.",
            ],
        },
        Product {
            name: "biased_scores",
            group: Group::Attention,
            title: "biased_scores_$f.name",
            axes: vec![
                Axis::constants("scale", &[0.0625, 0.125, 0.25, 0.5]),
                Axis::constants(
                    "slope",
                    &[
                        0.00390625, 0.0078125, 0.015625, 0.03125, 0.0625, 0.125, 0.25,
                    ],
                ),
                Axis::function("f"),
            ],
            transposed: true,
            term: "p * q",
            after: &[
                ("v", "$scale * sum - $slope * abs(ROW - COL)"),
                ("v", "$f(v)"),
            ],
            columns: &[],
            matrices: &[],
            whole: TRANSPOSED,
            timed: LARGE,
            phrasings: &[
                "Attention scores with a linear distance bias: dot query i (row of `a`) with key j (row of `b`), multiply by $scale, subtract $slope times |i - j|, then $f.words.",
                "Let s = $scale * (a[i] . b[j]) - $slope * |i - j|. `out[i, j]` is $f.of(s).",
                "Scores of queries against keys, scaled by $scale, less $slope for each position between them; on each score, $f.words.",
            ],
        },
    ];
    families.into_iter().map(Product::family).collect()
}
