//! Neighbours on a line or in a matrix, with a rule for what lies outside.
//!
//! One thread for each element, each loading its neighbours; or a tile in shared memory with a rim.

use std::collections::HashSet;
use std::sync::OnceLock;

use super::steps::{Steps, lines, uses};
use crate::axis::{Axis, Choice};
use crate::expression::Language;
use crate::family::{Array, Dimension, Exactness, Family, Group, Variant};

/// A family over neighbours; the axis `edge` says what lies outside.
pub(crate) struct Stencil {
    pub(crate) name: &'static str,
    pub(crate) group: Group,
    pub(crate) title: &'static str,
    /// Further axes.
    pub(crate) axes: Vec<Axis>,
    /// 1: variables `x[-2]` to `x[2]` are `l2 l1 c r1 r2`. 2: `nw n ne w c e sw s se`.
    pub(crate) rank: usize,
    /// Arrays that are read at the element's own place.
    pub(crate) beside: &'static [&'static str],
    /// Ends in `v`.
    pub(crate) steps: &'static Steps,
    /// What `$edge.words` needs beside itself.
    pub(crate) phrasings: &'static [&'static str],
}

/// Outside of an array.
const EDGES_1: &[Choice] = &[
    Choice {
        name: "zero",
        words: "elements outside count as 0",
        formula: None,
        parts: &[
            (
                "warp",
                "wp.where(i >= 0 and i < n, x[wp.clamp(i, 0, n - 1)], 0.0)",
            ),
            ("cuda", "i >= 0 && i < n ? x[i] : 0.0f"),
            ("numpy", "mode=\"constant\""),
        ],
    },
    Choice {
        name: "clamp",
        words: "elements outside count as the nearest one inside",
        formula: None,
        parts: &[
            ("warp", "x[wp.clamp(i, 0, n - 1)]"),
            ("cuda", "x[min(max(i, 0), n - 1)]"),
            ("numpy", "mode=\"edge\""),
        ],
    },
    Choice {
        name: "wrap",
        words: "the array goes on with its other end",
        formula: None,
        parts: &[
            ("warp", "x[((i % n) + n) % n]"),
            ("cuda", "x[((i % n) + n) % n]"),
            ("numpy", "mode=\"wrap\""),
        ],
    },
];

/// Outside of a matrix.
const EDGES_2: &[Choice] = &[
    Choice {
        name: "zero",
        words: "elements outside count as 0",
        formula: None,
        parts: &[
            (
                "warp",
                "wp.where(i >= 0 and i < rows and j >= 0 and j < cols, x[wp.clamp(i, 0, rows - 1), wp.clamp(j, 0, cols - 1)], 0.0)",
            ),
            (
                "cuda",
                "i >= 0 && i < rows && j >= 0 && j < cols ? x[(size_t)i * cols + j] : 0.0f",
            ),
            ("numpy", "mode=\"constant\""),
        ],
    },
    Choice {
        name: "clamp",
        words: "elements outside count as the nearest one inside",
        formula: None,
        parts: &[
            (
                "warp",
                "x[wp.clamp(i, 0, rows - 1), wp.clamp(j, 0, cols - 1)]",
            ),
            (
                "cuda",
                "x[(size_t)min(max(i, 0), rows - 1) * cols + min(max(j, 0), cols - 1)]",
            ),
            ("numpy", "mode=\"edge\""),
        ],
    },
    Choice {
        name: "wrap",
        words: "the matrix goes on with its other side",
        formula: None,
        parts: &[
            (
                "warp",
                "x[((i % rows) + rows) % rows, ((j % cols) + cols) % cols]",
            ),
            (
                "cuda",
                "x[(size_t)(((i % rows) + rows) % rows) * cols + ((j % cols) + cols) % cols]",
            ),
            ("numpy", "mode=\"wrap\""),
        ],
    },
];

/// Neighbours by their names: rows down, columns right.
const LINE: &[(&str, i64)] = &[("l2", -2), ("l1", -1), ("c", 0), ("r1", 1), ("r2", 2)];
const SQUARE: &[(&str, i64, i64)] = &[
    ("nw", -1, -1),
    ("n", -1, 0),
    ("ne", -1, 1),
    ("w", 0, -1),
    ("c", 0, 0),
    ("e", 0, 1),
    ("sw", 1, -1),
    ("s", 1, 0),
    ("se", 1, 1),
];

/// `i`, `i + 1`, `i - 2`.
fn shifted(index: &str, by: i64) -> String {
    match by {
        0 => index.to_owned(),
        1.. => format!("{index} + {by}"),
        _ => format!("{index} - {}", -by),
    }
}

/// The part of a padded array that a neighbour is in.
fn window(by: i64, radius: i64, size: &str) -> String {
    format!("{}:{size} + {}", radius + by, radius + by)
}

impl Stencil {
    pub(crate) fn family(mut self) -> Family {
        let edges = if self.rank == 1 { EDGES_1 } else { EDGES_2 };
        self.axes.push(Axis::options("edge", edges));
        let shape: &'static [&'static str] = if self.rank == 1 {
            &["n"]
        } else {
            &["rows", "cols"]
        };
        let mut arrays = vec![Array::input("x", shape)];
        arrays.extend(self.beside.iter().map(|name| Array::input(name, shape)));
        arrays.push(Array::output("out", shape));
        Family {
            name: self.name,
            group: self.group,
            title: self.title,
            phrasings: self.phrasings,
            dimensions: match self.rank {
                1 => vec![Dimension::new("n", 1000, 1 << 20)],
                _ => vec![Dimension::new("rows", 37, 1024), Dimension::new("cols", 100, 1024)],
            },
            threads: shape,
            warp: self.warp(),
            warp_prelude: match self.rank {
                1 => "@wp.func\ndef at(x: wp.array(dtype=float), i: int, n: int):\n    return $edge.warp\n",
                _ => "@wp.func\ndef at(x: wp.array2d(dtype=float), i: int, j: int, rows: int, cols: int):\n    return $edge.warp\n",
            }
            .to_owned(),
            numpy: self.numpy(),
            torch: None,
            cuda: match self.rank {
                1 => vec![self.naive_line(), self.tiled_line()],
                _ => vec![self.naive_square(), self.tiled_square()],
            },
            exactness: Exactness::Rounds,
            arrays,
            axes: self.axes,
            read: OnceLock::new(),
        }
    }

    fn line(&self) -> impl Iterator<Item = (&'static str, i64)> + '_ {
        LINE.iter()
            .copied()
            .filter(|(name, _)| uses(self.steps, name) > 0)
    }

    fn square(&self) -> impl Iterator<Item = (&'static str, i64, i64)> + '_ {
        SQUARE
            .iter()
            .copied()
            .filter(|(name, ..)| uses(self.steps, name) > 0)
    }

    /// Steps in which neighbours are variables already.
    fn steps(&self, language: Language, own: &str) -> String {
        let names = LINE
            .iter()
            .map(|one| one.0)
            .chain(SQUARE.iter().map(|one| one.0));
        let mut known: HashSet<String> = names.map(str::to_owned).collect();
        let rename = |name: &str| {
            let beside = self.beside.contains(&name);
            (beside && !own.is_empty()).then(|| format!("{name}[{own}]"))
        };
        lines(self.steps, language, &mut known, &rename)
    }

    fn warp(&self) -> String {
        let mut text = match self.rank {
            1 => "i = wp.tid()\nn = x.shape[0]\n".replace("n = ", "size = "),
            _ => "row, col = wp.tid()\nrows = x.shape[0]\ncols = x.shape[1]\n".to_owned(),
        };
        match self.rank {
            1 => {
                for (name, by) in self.line() {
                    text += &format!("{name} = at(x, {}, size)\n", shifted("i", by));
                }
                text += &self.steps(Language::Warp, "i");
                text += "out[i] = v\n";
            }
            _ => {
                for (name, down, right) in self.square() {
                    let (i, j) = (shifted("row", down), shifted("col", right));
                    text += &format!("{name} = at(x, {i}, {j}, rows, cols)\n");
                }
                text += &self.steps(Language::Warp, "row, col");
                text += "out[row, col] = v\n";
            }
        }
        text
    }

    fn numpy(&self) -> String {
        let mut text = String::new();
        match self.rank {
            1 => {
                text += "size = x.shape[0]\nwide = np.pad(x, 2, $edge.numpy)\n";
                for (name, by) in self.line() {
                    text += &format!("{name} = wide[{}]\n", window(by, 2, "size"));
                }
            }
            _ => {
                text += "height, width = x.shape\nwide = np.pad(x, 1, $edge.numpy)\n";
                for (name, down, right) in self.square() {
                    let (rows, cols) = (window(down, 1, "height"), window(right, 1, "width"));
                    text += &format!("{name} = wide[{rows}, {cols}]\n");
                }
            }
        }
        text + &self.steps(Language::Numpy, "") + "return v\n"
    }

    fn naive_line(&self) -> Variant {
        let mut body =
            "int i = blockIdx.x * blockDim.x + threadIdx.x;\nif (i >= n) return;\n".to_owned();
        for (name, by) in self.line() {
            body += &format!("float {name} = at(x, {}, n);\n", shifted("i", by));
        }
        body += &self.steps(Language::Cuda, "i");
        body += "out[i] = v;\n";
        Variant {
            name: "naive",
            technique: "one thread for each element, which loads its neighbours",
            grid: &["ceil_div(n, 256)"],
            block: &[256],
            prelude: self.at(),
            body,
        }
    }

    fn tiled_line(&self) -> Variant {
        let mut body = "__shared__ float tile[1028];\nint start = blockIdx.x * 1024;\n\
            for (int k = threadIdx.x; k < 1028; k += 256) tile[k] = at(x, start + k - 2, n);\n__syncthreads();\n\
            for (int k = threadIdx.x; k < 1024; k += 256) {\n    int i = start + k;\n    if (i >= n) return;\n"
            .to_owned();
        for (name, by) in self.line() {
            body += &format!("    float {name} = tile[{}];\n", shifted("k", by + 2));
        }
        body += &super::steps::deeper(&self.steps(Language::Cuda, "i"), 1);
        body += "    out[i] = v;\n}\n";
        Variant {
            name: "shared_tile",
            technique: "four elements for each thread from a tile in shared memory with a rim",
            grid: &["ceil_div(n, 1024)"],
            block: &[256],
            prelude: self.at(),
            body,
        }
    }

    fn naive_square(&self) -> Variant {
        let mut body = "int col = blockIdx.x * blockDim.x + threadIdx.x;\nint row = blockIdx.y * blockDim.y + threadIdx.y;\n\
            if (row >= rows || col >= cols) return;\n"
            .to_owned();
        for (name, down, right) in self.square() {
            let (i, j) = (shifted("row", down), shifted("col", right));
            body += &format!("float {name} = at(x, {i}, {j}, rows, cols);\n");
        }
        body += &self.steps(Language::Cuda, "(size_t)row * cols + col");
        body += "out[(size_t)row * cols + col] = v;\n";
        Variant {
            name: "naive",
            technique: "one thread for each element, which loads its neighbours",
            grid: &["ceil_div(cols, 16)", "ceil_div(rows, 16)"],
            block: &[16, 16],
            prelude: self.at(),
            body,
        }
    }

    fn tiled_square(&self) -> Variant {
        let mut body = "__shared__ float tile[34][34];\nint left = blockIdx.x * 32;\nint top = blockIdx.y * 32;\n\
            for (int k = threadIdx.y * 32 + threadIdx.x; k < 34 * 34; k += 256) {\n    \
            tile[k / 34][k % 34] = at(x, top + k / 34 - 1, left + k % 34 - 1, rows, cols);\n}\n__syncthreads();\n\
            for (int k = threadIdx.y; k < 32; k += 8) {\n    int row = top + k;\n    int col = left + threadIdx.x;\n    \
            if (row >= rows || col >= cols) return;\n"
            .to_owned();
        for (name, down, right) in self.square() {
            let (i, j) = (shifted("k", down + 1), shifted("threadIdx.x", right + 1));
            body += &format!("    float {name} = tile[{i}][{j}];\n");
        }
        body += &super::steps::deeper(&self.steps(Language::Cuda, "(size_t)row * cols + col"), 1);
        body += "    out[(size_t)row * cols + col] = v;\n}\n";
        Variant {
            name: "shared_tile",
            technique: "four rows for each thread from a tile in shared memory with a rim",
            grid: &["ceil_div(cols, 32)", "ceil_div(rows, 32)"],
            block: &[32, 8],
            prelude: self.at(),
            body,
        }
    }

    fn at(&self) -> String {
        match self.rank {
            1 => "__device__ __forceinline__ float at(const float* x, int i, int n) {\n    return $edge.cuda;\n}\n",
            _ => "__device__ __forceinline__ float at(const float* x, int i, int j, int rows, int cols) {\n    return $edge.cuda;\n}\n",
        }
        .to_owned()
    }
}
