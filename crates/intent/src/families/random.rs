//! Random processes: numbers from a hash of the place, so that every run draws the same ones.

use super::skeletons::plain::{Kernel, Plain};
use super::vocabulary::{FACTORS, FRACTIONS};
use crate::axis::Axis;
use crate::family::{Array, Exactness, Family, Group};

const GROUP: Group = Group::Random;
const SEEDS: &[i64] = &[
    1013, 2029, 4093, 7919, 12289, 24593, 49157, 98317, 196613, 393241, 786433, 1572869,
];

pub(crate) fn families() -> Vec<Family> {
    [noise(), dropout(), walk()].map(Plain::family).into()
}

fn noise() -> Plain {
    Plain {
        name: "hashed_noise",
        group: GROUP,
        title: "hashed_noise_$seed_$f.name",
        axes: vec![
            Axis::integers("seed", SEEDS),
            Axis::constants("level", FACTORS),
            Axis::function("f"),
        ],
        phrasings: &[
            "Add noise to `x`. In 32-bit unsigned arithmetic let h = i * 747796405 + $seed, then h = (h xor (h >> 16)) * 2246822519, then h = h xor (h >> 13); u = (h >> 8) / 2^24 lies in [0, 1). The noise is $level * (u - 0.5); after adding it, $f.words.",
            "With u the hash of i (multiply by 747796405, add $seed; xor with itself shifted right by 16, multiply by 2246822519; xor with itself shifted right by 13; keep the upper 24 bits as a fraction; all modulo 2^32), `out[i]` is $f.of((x[i] + $level * (u - 0.5))).",
            "Dither `x` with a hash of the place, seed $seed and amplitude $level: h = i * 747796405 + $seed; h = (h ^ h >> 16) * 2246822519; h = h ^ h >> 13, as uint32; add $level * ((h >> 8) / 2^24 - 0.5). On the sum, $f.words.",
        ],
        dimensions: &[("n", 1000, 1 << 20)],
        arrays: vec![Array::input("x", &["n"]), Array::output("out", &["n"])],
        threads: &["n"],
        warp: "
i = wp.tid()
h = wp.uint32(i) * wp.uint32(747796405) + wp.uint32($seed)
h = (h ^ (h >> wp.uint32(16))) * wp.uint32(2246822519)
h = h ^ (h >> wp.uint32(13))
u = float(h >> wp.uint32(8)) * 5.9604644775390625e-08
v = x[i] + $level * (u - 0.5)
v = $f(v)
out[i] = v
",
        numpy: "
h = np.arange(x.shape[0], dtype=np.uint32) * np.uint32(747796405) + np.uint32($seed)
h = (h ^ (h >> np.uint32(16))) * np.uint32(2246822519)
h = h ^ (h >> np.uint32(13))
u = (h >> np.uint32(8)).astype(x.dtype) * 5.9604644775390625e-08
v = x + $level * (u - 0.5)
v = $f(v)
return v
",
        torch: None,
        cuda: &[
            Kernel {
                name: "naive",
                technique: "one thread for each element",
                grid: &["ceil_div(n, 256)"],
                block: &[256],
                body: "
int i = blockIdx.x * blockDim.x + threadIdx.x;
if (i >= n) return;
unsigned int h = (unsigned int)i * 747796405u + $seed;
h = (h ^ (h >> 16)) * 2246822519u;
h = h ^ (h >> 13);
float u = (float)(h >> 8) * 5.9604644775390625e-08f;
float v = x[i] + $level * (u - 0.5f);
v = $f(v);
out[i] = v;
",
            },
            Kernel {
                name: "grid_stride",
                technique: "a fixed number of blocks whose threads stride over the elements",
                grid: &["min(ceil_div(n, 256), 1056)"],
                block: &[256],
                body: "
for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
    unsigned int h = (unsigned int)i * 747796405u + $seed;
    h = (h ^ (h >> 16)) * 2246822519u;
    h = h ^ (h >> 13);
    float u = (float)(h >> 8) * 5.9604644775390625e-08f;
    float v = x[i] + $level * (u - 0.5f);
    v = $f(v);
    out[i] = v;
}
",
            },
        ],
        exactness: Exactness::Rounds,
    }
}

fn dropout() -> Plain {
    Plain {
        name: "dropout",
        group: GROUP,
        title: "dropout_$seed_$f.name",
        axes: vec![
            Axis::integers("seed", SEEDS),
            Axis::constants("rate", FRACTIONS),
            Axis::function("f"),
        ],
        phrasings: &[
            "Dropout at rate $rate with seed $seed. The draw u of place i is a hash: h = i * 747796405 + $seed; h = (h ^ h >> 16) * 2246822519; h = h ^ h >> 13, as uint32; u = (h >> 8) / 2^24. Where u < $rate, `out[i]` is 0; elsewhere it is $f.of((x[i] / (1 - $rate))).",
            "Let u be (h >> 8) / 2^24 with h = i * 747796405 + $seed, h = (h ^ h >> 16) * 2246822519, h = h ^ h >> 13 modulo 2^32. out[i] = 0 if u < $rate, else $f.of((x[i] / (1 - $rate))).",
            "Drop elements of `x` with probability $rate by a hash of their place (uint32: h = i * 747796405 + $seed; h = (h ^ h >> 16) * 2246822519; h ^= h >> 13; drop if (h >> 8) / 2^24 < $rate). Divide the others by (1 - $rate), then $f.words.",
        ],
        dimensions: &[("n", 1000, 1 << 20)],
        arrays: vec![Array::input("x", &["n"]), Array::output("out", &["n"])],
        threads: &["n"],
        warp: "
i = wp.tid()
h = wp.uint32(i) * wp.uint32(747796405) + wp.uint32($seed)
h = (h ^ (h >> wp.uint32(16))) * wp.uint32(2246822519)
h = h ^ (h >> wp.uint32(13))
u = float(h >> wp.uint32(8)) * 5.9604644775390625e-08
v = x[i] / (1.0 - $rate)
v = $f(v)
out[i] = wp.where(u < $rate, 0.0, v)
",
        numpy: "
h = np.arange(x.shape[0], dtype=np.uint32) * np.uint32(747796405) + np.uint32($seed)
h = (h ^ (h >> np.uint32(16))) * np.uint32(2246822519)
h = h ^ (h >> np.uint32(13))
u = (h >> np.uint32(8)).astype(x.dtype) * 5.9604644775390625e-08
v = x / (1.0 - $rate)
v = $f(v)
return np.where(u < $rate, x.dtype.type(0), v)
",
        torch: None,
        cuda: &[
            Kernel {
                name: "naive",
                technique: "one thread for each element",
                grid: &["ceil_div(n, 256)"],
                block: &[256],
                body: "
int i = blockIdx.x * blockDim.x + threadIdx.x;
if (i >= n) return;
unsigned int h = (unsigned int)i * 747796405u + $seed;
h = (h ^ (h >> 16)) * 2246822519u;
h = h ^ (h >> 13);
float u = (float)(h >> 8) * 5.9604644775390625e-08f;
float v = x[i] / (1.0f - $rate);
v = $f(v);
out[i] = u < $rate ? 0.0f : v;
",
            },
            Kernel {
                name: "loads_what_stays",
                technique: "threads stride over the elements and load only what is not dropped",
                grid: &["min(ceil_div(n, 256), 1056)"],
                block: &[256],
                body: "
for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
    unsigned int h = (unsigned int)i * 747796405u + $seed;
    h = (h ^ (h >> 16)) * 2246822519u;
    h = h ^ (h >> 13);
    float u = (float)(h >> 8) * 5.9604644775390625e-08f;
    float kept = 0.0f;
    if (!(u < $rate)) {
        float v = x[i] / (1.0f - $rate);
        v = $f(v);
        kept = v;
    }
    out[i] = kept;
}
",
            },
        ],
        exactness: Exactness::Rounds,
    }
}

fn walk() -> Plain {
    Plain {
        name: "random_walk",
        group: GROUP,
        title: "random_walk_$seed_$steps_steps",
        axes: vec![
            Axis::integers("seed", SEEDS),
            Axis::integers("steps", &[8, 16, 24, 32, 48, 64]),
            Axis::integers("wall", &[4, 6, 8, 10, 12]),
        ],
        phrasings: &[
            "Each walker i starts at `start[i]` and makes $steps steps. Its state is s = i * 747796405 + $seed in 32-bit unsigned arithmetic; each step sets s = s * 1664525 + 1013904223 and goes up by 1 if bit 31 of s is set, else down by 1, but never beyond -$wall or $wall. `out[i]` is where it ends.",
            "Reflectionless random walks between -$wall and $wall: s = i * 747796405 + $seed; $steps times: s = s * 1664525 + 1013904223 (mod 2^32), p = clamp(p + (1 if s >= 2^31 else -1), -$wall, $wall), from p = start[i]. Write p.",
            "Simulate $steps steps of a walk with sticky walls at plus and minus $wall for every start. Directions come from the top bit of a linear congruential generator (1664525, 1013904223) that begins at i * 747796405 + $seed.",
        ],
        dimensions: &[("n", 1000, 1 << 20)],
        arrays: vec![
            Array::input("start", &["n"])
                .whole()
                .holding(crate::family::Contents::Whole(-3, 4)),
            Array::output("out", &["n"]).whole(),
        ],
        threads: &["n"],
        warp: "
i = wp.tid()
s = wp.uint32(i) * wp.uint32(747796405) + wp.uint32($seed)
p = start[i]
for step in range($steps):
    s = s * wp.uint32(1664525) + wp.uint32(1013904223)
    p = wp.clamp(p + 2 * int(s >> wp.uint32(31)) - 1, -$wall, $wall)
out[i] = p
",
        numpy: "
s = np.arange(start.shape[0], dtype=np.uint32) * np.uint32(747796405) + np.uint32($seed)
p = start
for step in range($steps):
    s = s * np.uint32(1664525) + np.uint32(1013904223)
    p = np.clip(p + 2 * (s >> np.uint32(31)).astype(start.dtype) - 1, -$wall, $wall)
return p
",
        torch: None,
        cuda: &[
            Kernel {
                name: "naive",
                technique: "one thread for each walker, with its place in global memory",
                grid: &["ceil_div(n, 256)"],
                block: &[256],
                body: "
int i = blockIdx.x * blockDim.x + threadIdx.x;
if (i >= n) return;
unsigned int s = (unsigned int)i * 747796405u + $seed;
out[i] = start[i];
for (int step = 0; step < $steps; ++step) {
    s = s * 1664525u + 1013904223u;
    out[i] = min(max(out[i] + 2 * (int)(s >> 31) - 1, -$wall), $wall);
}
",
            },
            Kernel {
                name: "registers",
                technique: "one thread for each walker, with its place in a register",
                grid: &["ceil_div(n, 256)"],
                block: &[256],
                body: "
int i = blockIdx.x * blockDim.x + threadIdx.x;
if (i >= n) return;
unsigned int s = (unsigned int)i * 747796405u + $seed;
int p = start[i];
for (int step = 0; step < $steps; ++step) {
    s = s * 1664525u + 1013904223u;
    p = min(max(p + 2 * (int)(s >> 31) - 1, -$wall), $wall);
}
out[i] = p;
",
            },
        ],
        exactness: Exactness::Counts,
    }
}
