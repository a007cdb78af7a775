//! A pair, ready to be written: source, four texts, and everything that is known about them.

use warpsmith_compiler::ir::Module;
use warpsmith_compiler::{Compiler, Options, Target, emit};
use warpsmith_core::Finding;

use crate::features::Features;
use crate::fingerprint::{Fingerprint, token_count};
use crate::generate::Draft;
use crate::split::{Split, SplitRule};
use crate::verify::Verification;

/// The format of records; raised when a column changes its meaning.
pub const SCHEMA_VERSION: u32 = 1;

/// The generator's version; raised when the same seed and index give another source.
pub const GENERATOR_VERSION: &str = "1";

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
    /// CUDA C++, up to the backward kernel.
    pub cuda_forward: String,
    /// CUDA C++ of the backward kernel; after `cuda_forward` it makes the module as Warp writes it.
    pub cuda_backward: String,
    /// C++ for the CPU, up to the backward function.
    pub cpu_forward: String,
    /// The rest of the CPU's module: the backward function and the entry points.
    pub cpu_backward: String,
    /// Hashes of the source.
    pub fingerprint: Fingerprint,
    /// What the kernel is made of.
    pub features: Features,
    /// Tokens of the CUDA text.
    pub cuda_tokens: u32,
    /// What was checked.
    pub verification: Verification,
}

impl Record {
    /// Compiles a draft.
    ///
    /// # Errors
    /// The compiler's findings; the generator never writes such a program on purpose.
    pub fn build(
        compiler: &mut Compiler,
        origin: Origin,
        draft: Draft,
        fingerprint: Fingerprint,
        rule: &SplitRule,
    ) -> Result<(Self, Module), Vec<Finding>> {
        let module = compiler.compile(&draft.source, &Options::default())?;
        let features = Features::of(&module);
        let mut cuda_forward = String::with_capacity(draft.source.len() * 10);
        emit(&module, Target::Cuda, &mut cuda_forward);
        let cuda_tokens = token_count(&cuda_forward);
        let cuda_backward = split_backward(
            &mut cuda_forward,
            "_cuda_kernel_backward(",
            "\n\nextern \"C\" ",
        );
        let mut cpu_forward = String::with_capacity(draft.source.len() * 12);
        emit(&module, Target::Cpu, &mut cpu_forward);
        let cpu_backward =
            split_backward(&mut cpu_forward, "_cpu_kernel_backward(", "\n\ntemplate <");
        let split = rule.choose(fingerprint.shape, draft.category, &features.builtins);
        let record = Self {
            origin,
            draft,
            split,
            cuda_forward,
            cuda_backward,
            cpu_forward,
            cpu_backward,
            fingerprint,
            features,
            cuda_tokens,
            verification: Verification::default(),
        };
        Ok((record, module))
    }

    /// The pair's name in the data set.
    pub fn id(&self) -> String {
        format!("{}-{}", self.origin.seed, self.origin.index)
    }
}

/// Cuts the text before the definition that `symbol` belongs to, which begins with `opening`.
fn split_backward(text: &mut String, symbol: &str, opening: &str) -> String {
    let start = memchr::memmem::find(text.as_bytes(), symbol.as_bytes())
        .and_then(|at| text[..at].rfind(opening))
        .unwrap_or(text.len());
    text.split_off(start)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::generate::{Wanted, draft};
    use warpsmith_compiler::{emit_cpu, emit_cuda};

    #[test]
    fn the_texts_make_the_module_again() {
        let mut compiler = Compiler::new();
        for index in 0..60 {
            let draft = draft(&Wanted::default(), 5, index, 0);
            let origin = Origin {
                seed: 5,
                index,
                attempt: 0,
            };
            let fingerprint = Fingerprint::of(&draft.source);
            let (record, module) = Record::build(
                &mut compiler,
                origin,
                draft,
                fingerprint,
                &SplitRule::default(),
            )
            .unwrap();
            assert_eq!(
                record.cuda_forward.clone() + &record.cuda_backward,
                emit_cuda(&module)
            );
            assert_eq!(
                record.cpu_forward.clone() + &record.cpu_backward,
                emit_cpu(&module)
            );
            assert!(record.cuda_forward.contains("_cuda_kernel_forward("));
            assert!(
                record
                    .cuda_backward
                    .starts_with("\n\nextern \"C\" __global__ void ")
            );
            assert!(!record.cuda_forward.contains("_cuda_kernel_backward("));
            assert!(record.cpu_backward.starts_with("\n\ntemplate <"));
            assert!(!record.cpu_forward.contains("_cpu_kernel_backward("));
        }
    }
}
