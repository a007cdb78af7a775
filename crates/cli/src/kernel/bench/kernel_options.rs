//! A kernel of a `.cu` or `.ptx` file, described on the command line.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result, bail};
use clap::Args;
use warpsmith_case::compile_cuda_file;
use warpsmith_core::{Bytes, Flops};
use warpsmith_device::{CudaDevice, LaunchShape, Nvrtc, Target};
use warpsmith_measure::kernel_file::{KernelArgument, KernelLaunch};

use super::job::Job;
use crate::kernel::verify::case::explain;
use warpsmith_console::global::Global;
use warpsmith_console::output;

/// How to launch a kernel of a file.
#[derive(Args)]
#[command(next_help_heading = "Kernel of a file")]
pub(super) struct KernelOptions {
    /// The kernel, if the file has several.
    #[arg(long, value_name = "NAME")]
    kernel: Option<String>,
    /// Blocks: `1024` or `64,64` or `8,8,8`.
    #[arg(long, value_name = "X,Y,Z", value_parser = parse_shape, default_value = "1")]
    grid: [u32; 3],
    /// Threads of a block: `256` or `16,16`.
    #[arg(long, value_name = "X,Y,Z", value_parser = parse_shape, default_value = "256")]
    block: [u32; 3],
    /// Dynamic shared memory of a block in bytes.
    #[arg(
        hide_short_help = true,
        long,
        value_name = "BYTES",
        default_value_t = 0
    )]
    shared: u32,
    /// The arguments in their order: `in:f32:1M`, `out:f32:1M`, `inout:i32:4096:zeros`, `f32=2.5`.
    #[arg(long = "arg", value_name = "ARG")]
    arguments: Vec<KernelArgument>,
    /// Pass an option on to NVRTC, e.g. `--flag=--use_fast_math`.
    #[arg(long = "flag", value_name = "FLAG", allow_hyphen_values = true)]
    flags: Vec<String>,
    /// Bytes that one launch must move, for rates; default: the size of its buffers.
    #[arg(hide_short_help = true, long, value_name = "N")]
    bytes: Option<u64>,
    /// Floating-point operations of one launch, for rates.
    #[arg(hide_short_help = true, long, value_name = "N")]
    flops: Option<u64>,
}

fn parse_shape(text: &str) -> Result<[u32; 3], String> {
    let mut shape = [1; 3];
    let parts: Vec<&str> = text.split([',', 'x']).collect();
    if parts.len() > 3 {
        return Err(format!("`{text}` has more than three dimensions"));
    }
    for (size, part) in shape.iter_mut().zip(parts) {
        *size = part
            .trim()
            .parse()
            .ok()
            .filter(|size| *size > 0)
            .ok_or_else(|| format!("`{part}` is not a size: write `256` or `16,16`"))?;
    }
    Ok(shape)
}

/// Whether a name on the command line is a file with kernels.
pub(super) fn is_kernel_file(name: &str) -> bool {
    let extension = Path::new(name).extension();
    extension.is_some_and(|extension| extension == "cu" || extension == "ptx")
}

impl KernelOptions {
    /// The kernel that was named.
    pub(super) fn name(&self) -> Option<&str> {
        self.kernel.as_deref()
    }

    /// Whether anything about a kernel was said.
    pub(super) fn any_given(&self) -> bool {
        self.kernel.is_some() || self.launch_given()
    }

    /// Whether anything about its launch was said.
    pub(super) fn launch_given(&self) -> bool {
        !self.arguments.is_empty() || !self.flags.is_empty()
    }

    /// The launch of a PTX file, which needs no GPU to be refused.
    pub(super) fn read_ptx(&self, file: &str) -> Result<Job> {
        let ptx = fs::read_to_string(file).with_context(|| format!("cannot read `{file}`"))?;
        self.job(file, &ptx)
    }

    /// Compiles a CUDA file for this GPU.
    pub(super) fn compile(&self, global: &Global, file: &str, gpu: &CudaDevice) -> Result<Job> {
        let nvrtc = Nvrtc::find()?;
        let target = Target::Ptx(gpu.facts().sm());
        let compiled = compile_cuda_file(Path::new(file), &self.flags, &nvrtc, target);
        let compiled = compiled.map_err(explain)?.compiled;
        if !compiled.log.is_empty() {
            output::note(global, &compiled.log);
        }
        let Some(ptx) = compiled.ptx() else {
            bail!("NVRTC gave no PTX for `{file}`");
        };
        self.job(file, ptx)
    }

    fn job(&self, file: &str, ptx: &str) -> Result<Job> {
        let shape = LaunchShape {
            grid: self.grid,
            block: self.block,
            shared_bytes: self.shared,
        };
        let kernel = self.kernel.as_deref();
        let launch = KernelLaunch::new(file, ptx, kernel, shape, self.arguments.clone())?;
        let mut cost = launch.cost();
        cost.bytes = self.bytes.map_or(cost.bytes, Bytes);
        cost.flops = self.flops.map_or(cost.flops, Flops);
        let name = Path::new(file).file_name().unwrap_or_default();
        let name = format!("{}:{}", name.to_string_lossy(), launch.kernel());
        Ok(Job::kernel(name, launch, cost))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shapes_have_one_to_three_dimensions() {
        assert_eq!(parse_shape("256"), Ok([256, 1, 1]));
        assert_eq!(parse_shape("16,8"), Ok([16, 8, 1]));
        assert_eq!(parse_shape("2x3x4"), Ok([2, 3, 4]));
        for text in ["", "0", "1,2,3,4", "a", "-1"] {
            assert!(parse_shape(text).is_err(), "{text}");
        }
        assert!(is_kernel_file("a/b.cu") && is_kernel_file("x.ptx") && !is_kernel_file("voice"));
    }
}
