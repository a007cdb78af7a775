//! A specification: a family and one option of each of its axes. All texts follow from it.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::axis::Use;
use crate::catalogue::CATALOGUE;
use crate::expression::Language;
use crate::family::{Family, Group, KERNEL};
use crate::recognise::tokens;

/// What a kernel is to compute.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Specification {
    family: usize,
    options: Vec<usize>,
}

/// A kernel in CUDA C++.
#[derive(Clone, Debug, Serialize)]
pub struct CudaKernel {
    /// `naive`, or what makes it fast.
    pub variant: &'static str,
    /// The same in words.
    pub technique: &'static str,
    /// The whole file.
    pub source: String,
    /// Blocks, as expressions of the sizes.
    pub grid: Vec<&'static str>,
    /// Threads of a block.
    pub block: Vec<i64>,
}

impl Specification {
    /// How many there are.
    pub fn count() -> u64 {
        CATALOGUE.count()
    }

    /// The names of all families.
    pub fn families() -> Vec<&'static str> {
        CATALOGUE
            .families
            .iter()
            .map(|family| family.name)
            .collect()
    }

    /// The specification of a number; different numbers have different ones.
    pub fn at(number: u64) -> Option<Self> {
        let (family, options) = CATALOGUE.at(number)?;
        Some(Self { family, options })
    }

    /// Its number.
    pub fn number(&self) -> Option<u64> {
        CATALOGUE.number(self.family, &self.options)
    }

    /// The specification of a kernel, from its code alone. `None` where it is that of no specification.
    pub fn of_code(code: &str, language: Language) -> Option<Self> {
        let code = tokens(code, language);
        CATALOGUE
            .families
            .iter()
            .enumerate()
            .find_map(|(at, family)| {
                let patterns = &family.read().patterns;
                let mut patterns = match language {
                    Language::Cuda => patterns[1..].iter(),
                    _ => patterns[..1].iter(),
                };
                let options = patterns.find_map(|pattern| pattern.matches(&code, &family.axes))?;
                Some(Self {
                    family: at,
                    options,
                })
            })
    }

    pub(crate) fn of(&self) -> &'static Family {
        &CATALOGUE.families[self.family]
    }

    /// The family's name.
    pub fn family(&self) -> &'static str {
        self.of().name
    }

    /// The kind of family.
    pub fn group(&self) -> Group {
        self.of().group
    }

    /// Its place in its family: the options as digits.
    pub fn rank(&self) -> u64 {
        CATALOGUE.rank(self.family, &self.options)
    }

    /// A name that no other specification has.
    pub fn id(&self) -> String {
        format!("{}-{}", self.family(), self.rank())
    }

    /// The options by the names of their axes.
    pub fn parameters(&self) -> BTreeMap<&'static str, String> {
        let axes = self.of().axes.iter().zip(&self.options);
        axes.map(|(axis, option)| {
            let key = Use::Part("name".into());
            (axis.name, axis.text(*option, &key, Language::Formula))
        })
        .collect()
    }

    /// The kernel's name.
    pub fn name(&self) -> String {
        let read = self.of().read();
        read.title.text(&self.of().axes, &self.options)
    }

    /// What it computes, in several wordings.
    pub fn descriptions(&self) -> Vec<String> {
        let phrasings = self.of().read().phrasings.iter();
        phrasings
            .map(|text| text.text(&self.of().axes, &self.options))
            .collect()
    }

    fn named(&self, text: String) -> String {
        text.replace(KERNEL, &self.name())
    }

    /// The Warp-style kernel: a whole file.
    pub fn warp(&self) -> String {
        self.named(self.of().read().warp.text(&self.of().axes, &self.options))
    }

    /// The NumPy function `reference`: a whole file.
    pub fn numpy(&self) -> String {
        self.of().read().numpy.text(&self.of().axes, &self.options)
    }

    /// The body of the same function over PyTorch's tensors, where that is natural.
    pub(crate) fn torch(&self) -> Option<String> {
        let template = self.of().read().torch.as_ref()?;
        Some(template.text(&self.of().axes, &self.options))
    }

    /// The declaration of the kernel in CUDA C++.
    pub fn signature(&self) -> String {
        self.named(self.of().signature())
    }

    /// The kernels in CUDA C++, the naive one first.
    pub fn cuda(&self) -> Vec<CudaKernel> {
        let variants = self.of().cuda.iter().zip(&self.of().read().cuda);
        variants
            .map(|(variant, template)| CudaKernel {
                variant: variant.name,
                technique: variant.technique,
                source: self.named(template.text(&self.of().axes, &self.options)),
                grid: variant.grid.to_vec(),
                block: variant.block.to_vec(),
            })
            .collect()
    }
}
