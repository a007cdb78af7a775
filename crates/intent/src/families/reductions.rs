//! Reductions: a row to a number.

use super::skeletons::plain::{Kernel, Plain};
use super::skeletons::rows::{Combine, Pass, Rows, Written};
use super::vocabulary::{FACTORS, REDUCTIONS};
use crate::axis::Axis;
use crate::family::{Array, Exactness, Family, Group};

pub(crate) fn families() -> Vec<Family> {
    let families = [
        Rows {
            name: "row_reduction",
            group: Group::Reductions,
            title: "row_$op.name_of_$f.name_$h.name",
            axes: vec![
                Axis::chain("f"),
                Axis::options("op", REDUCTIONS),
                Axis::function("h"),
            ],
            inputs: &["x"],
            weights: &[],
            passes: &[Pass {
                name: "total",
                combine: Combine::Axis,
                steps: &[("v", "x"), ("v", "$f(v)")],
                after: &[("total", "$h(total)")],
            }],
            written: Written::ForRow("total"),
            phrasings: &[
                "For each row of the matrix `x`: take every element and $f.words; find the $op.words of these over the row. Then $h.words. Store the result in `out`.",
                "Let r be the $op.words over j of $f.of(`x[i, j]`). `out[i]` is $h.of(r).",
                "Reduce each row of `x` to its $op.words after this map: $f.words. Then $h.words. There is one result for each row.",
            ],
        },
        Rows {
            name: "row_dot",
            group: Group::Reductions,
            title: "row_dot_$f.name_$g.name_$h.name",
            axes: vec![
                Axis::function("f"),
                Axis::function("g"),
                Axis::function("h"),
            ],
            inputs: &["x", "y"],
            weights: &[],
            passes: &[Pass {
                name: "total",
                combine: Combine::Sum,
                steps: &[
                    ("a", "x"),
                    ("a", "$f(a)"),
                    ("b", "y"),
                    ("b", "$g(b)"),
                    ("v", "a * b"),
                ],
                after: &[("total", "$h(total)")],
            }],
            written: Written::ForRow("total"),
            phrasings: &[
                "For each row, map the elements of `x` ($f.words) and those of `y` ($g.words), and take the dot product of the two rows. Of it, write: $h.of(the dot product).",
                "Let d be the sum over j of a * b, where a is $f.of(`x[i, j]`) and b is $g.of(`y[i, j]`). `out[i]` is $h.of(d).",
                "One dot product for each pair of rows. Before multiplying, treat `x` like this: $f.words; and `y` like this: $g.words. Before storing a result, $h.words.",
            ],
        },
        Rows {
            name: "matrix_vector",
            group: Group::Products,
            title: "matrix_vector_$f.name",
            axes: vec![Axis::constants("factor", FACTORS), Axis::chain("f")],
            inputs: &["x"],
            weights: &["vector"],
            passes: &[Pass {
                name: "total",
                combine: Combine::Sum,
                steps: &[("v", "x * vector")],
                after: &[("total", "$factor * total"), ("total", "$f(total)")],
            }],
            written: Written::ForRow("total"),
            phrasings: &[
                "Multiply the matrix `x` by `vector` and by $factor. Of each result, write: $f.of(the product).",
                "Let p be $factor times the sum over j of x[i, j] * vector[j]. `out[i]` is $f.of(p).",
                "A matrix-vector product scaled by $factor, with an epilogue: $f.words.",
            ],
        },
        Rows {
            name: "row_distance",
            group: Group::Reductions,
            title: "row_$op.name_of_$f.name_difference_$h.name",
            axes: vec![
                Axis::function("f"),
                Axis::options("op", REDUCTIONS),
                Axis::function("h"),
            ],
            inputs: &["x", "y"],
            weights: &[],
            passes: &[Pass {
                name: "total",
                combine: Combine::Axis,
                steps: &[("v", "x - y"), ("v", "$f(v)")],
                after: &[("total", "$h(total)")],
            }],
            written: Written::ForRow("total"),
            phrasings: &[
                "Compare the rows of `x` and `y`: take each difference x - y and $f.words; find the $op.words over the row, then $h.words.",
                "Let d be the $op.words over j of $f.of((x[i, j] - y[i, j])). `out[i]` is $h.of(d).",
                "For each row, the $op.words of the differences between `x` and `y`, each mapped first ($f.words). Map the result, too: $h.words.",
            ],
        },
        Rows {
            name: "row_mean",
            group: Group::Reductions,
            title: "row_mean_of_$f.name_$h.name",
            axes: vec![Axis::chain("f"), Axis::function("h")],
            inputs: &["x"],
            weights: &["weight"],
            passes: &[Pass {
                name: "total",
                combine: Combine::Sum,
                steps: &[("v", "x * weight"), ("v", "$f(v)")],
                after: &[("total", "total / COLS"), ("total", "$h(total)")],
            }],
            written: Written::ForRow("total"),
            phrasings: &[
                "For each row of `x`, multiply every element by the weight of its column, then $f.words. Take the mean over the row, then $h.words.",
                "Let m be the mean over j of $f.of((x[i, j] * weight[j])). `out[i]` is $h.of(m).",
                "The mean of each row after weighting the columns and this map: $f.words. Before storing a mean, $h.words.",
            ],
        },
        Rows {
            name: "row_spread",
            group: Group::Reductions,
            title: "row_spread_of_$f.name_$h.name",
            axes: vec![Axis::function("f"), Axis::function("h")],
            inputs: &["x"],
            weights: &[],
            passes: &[
                Pass {
                    name: "most",
                    combine: Combine::Max,
                    steps: &[("v", "x"), ("v", "$f(v)")],
                    after: &[],
                },
                Pass {
                    name: "least",
                    combine: Combine::Min,
                    steps: &[("v", "x"), ("v", "$f(v)")],
                    after: &[("least", "most - least"), ("least", "$h(least)")],
                },
            ],
            written: Written::ForRow("least"),
            phrasings: &[
                "For each row: map the elements ($f.words), and take the largest minus the smallest. Of that range, write: $h.of(the range).",
                "Let r be the maximum minus the minimum over j of $f.of(`x[i, j]`). `out[i]` is $h.of(r).",
                "The spread between the largest and the smallest element of each row after this map: $f.words. Then $h.words.",
            ],
        },
        Rows {
            name: "row_variance",
            group: Group::Reductions,
            title: "row_variance_of_$f.name_$h.name",
            axes: vec![Axis::function("f"), Axis::function("h")],
            inputs: &["x"],
            weights: &[],
            passes: &[
                Pass {
                    name: "mean",
                    combine: Combine::Sum,
                    steps: &[("v", "x"), ("v", "$f(v)")],
                    after: &[("mean", "mean / COLS")],
                },
                Pass {
                    name: "variance",
                    combine: Combine::Sum,
                    steps: &[("v", "x"), ("v", "$f(v)"), ("v", "(v - mean) * (v - mean)")],
                    after: &[
                        ("variance", "variance / COLS"),
                        ("variance", "$h(variance)"),
                    ],
                },
            ],
            written: Written::ForRow("variance"),
            phrasings: &[
                "For each row: map the elements ($f.words), and take their variance around their mean, divided by the number of columns. Of it, write: $h.of(the variance).",
                "With u[j] being $f.of(`x[i, j]`), let s be the mean of (u - mean(u))^2. `out[i]` is $h.of(s).",
                "The population variance of each row after this map: $f.words. Compute it in two passes, mean first. Then $h.words.",
            ],
        },
        Rows {
            name: "log_sum_exp",
            group: Group::Reductions,
            title: "log_sum_exp_$h.name",
            axes: vec![Axis::constants("factor", FACTORS), Axis::chain("h")],
            inputs: &["x"],
            weights: &[],
            passes: &[
                Pass {
                    name: "peak",
                    combine: Combine::Max,
                    steps: &[("v", "$factor * x")],
                    after: &[],
                },
                Pass {
                    name: "total",
                    combine: Combine::Sum,
                    steps: &[("v", "exp($factor * x - peak)")],
                    after: &[("total", "peak + log(total)"), ("total", "$h(total)")],
                },
            ],
            written: Written::ForRow("total"),
            phrasings: &[
                "For each row take the logarithm of the sum of exp($factor * x[i, j]), without overflow (subtract the row's maximum first). Then $h.words.",
                "Let s = log(sum over j of exp($factor * x[i, j])), computed stably. `out[i]` is $h.of(s).",
                "A stable log-sum-exp of each row of `x` times $factor; on each result, $h.words.",
            ],
        },
    ];
    let mut families: Vec<Family> = families.into_iter().map(Rows::family).collect();
    families.push(columns());
    families
}

/// Columns: neighbours in memory belong to different results, so that one thread each is coalesced.
fn columns() -> Family {
    Plain {
        name: "column_reduction",
        group: Group::Reductions,
        title: "column_$op.name_of_$f.name_$h.name",
        axes: vec![
            Axis::chain("f"),
            Axis::options("op", REDUCTIONS),
            Axis::function("h"),
        ],
        phrasings: &[
            "For each column of the matrix `x`: take every element and $f.words; find the $op.words of these over the column. Then $h.words. Store the result in `out`.",
            "Let r be the $op.words over i of $f.of(`x[i, j]`). `out[j]` is $h.of(r).",
            "Reduce each column of `x` to its $op.words after this map: $f.words. Then $h.words. There is one result for each column.",
        ],
        dimensions: &[("rows", 37, 2048), ("cols", 100, 512)],
        arrays: vec![
            Array::input("x", &["rows", "cols"]),
            Array::output("out", &["cols"]),
        ],
        threads: &["cols"],
        warp: "
col = wp.tid()
total = float($op.start)
for row in range(x.shape[0]):
    v = x[row, col]
    v = $f(v)
    total = $op(total, v)
total = $h(total)
out[col] = total
",
        numpy: "
v = x
v = $f(v)
total = $op.numpy(v, axis=0)
total = $h(total)
return total
",
        torch: Some("
v = x
v = $f(v)
total = $op.torch(v, dim=0)
total = $h(total)
return total
"),
        cuda: &[
            Kernel {
                name: "naive",
                technique: "one thread for each column",
                grid: &["ceil_div(cols, 128)"],
                block: &[128],
                body: "
int col = blockIdx.x * blockDim.x + threadIdx.x;
if (col >= cols) return;
float total = $op.cuda;
for (int row = 0; row < rows; ++row) {
    float v = x[(size_t)row * cols + col];
    v = $f(v);
    total = $op(total, v);
}
total = $h(total);
out[col] = total;
",
            },
            Kernel {
                name: "shared_partials",
                technique: "thirty-two threads for each column, joined in shared memory",
                grid: &["ceil_div(cols, 32)"],
                block: &[32, 32],
                body: "
__shared__ float part[32][33];
int col = blockIdx.x * 32 + threadIdx.x;
float total = $op.cuda;
if (col < cols) {
    for (int row = threadIdx.y; row < rows; row += 32) {
        float v = x[(size_t)row * cols + col];
        v = $f(v);
        total = $op(total, v);
    }
}
part[threadIdx.y][threadIdx.x] = total;
__syncthreads();
if (threadIdx.y > 0 || col >= cols) return;
for (int i = 1; i < 32; ++i) {
    float other = part[i][threadIdx.x];
    total = $op(total, other);
}
total = $h(total);
out[col] = total;
",
            },
        ],
        exactness: Exactness::Accumulates("rows"),
    }
    .family()
}
