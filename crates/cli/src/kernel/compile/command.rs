//! `warpsmith compile FILE`: kernels to code, by the file's ending.

use std::path::{Path, PathBuf};

use anyhow::{Result, bail};
use clap::Args;
use warpsmith_formats::check_inputs_kept;

use super::cuda::{self, CudaOptions};
use super::project;
use super::python::{self, PythonOptions};
use warpsmith_console::exit::Outcome;
use warpsmith_console::global::Global;
use warpsmith_console::inputs;

/// Compile a `.cu` or Warp-style `.py` kernel; needs no GPU.
///
/// Warp-style Python becomes IR, C++ text or SPIR-V, CUDA C++ becomes PTX or machine code.
#[derive(Args)]
#[command(after_long_help = "Examples:\n  warpsmith compile saxpy.py\n  \
                        warpsmith compile saxpy.py --self-contained > saxpy.cu\n  \
                        warpsmith compile saxpy.py --emit ir\n  \
                        warpsmith compile saxpy.py --emit spirv --output saxpy.spv\n  \
                        warpsmith compile saxpy.py --emit ptx --arch compute_80 > saxpy.ptx\n  \
                        warpsmith compile saxpy.py --emit sass-stats --arch sm_90\n  \
                        warpsmith compile saxpy.cu --emit sass-stats --arch sm_90\n  \
                        warpsmith compile --batch kernels.jsonl.gz --output texts.jsonl\n  \
                        warpsmith compile saxpy.cu > saxpy.ptx\n  \
                        warpsmith compile saxpy.cu --arch sm_90 --output saxpy.cubin")]
pub(crate) struct Compile {
    /// The source; a folder means every Python kernel in it.
    #[arg(required_unless_present = "batch")]
    file: Option<PathBuf>,
    /// Compile many kernels on all cores: lines of JSON with `id`, `source` and, where that has several,
    /// `kernel`, plain or gzipped, in;
    /// lines with `id`, `cuda` and `cpu`, or `findings`, out.
    #[arg(
        long,
        value_name = "IN.jsonl[.gz]",
        conflicts_with = "file",
        requires = "output",
        value_parser = inputs::file(),
    )]
    batch: Option<PathBuf>,
    /// Output file; `-` or nothing is standard output.
    #[arg(short, long, alias = "out", value_name = "FILE")]
    output: Option<PathBuf>,
    #[command(flatten)]
    python: PythonOptions,
    #[command(flatten)]
    cuda: CudaOptions,
}

impl Compile {
    pub(crate) fn run(&self, global: &Global) -> Result<Outcome> {
        let out = self.output.as_deref();
        let read: Vec<&Path> = self
            .batch
            .iter()
            .chain(&self.file)
            .map(PathBuf::as_path)
            .collect();
        let written: Vec<(&str, &Path)> = out.iter().map(|out| ("--output", *out)).collect();
        check_inputs_kept(&read, &written)?;
        if let Some(batch) = &self.batch {
            return python::batch(global, batch, out, &self.python);
        }
        let Some(file) = &self.file else {
            bail!("a file or `--batch` is needed");
        };
        if file.is_dir() {
            return project::run(global, file, out, &self.python);
        }
        inputs::check_file(file)?;
        let ending = file.extension().and_then(|extension| extension.to_str());
        match ending {
            Some("cu") => cuda::run(global, file, out, &self.cuda, self.python.of_cuda_file()?),
            Some("py") => python::run(global, file, out, &self.python, &self.cuda),
            _ => bail!(
                "cannot tell what `{}` is: the ending must be `.py` or `.cu`",
                file.display()
            ),
        }
    }
}
