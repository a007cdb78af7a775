//! A pair, ready to be written: source, four texts, and everything that is known about them.

use warpsmith_compiler::ir::Module;
use warpsmith_compiler::{Compiler, Options, emit_both};
use warpsmith_core::Finding;

use crate::features::Features;
use crate::fingerprint::{Fingerprint, token_count};
use crate::generate::Draft;
use crate::selection::Selected;
use crate::split::{Split, SplitRule};
use crate::verify::Verification;

/// The format of records; raised when a column changes its meaning.
pub const SCHEMA_VERSION: u32 = 1;

/// The generator's version; raised when the same seed and index give another source.
pub const GENERATOR_VERSION: &str = "3";

/// The Warp release whose text the compiler reproduces.
pub const WARP_VERSION: &str = "1.19.0";

/// Where a pair comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Origin {
    /// The seed of the run.
    pub seed: u64,
    /// The pair's number.
    pub index: u64,
    /// How many earlier drafts of this number were duplicates.
    pub attempt: u32,
}

/// A pair.
#[derive(Clone, Debug)]
pub struct Record {
    /// Where it comes from.
    pub origin: Origin,
    /// The source and what it was meant to be.
    pub draft: Draft,
    /// Which part of the data set it belongs to.
    pub split: Split,
    /// The whole CUDA C++ text, as Warp writes it.
    pub cuda: String,
    /// Where the backward kernel begins in it.
    cuda_cut: usize,
    /// The whole C++ text for the CPU.
    pub cpu: String,
    /// Where the backward function begins in it.
    cpu_cut: usize,
    /// Hashes of the source.
    pub fingerprint: Fingerprint,
    /// What the kernel is made of.
    pub features: Features,
    /// Tokens of the CUDA text.
    pub cuda_tokens: u32,
    /// What was checked.
    pub verification: Verification,
    /// What the checks brought to light, where it is kept.
    pub extra: Extra,
}

/// What verification found out about a pair besides whether it holds; empty where nobody asked.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Extra {
    /// The launch, and the first values of each array that it changed, as JSON.
    pub expected: String,
    /// The arguments of the launch, as JSON.
    pub inputs: String,
    /// The seeds of the backward pass and the gradients that came of them, as JSON.
    pub gradients: String,
    /// PTX of both kernels.
    pub ptx: String,
    /// Registers, spills and instructions of the machine code, as JSON.
    pub sass: String,
}

impl Record {
    /// Up to the backward kernel: declarations and the forward kernel.
    pub fn cuda_forward(&self) -> &str {
        &self.cuda[..self.cuda_cut]
    }

    /// The backward kernel; after [`Self::cuda_forward`] it makes the module as Warp writes it.
    pub fn cuda_backward(&self) -> &str {
        &self.cuda[self.cuda_cut..]
    }

    /// Up to the CPU's backward function.
    pub fn cpu_forward(&self) -> &str {
        &self.cpu[..self.cpu_cut]
    }

    /// The rest of the CPU's module: the backward function and the entry points.
    pub fn cpu_backward(&self) -> &str {
        &self.cpu[self.cpu_cut..]
    }

    /// The pair's name in the data set.
    pub fn id(&self) -> String {
        format!("{}-{}", self.origin.seed, self.origin.index)
    }

    /// Leaves the record without its whole texts; gives the memory of the longest for the next ones.
    pub(crate) fn take_texts(&mut self) -> [String; 2] {
        (self.cuda_cut, self.cpu_cut) = (0, 0);
        self.draft.source = String::new();
        self.extra = Extra::default();
        [
            std::mem::take(&mut self.cuda),
            std::mem::take(&mut self.cpu),
        ]
    }
}

/// Compiles drafts into records, and keeps what memory it can from one to the next.
#[derive(Debug, Default)]
pub struct RecordBuilder {
    compiler: Compiler,
    options: Options,
    spare: Vec<String>,
}

impl RecordBuilder {
    /// A new builder.
    pub fn new() -> Self {
        Self::default()
    }

    /// Compiles a draft.
    ///
    /// # Errors
    /// The compiler's findings; the generator never writes such a program on purpose.
    pub fn build(
        &mut self,
        selected: Selected,
        rule: &SplitRule,
    ) -> Result<(Record, Module), Vec<Finding>> {
        let Selected {
            origin,
            draft,
            fingerprint,
        } = selected;
        let module = self.compiler.compile(&draft.source, &self.options)?;
        let features = Features::of(&module);
        let [mut cuda, mut cpu] = [self.room(), self.room()];
        let [cuda_cut, cpu_cut] = emit_both(&module, &mut cuda, &mut cpu);
        let split = rule.choose(fingerprint.shape, draft.category, &features.builtins);
        let record = Record {
            origin,
            split,
            cuda_tokens: token_count(&cuda),
            cuda,
            cuda_cut,
            cpu,
            cpu_cut,
            draft,
            fingerprint,
            features,
            verification: Verification::default(),
            extra: Extra::default(),
        };
        Ok((record, module))
    }

    /// Memory for a text.
    fn room(&mut self) -> String {
        let mut text = self.spare.pop().unwrap_or_default();
        text.clear();
        text
    }

    /// Takes a module's memory back.
    pub fn recycle(&mut self, module: Module) {
        self.compiler.recycle(module);
    }

    /// Takes the memory of texts back.
    pub(crate) fn reuse(&mut self, texts: [String; 2]) {
        self.spare.extend(texts);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::generate::Wanted;
    use crate::selection::write_draft;
    use warpsmith_compiler::{emit_cpu, emit_cuda};

    #[test]
    fn the_texts_make_the_module_again() {
        let mut builder = RecordBuilder::new();
        for index in 0..600 {
            let selected = write_draft(&Wanted::default(), 5, index, 0);
            let (mut record, module) = builder.build(selected, &SplitRule::default()).unwrap();
            assert_eq!(record.cuda, emit_cuda(&module));
            assert_eq!(record.cpu, emit_cpu(&module));
            assert!(record.cuda_forward().contains("_cuda_kernel_forward("));
            assert!(!record.cuda_forward().contains("_cuda_kernel_backward("));
            let start = "\n\nextern \"C\" __global__ void ";
            assert!(record.cuda_backward().starts_with(start));
            assert!(record.cpu_backward().starts_with("\n\ntemplate <"));
            assert!(!record.cpu_forward().contains("_cpu_kernel_backward("));
            builder.recycle(module);
            builder.reuse(record.take_texts());
        }
    }
}
