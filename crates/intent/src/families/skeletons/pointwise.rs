//! Every element by itself: one thread each, four at a time with wide loads, or a grid that strides.

use std::collections::HashSet;
use std::sync::OnceLock;

use super::steps::{Steps, lines, uses};
use crate::axis::Axis;
use crate::expression::Language;
use crate::family::{Array, Contents, Dimension, Exactness, Family, Group, Variant};

/// A family whose outputs follow from the inputs at the same place.
pub(crate) struct Pointwise {
    pub(crate) name: &'static str,
    pub(crate) group: Group,
    pub(crate) title: &'static str,
    pub(crate) axes: Vec<Axis>,
    pub(crate) inputs: &'static [(&'static str, Contents)],
    pub(crate) outputs: &'static [&'static str],
    /// Assignments; inputs and outputs are variables of their names.
    pub(crate) steps: &'static Steps,
    pub(crate) phrasings: &'static [&'static str],
}

const N: &[&str] = &["n"];

impl Pointwise {
    pub(crate) fn family(self) -> Family {
        let inputs = self.inputs.iter();
        let mut arrays: Vec<Array> = inputs
            .map(|(name, contents)| Array::input(name, N).holding(*contents))
            .collect();
        arrays.extend(self.outputs.iter().map(|name| Array::output(name, N)));
        Family {
            name: self.name,
            group: self.group,
            title: self.title,
            phrasings: self.phrasings,
            dimensions: vec![Dimension::new(
                "n",
                1000,
                if arrays.len() > 4 { 1 << 19 } else { 1 << 20 },
            )],
            threads: N,
            warp: format!("i = wp.tid()\n{}", self.indexed(Language::Warp)),
            warp_prelude: String::new(),
            numpy: self.whole(Language::Numpy),
            torch: Some(self.whole(Language::Torch)),
            cuda: vec![self.naive(), self.vectorised(), self.grid_stride()],
            exactness: Exactness::Rounds,
            arrays,
            axes: self.axes,
            read: OnceLock::new(),
        }
    }

    /// The steps of one element; an input that is used more than once is loaded once.
    fn indexed(&self, language: Language) -> String {
        let mut known: HashSet<String> = HashSet::new();
        let mut text = String::new();
        // A chosen function may use its argument more than once.
        let chosen = |name: &str| {
            let end = format!("({name})");
            let mut formulas = self.steps.iter().map(|(_, formula)| formula);
            formulas.any(|formula| formula.starts_with('$') && formula.ends_with(&end))
        };
        let often = |name: &str| uses(self.steps, name) > 1 || chosen(name);
        for (name, _) in self.inputs.iter().filter(|(name, _)| often(name)) {
            text.push_str(&match language {
                Language::Cuda => format!("float {name}_i = {name}[i];\n"),
                _ => format!("{name}_i = {name}[i]\n"),
            });
        }
        let rename = |name: &str| {
            let input = self.inputs.iter().any(|(one, _)| *one == name);
            match (input, self.outputs.contains(&name)) {
                (true, _) if often(name) => Some(format!("{name}_i")),
                (true, _) | (_, true) => Some(format!("{name}[i]")),
                _ => None,
            }
        };
        known.extend(self.outputs.iter().map(|name| format!("{name}[i]")));
        text + &lines(self.steps, language, &mut known, &rename)
    }

    /// The steps over whole arrays.
    fn whole(&self, language: Language) -> String {
        let text = lines(self.steps, language, &mut HashSet::new(), &|_| None);
        format!("{text}return {}\n", self.outputs.join(", "))
    }

    fn naive(&self) -> Variant {
        Variant {
            name: "naive",
            technique: "one thread for each element",
            grid: &["ceil_div(n, 256)"],
            block: &[256],
            prelude: String::new(),
            body: format!(
                "int i = blockIdx.x * blockDim.x + threadIdx.x;\nif (i >= n) return;\n{}",
                self.indexed(Language::Cuda)
            ),
        }
    }

    fn grid_stride(&self) -> Variant {
        Variant {
            name: "grid_stride",
            technique: "a fixed number of blocks whose threads stride over the elements",
            grid: &["min(ceil_div(n, 256), 1056)"],
            block: &[256],
            prelude: String::new(),
            body: format!(
                "for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {{\n{}}}\n",
                super::steps::deeper(&self.indexed(Language::Cuda), 1)
            ),
        }
    }

    fn vectorised(&self) -> Variant {
        let inputs = self.inputs.iter().map(|(name, _)| *name);
        let mut parameters: Vec<String> =
            inputs.clone().map(|name| format!("float {name}")).collect();
        parameters.extend(self.outputs.iter().map(|name| format!("float& {name}")));
        let mut known: HashSet<String> = inputs.clone().map(str::to_owned).collect();
        known.extend(self.outputs.iter().map(|name| (*name).to_owned()));
        let steps = lines(self.steps, Language::Cuda, &mut known, &|_| None);
        let prelude = format!(
            "__device__ __forceinline__ void point({}) {{\n{}}}\n",
            parameters.join(", "),
            super::steps::deeper(&steps, 1)
        );
        let mut body =
            "int i = 4 * (blockIdx.x * blockDim.x + threadIdx.x);\nif (i + 3 < n) {\n".to_owned();
        for name in inputs.clone() {
            body +=
                &format!("    float4 {name}4 = *reinterpret_cast<const float4*>({name} + i);\n");
        }
        for name in self.outputs {
            body += &format!("    float4 {name}4;\n");
        }
        let all = || inputs.clone().chain(self.outputs.iter().copied());
        for part in ["x", "y", "z", "w"] {
            let list: Vec<String> = all().map(|name| format!("{name}4.{part}")).collect();
            body += &format!("    point({});\n", list.join(", "));
        }
        for name in self.outputs {
            body += &format!("    *reinterpret_cast<float4*>({name} + i) = {name}4;\n");
        }
        let list: Vec<String> = all().map(|name| format!("{name}[i]")).collect();
        body += &format!(
            "}} else {{\n    for (; i < n; ++i) point({});\n}}\n",
            list.join(", ")
        );
        Variant {
            name: "vectorised",
            technique: "four elements for each thread, loaded and stored as float4",
            grid: &["ceil_div(n, 1024)"],
            block: &[256],
            prelude,
            body,
        }
    }
}
