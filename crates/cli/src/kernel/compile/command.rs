//! `warpsmith compile FILE`: kernels to code, by the file's ending.

use std::path::PathBuf;

use anyhow::{Result, bail};
use clap::Args;

use super::cuda::{self, CudaOptions};
use super::python::{self, PythonOptions};
use crate::exit::Outcome;
use crate::global::Global;

/// Compile a kernel file: Warp-style Python (`.py`) to IR or C++ text, CUDA C++ (`.cu`) to PTX or machine
/// code. No GPU is needed.
#[derive(Args)]
#[command(after_help = "Examples:\n  warpsmith compile saxpy.py > saxpy.cu\n  \
                        warpsmith compile saxpy.py --emit ir\n  \
                        warpsmith compile saxpy.py --emit ptx --arch compute_80 > saxpy.ptx\n  \
                        warpsmith compile saxpy.py --emit sass-stats --arch sm_90\n  \
                        warpsmith compile --batch kernels.jsonl.gz --out texts.jsonl\n  \
                        warpsmith compile saxpy.cu > saxpy.ptx\n  \
                        warpsmith compile saxpy.cu --arch sm_90 --out saxpy.cubin")]
pub(crate) struct Compile {
    /// The source.
    #[arg(required_unless_present = "batch")]
    file: Option<PathBuf>,
    /// Compile many kernels on all cores: lines of JSON with `id` and `source`, plain or gzipped, in;
    /// lines with `id`, `cuda` and `cpu`, or `findings`, out.
    #[arg(
        long,
        value_name = "IN.jsonl[.gz]",
        conflicts_with = "file",
        requires = "out"
    )]
    batch: Option<PathBuf>,
    /// File to write to, instead of standard output.
    #[arg(short, long, value_name = "FILE")]
    out: Option<PathBuf>,
    #[command(flatten)]
    python: PythonOptions,
    #[command(flatten)]
    cuda: CudaOptions,
}

impl Compile {
    pub(crate) fn run(&self, global: &Global) -> Result<Outcome> {
        let out = self.out.as_deref();
        if let Some(batch) = &self.batch {
            return python::batch(global, batch, out, &self.python);
        }
        let Some(file) = &self.file else {
            bail!("a file or `--batch` is needed");
        };
        match file.extension().and_then(|extension| extension.to_str()) {
            Some("cu") => cuda::run(global, file, out, &self.cuda),
            Some("py") => python::run(global, file, out, &self.python, &self.cuda),
            _ => bail!(
                "cannot tell what `{}` is: the ending must be `.py` or `.cu`",
                file.display()
            ),
        }
    }
}
