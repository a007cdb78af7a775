//! Gathers and scatters: values that move to where indices say.

use super::skeletons::plain::{Kernel, Plain};
use super::vocabulary::FACTORS;
use crate::axis::Axis;
use crate::family::{Array, Contents, Exactness, Family, Group};

const GROUP: Group = Group::Gathers;

pub(crate) fn families() -> Vec<Family> {
    [transpose(), table_lookup(), scatter_add(), embedding()]
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
