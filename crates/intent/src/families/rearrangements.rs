//! Rearrangements: values whose new places follow from their old ones.

use super::skeletons::plain::{Kernel, Plain};
use super::vocabulary::COMBINATIONS;
use crate::axis::Axis;
use crate::family::{Array, Exactness, Family, Group};

const GROUP: Group = Group::Gathers;
const SHIFTS: &[i64] = &[1, 2, 3, 5, 7, 11, 16, 29];

pub(crate) fn families() -> Vec<Family> {
    [roll(), interleave(), pair_pooling(), repetition()]
        .map(Plain::family)
        .into()
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
a = x[i]
a = $f(a)
b = y[i]
b = $g(b)
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
float a = x[i];
a = $f(a);
float b = y[i];
b = $g(b);
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
float a = x[i];
a = $f(a);
float b = y[i];
b = $g(b);
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
        axes: vec![Axis::options("op", COMBINATIONS), Axis::chain("h")],
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
