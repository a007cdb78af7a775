//! A specification as a task: what somebody is told, what they are judged by, and how others solved it.
//!
//! The files of a task are a case as `warpsmith verify` and `warpsmith judge` read it, one for the CUDA
//! kernels and one for the Warp-style kernel, and a problem in KernelBench's layout.

use std::fmt::Write;

use serde::Serialize;

use crate::family::{Array, Contents, Element, Exactness, Family, Group};
use crate::specification::Specification;
use crate::split::{Split, split};

/// All about a task that is not code.
#[derive(Clone, Debug, Serialize)]
pub struct Task {
    /// `row_reduction-17`: the family and the specification's place in it, which new families leave alone.
    pub id: String,
    /// The specification's number.
    pub number: u64,
    /// The kind of family.
    pub group: Group,
    /// The family.
    pub family: &'static str,
    /// The options by the names of their axes.
    pub parameters: std::collections::BTreeMap<&'static str, String>,
    /// What it is for: by family and by specification, never by text.
    pub split: Split,
    /// What the kernel computes, in several wordings that mean the same.
    pub descriptions: Vec<String>,
    /// The kernel's name.
    pub kernel: String,
    /// Its declaration in CUDA C++.
    pub signature: String,
    /// The task as it is set.
    pub prompt: String,
    /// Sizes at which the naive kernel is compared with another for speed.
    pub timed: std::collections::BTreeMap<&'static str, i64>,
    /// How close results must be, and why.
    pub tolerance: Tolerance,
}

/// How close results must be, and why.
#[derive(Clone, Debug, Serialize)]
pub struct Tolerance {
    /// `exact`: bit for bit. `rounding`: what single precision costs, from the reference in both precisions.
    pub rule: &'static str,
    /// The reason.
    pub because: String,
}

impl Task {
    /// The task that a specification is.
    pub fn of(specification: &Specification) -> Option<Self> {
        let number = specification.number()?;
        let family = specification.of();
        let timed = family.dimensions.iter().map(|one| (one.name, one.timed));
        Some(Self {
            id: specification.id(),
            number,
            group: family.group,
            family: family.name,
            parameters: specification.parameters(),
            split: split(family.name, specification.rank()),
            descriptions: specification.descriptions(),
            kernel: specification.name(),
            signature: specification.signature(),
            prompt: prompt(specification, number),
            timed: timed.collect(),
            tolerance: tolerance(family),
        })
    }
}

fn tolerance(family: &Family) -> Tolerance {
    let (rule, because) = match family.exactness {
        Exactness::Counts => ("exact", "whole numbers are exact in any order".to_owned()),
        Exactness::Rounds => (
            "rounding",
            "each element is a formula in single precision; its rounding, and the last bits of its inputs, may show"
                .to_owned(),
        ),
        Exactness::Accumulates(dimension) => (
            "rounding",
            format!("each result combines `{dimension}` values in single precision, in any order"),
        ),
    };
    Tolerance { rule, because }
}

/// What somebody is told. The wording follows from the number, so that all wordings occur.
fn prompt(specification: &Specification, number: u64) -> String {
    let family = specification.of();
    let descriptions = specification.descriptions();
    let wording = (number / 7) as usize % descriptions.len();
    let mut text = format!(
        "Write a CUDA C++ kernel.\n\n{}\n\n```cuda\n{};\n```\n\n",
        descriptions[wording],
        specification.signature()
    );
    for array in &family.arrays {
        let role = match array.contents {
            Contents::Written => "written, never read",
            Contents::Zeros => "zeros before the launch; add to it",
            _ => "read",
        };
        let element = match array.element {
            Element::F32 => "float",
            Element::I32 => "int",
        };
        let range = match array.contents {
            Contents::Whole(from, to) => format!(", from {from} to {}", to - 1),
            Contents::Uniform(from, to) => format!(", between {from} and {to}"),
            _ => String::new(),
        };
        let _ = writeln!(
            text,
            "- `{}`: {element}[{}], row-major, {role}{range}",
            array.name,
            array.shape.join("][")
        );
    }
    let sizes: Vec<String> = family
        .dimensions
        .iter()
        .map(|one| format!("`{}`", one.name))
        .collect();
    let _ = writeln!(
        text,
        "\n{} can be any positive number, 1 and primes too. Choose grid and block yourself. Results: {}.",
        sizes.join(" and "),
        match tolerance(family).rule {
            "exact" => "exact",
            _ => "within the rounding of single precision",
        }
    );
    text
}

/// The files of a task, by their names.
pub fn files(specification: &Specification) -> Vec<(String, String)> {
    let mut files = vec![
        ("reference.py".to_owned(), specification.numpy()),
        ("kernel.py".to_owned(), specification.warp()),
        ("warp.toml".to_owned(), warp_case(specification)),
        ("case.toml".to_owned(), cuda_case(specification)),
    ];
    for kernel in specification.cuda() {
        files.push((format!("{}.cu", kernel.variant), kernel.source));
    }
    if let Some(problem) = problem(specification) {
        files.push(("problem.py".to_owned(), problem));
    }
    files
}

fn cuda_case(specification: &Specification) -> String {
    let family = specification.of();
    let naive = &family.cuda[0];
    let mut text = case_head(specification, "naive.cu");
    sizes(&mut text, family, true);
    arrays(&mut text, family);
    for dimension in &family.dimensions {
        let _ = write!(
            text,
            "\n[[arguments]]\nname = \"{name}\"\ntype = \"i32\"\nvalue = \"{name}\"\n",
            name = dimension.name
        );
    }
    let grid: Vec<String> = naive.grid.iter().map(|one| format!("\"{one}\"")).collect();
    let block: Vec<String> = naive.block.iter().map(i64::to_string).collect();
    let _ = write!(
        text,
        "\n[launch]\ngrid = [{}]\nblock = [{}]\n",
        grid.join(", "),
        block.join(", ")
    );
    text
}

fn warp_case(specification: &Specification) -> String {
    let family = specification.of();
    let mut text = case_head(specification, "kernel.py");
    sizes(&mut text, family, false);
    arrays(&mut text, family);
    let threads: Vec<String> = family
        .threads
        .iter()
        .map(|one| format!("\"{one}\""))
        .collect();
    let _ = write!(text, "\n[launch]\ndim = [{}]\n", threads.join(", "));
    text
}

fn case_head(specification: &Specification, source: &str) -> String {
    let tolerance = tolerance(specification.of());
    let mut text = format!(
        "source = \"{source}\"\nkernel = \"{}\"\nreference = \"reference.py:reference\"\n",
        specification.name()
    );
    let _ = match tolerance.rule {
        "exact" => writeln!(
            text,
            "tolerance = {{ abs = 0.0, rel = 0.0, because = \"{}\" }}",
            tolerance.because
        ),
        _ => writeln!(
            text,
            "# The tolerance follows from rounding: {}.",
            tolerance.because
        ),
    };
    text
}

fn sizes(text: &mut String, family: &Family, timed: bool) {
    text.push_str("\n[sizes]\n");
    for one in &family.dimensions {
        let _ = match timed {
            true => writeln!(text, "{} = [{}, {}]", one.name, one.checked, one.timed),
            false => writeln!(text, "{} = [{}]", one.name, one.checked),
        };
    }
}

fn arrays(text: &mut String, family: &Family) {
    for array in &family.arrays {
        let direction = match array.contents {
            Contents::Written => "out",
            Contents::Zeros => "inout",
            _ => "in",
        };
        let element = match array.element {
            Element::F32 => "f32",
            Element::I32 => "i32",
        };
        let shape: Vec<String> = array.shape.iter().map(|one| extent(one)).collect();
        let _ = write!(
            text,
            "\n[[arguments]]\nname = \"{}\"\ndirection = \"{direction}\"\ntype = \"{element}\"\nshape = [{}]\n",
            array.name,
            shape.join(", ")
        );
        let _ = match array.contents {
            Contents::Any | Contents::Written => Ok(()),
            Contents::Zeros => writeln!(text, "fill = \"zeros\""),
            Contents::Uniform(from, to) => {
                writeln!(text, "fill = {{ uniform = [{from:?}, {to:?}] }}")
            }
            Contents::Whole(from, to) => {
                writeln!(text, "fill = {{ integers = [{from}, {}] }}", to - 1)
            }
        };
    }
}

/// A dimension by its name, or a number.
fn extent(text: &str) -> String {
    match text.parse::<i64>() {
        Ok(number) => number.to_string(),
        Err(_) => format!("\"{text}\""),
    }
}

/// The task in KernelBench's layout.
fn problem(specification: &Specification) -> Option<String> {
    let family = specification.of();
    let body = specification.torch()?;
    let inputs: Vec<&Array> = family
        .arrays
        .iter()
        .filter(|array| array.is_input())
        .collect();
    let names: Vec<&str> = inputs.iter().map(|array| array.name).collect();
    let description = &specification.descriptions()[0];
    let mut text = format!(
        "import torch\n\n\nclass Model(torch.nn.Module):\n    \"\"\"{description}\"\"\"\n\n    def forward(self, {}):\n",
        names.join(", ")
    );
    for line in body.lines() {
        let _ = writeln!(text, "        {line}");
    }
    text.push_str("\n\n");
    for one in &family.dimensions {
        let _ = writeln!(text, "{} = {}", one.name, one.timed);
    }
    text.push_str("\n\ndef get_inputs():\n    return [\n");
    for array in inputs {
        let shape = array.shape.join(", ");
        let made = match array.contents {
            Contents::Uniform(from, to) => {
                format!("torch.rand({shape}) * {:?} + {from:?}", to - from)
            }
            Contents::Whole(from, to) => {
                format!("torch.randint({from}, {to}, ({shape},), dtype=torch.int32)")
            }
            Contents::Zeros if array.element == Element::I32 => {
                format!("torch.zeros({shape}, dtype=torch.int32)")
            }
            Contents::Zeros => format!("torch.zeros({shape})"),
            _ => format!("torch.randn({shape})"),
        };
        let _ = writeln!(text, "        {made},");
    }
    text.push_str("    ]\n\n\ndef get_init_inputs():\n    return []\n");
    Some(text)
}
