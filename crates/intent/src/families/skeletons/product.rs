//! Every row of one matrix with every column of another: products and their relatives, with what is done
//! to each result while it is still in a register.
//!
//! One thread for each result; tiles in shared memory; tiles with four by four results for each thread.

use std::collections::HashSet;
use std::sync::OnceLock;

use super::steps::{Steps, deeper, formula, lines};
use crate::axis::Axis;
use crate::expression::Language;
use crate::family::{Array, Dimension, Exactness, Family, Group, Variant};

/// A family of products of `a` (m × k) and `b`.
pub(crate) struct Product {
    pub(crate) name: &'static str,
    pub(crate) group: Group,
    pub(crate) title: &'static str,
    pub(crate) axes: Vec<Axis>,
    /// Whether `b` is n × k, with a row for each column of the result.
    pub(crate) transposed: bool,
    /// What is summed, of `p` and `q`.
    pub(crate) term: &'static str,
    /// What follows, from `sum` to `v`; `ROW` and `COL` are the place, arrays beside are variables.
    pub(crate) after: &'static Steps,
    /// Vectors with a number for each column.
    pub(crate) columns: &'static [&'static str],
    /// Matrices of the result's shape.
    pub(crate) matrices: &'static [&'static str],
    /// The sum in NumPy and PyTorch.
    pub(crate) whole: [&'static str; 2],
    /// `m`, `n` and `k` of a timed launch.
    pub(crate) timed: [i64; 3],
    pub(crate) phrasings: &'static [&'static str],
}

impl Product {
    pub(crate) fn family(self) -> Family {
        let mut arrays = vec![
            Array::input("a", &["m", "k"]),
            Array::input(
                "b",
                if self.transposed {
                    &["n", "k"]
                } else {
                    &["k", "n"]
                },
            ),
        ];
        arrays.extend(self.columns.iter().map(|name| Array::input(name, &["n"])));
        arrays.extend(
            self.matrices
                .iter()
                .map(|name| Array::input(name, &["m", "n"])),
        );
        arrays.push(Array::output("out", &["m", "n"]));
        Family {
            name: self.name,
            group: self.group,
            title: self.title,
            phrasings: self.phrasings,
            dimensions: vec![
                Dimension::new("m", 33, self.timed[0]),
                Dimension::new("n", 40, self.timed[1]),
                Dimension::new("k", 50, self.timed[2]),
            ],
            threads: &["m", "n"],
            warp: self.warp(),
            warp_prelude: String::new(),
            numpy: self.array_code(Language::Numpy),
            torch: Some(self.array_code(Language::Torch)),
            cuda: vec![self.naive(), self.tiled(), self.in_registers()],
            exactness: Exactness::Accumulates("k"),
            arrays,
            axes: self.axes,
            read: OnceLock::new(),
        }
    }

    fn after(&self, language: Language) -> String {
        let cuda = language == Language::Cuda;
        let rename = |name: &str| match name {
            "ROW" if cuda => Some("(float)row".into()),
            "COL" if cuda => Some("(float)col".into()),
            "ROW" => Some("float(row)".into()),
            "COL" => Some("float(col)".into()),
            _ if self.columns.contains(&name) => Some(format!("{name}[col]")),
            _ if self.matrices.contains(&name) && cuda => {
                Some(format!("{name}[(size_t)row * n + col]"))
            }
            _ if self.matrices.contains(&name) => Some(format!("{name}[row, col]")),
            _ => None,
        };
        lines(
            self.after,
            language,
            &mut HashSet::from(["sum".to_owned()]),
            &rename,
        )
    }

    fn term(&self, language: Language, p: &str, q: &str) -> String {
        formula(self.term, language, &|name| match name {
            "p" => Some(p.to_owned()),
            "q" => Some(q.to_owned()),
            _ => None,
        })
    }

    fn warp(&self) -> String {
        let b = if self.transposed {
            "b[col, i]"
        } else {
            "b[i, col]"
        };
        format!(
            "row, col = wp.tid()\nsum = float(0.0)\nfor i in range(a.shape[1]):\n    p = a[row, i]\n    q = {b}\n    sum = sum + {}\n{}out[row, col] = v\n",
            formula(&format!("({})", self.term), Language::Warp, &|_| None),
            self.after(Language::Warp)
        )
    }

    fn array_code(&self, language: Language) -> String {
        let torch = language == Language::Torch;
        let rename = |name: &str| match (name, torch) {
            ("ROW", false) => Some("np.arange(sum.shape[0], dtype=sum.dtype)[:, None]".into()),
            ("COL", false) => Some("np.arange(sum.shape[1], dtype=sum.dtype)[None, :]".into()),
            ("ROW", true) => Some(
                "torch.arange(sum.shape[0], device=sum.device, dtype=sum.dtype)[:, None]".into(),
            ),
            ("COL", true) => Some(
                "torch.arange(sum.shape[1], device=sum.device, dtype=sum.dtype)[None, :]".into(),
            ),
            _ => None,
        };
        format!(
            "sum = {}\n{}return v\n",
            self.whole[usize::from(torch)],
            lines(self.after, language, &mut HashSet::new(), &rename)
        )
    }

    fn naive(&self) -> Variant {
        let b = if self.transposed {
            "b[(size_t)col * k + i]"
        } else {
            "b[(size_t)i * n + col]"
        };
        let body = format!(
            "int col = blockIdx.x * blockDim.x + threadIdx.x;\nint row = blockIdx.y * blockDim.y + threadIdx.y;\n\
             if (row >= m || col >= n) return;\nfloat sum = 0.0f;\nfor (int i = 0; i < k; ++i) {{\n    \
             float p = a[(size_t)row * k + i];\n    float q = {b};\n    sum = sum + {};\n}}\n{}\
             out[(size_t)row * n + col] = v;\n",
            formula(&format!("({})", self.term), Language::Cuda, &|_| None),
            self.after(Language::Cuda)
        );
        Variant {
            name: "naive",
            technique: "one thread for each result",
            grid: &["ceil_div(n, 16)", "ceil_div(m, 16)"],
            block: &[16, 16],
            prelude: String::new(),
            body,
        }
    }

    fn tiled(&self) -> Variant {
        let load_b = match self.transposed {
            true => {
                "int other = blockIdx.x * 16 + threadIdx.y;\n    \
                     right[threadIdx.x][threadIdx.y] = other < n && start + threadIdx.x < k ? b[(size_t)other * k + start + threadIdx.x] : 0.0f;"
            }
            false => {
                "right[threadIdx.y][threadIdx.x] = col < n && start + threadIdx.y < k ? b[(size_t)(start + threadIdx.y) * n + col] : 0.0f;"
            }
        };
        let body = format!(
            "__shared__ float left[16][17];\n__shared__ float right[16][17];\n\
             int col = blockIdx.x * 16 + threadIdx.x;\nint row = blockIdx.y * 16 + threadIdx.y;\nfloat sum = 0.0f;\n\
             for (int start = 0; start < k; start += 16) {{\n    \
             left[threadIdx.y][threadIdx.x] = row < m && start + threadIdx.x < k ? a[(size_t)row * k + start + threadIdx.x] : 0.0f;\n    \
             {load_b}\n    __syncthreads();\n    for (int i = 0; i < 16; ++i) {{\n        \
             float p = left[threadIdx.y][i];\n        float q = right[i][threadIdx.x];\n        sum = sum + {};\n    }}\n    \
             __syncthreads();\n}}\nif (row >= m || col >= n) return;\n{}out[(size_t)row * n + col] = v;\n",
            formula(&format!("({})", self.term), Language::Cuda, &|_| None),
            self.after(Language::Cuda)
        );
        Variant {
            name: "shared_tile",
            technique: "tiles of both matrices in shared memory",
            grid: &["ceil_div(n, 16)", "ceil_div(m, 16)"],
            block: &[16, 16],
            prelude: String::new(),
            body,
        }
    }

    fn in_registers(&self) -> Variant {
        let load_b = match self.transposed {
            true => {
                "int j = at / 16;\n        int i = at % 16;\n        \
                     right[i][j] = left_col + j < n && start + i < k ? b[(size_t)(left_col + j) * k + start + i] : 0.0f;"
            }
            false => {
                "int i = at / 64;\n        int j = at % 64;\n        \
                      right[i][j] = left_col + j < n && start + i < k ? b[(size_t)(start + i) * n + left_col + j] : 0.0f;"
            }
        };
        let body = format!(
            "__shared__ float left[16][65];\n__shared__ float right[16][65];\n\
             int top_row = blockIdx.y * 64;\nint left_col = blockIdx.x * 64;\n\
             int thread = threadIdx.y * 16 + threadIdx.x;\nfloat sums[4][4] = {{}};\n\
             for (int start = 0; start < k; start += 16) {{\n    for (int at = thread; at < 1024; at += 256) {{\n        \
             int r = at / 16;\n        int c = at % 16;\n        \
             left[c][r] = top_row + r < m && start + c < k ? a[(size_t)(top_row + r) * k + start + c] : 0.0f;\n    }}\n    \
             for (int at = thread; at < 1024; at += 256) {{\n        {load_b}\n    }}\n    __syncthreads();\n    \
             for (int i = 0; i < 16; ++i) {{\n        float ps[4];\n        float qs[4];\n        \
             for (int r = 0; r < 4; ++r) ps[r] = left[i][threadIdx.y * 4 + r];\n        \
             for (int c = 0; c < 4; ++c) qs[c] = right[i][threadIdx.x + 16 * c];\n        \
             for (int r = 0; r < 4; ++r) {{\n            for (int c = 0; c < 4; ++c) sums[r][c] += {};\n        }}\n    }}\n    \
             __syncthreads();\n}}\nfor (int r = 0; r < 4; ++r) {{\n    for (int c = 0; c < 4; ++c) {{\n        \
             int row = top_row + threadIdx.y * 4 + r;\n        int col = left_col + threadIdx.x + 16 * c;\n        \
             if (row >= m || col >= n) continue;\n        float sum = sums[r][c];\n{}        \
             out[(size_t)row * n + col] = v;\n    }}\n}}\n",
            self.term(Language::Cuda, "ps[r]", "qs[c]"),
            deeper(&self.after(Language::Cuda), 2)
        );
        Variant {
            name: "register_tile",
            technique: "tiles of 64 by 64 results in shared memory, sixteen results in the registers of each thread",
            grid: &["ceil_div(n, 64)", "ceil_div(m, 64)"],
            block: &[16, 16],
            prelude: String::new(),
            body,
        }
    }
}
