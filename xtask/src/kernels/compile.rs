//! The pinned compilers. The PTX comes from an old NVRTC, because a driver cannot load PTX that is
//! newer than itself: 12.0 writes PTX 8.0, which loads on every driver from 525 on. Machine code
//! comes from a new one, which knows the new architectures.

use std::path::Path;

use anyhow::{Context, Result};
use warpsmith_device::{CompileOptions, Nvrtc, Target};

use super::source::Source;
use crate::wheels::wheel;

/// What writes the PTX.
pub(super) const COMPILER: &str = "nvrtc 12.0.140";

/// What writes machine code.
pub(super) const MACHINE_CODE_COMPILER: &str = "nvrtc 12.9.86";

/// The NVRTC that writes the PTX.
fn old_nvrtc() -> Result<Nvrtc> {
    nvrtc(COMPILER)
}

/// The NVRTC that writes machine code.
pub(super) fn new_nvrtc() -> Result<Nvrtc> {
    nvrtc(MACHINE_CODE_COMPILER)
}

fn nvrtc(name: &str) -> Result<Nvrtc> {
    let version = name.trim_start_matches("nvrtc ");
    let folder = wheel("nvidia-cuda-nvrtc-cu12", version)?;
    Ok(Nvrtc::open(
        &folder.join("nvidia/cuda_nvrtc/lib/libnvrtc.so.12"),
    )?)
}

/// The PTX of a source.
pub(super) fn ptx(source: &Source) -> Result<String> {
    let compiled = compile(&old_nvrtc()?, source, Target::Ptx(source.architecture()))?;
    Ok(String::from_utf8(compiled)?
        .trim_end_matches('\0')
        .to_owned())
}

pub(super) fn compile(nvrtc: &Nvrtc, source: &Source, target: Target) -> Result<Vec<u8>> {
    let name = source
        .path
        .strip_prefix(crate::workspace::root())
        .unwrap_or(Path::new("kernel.cu"));
    let mut flags = source.options();
    flags.push(format!(
        "--gpu-architecture={}",
        source.name_of(&target.to_string())
    ));
    let options = CompileOptions {
        target,
        flags,
        headers: source.headers.clone(),
    };
    let compiled = nvrtc
        .compile(&name.display().to_string(), &source.text, &options)
        .with_context(|| format!("kernel `{}`", source.module))?;
    if !compiled.log.is_empty() {
        eprintln!("{}", compiled.log);
    }
    Ok(compiled.code)
}
