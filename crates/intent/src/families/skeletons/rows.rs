//! Rows of a matrix: passes that reduce a row to a number, then values for the row or for its elements.
//!
//! One thread for each row as a beginner writes it; a warp for each row with shuffles; a block for each
//! row with shared memory.

use std::collections::HashSet;
use std::sync::OnceLock;

use super::steps::{Steps, deeper, formula, lines, uses};
use crate::axis::Axis;
use crate::expression::Language;
use crate::family::{Array, Dimension, Exactness, Family, Group, Variant};

/// How a pass combines values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Combine {
    Sum,
    Max,
    Min,
    /// The axis `op` says.
    Axis,
}

/// One reduction over a row.
pub(crate) struct Pass {
    /// The variable that holds the result.
    pub(crate) name: &'static str,
    pub(crate) combine: Combine,
    /// From the inputs at a column to `v`.
    pub(crate) steps: &'static Steps,
    /// What happens to the result, before the next pass.
    pub(crate) after: &'static Steps,
}

/// What a family writes.
pub(crate) enum Written {
    /// One number for each row: this variable.
    ForRow(&'static str),
    /// A matrix: steps that end in `v`.
    ForElement(&'static Steps),
}

/// A family over rows.
pub(crate) struct Rows {
    pub(crate) name: &'static str,
    pub(crate) group: Group,
    pub(crate) title: &'static str,
    pub(crate) axes: Vec<Axis>,
    /// Matrices with the rows.
    pub(crate) inputs: &'static [&'static str],
    /// Vectors with a number for each column.
    pub(crate) weights: &'static [&'static str],
    pub(crate) passes: &'static [Pass],
    pub(crate) written: Written,
    pub(crate) phrasings: &'static [&'static str],
}

const MATRIX: &[&str] = &["rows", "cols"];
/// The least and largest numbers, where a maximum or minimum begins.
const MOST: &str = "3.402823466e+38";

impl Combine {
    fn together(self, language: Language, a: &str, b: &str) -> String {
        let text = match self {
            Self::Sum => format!("{a} + {b}"),
            Self::Max => format!("max({a}, {b})"),
            Self::Min => format!("min({a}, {b})"),
            Self::Axis => format!("$op({a}, {b})"),
        };
        formula(&text, language, &|_| None)
    }

    fn start(self, language: Language) -> String {
        let number = match (self, language) {
            (Self::Axis, Language::Cuda) => return "$op.cuda".to_owned(),
            (Self::Axis, _) => "$op.start".to_owned(),
            (Self::Sum, _) => "0.0".to_owned(),
            (Self::Max, _) => format!("-{MOST}"),
            (Self::Min, _) => MOST.to_owned(),
        };
        match language {
            Language::Cuda => number + "f",
            // What changes in a loop must be a variable of its own to Warp.
            _ => format!("float({number})"),
        }
    }

    fn whole(self, language: Language) -> String {
        let torch = language == Language::Torch;
        let name = match (self, torch) {
            (Self::Sum, false) => "np.sum",
            (Self::Max, false) => "np.max",
            (Self::Min, false) => "np.min",
            (Self::Axis, false) => "$op.numpy",
            (Self::Sum, true) => "torch.sum",
            (Self::Max, true) => "torch.amax",
            (Self::Min, true) => "torch.amin",
            (Self::Axis, true) => "$op.torch",
        };
        match torch {
            true => format!("{name}(v, dim=1, keepdim=True)"),
            false => format!("{name}(v, axis=1, keepdims=True)"),
        }
    }
}

impl Rows {
    pub(crate) fn family(self) -> Family {
        let mut arrays: Vec<Array> = self
            .inputs
            .iter()
            .map(|name| Array::input(name, MATRIX))
            .collect();
        arrays.extend(
            self.weights
                .iter()
                .map(|name| Array::input(name, &["cols"])),
        );
        arrays.push(match self.written {
            Written::ForRow(_) => Array::output("out", &["rows"]),
            Written::ForElement(_) => Array::output("out", MATRIX),
        });
        Family {
            name: self.name,
            group: self.group,
            title: self.title,
            phrasings: self.phrasings,
            dimensions: vec![
                Dimension::new("rows", 37, 1024),
                Dimension::new("cols", 100, 1024),
            ],
            threads: &["rows"],
            warp: self.warp(),
            warp_prelude: String::new(),
            numpy: self.whole(Language::Numpy),
            torch: Some(self.whole(Language::Torch)),
            cuda: vec![self.naive(), self.by_warp(), self.by_block()],
            exactness: Exactness::Accumulates("cols"),
            arrays,
            axes: self.axes,
            read: OnceLock::new(),
        }
    }

    /// An input at the place of a thread.
    fn load(&self, language: Language) -> impl Fn(&str) -> Option<String> + '_ {
        move |name: &str| {
            let cuda = language == Language::Cuda;
            if self.inputs.contains(&name) {
                return Some(match cuda {
                    true => format!("{name}[(size_t)row * cols + col]"),
                    false => format!("{name}[row, col]"),
                });
            }
            match name {
                "COLS" if cuda => Some("(float)cols".into()),
                "COLS" => Some("float(cols)".into()),
                _ if self.weights.contains(&name) => Some(format!("{name}[col]")),
                _ => None,
            }
        }
    }

    fn element(&self, steps: &Steps, language: Language) -> String {
        debug_assert!(self.inputs.iter().all(|name| uses(steps, name) <= 1));
        lines(steps, language, &mut HashSet::new(), &self.load(language))
    }

    fn after(&self, pass: &Pass, language: Language) -> String {
        let mut known = self.results();
        lines(pass.after, language, &mut known, &self.load(language))
    }

    fn results(&self) -> HashSet<String> {
        self.passes
            .iter()
            .map(|pass| pass.name.to_owned())
            .collect()
    }

    fn warp(&self) -> String {
        let language = Language::Warp;
        let mut text = format!("row = wp.tid()\ncols = {}.shape[1]\n", self.inputs[0]);
        for pass in self.passes {
            text += &format!(
                "{name} = {}\nfor col in range(cols):\n{}    {name} = {}\n{}",
                pass.combine.start(language),
                deeper(&self.element(pass.steps, language), 1),
                pass.combine.together(language, pass.name, "v"),
                self.after(pass, language),
                name = pass.name,
            );
        }
        text += &match self.written {
            Written::ForRow(name) => format!("out[row] = {name}\n"),
            Written::ForElement(steps) => format!(
                "for col in range(cols):\n{}    out[row, col] = v\n",
                deeper(&self.element(steps, language), 1)
            ),
        };
        text
    }

    fn whole(&self, language: Language) -> String {
        let rename = |name: &str| (name == "COLS").then(|| format!("{}.shape[1]", self.inputs[0]));
        let steps = |steps: &Steps| lines(steps, language, &mut HashSet::new(), &rename);
        let mut text = String::new();
        for pass in self.passes {
            let whole = pass.combine.whole(language);
            text += &format!(
                "{}{} = {whole}\n{}",
                steps(pass.steps),
                pass.name,
                steps(pass.after)
            );
        }
        text += &match self.written {
            Written::ForRow(name) => format!("return {name}[:, 0]\n"),
            Written::ForElement(list) => format!("{}return v\n", steps(list)),
        };
        text
    }

    fn naive(&self) -> Variant {
        let language = Language::Cuda;
        let mut body =
            "int row = blockIdx.x * blockDim.x + threadIdx.x;\nif (row >= rows) return;\n"
                .to_owned();
        for pass in self.passes {
            body += &format!(
                "float {name} = {};\nfor (int col = 0; col < cols; ++col) {{\n{}    {name} = {};\n}}\n{}",
                pass.combine.start(language),
                deeper(&self.element(pass.steps, language), 1),
                pass.combine.together(language, pass.name, "v"),
                self.after(pass, language),
                name = pass.name,
            );
        }
        body += &match self.written {
            Written::ForRow(name) => format!("out[row] = {name};\n"),
            Written::ForElement(steps) => format!(
                "for (int col = 0; col < cols; ++col) {{\n{}    out[(size_t)row * cols + col] = v;\n}}\n",
                deeper(&self.element(steps, language), 1)
            ),
        };
        Variant {
            name: "naive",
            technique: "one thread for each row",
            grid: &["ceil_div(rows, 128)"],
            block: &[128],
            prelude: String::new(),
            body,
        }
    }

    fn by_warp(&self) -> Variant {
        let language = Language::Cuda;
        let mut body = "int row = blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32;\n\
                        int lane = threadIdx.x % 32;\nif (row >= rows) return;\n"
            .to_owned();
        for pass in self.passes {
            body += &format!(
                "float {name} = {};\nfor (int col = lane; col < cols; col += 32) {{\n{}    {name} = {};\n}}\n\
                 for (int offset = 16; offset > 0; offset /= 2) {{\n    \
                 float other = __shfl_xor_sync(0xffffffffu, {name}, offset);\n    {name} = {};\n}}\n{}",
                pass.combine.start(language),
                deeper(&self.element(pass.steps, language), 1),
                pass.combine.together(language, pass.name, "v"),
                pass.combine.together(language, pass.name, "other"),
                self.after(pass, language),
                name = pass.name,
            );
        }
        body += &self.stored("lane", "32");
        Variant {
            name: "warp_per_row",
            technique: "one warp for each row: coalesced loads, reduced with shuffles",
            grid: &["ceil_div(rows, 4)"],
            block: &[128],
            prelude: String::new(),
            body,
        }
    }

    fn by_block(&self) -> Variant {
        let language = Language::Cuda;
        let mut body =
            "__shared__ float part[256];\nint row = blockIdx.x;\nint thread = threadIdx.x;\n"
                .to_owned();
        for pass in self.passes {
            body += &format!(
                "float {name} = {};\nfor (int col = thread; col < cols; col += 256) {{\n{}    {name} = {};\n}}\n\
                 part[thread] = {name};\n__syncthreads();\n\
                 for (int half = 128; half > 0; half /= 2) {{\n    \
                 if (thread < half) part[thread] = {};\n    __syncthreads();\n}}\n\
                 {name} = part[0];\n__syncthreads();\n{}",
                pass.combine.start(language),
                deeper(&self.element(pass.steps, language), 1),
                pass.combine.together(language, pass.name, "v"),
                pass.combine.together(language, "part[thread]", "part[thread + half]"),
                self.after(pass, language),
                name = pass.name,
            )
            .replace("\n                 ", "\n");
        }
        body += &self.stored("thread", "256");
        Variant {
            name: "block_per_row",
            technique: "one block for each row, reduced in shared memory",
            grid: &["rows"],
            block: &[256],
            prelude: String::new(),
            body,
        }
    }

    /// The end of a kernel whose threads share a row.
    fn stored(&self, first: &str, step: &str) -> String {
        match self.written {
            Written::ForRow(name) => format!("if ({first} == 0) out[row] = {name};\n"),
            Written::ForElement(steps) => format!(
                "for (int col = {first}; col < cols; col += {step}) {{\n{}    \
                 out[(size_t)row * cols + col] = v;\n}}\n",
                deeper(&self.element(steps, Language::Cuda), 1)
            ),
        }
    }
}
