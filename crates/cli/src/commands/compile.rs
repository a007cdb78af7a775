//! `warpsmith compile FILE`: kernels to code, by the file's ending.

use std::path::PathBuf;

use anyhow::{Result, bail};
use clap::Args;

use super::compile_cuda::{self, CudaOptions};
use crate::arguments::Global;
use crate::exit::Outcome;

/// Compile a kernel file: CUDA C++ (`.cu`) to PTX or machine code. No GPU is needed.
#[derive(Args)]
#[command(after_help = "Examples:\n  warpsmith compile saxpy.cu > saxpy.ptx\n  \
                        warpsmith compile saxpy.cu --arch sm_90 --out saxpy.cubin")]
pub(crate) struct Compile {
    /// The source.
    file: PathBuf,
    /// File to write to, instead of standard output.
    #[arg(short, long, value_name = "FILE")]
    out: Option<PathBuf>,
    #[command(flatten)]
    cuda: CudaOptions,
}

impl Compile {
    pub(crate) fn run(&self, global: &Global) -> Result<Outcome> {
        match self
            .file
            .extension()
            .and_then(|extension| extension.to_str())
        {
            Some("cu") => compile_cuda::run(global, &self.file, self.out.as_deref(), &self.cuda),
            _ => bail!(
                "cannot tell what `{}` is: the ending must be `.cu`",
                self.file.display()
            ),
        }
    }
}
