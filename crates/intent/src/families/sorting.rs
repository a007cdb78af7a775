//! Sorting networks: short rows, put in order by exchanges that do not depend on the data.

use super::skeletons::plain::{Kernel, Plain};
use super::vocabulary::FACTORS;
use crate::axis::{Axis, Choice};
use crate::family::{Array, Exactness, Family, Group};

const GROUP: Group = Group::Sorting;

const ORDERS: &[Choice] = &[
    Choice {
        name: "ascending",
        words: "the smallest first",
        formula: None,
        parts: &[
            ("wfirst", "wp.min(p, q)"),
            ("wsecond", "wp.max(p, q)"),
            ("cfirst", "fminf(p, q)"),
            ("csecond", "fmaxf(p, q)"),
            ("numpy", "np.sort(v, axis=1)"),
            ("torch", "torch.sort(v, dim=1).values"),
        ],
    },
    Choice {
        name: "descending",
        words: "the largest first",
        formula: None,
        parts: &[
            ("wfirst", "wp.max(p, q)"),
            ("wsecond", "wp.min(p, q)"),
            ("cfirst", "fmaxf(p, q)"),
            ("csecond", "fminf(p, q)"),
            ("numpy", "np.sort(v, axis=1)[:, ::-1]"),
            ("torch", "torch.sort(v, dim=1, descending=True).values"),
        ],
    },
];

pub(crate) fn families() -> Vec<Family> {
    [short_rows(), rank()].map(Plain::family).into()
}

fn short_rows() -> Plain {
    Plain {
        name: "short_row_sort",
        group: GROUP,
        title: "sort_$order.name_$f.name",
        axes: vec![Axis::options("order", ORDERS), Axis::chain("f")],
        phrasings: &[
            "Each row of `x` has eight elements. Map them: $f.words. Sort every row, $order.words.",
            "With u[j] being $f.of(`x[i, j]`), row i of `out` holds the eight values u in order, $order.words.",
            "Sort rows of eight after a map ($f.words), $order.words.",
        ],
        dimensions: &[("rows", 1000, 1 << 17)],
        arrays: vec![
            Array::input("x", &["rows", "8"]),
            Array::output("out", &["rows", "8"]),
        ],
        threads: &["rows"],
        warp: "
row = wp.tid()
for col in range(8):
    v = x[row, col]
    v = $f(v)
    out[row, col] = v
for turn in range(8):
    for pair in range(4):
        col = 2 * pair + turn % 2
        if col < 7:
            p = out[row, col]
            q = out[row, col + 1]
            out[row, col] = $order.wfirst
            out[row, col + 1] = $order.wsecond
",
        numpy: "
v = x
v = $f(v)
return $order.numpy
",
        torch: Some(
            "
v = x
v = $f(v)
return $order.torch
",
        ),
        cuda: &[
            Kernel {
                name: "naive",
                technique: "one thread for each row, exchanging in global memory",
                grid: &["ceil_div(rows, 128)"],
                block: &[128],
                body: "
int row = blockIdx.x * blockDim.x + threadIdx.x;
if (row >= rows) return;
float* own = out + (size_t)row * 8;
for (int col = 0; col < 8; ++col) {
    float v = x[(size_t)row * 8 + col];
    v = $f(v);
    own[col] = v;
}
for (int turn = 0; turn < 8; ++turn) {
    for (int col = turn % 2; col < 7; col += 2) {
        float p = own[col];
        float q = own[col + 1];
        own[col] = $order.cfirst;
        own[col + 1] = $order.csecond;
    }
}
",
            },
            Kernel {
                name: "registers",
                technique: "rows are loaded as two float4 and exchanged in registers",
                grid: &["ceil_div(rows, 128)"],
                block: &[128],
                body: "
int row = blockIdx.x * blockDim.x + threadIdx.x;
if (row >= rows) return;
const float4* source = reinterpret_cast<const float4*>(x) + 2 * (size_t)row;
float4* target = reinterpret_cast<float4*>(out) + 2 * (size_t)row;
float4 low = source[0];
float4 high = source[1];
float own[8] = {low.x, low.y, low.z, low.w, high.x, high.y, high.z, high.w};
#pragma unroll
for (int col = 0; col < 8; ++col) {
    float v = own[col];
    v = $f(v);
    own[col] = v;
}
#pragma unroll
for (int turn = 0; turn < 8; ++turn) {
#pragma unroll
    for (int pair = 0; pair < 4; ++pair) {
        int col = 2 * pair + turn % 2;
        if (col < 7) {
            float p = own[col];
            float q = own[col + 1];
            own[col] = $order.cfirst;
            own[col + 1] = $order.csecond;
        }
    }
}
low.x = own[0];
low.y = own[1];
low.z = own[2];
low.w = own[3];
high.x = own[4];
high.y = own[5];
high.z = own[6];
high.w = own[7];
target[0] = low;
target[1] = high;
",
            },
        ],
        exactness: Exactness::Rounds,
    }
}

fn rank() -> Plain {
    Plain {
        name: "row_rank",
        group: GROUP,
        title: "row_rank_$rank_$f.name",
        axes: vec![
            Axis::integers("rank", &[0, 1, 2, 3, 4, 5, 6]),
            Axis::constants("factor", FACTORS),
            Axis::function("f"),
        ],
        phrasings: &[
            "Each row of `x` has seven elements. Find the one that $rank others precede when the row is in ascending order, multiply it by $factor, then $f.words.",
            "Sort x[i] ascending and let s be its element at index $rank (counted from 0). `out[i]` is $f.of($factor * s).",
            "Select the element of rank $rank (0 is the smallest) of every row of seven, scale it by $factor, and map it: $f.words.",
        ],
        dimensions: &[("rows", 1000, 1 << 18)],
        arrays: vec![
            Array::input("x", &["rows", "7"]),
            Array::output("out", &["rows"]),
        ],
        threads: &["rows"],
        warp: "
row = wp.tid()
for col in range(7):
    p = x[row, col]
    before = int(0)
    for other in range(7):
        q = x[row, other]
        if q < p or (q == p and other < col):
            before = before + 1
    v = $factor * p
    v = $f(v)
    if before == $rank:
        out[row] = v
",
        numpy: "
v = $factor * np.sort(x, axis=1)[:, $rank]
v = $f(v)
return v
",
        torch: Some(
            "
v = $factor * torch.sort(x, dim=1).values[:, $rank]
v = $f(v)
return v
",
        ),
        cuda: &[
            Kernel {
                name: "naive",
                technique: "one thread for each row, which counts what precedes each element",
                grid: &["ceil_div(rows, 128)"],
                block: &[128],
                body: "
int row = blockIdx.x * blockDim.x + threadIdx.x;
if (row >= rows) return;
for (int col = 0; col < 7; ++col) {
    float p = x[(size_t)row * 7 + col];
    int before = 0;
    for (int other = 0; other < 7; ++other) {
        float q = x[(size_t)row * 7 + other];
        if (q < p || (q == p && other < col)) before = before + 1;
    }
    float v = $factor * p;
    v = $f(v);
    if (before == $rank) out[row] = v;
}
",
            },
            Kernel {
                name: "shared_rows",
                technique: "rows come through shared memory with coalesced loads and are exchanged in registers",
                grid: &["ceil_div(rows, 128)"],
                block: &[128],
                body: "
__shared__ float tile[896];
size_t start = (size_t)blockIdx.x * 896;
for (int k = threadIdx.x; k < 896; k += 128) {
    if (start + k < (size_t)rows * 7) tile[k] = x[start + k];
}
__syncthreads();
int row = blockIdx.x * 128 + threadIdx.x;
if (row >= rows) return;
float own[7];
#pragma unroll
for (int col = 0; col < 7; ++col) own[col] = tile[threadIdx.x * 7 + col];
#pragma unroll
for (int turn = 0; turn < 7; ++turn) {
#pragma unroll
    for (int pair = 0; pair < 3; ++pair) {
        int col = 2 * pair + turn % 2;
        float p = own[col];
        float q = own[col + 1];
        own[col] = fminf(p, q);
        own[col + 1] = fmaxf(p, q);
    }
}
float v = $factor * own[$rank];
v = $f(v);
out[row] = v;
",
            },
        ],
        exactness: Exactness::Rounds,
    }
}
