//! `warpsmith compile FILE.cu`: CUDA C++ to PTX or machine code, by whichever NVRTC is here.

use std::io::{Write, stdout};
use std::path::{Path, PathBuf};

use anyhow::Result;
use clap::Args;
use warpsmith_case::compile_cuda_file;
use warpsmith_device::{DeviceError, Nvrtc, Target};
use warpsmith_formats::write_output;

use warpsmith_console::exit::Outcome;
use warpsmith_console::global::{Format, Global};
use warpsmith_console::output as console;

use super::machine_code;
use crate::kernel::verify::case::explain;

/// How to compile CUDA C++.
#[derive(Args)]
pub(crate) struct CudaOptions {
    /// Architecture, e.g. `sm_90` for machine code or `compute_70` for PTX.
    #[arg(long, value_name = "ARCH", default_value = "compute_70", value_parser = parse_target)]
    arch: Target,
    /// Use this NVRTC library instead of searching for one.
    #[arg(long, value_name = "FILE")]
    nvrtc: Option<PathBuf>,
    /// Pass an option on to NVRTC, e.g. `--flag=--use_fast_math`.
    #[arg(long = "flag", value_name = "FLAG", allow_hyphen_values = true)]
    flags: Vec<String>,
}

impl CudaOptions {
    /// What to compile for.
    pub(super) fn target(&self) -> Target {
        self.arch
    }

    /// Options that are passed on to NVRTC.
    pub(super) fn flags(&self) -> &[String] {
        &self.flags
    }

    /// The compiler that is requested, or the first that is found.
    pub(super) fn nvrtc(&self) -> Result<Nvrtc, DeviceError> {
        match &self.nvrtc {
            Some(path) => Nvrtc::open(path),
            None => Nvrtc::find(),
        }
    }
}

fn parse_target(text: &str) -> Result<Target, String> {
    let number = |text: &str| {
        text.parse::<u32>()
            .map_err(|_| format!("`{text}` is not a number"))
    };
    match text.split_once('_') {
        Some(("compute", arch)) => number(arch).map(Target::Ptx),
        Some(("sm", arch)) => number(arch).map(Target::Cubin),
        _ => Err(format!("`{text}` is neither `sm_NN` nor `compute_NN`")),
    }
}

/// What becomes of a CUDA file.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum CudaOutput {
    /// What the architecture says: PTX or machine code.
    Code,
    /// PTX, of whichever architecture.
    Ptx,
    /// What the machine code costs.
    Statistics,
}

/// Compiles `file`; writes to `out`, or to standard output.
pub(crate) fn run(
    global: &Global,
    file: &Path,
    out: Option<&Path>,
    options: &CudaOptions,
    output: CudaOutput,
) -> Result<Outcome> {
    let nvrtc = options.nvrtc()?;
    let sm = machine_code::architecture(options);
    let target = match (output, options.arch) {
        (CudaOutput::Code, target) => target,
        (CudaOutput::Ptx, Target::Ptx(sm) | Target::Cubin(sm)) => Target::Ptx(sm),
        (CudaOutput::Statistics, _) => Target::Cubin(sm),
    };
    let done = compile_cuda_file(file, &options.flags, &nvrtc, target).map_err(explain)?;
    if done.without_host_code {
        console::note(
            global,
            &format!("`{}` compiles without its host code", file.display()),
        );
    }
    let compiled = done.compiled;
    let (major, minor) = nvrtc.version();
    let how = if compiled.from_cache {
        "from the cache, "
    } else {
        ""
    };
    if global.verbose {
        let place = nvrtc.path().display();
        console::note(global, &format!("{how}NVRTC {major}.{minor} at {place}"));
    }
    if !compiled.log.is_empty() {
        console::note(global, &compiled.log);
    }
    if let Some(trouble) = &compiled.cache_trouble {
        let cause = std::error::Error::source(trouble).map(|cause| format!(": {cause}"));
        console::note(
            global,
            &format!("warning: {trouble}{}", cause.unwrap_or_default()),
        );
        if let Some(hint) = trouble.hint() {
            console::note(global, &format!("hint: {hint}"));
        }
    }
    let table;
    let bytes = match (output, compiled.ptx()) {
        (CudaOutput::Statistics, _) => {
            let (text, json) = machine_code::statistics_of(sm, &compiled.code)?;
            table = match global.format {
                Format::Json => format!("{json:#}\n"),
                Format::Human => text,
            };
            table.as_bytes()
        }
        (_, Some(text)) => text.as_bytes(),
        (_, None) => &compiled.code,
    };
    match out {
        Some(path) => write_output(path, bytes)?,
        None => stdout().lock().write_all(bytes)?,
    }
    Ok(Outcome::Fine)
}
