//! `warpsmith compile FILE.cu`: CUDA C++ to PTX or machine code, by whichever NVRTC is here.

use std::io::{Write, stdout};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use clap::Args;
use warpsmith_case::read_cuda_source;
use warpsmith_device::{CompileCache, CompileOptions, DeviceError, Nvrtc, Target};
use warpsmith_formats::write_output;

use warpsmith_console::exit::Outcome;
use warpsmith_console::global::Global;
use warpsmith_console::output;

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

/// Compiles `file`; writes to `out`, or to standard output.
pub(crate) fn run(
    global: &Global,
    file: &Path,
    out: Option<&Path>,
    options: &CudaOptions,
) -> Result<Outcome> {
    let source =
        read_cuda_source(file).with_context(|| format!("cannot read `{}`", file.display()))?;
    let nvrtc = options.nvrtc()?;
    let mut settings = CompileOptions::new(options.arch);
    settings.flags.extend(options.flags.iter().cloned());
    let name = file.display().to_string();
    let compiled = CompileCache::for_user().compile(&nvrtc, &name, &source, &settings)?;
    let (major, minor) = nvrtc.version();
    let how = if compiled.from_cache {
        "from the cache, "
    } else {
        ""
    };
    if global.verbose {
        let place = nvrtc.path().display();
        output::note(global, &format!("{how}NVRTC {major}.{minor} at {place}"));
    }
    if !compiled.log.is_empty() {
        output::note(global, &compiled.log);
    }
    if let Some(trouble) = &compiled.cache_trouble {
        let cause = std::error::Error::source(trouble).map(|cause| format!(": {cause}"));
        output::note(
            global,
            &format!("warning: {trouble}{}", cause.unwrap_or_default()),
        );
        if let Some(hint) = trouble.hint() {
            output::note(global, &format!("hint: {hint}"));
        }
    }
    let code = match compiled.ptx() {
        Some(text) => text.as_bytes(),
        None => &compiled.code,
    };
    match out {
        Some(path) => write_output(path, code)?,
        None => stdout().lock().write_all(code)?,
    }
    Ok(Outcome::Fine)
}
