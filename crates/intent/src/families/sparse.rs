//! Sparse products: matrices of which few elements are stored.

use super::skeletons::plain::{Kernel, Plain};
use super::skeletons::stencil::Stencil;
use super::vocabulary::FACTORS;
use crate::axis::Axis;
use crate::family::{Array, Contents, Exactness, Family, Group};

const GROUP: Group = Group::Sparse;

pub(crate) fn families() -> Vec<Family> {
    let banded = Stencil {
        name: "tridiagonal_product",
        group: GROUP,
        title: "tridiagonal_product_$f.name",
        axes: vec![Axis::constants("factor", FACTORS), Axis::chain("f")],
        rank: 1,
        beside: &["lower", "diagonal", "upper"],
        steps: &[
            ("v", "$factor * (lower * l1 + diagonal * c + upper * r1)"),
            ("v", "$f(v)"),
        ],
        phrasings: &[
            "Multiply a tridiagonal matrix, whose three diagonals are stored by rows, by the vector `x` and by $factor; then $f.words. At the ends, $edge.words.",
            "Let p = $factor * (lower[i] * x[i-1] + diagonal[i] * x[i] + upper[i] * x[i+1]), where $edge.words. `out[i]` is $f.of(p).",
            "A product of a matrix with three bands and a vector, scaled by $factor; on each result, $f.words. Beyond the ends of `x`, $edge.words.",
        ],
    };
    vec![
        padded_rows().family(),
        coordinates().family(),
        banded.family(),
    ]
}

fn padded_rows() -> Plain {
    Plain {
        name: "padded_sparse_product",
        group: GROUP,
        title: "padded_sparse_product_$f.name_$h.name",
        axes: vec![Axis::function("f"), Axis::function("h")],
        phrasings: &[
            "A sparse matrix has sixteen stored elements in each row: `value`, at the columns `column` (ELLPACK). Multiply it by the vector `x`. Before use, take a stored value and $f.words; of each row's sum, write: $h.of(the sum).",
            "Let s be the sum over k of x[column[i, k]] * a, where a is $f.of(`value[i, k]`). `out[i]` is $h.of(s).",
            "ELLPACK sparse matrix times vector, sixteen elements a row. On stored values, $f.words; on results, $h.words.",
        ],
        dimensions: &[("rows", 1000, 1 << 16)],
        arrays: vec![
            Array::input("value", &["rows", "16"]),
            Array::input("column", &["rows", "16"])
                .whole()
                .holding(Contents::Whole(0, 4096)),
            Array::input("x", &["4096"]),
            Array::output("out", &["rows"]),
        ],
        threads: &["rows"],
        warp: "
row = wp.tid()
sum = float(0.0)
for k in range(16):
    v = value[row, k]
    v = $f(v)
    sum = sum + v * x[column[row, k]]
sum = $h(sum)
out[row] = sum
",
        numpy: "
v = value
v = $f(v)
sum = np.sum(v * x[column], axis=1)
sum = $h(sum)
return sum
",
        torch: Some(
            "
v = value
v = $f(v)
sum = torch.sum(v * x[column.long()], dim=1)
sum = $h(sum)
return sum
",
        ),
        cuda: &[
            Kernel {
                name: "naive",
                technique: "one thread for each row",
                grid: &["ceil_div(rows, 128)"],
                block: &[128],
                body: "
int row = blockIdx.x * blockDim.x + threadIdx.x;
if (row >= rows) return;
float sum = 0.0f;
for (int k = 0; k < 16; ++k) {
    float v = value[(size_t)row * 16 + k];
    v = $f(v);
    sum = sum + v * x[column[(size_t)row * 16 + k]];
}
sum = $h(sum);
out[row] = sum;
",
            },
            Kernel {
                name: "half_warp_per_row",
                technique: "sixteen lanes for each row: coalesced loads, reduced with shuffles",
                grid: &["ceil_div(rows, 8)"],
                block: &[128],
                body: "
int row = blockIdx.x * 8 + threadIdx.x / 16;
int lane = threadIdx.x % 16;
float sum = 0.0f;
if (row < rows) {
    float v = value[(size_t)row * 16 + lane];
    v = $f(v);
    sum = v * x[column[(size_t)row * 16 + lane]];
}
for (int offset = 8; offset > 0; offset /= 2) {
    float other = __shfl_xor_sync(0xffffffffu, sum, offset);
    sum = sum + other;
}
if (row < rows && lane == 0) {
    sum = $h(sum);
    out[row] = sum;
}
",
            },
        ],
        exactness: Exactness::Rounds,
    }
}

fn coordinates() -> Plain {
    Plain {
        name: "coordinate_sparse_product",
        group: GROUP,
        title: "coordinate_sparse_product_$f.name_$g.name",
        axes: vec![Axis::function("f"), Axis::function("g")],
        phrasings: &[
            "A sparse matrix of 512 rows is a list of elements (COO): `value[k]` at `row[k]`, `column[k]`, in no order. Multiply it by the vector `x`. Before use, take a stored value and $f.words; take the element of `x` and $g.words.",
            "out[r] is the sum over all k with row[k] = r of a * b, where a is $f.of(`value[k]`) and b is $g.of(`x[column[k]]`).",
            "COO sparse matrix times vector. On stored values, $f.words; on elements of the vector, $g.words.",
        ],
        dimensions: &[("n", 1000, 1 << 20)],
        arrays: vec![
            Array::input("value", &["n"]),
            Array::input("row", &["n"])
                .whole()
                .holding(Contents::Whole(0, 512)),
            Array::input("column", &["n"])
                .whole()
                .holding(Contents::Whole(0, 512)),
            Array::input("x", &["512"]),
            Array::output("out", &["512"]).holding(Contents::Zeros),
        ],
        threads: &["n"],
        warp: "
k = wp.tid()
a = value[k]
a = $f(a)
b = x[column[k]]
b = $g(b)
wp.atomic_add(out, row[k], a * b)
",
        numpy: "
a = $f(value)
u = x[column]
b = $g(u)
return out + np.bincount(row, weights=a * b, minlength=512).astype(out.dtype)
",
        torch: Some(
            "
a = $f(value)
u = x[column.long()]
b = $g(u)
return out.index_add(0, row.long(), a * b)
",
        ),
        cuda: &[
            Kernel {
                name: "naive",
                technique: "one atomic addition for each stored element",
                grid: &["ceil_div(n, 256)"],
                block: &[256],
                body: "
int k = blockIdx.x * blockDim.x + threadIdx.x;
if (k >= n) return;
float a = value[k];
a = $f(a);
float b = x[column[k]];
b = $g(b);
atomicAdd(&out[row[k]], a * b);
",
            },
            Kernel {
                name: "shared_partials",
                technique: "each block adds up in shared memory first",
                grid: &["min(ceil_div(n, 256), 264)"],
                block: &[256],
                body: "
__shared__ float part[512];
for (int r = threadIdx.x; r < 512; r += 256) part[r] = 0.0f;
__syncthreads();
for (int k = blockIdx.x * blockDim.x + threadIdx.x; k < n; k += gridDim.x * blockDim.x) {
    float a = value[k];
    a = $f(a);
    float b = x[column[k]];
    b = $g(b);
    atomicAdd(&part[row[k]], a * b);
}
__syncthreads();
for (int r = threadIdx.x; r < 512; r += 256) atomicAdd(&out[r], part[r]);
",
            },
        ],
        exactness: Exactness::Accumulates("n"),
    }
}
