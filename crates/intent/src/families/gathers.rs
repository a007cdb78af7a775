//! Gathers and scatters: values that move to other places.

use super::skeletons::plain::{Kernel, Plain};
use super::vocabulary::FACTORS;
use crate::axis::Axis;
use crate::family::{Array, Contents, Exactness, Family, Group};

const GROUP: Group = Group::Gathers;
const SHIFTS: &[i64] = &[1, 2, 3, 5, 7, 11, 16, 29];

pub(crate) fn families() -> Vec<Family> {
    [
        transpose(),
        table_lookup(),
        scatter_add(),
        roll(),
        embedding(),
        interleave(),
        pair_pooling(),
        repetition(),
    ]
    .map(Plain::family)
    .into()
}

fn transpose() -> Plain {
    Plain {
        name: "transpose",
        group: GROUP,
        title: "transpose_$f.name",
        axes: vec![Axis::constants("factor", FACTORS), Axis::chain("f")],
        phrasings: &[
            "Transpose the matrix `x`. On the way, multiply each element by $factor, then $f.words.",
            "`out[j, i]` is $f.of($factor * x[i, j]).",
            "Write the rows of `x` as columns of `out`, each element times $factor and mapped: $f.words.",
        ],
        dimensions: &[("rows", 37, 1024), ("cols", 100, 1024)],
        arrays: vec![
            Array::input("x", &["rows", "cols"]),
            Array::output("out", &["cols", "rows"]),
        ],
        threads: &["rows", "cols"],
        warp: "
row, col = wp.tid()
v = $factor * x[row, col]
v = $f(v)
out[col, row] = v
",
        numpy: "
v = $factor * x
v = $f(v)
return v.T.copy()
",
        torch: Some(
            "
v = $factor * x
v = $f(v)
return v.T.contiguous()
",
        ),
        cuda: &[
            Kernel {
                name: "naive",
                technique: "one thread for each element; loads or stores are scattered",
                grid: &["ceil_div(rows, 16)", "ceil_div(cols, 16)"],
                block: &[16, 16],
                body: "
int row = blockIdx.x * blockDim.x + threadIdx.x;
int col = blockIdx.y * blockDim.y + threadIdx.y;
if (row >= rows || col >= cols) return;
float v = $factor * x[(size_t)row * cols + col];
v = $f(v);
out[(size_t)col * rows + row] = v;
",
            },
            Kernel {
                name: "shared_tile",
                technique: "a tile in shared memory turns scattered accesses into coalesced ones",
                grid: &["ceil_div(cols, 32)", "ceil_div(rows, 32)"],
                block: &[32, 8],
                body: "
__shared__ float tile[32][33];
int left = blockIdx.x * 32;
int top = blockIdx.y * 32;
for (int k = threadIdx.y; k < 32; k += 8) {
    int row = top + k;
    int col = left + threadIdx.x;
    if (row < rows && col < cols) tile[k][threadIdx.x] = x[(size_t)row * cols + col];
}
__syncthreads();
for (int k = threadIdx.y; k < 32; k += 8) {
    int row = top + threadIdx.x;
    int col = left + k;
    if (row >= rows || col >= cols) continue;
    float v = $factor * tile[threadIdx.x][k];
    v = $f(v);
    out[(size_t)col * rows + row] = v;
}
",
            },
        ],
        exactness: Exactness::Rounds,
    }
}

fn table_lookup() -> Plain {
    Plain {
        name: "table_lookup",
        group: GROUP,
        title: "table_lookup_$f.name",
        axes: vec![Axis::constants("factor", FACTORS), Axis::chain("f")],
        phrasings: &[
            "`index` holds places of `table`. For each, take the element there times $factor, then $f.words.",
            "`out[i]` is $f.of($factor * table[index[i]]).",
            "Gather elements of a table by their indices, scale them by $factor, and map them: $f.words.",
        ],
        dimensions: &[("n", 1000, 1 << 20)],
        arrays: vec![
            Array::input("table", &["1024"]),
            Array::input("index", &["n"])
                .whole()
                .holding(Contents::Whole(0, 1024)),
            Array::output("out", &["n"]),
        ],
        threads: &["n"],
        warp: "
i = wp.tid()
v = $factor * table[index[i]]
v = $f(v)
out[i] = v
",
        numpy: "
v = $factor * table[index]
v = $f(v)
return v
",
        torch: Some(
            "
v = $factor * table[index.long()]
v = $f(v)
return v
",
        ),
        cuda: &[
            Kernel {
                name: "naive",
                technique: "one thread for each index",
                grid: &["ceil_div(n, 256)"],
                block: &[256],
                body: "
int i = blockIdx.x * blockDim.x + threadIdx.x;
if (i >= n) return;
float v = $factor * table[index[i]];
v = $f(v);
out[i] = v;
",
            },
            Kernel {
                name: "shared_table",
                technique: "the table is copied to shared memory and mapped once, then threads stride over the indices",
                grid: &["min(ceil_div(n, 256), 528)"],
                block: &[256],
                body: "
__shared__ float mapped[1024];
for (int k = threadIdx.x; k < 1024; k += 256) {
    float v = $factor * table[k];
    v = $f(v);
    mapped[k] = v;
}
__syncthreads();
for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
    out[i] = mapped[index[i]];
}
",
            },
        ],
        exactness: Exactness::Rounds,
    }
}

fn scatter_add() -> Plain {
    Plain {
        name: "scatter_add",
        group: GROUP,
        title: "scatter_add_$f.name",
        axes: vec![Axis::constants("factor", FACTORS), Axis::chain("f")],
        phrasings: &[
            "Each element of `x` belongs to the group that `index` names. Multiply it by $factor, then $f.words; add it to its group in `out`.",
            "out[g] is the sum over all i with index[i] = g of $f.of($factor * x[i]).",
            "Sum by key: `index[i]` is the key of `x[i]`. A value counts $factor times and mapped: $f.words.",
        ],
        dimensions: &[("n", 1000, 1 << 20)],
        arrays: vec![
            Array::input("x", &["n"]),
            Array::input("index", &["n"])
                .whole()
                .holding(Contents::Whole(0, 256)),
            Array::output("out", &["256"]).holding(Contents::Zeros),
        ],
        threads: &["n"],
        warp: "
i = wp.tid()
v = $factor * x[i]
v = $f(v)
wp.atomic_add(out, index[i], v)
",
        numpy: "
v = $factor * x
v = $f(v)
return out + np.bincount(index, weights=v, minlength=256).astype(out.dtype)
",
        torch: Some(
            "
v = $factor * x
v = $f(v)
return out.index_add(0, index.long(), v)
",
        ),
        cuda: &[
            Kernel {
                name: "naive",
                technique: "one atomic addition for each element",
                grid: &["ceil_div(n, 256)"],
                block: &[256],
                body: "
int i = blockIdx.x * blockDim.x + threadIdx.x;
if (i >= n) return;
float v = $factor * x[i];
v = $f(v);
atomicAdd(&out[index[i]], v);
",
            },
            Kernel {
                name: "shared_partials",
                technique: "each block adds up in shared memory first",
                grid: &["min(ceil_div(n, 256), 264)"],
                block: &[256],
                body: "
__shared__ float part[256];
part[threadIdx.x] = 0.0f;
__syncthreads();
for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
    float v = $factor * x[i];
    v = $f(v);
    atomicAdd(&part[index[i]], v);
}
__syncthreads();
atomicAdd(&out[threadIdx.x], part[threadIdx.x]);
",
            },
        ],
        exactness: Exactness::Accumulates("n"),
    }
}

fn roll() -> Plain {
    Plain {
        name: "roll",
        group: GROUP,
        title: "roll_by_$shift_$f.name",
        axes: vec![Axis::integers("shift", SHIFTS), Axis::chain("f")],
        phrasings: &[
            "Move every element of `x` $shift places to the left; those that fall off come back on the right. Then $f.words.",
            "`out[i]` is $f.of(x[(i + $shift) mod n]).",
            "Rotate the array `x` to the left by $shift, and map its elements: $f.words.",
        ],
        dimensions: &[("n", 1000, 1 << 20)],
        arrays: vec![Array::input("x", &["n"]), Array::output("out", &["n"])],
        threads: &["n"],
        warp: "
i = wp.tid()
v = x[(i + $shift) % x.shape[0]]
v = $f(v)
out[i] = v
",
        numpy: "
v = np.roll(x, -$shift)
v = $f(v)
return v
",
        torch: Some(
            "
v = torch.roll(x, -$shift)
v = $f(v)
return v
",
        ),
        cuda: &[
            Kernel {
                name: "naive",
                technique: "one thread for each element, with a division for its place",
                grid: &["ceil_div(n, 256)"],
                block: &[256],
                body: "
int i = blockIdx.x * blockDim.x + threadIdx.x;
if (i >= n) return;
float v = x[(i + $shift) % n];
v = $f(v);
out[i] = v;
",
            },
            Kernel {
                name: "grid_stride",
                technique: "threads stride over the elements; only the last ones need a division",
                grid: &["min(ceil_div(n, 256), 1056)"],
                block: &[256],
                body: "
for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
    int from = i + $shift;
    if (from >= n) from %= n;
    float v = x[from];
    v = $f(v);
    out[i] = v;
}
",
            },
        ],
        exactness: Exactness::Rounds,
    }
}

fn embedding() -> Plain {
    Plain {
        name: "embedding",
        group: GROUP,
        title: "embedding_$f.name",
        axes: vec![Axis::constants("factor", FACTORS), Axis::chain("f")],
        phrasings: &[
            "Look up a row of `table` for each token and add the row of `position` at the token's own place. Multiply the table's row by $factor before; afterwards $f.words.",
            "`out[i, j]` is $f.of(($factor * table[token[i], j] + position[i, j])).",
            "Token embeddings scaled by $factor plus positions, in one kernel; on each element, $f.words.",
        ],
        dimensions: &[("rows", 37, 1024), ("cols", 100, 1024)],
        arrays: vec![
            Array::input("table", &["256", "cols"]),
            Array::input("token", &["rows"])
                .whole()
                .holding(Contents::Whole(0, 256)),
            Array::input("position", &["rows", "cols"]),
            Array::output("out", &["rows", "cols"]),
        ],
        threads: &["rows", "cols"],
        warp: "
row, col = wp.tid()
v = $factor * table[token[row], col] + position[row, col]
v = $f(v)
out[row, col] = v
",
        numpy: "
v = $factor * table[token] + position
v = $f(v)
return v
",
        torch: Some(
            "
v = $factor * table[token.long()] + position
v = $f(v)
return v
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
for (int col = 0; col < cols; ++col) {
    float v = $factor * table[(size_t)token[row] * cols + col] + position[(size_t)row * cols + col];
    v = $f(v);
    out[(size_t)row * cols + col] = v;
}
",
            },
            Kernel {
                name: "block_per_row",
                technique: "one block for each row: the token is read once, rows are coalesced",
                grid: &["rows"],
                block: &[256],
                body: "
int row = blockIdx.x;
const float* source = table + (size_t)token[row] * cols;
for (int col = threadIdx.x; col < cols; col += 256) {
    float v = $factor * source[col] + position[(size_t)row * cols + col];
    v = $f(v);
    out[(size_t)row * cols + col] = v;
}
",
            },
        ],
        exactness: Exactness::Rounds,
    }
}

fn interleave() -> Plain {
    Plain {
        name: "interleave",
        group: GROUP,
        title: "interleave_$f.name_$g.name",
        axes: vec![Axis::function("f"), Axis::function("g")],
        phrasings: &[
            "Interleave two arrays: even places of `out` hold $f.of(the next element of `x`), odd places hold $g.of(the next element of `y`).",
            "`out[2 i]` is $f.of(`x[i]`), and `out[2 i + 1]` is $g.of(`y[i]`).",
            "Merge `x` and `y` in turns, `x` first. Before storing an element of `x`, $f.words; before storing one of `y`, $g.words.",
        ],
        dimensions: &[("n", 1000, 1 << 20)],
        arrays: vec![
            Array::input("x", &["n"]),
            Array::input("y", &["n"]),
            Array::output("out", &["2 * n"]),
        ],
        threads: &["n"],
        warp: "
i = wp.tid()
a = $f(x[i])
b = $g(y[i])
out[2 * i] = a
out[2 * i + 1] = b
",
        numpy: "
a = $f(x)
b = $g(y)
return np.stack([a, b], axis=1).reshape(-1)
",
        torch: Some(
            "
a = $f(x)
b = $g(y)
return torch.stack([a, b], dim=1).reshape(-1)
",
        ),
        cuda: &[
            Kernel {
                name: "naive",
                technique: "one thread for each pair, with two stores",
                grid: &["ceil_div(n, 256)"],
                block: &[256],
                body: "
int i = blockIdx.x * blockDim.x + threadIdx.x;
if (i >= n) return;
float a = $f(x[i]);
float b = $g(y[i]);
out[2 * (size_t)i] = a;
out[2 * (size_t)i + 1] = b;
",
            },
            Kernel {
                name: "vectorised",
                technique: "one thread for each pair, with one store of eight bytes",
                grid: &["ceil_div(n, 256)"],
                block: &[256],
                body: "
int i = blockIdx.x * blockDim.x + threadIdx.x;
if (i >= n) return;
float a = $f(x[i]);
float b = $g(y[i]);
float2 both;
both.x = a;
both.y = b;
reinterpret_cast<float2*>(out)[i] = both;
",
            },
        ],
        exactness: Exactness::Rounds,
    }
}

fn pair_pooling() -> Plain {
    Plain {
        name: "pair_pooling",
        group: GROUP,
        title: "pair_$op.name_$h.name",
        axes: vec![
            Axis::options("op", super::vocabulary::COMBINATIONS),
            Axis::chain("h"),
        ],
        phrasings: &[
            "Halve the length of `x`: of every two neighbours (2 i and 2 i + 1) form $op.words; then $h.words.",
            "Let s be $op.words, of x[2 i] and x[2 i + 1]. `out[i]` is $h.of(s).",
            "Pool pairs of neighbouring elements to $op.words, and map each result: $h.words.",
        ],
        dimensions: &[("n", 1000, 1 << 20)],
        arrays: vec![Array::input("x", &["2 * n"]), Array::output("out", &["n"])],
        threads: &["n"],
        warp: "
i = wp.tid()
a = x[2 * i]
b = x[2 * i + 1]
v = $op(a, b)
v = $h(v)
out[i] = v
",
        numpy: "
a = x[0::2]
b = x[1::2]
v = $op(a, b)
v = $h(v)
return v
",
        torch: Some(
            "
a = x[0::2]
b = x[1::2]
v = $op(a, b)
v = $h(v)
return v
",
        ),
        cuda: &[
            Kernel {
                name: "naive",
                technique: "one thread for each pair, with two loads",
                grid: &["ceil_div(n, 256)"],
                block: &[256],
                body: "
int i = blockIdx.x * blockDim.x + threadIdx.x;
if (i >= n) return;
float a = x[2 * (size_t)i];
float b = x[2 * (size_t)i + 1];
float v = $op(a, b);
v = $h(v);
out[i] = v;
",
            },
            Kernel {
                name: "vectorised",
                technique: "one load of eight bytes for each pair",
                grid: &["ceil_div(n, 256)"],
                block: &[256],
                body: "
int i = blockIdx.x * blockDim.x + threadIdx.x;
if (i >= n) return;
float2 both = reinterpret_cast<const float2*>(x)[i];
float a = both.x;
float b = both.y;
float v = $op(a, b);
v = $h(v);
out[i] = v;
",
            },
        ],
        exactness: Exactness::Rounds,
    }
}

fn repetition() -> Plain {
    Plain {
        name: "repetition",
        group: GROUP,
        title: "repetition_$f.name",
        axes: vec![
            Axis::constants("fall", &[0.0625, 0.125, 0.1875, 0.25]),
            Axis::chain("f"),
        ],
        phrasings: &[
            "Repeat every element of `x` four times. The repetitions fall by $fall each: the k-th one (k from 0 to 3) is x - $fall * k; then $f.words.",
            "`out[4 i + k]` is $f.of((x[i] - $fall * k)), for k from 0 to 3.",
            "Stretch `x` to four times its length, each copy lower than the one before by $fall; on each element, $f.words.",
        ],
        dimensions: &[("n", 1000, 1 << 19)],
        arrays: vec![Array::input("x", &["n"]), Array::output("out", &["4 * n"])],
        threads: &["n"],
        warp: "
i = wp.tid()
for k in range(4):
    v = x[i] - $fall * float(k)
    v = $f(v)
    out[4 * i + k] = v
",
        numpy: "
v = x[:, None] - $fall * np.arange(4, dtype=x.dtype)
v = $f(v)
return v.reshape(-1)
",
        torch: Some(
            "
v = x[:, None] - $fall * torch.arange(4, device=x.device, dtype=x.dtype)
v = $f(v)
return v.reshape(-1)
",
        ),
        cuda: &[
            Kernel {
                name: "naive",
                technique: "one thread for each input, with four stores",
                grid: &["ceil_div(n, 256)"],
                block: &[256],
                body: "
int i = blockIdx.x * blockDim.x + threadIdx.x;
if (i >= n) return;
for (int k = 0; k < 4; ++k) {
    float v = x[i] - $fall * (float)k;
    v = $f(v);
    out[4 * (size_t)i + k] = v;
}
",
            },
            Kernel {
                name: "coalesced",
                technique: "one thread for each output, so that neighbours store to neighbouring places",
                grid: &["ceil_div(4 * n, 256)"],
                block: &[256],
                body: "
int at = blockIdx.x * blockDim.x + threadIdx.x;
if (at >= 4 * n) return;
float v = x[at / 4] - $fall * (float)(at % 4);
v = $f(v);
out[at] = v;
",
            },
        ],
        exactness: Exactness::Rounds,
    }
}
