//! Along a row, each result follows from the one before: running sums and maxima, filters with memory.
//!
//! One thread for each row; or a warp for each row, which composes the steps of 32 elements with shuffles.

use std::collections::HashSet;
use std::sync::OnceLock;

use super::steps::{Steps, deeper, formula, lines};
use crate::axis::Axis;
use crate::expression::Language;
use crate::family::{Array, Dimension, Exactness, Family, Group, Variant};

/// A family of recurrences `y = join(keep * y, v)`, with `y` before the row being `start`.
pub(crate) struct Recurrence {
    pub(crate) name: &'static str,
    pub(crate) group: Group,
    pub(crate) title: &'static str,
    pub(crate) axes: Vec<Axis>,
    /// From `x` to `v`.
    pub(crate) before: &'static Steps,
    /// Of `p` (what was kept) and `q` (what is new).
    pub(crate) join: &'static str,
    /// The factor that the old result keeps, a formula of constants; 1 for running sums.
    pub(crate) keep: &'static str,
    /// Start of a row, in Python and in CUDA.
    pub(crate) start: [&'static str; 2],
    /// From `y` to `v`, which is written.
    pub(crate) after: &'static Steps,
    /// From the last column to the first.
    pub(crate) backwards: bool,
    pub(crate) phrasings: &'static [&'static str],
}

const MATRIX: &[&str] = &["rows", "cols"];

impl Recurrence {
    pub(crate) fn family(self) -> Family {
        Family {
            name: self.name,
            group: self.group,
            title: self.title,
            phrasings: self.phrasings,
            dimensions: vec![
                Dimension::new("rows", 37, 1024),
                Dimension::new("cols", 100, 1024),
            ],
            arrays: vec![Array::input("x", MATRIX), Array::output("out", MATRIX)],
            threads: &["rows"],
            warp: self.warp(),
            warp_prelude: String::new(),
            numpy: self.array_code(Language::Numpy),
            torch: Some(self.array_code(Language::Torch)),
            cuda: vec![self.naive(), self.by_warp()],
            exactness: Exactness::Accumulates("cols"),
            axes: self.axes,
            read: OnceLock::new(),
        }
    }

    fn joined(&self, language: Language, kept: &str, new: &str) -> String {
        formula(self.join, language, &|name| match name {
            "p" => Some(kept.to_owned()),
            "q" => Some(new.to_owned()),
            _ => None,
        })
    }

    /// The factor times a result; nothing where the factor is 1.
    fn kept(&self, language: Language) -> String {
        match self.keep {
            "1" => "y".to_owned(),
            keep => formula(&format!("{keep} * y"), language, &|_| None),
        }
    }

    fn steps(&self, language: Language) -> String {
        let load = |name: &str| match (name, language) {
            ("x", Language::Cuda) => Some("x[(size_t)row * cols + col]".into()),
            ("x", Language::Warp) => Some("x[row, col]".into()),
            ("x", _) => Some("x[:, col]".into()),
            _ => None,
        };
        lines(self.before, language, &mut HashSet::new(), &load)
    }

    fn column(&self) -> &'static str {
        if self.backwards { "cols - 1 - i" } else { "i" }
    }

    fn warp(&self) -> String {
        let language = Language::Warp;
        let mut known = HashSet::from(["v".to_owned()]);
        format!(
            "row = wp.tid()\ncols = x.shape[1]\ny = float({})\nfor i in range(cols):\n    col = {}\n{}    p = {}\n    y = {}\n    v = y\n{}    out[row, col] = v\n",
            self.start[0],
            self.column(),
            deeper(&self.steps(language), 1),
            self.kept(language),
            self.joined(language, "p", "v"),
            deeper(&lines(self.after, language, &mut known, &|_| None), 1),
        )
    }

    fn array_code(&self, language: Language) -> String {
        let (full, empty) = match language {
            Language::Torch => ("torch.full_like(x[:, 0], ", "torch.empty_like(x)"),
            _ => ("np.full_like(x[:, 0], ", "np.empty_like(x)"),
        };
        let column = self.column().replace("cols", "x.shape[1]");
        format!(
            "out = {empty}\ny = {full}{})\nfor i in range(x.shape[1]):\n    col = {column}\n{}    p = {}\n    y = {}\n    v = y\n{}    out[:, col] = v\nreturn out\n",
            self.start[0],
            deeper(&self.steps(language), 1),
            self.kept(language),
            self.joined(language, "p", "v"),
            deeper(
                &lines(self.after, language, &mut HashSet::new(), &|_| None),
                1
            ),
        )
    }

    fn naive(&self) -> Variant {
        let language = Language::Cuda;
        let mut known = HashSet::from(["v".to_owned()]);
        let body = format!(
            "int row = blockIdx.x * blockDim.x + threadIdx.x;\nif (row >= rows) return;\nfloat y = {};\nfor (int i = 0; i < cols; ++i) {{\n    int col = {};\n{}    float p = {};\n    y = {};\n    v = y;\n{}    out[(size_t)row * cols + col] = v;\n}}\n",
            self.start[1],
            self.column(),
            deeper(&self.steps(language), 1),
            self.kept(language),
            self.joined(language, "p", "v"),
            deeper(&lines(self.after, language, &mut known, &|_| None), 1),
        );
        Variant {
            name: "naive",
            technique: "one thread for each row",
            grid: &["ceil_div(rows, 128)"],
            block: &[128],
            prelude: String::new(),
            body,
        }
    }

    /// 32 elements of a row at a time. A step is `y = join(factor * y, v)`; two steps in a row are one of
    /// the same form, so that steps are composed like the sums of a scan.
    fn by_warp(&self) -> Variant {
        let language = Language::Cuda;
        let mut known = HashSet::from(["v".to_owned()]);
        let constant = self.keep == "1";
        let factor = formula(self.keep, language, &|_| None);
        let (declared, moved, scaled, grown, carried) = match constant {
            true => (String::new(), "", "before", "", "y"),
            false => (
                format!("    float factor = {factor};\n"),
                "        float factor_before = __shfl_up_sync(0xffffffffu, factor, offset);\n",
                "factor * before",
                "            factor = factor * factor_before;\n",
                "factor * y",
            ),
        };
        let steps = self.steps(language);
        // Lanes beyond the row take part in shuffles, and load nothing.
        let (first, later) = steps.split_once('\n').unwrap_or((&steps, ""));
        let first = first.replacen(
            "x[(size_t)row * cols + col]",
            "i < cols ? x[(size_t)row * cols + col] : 0.0f",
            1,
        );
        let body = format!(
            "int row = blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32;\nint lane = threadIdx.x % 32;\nif (row >= rows) return;\nfloat y = {start};\nfor (int first = 0; first < cols; first += 32) {{\n    int i = first + lane;\n    int col = {column};\n    {first}\n{later}{declared}    for (int offset = 1; offset < 32; offset *= 2) {{\n        float before = __shfl_up_sync(0xffffffffu, v, offset);\n{moved}        if (lane >= offset) {{\n            v = {composed};\n{grown}        }}\n    }}\n    v = {joined};\n    y = __shfl_sync(0xffffffffu, v, 31);\n{after}    if (i < cols) out[(size_t)row * cols + col] = v;\n}}\n",
            start = self.start[1],
            column = self.column(),
            later = deeper(later, 1),
            composed = self.joined(language, scaled, "v"),
            joined = self.joined(language, carried, "v"),
            after = deeper(&lines(self.after, language, &mut known, &|_| None), 1),
        );
        Variant {
            name: "warp_per_row",
            technique: "one warp for each row: steps of 32 elements composed with shuffles",
            grid: &["ceil_div(rows, 4)"],
            block: &[128],
            prelude: String::new(),
            body,
        }
    }
}
