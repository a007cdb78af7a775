//! Histograms: how often, or how much, falls where.

use super::skeletons::plain::{Kernel, Plain};
use super::vocabulary::FACTORS;
use crate::axis::Axis;
use crate::family::{Array, Contents, Exactness, Family, Group};

const GROUP: Group = Group::Histograms;

pub(crate) fn families() -> Vec<Family> {
    [labels(), values(), weights()].map(Plain::family).into()
}

fn labels() -> Plain {
    Plain {
        name: "label_histogram",
        group: GROUP,
        title: "label_histogram_times_$times_plus_$plus",
        axes: vec![
            Axis::integers("times", &[1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23]),
            Axis::integers("plus", &[0, 1, 2, 5, 9, 14, 20, 27, 35, 44, 54]),
        ],
        phrasings: &[
            "Count how many labels fall into each of 64 bins. A label goes to bin (label * $times + $plus) mod 64.",
            "counts[b] goes up by one for each i with (label[i] * $times + $plus) mod 64 = b.",
            "A histogram with 64 bins of hashed labels; the hash is (label * $times + $plus) mod 64.",
        ],
        dimensions: &[("n", 1000, 1 << 20)],
        arrays: vec![
            Array::input("label", &["n"])
                .whole()
                .holding(Contents::Whole(0, 1000)),
            Array::output("counts", &["64"])
                .whole()
                .holding(Contents::Zeros),
        ],
        threads: &["n"],
        warp: "
i = wp.tid()
wp.atomic_add(counts, (label[i] * $times + $plus) % 64, 1)
",
        numpy: "
bins = (label * $times + $plus) % 64
return counts + np.bincount(bins, minlength=64).astype(counts.dtype)
",
        torch: Some(
            "
bins = (label.long() * $times + $plus) % 64
return counts + torch.bincount(bins, minlength=64).to(counts.dtype)
",
        ),
        cuda: &[
            Kernel {
                name: "naive",
                technique: "one atomic addition for each label",
                grid: &["ceil_div(n, 256)"],
                block: &[256],
                body: "
int i = blockIdx.x * blockDim.x + threadIdx.x;
if (i >= n) return;
atomicAdd(&counts[(label[i] * $times + $plus) % 64], 1);
",
            },
            Kernel {
                name: "shared_partials",
                technique: "each block counts in shared memory first",
                grid: &["min(ceil_div(n, 256), 264)"],
                block: &[256],
                body: "
__shared__ int part[64];
if (threadIdx.x < 64) part[threadIdx.x] = 0;
__syncthreads();
for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
    atomicAdd(&part[(label[i] * $times + $plus) % 64], 1);
}
__syncthreads();
if (threadIdx.x < 64) atomicAdd(&counts[threadIdx.x], part[threadIdx.x]);
",
            },
        ],
        exactness: Exactness::Counts,
    }
}

fn values() -> Plain {
    Plain {
        name: "value_histogram",
        group: GROUP,
        title: "value_histogram_times_$scale_plus_$middle",
        axes: vec![
            Axis::integers("scale", &[1, 2, 4, 8, 16]),
            Axis::integers("middle", &[0, 4, 8, 12, 16, 20, 24, 28, 32, 36, 40, 48, 56]),
        ],
        phrasings: &[
            "Count floats in 64 bins. A value x goes to bin floor(x * $scale) + $middle; what lies below goes to the first bin, what lies above to the last.",
            "counts[b] goes up by one for each i with clamp(floor(x[i] * $scale) + $middle, 0, 63) = b.",
            "A histogram of `x` with $scale bins for each unit, zero at bin $middle, and 64 bins that catch what is outside at both ends.",
        ],
        dimensions: &[("n", 1000, 1 << 20)],
        arrays: vec![
            Array::input("x", &["n"]),
            Array::output("counts", &["64"])
                .whole()
                .holding(Contents::Zeros),
        ],
        threads: &["n"],
        warp: "
i = wp.tid()
level = int(wp.floor(x[i] * float($scale))) + $middle
wp.atomic_add(counts, wp.clamp(level, 0, 63), 1)
",
        numpy: "
level = np.floor(x * $scale).astype(np.int64) + $middle
return counts + np.bincount(np.clip(level, 0, 63), minlength=64).astype(counts.dtype)
",
        torch: Some(
            "
level = torch.floor(x * $scale).long() + $middle
return counts + torch.bincount(torch.clamp(level, 0, 63), minlength=64).to(counts.dtype)
",
        ),
        cuda: &[
            Kernel {
                name: "naive",
                technique: "one atomic addition for each value",
                grid: &["ceil_div(n, 256)"],
                block: &[256],
                body: "
int i = blockIdx.x * blockDim.x + threadIdx.x;
if (i >= n) return;
int level = (int)floorf(x[i] * (float)$scale) + $middle;
atomicAdd(&counts[min(max(level, 0), 63)], 1);
",
            },
            Kernel {
                name: "shared_partials",
                technique: "each warp counts in its own part of shared memory first",
                grid: &["min(ceil_div(n, 256), 264)"],
                block: &[256],
                body: "
__shared__ int part[8][64];
int warp = threadIdx.x / 32;
for (int k = threadIdx.x; k < 512; k += 256) part[k / 64][k % 64] = 0;
__syncthreads();
for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
    int level = (int)floorf(x[i] * (float)$scale) + $middle;
    atomicAdd(&part[warp][min(max(level, 0), 63)], 1);
}
__syncthreads();
if (threadIdx.x < 64) {
    int total = 0;
    for (int k = 0; k < 8; ++k) total += part[k][threadIdx.x];
    atomicAdd(&counts[threadIdx.x], total);
}
",
            },
        ],
        exactness: Exactness::Counts,
    }
}

fn weights() -> Plain {
    Plain {
        name: "weighted_histogram",
        group: GROUP,
        title: "weighted_histogram_$f.name",
        axes: vec![
            Axis::integers("bin", &[1, 2, 3, 4, 6, 8, 12, 16]),
            Axis::constants("factor", FACTORS),
            Axis::function("f"),
        ],
        phrasings: &[
            "Add up weights in bins of $bin labels: label l goes to bin l / $bin, rounded down. A weight counts $factor times, then $f.words.",
            "sums[b] is the sum over all i with floor(label[i] / $bin) = b of $f.of($factor * weight[i]).",
            "A weighted histogram of labels, $bin labels to a bin. Before a weight is added, multiply it by $factor, then $f.words.",
        ],
        dimensions: &[("n", 1000, 1 << 20)],
        arrays: vec![
            Array::input("label", &["n"])
                .whole()
                .holding(Contents::Whole(0, 128)),
            Array::input("weight", &["n"]),
            Array::output("sums", &["128"]).holding(Contents::Zeros),
        ],
        threads: &["n"],
        warp: "
i = wp.tid()
v = $factor * weight[i]
v = $f(v)
wp.atomic_add(sums, label[i] // $bin, v)
",
        numpy: "
v = $factor * weight
v = $f(v)
return sums + np.bincount(label // $bin, weights=v, minlength=128).astype(sums.dtype)
",
        torch: Some(
            "
v = $factor * weight
v = $f(v)
return sums.index_add(0, label.long() // $bin, v)
",
        ),
        cuda: &[
            Kernel {
                name: "naive",
                technique: "one atomic addition for each weight",
                grid: &["ceil_div(n, 256)"],
                block: &[256],
                body: "
int i = blockIdx.x * blockDim.x + threadIdx.x;
if (i >= n) return;
float v = $factor * weight[i];
v = $f(v);
atomicAdd(&sums[label[i] / $bin], v);
",
            },
            Kernel {
                name: "shared_partials",
                technique: "each block adds up in shared memory first",
                grid: &["min(ceil_div(n, 256), 264)"],
                block: &[256],
                body: "
__shared__ float part[128];
if (threadIdx.x < 128) part[threadIdx.x] = 0.0f;
__syncthreads();
for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
    float v = $factor * weight[i];
    v = $f(v);
    atomicAdd(&part[label[i] / $bin], v);
}
__syncthreads();
if (threadIdx.x < 128) atomicAdd(&sums[threadIdx.x], part[threadIdx.x]);
",
            },
        ],
        exactness: Exactness::Accumulates("n"),
    }
}
