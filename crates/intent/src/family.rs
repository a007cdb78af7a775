//! A family: what its kernels have in common, with every text as a template over what they differ in.

use std::fmt::Write;
use std::sync::OnceLock;

use serde::Serialize;

use crate::axis::Axis;
use crate::expression::Language;
use crate::recognise::Pattern;
use crate::template::Template;

/// Families that are alike in how they use a GPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
#[allow(missing_docs)] // The names say it.
pub enum Group {
    Maps,
    Reductions,
    Normalisations,
    Scans,
    Stencils,
    Gathers,
    Histograms,
    Sorting,
    Sparse,
    Products,
    Attention,
    Physics,
    Geometry,
    Images,
    Audio,
    Random,
}

/// The type of an array's elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Element {
    F32,
    I32,
}

/// What an array holds before a launch.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Contents {
    /// Normal numbers, wide ones and positive ones in turn.
    Any,
    Uniform(f64, f64),
    /// Whole numbers from the first up to, and without, the second.
    Whole(i64, i64),
    /// Written only.
    Written,
    /// Zeros that the kernel adds to.
    Zeros,
}

/// An array of the kernel.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Array {
    pub(crate) name: &'static str,
    pub(crate) element: Element,
    pub(crate) shape: &'static [&'static str],
    pub(crate) contents: Contents,
}

impl Array {
    const fn new(
        name: &'static str,
        element: Element,
        shape: &'static [&'static str],
        contents: Contents,
    ) -> Self {
        Self {
            name,
            element,
            shape,
            contents,
        }
    }

    pub(crate) const fn input(name: &'static str, shape: &'static [&'static str]) -> Self {
        Self::new(name, Element::F32, shape, Contents::Any)
    }

    pub(crate) const fn output(name: &'static str, shape: &'static [&'static str]) -> Self {
        Self::new(name, Element::F32, shape, Contents::Written)
    }

    /// The same with other elements before the launch.
    pub(crate) const fn holding(self, contents: Contents) -> Self {
        Self { contents, ..self }
    }

    pub(crate) const fn whole(self) -> Self {
        Self {
            element: Element::I32,
            ..self
        }
    }

    pub(crate) fn is_output(&self) -> bool {
        matches!(self.contents, Contents::Written | Contents::Zeros)
    }

    pub(crate) fn is_input(&self) -> bool {
        self.contents != Contents::Written
    }
}

/// A dimension, with the sizes of a check and of a timed launch.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Dimension {
    pub(crate) name: &'static str,
    pub(crate) checked: i64,
    pub(crate) timed: i64,
}

impl Dimension {
    pub(crate) fn new(name: &'static str, checked: i64, timed: i64) -> Self {
        Self {
            name,
            checked,
            timed,
        }
    }
}

/// Why results may differ from the reference's, or may not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Exactness {
    /// Whole numbers, or floats that are whole.
    Counts,
    /// Each element follows from a formula over a few inputs.
    Rounds,
    /// An element is a sum (or similar) over a dimension, whose order is free.
    Accumulates(&'static str),
}

/// A way to write a kernel in CUDA C++.
pub(crate) struct Variant {
    /// `naive` for the first of a family.
    pub(crate) name: &'static str,
    /// What makes it fast, in words.
    pub(crate) technique: &'static str,
    pub(crate) grid: &'static [&'static str],
    pub(crate) block: &'static [i64],
    /// Device functions before the kernel.
    pub(crate) prelude: String,
    pub(crate) body: String,
}

/// Everything about a family.
pub(crate) struct Family {
    pub(crate) name: &'static str,
    pub(crate) group: Group,
    pub(crate) axes: Vec<Axis>,
    /// The kernel's name.
    pub(crate) title: &'static str,
    /// Descriptions that all say the same.
    pub(crate) phrasings: &'static [&'static str],
    pub(crate) dimensions: Vec<Dimension>,
    pub(crate) arrays: Vec<Array>,
    /// Threads of the Warp-style kernel, and its body.
    pub(crate) threads: &'static [&'static str],
    pub(crate) warp: String,
    /// Functions before it.
    pub(crate) warp_prelude: String,
    /// The body of a function of the inputs.
    pub(crate) numpy: String,
    pub(crate) torch: Option<String>,
    pub(crate) cuda: Vec<Variant>,
    pub(crate) exactness: Exactness,
    pub(crate) read: OnceLock<Read>,
}

/// The templates, read.
pub(crate) struct Read {
    pub(crate) title: Template,
    pub(crate) phrasings: Vec<Template>,
    pub(crate) warp: Template,
    pub(crate) numpy: Template,
    pub(crate) torch: Option<Template>,
    pub(crate) cuda: Vec<Template>,
    /// What the Warp-style kernel and those in CUDA are recognised by.
    pub(crate) patterns: Vec<Pattern>,
}

/// The kernel's name, until it has one.
pub(crate) const KERNEL: &str = "KERNEL";

impl Family {
    /// Specifications of the family.
    pub(crate) fn count(&self) -> u64 {
        self.axes.iter().map(|axis| axis.count() as u64).product()
    }

    /// Its templates. Families are our own text: a test reads every one of them.
    pub(crate) fn read(&self) -> &Read {
        self.read.get_or_init(|| match self.try_read() {
            Ok(read) => read,
            Err(error) => panic!("family `{}`: {error}", self.name),
        })
    }

    fn try_read(&self) -> Result<Read, String> {
        let read = |text: &str, language| Template::read(text, language, &self.axes);
        let warp = read(&self.warp_program(), Language::Warp)?;
        let cuda = self
            .cuda
            .iter()
            .map(|variant| read(&self.cuda_program(variant), Language::Cuda))
            .collect::<Result<Vec<_>, _>>()?;
        let patterns = [&warp].into_iter().chain(&cuda);
        let patterns = patterns.map(|one| Pattern::of(one, &self.axes)).collect();
        Ok(Read {
            title: read(self.title, Language::Formula)?,
            phrasings: self
                .phrasings
                .iter()
                .map(|text| read(text, Language::Formula))
                .collect::<Result<_, _>>()?,
            numpy: read(&self.numpy_program(), Language::Numpy)?,
            torch: self
                .torch
                .as_ref()
                .map(|body| read(body, Language::Torch))
                .transpose()?,
            warp,
            cuda,
            patterns,
        })
    }

    fn warp_program(&self) -> String {
        let parameters = self.arrays.iter().map(|array| {
            let kind = match array.shape.len() {
                1 => "wp.array".to_owned(),
                rank => format!("wp.array{rank}d"),
            };
            let element = match array.element {
                Element::F32 => "float",
                Element::I32 => "int",
            };
            format!("{}: {kind}(dtype={element})", array.name)
        });
        let prelude = match self.warp_prelude.trim_matches('\n') {
            "" => String::new(),
            prelude => format!("{prelude}\n\n\n"),
        };
        format!(
            "import warp as wp\n\n\n{prelude}@wp.kernel\ndef {KERNEL}({}):\n{}",
            parameters.collect::<Vec<_>>().join(", "),
            indented(&self.warp)
        )
    }

    fn numpy_program(&self) -> String {
        let inputs = self.arrays.iter().filter(|array| array.is_input());
        let mut names: Vec<&str> = inputs.map(|array| array.name).collect();
        for dimension in &self.dimensions {
            // Sizes that no input shows.
            if mentions(&self.numpy, dimension.name) {
                names.push(dimension.name);
            }
        }
        format!(
            "import numpy as np\n\n\ndef reference({}):\n{}",
            names.join(", "),
            indented(&self.numpy)
        )
    }

    /// The declaration that every CUDA kernel of the family has.
    pub(crate) fn signature(&self) -> String {
        let arrays = self.arrays.iter().map(|array| {
            let element = match array.element {
                Element::F32 => "float",
                Element::I32 => "int",
            };
            let constant = if array.is_output() { "" } else { "const " };
            format!("{constant}{element}* __restrict__ {}", array.name)
        });
        let sizes = self
            .dimensions
            .iter()
            .map(|one| format!("int {}", one.name));
        let parameters: Vec<String> = arrays.chain(sizes).collect();
        format!(
            "extern \"C\" __global__ void {KERNEL}({})",
            parameters.join(", ")
        )
    }

    fn cuda_program(&self, variant: &Variant) -> String {
        let mut text = String::new();
        if !variant.prelude.is_empty() {
            let _ = write!(text, "{}\n\n", variant.prelude.trim_matches('\n'));
        }
        let _ = write!(
            text,
            "{} {{\n{}}}\n",
            self.signature(),
            indented(&variant.body)
        );
        text
    }
}

/// Whether a text has a word.
fn mentions(text: &str, word: &str) -> bool {
    text.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_'))
        .any(|one| one == word)
}

/// The lines of a body, four spaces deeper.
fn indented(body: &str) -> String {
    let lines = body.trim_matches('\n').lines();
    lines
        .map(|line| match line.is_empty() {
            true => "\n".to_owned(),
            false => format!("    {line}\n"),
        })
        .collect()
}
