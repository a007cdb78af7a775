//! NVRTC compiles the suite's emitted CUDA text as is, with our prologue above it.
//!
//! Needs the suite and a wheel of NVRTC in `target/wheels` (`cargo xtask test` unpacks it); no GPU. Tries a sample of
//! the suite, or all of it with `WARPSMITH_SUITE_STRIDE=1`.

use crate::suite::{
    conformance,
    nvrtc::{self, Nvrtc},
};
use libtest_mimic::{Failed, Trial};
use warpsmith_compiler::runtime_header;

/// The newest and the oldest that we support, each with an old and a new architecture.
const COMPILERS: &[(&str, &str)] = &[
    ("12.9.86", "compute_90"),
    ("12.9.86", "sm_90"),
    ("12.0.140", "compute_70"),
    ("12.0.140", "sm_90"),
];
const LAST_TIER: u32 = 8;
const SAMPLE_STRIDE: usize = 40;

pub(crate) fn trials() -> Vec<Trial> {
    COMPILERS
        .iter()
        .map(|&(version, architecture)| {
            let folder = conformance::nvrtc_wheel(version);
            let missing = conformance::file().is_none() || !folder.is_dir();
            Trial::test(format!("nvrtc {version} {architecture}"), move || {
                compile_suite(version, architecture)
            })
            .with_ignored_flag(missing)
        })
        .collect()
}

fn compile_suite(version: &str, architecture: &str) -> Result<(), Failed> {
    let nvrtc =
        Nvrtc::open(&conformance::nvrtc_wheel(version), version).ok_or("NVRTC does not load")?;
    let mut options = nvrtc::options(version);
    options.push(format!("--gpu-architecture={architecture}"));
    options.push("-w".to_owned());
    let (mut compiled, mut refused, mut failures) = (0, Vec::new(), Vec::new());
    let path = conformance::file().ok_or("the suite is missing")?;
    for kernel in conformance::kernels(&path, LAST_TIER)
        .iter()
        .step_by(conformance::stride(SAMPLE_STRIDE))
    {
        let missing = runtime_header::missing(&kernel.cuda);
        if !missing.is_empty() {
            refused.push(format!(
                "{} S{} {}: {}",
                kernel.id,
                kernel.tier,
                kernel.name,
                missing.join(" ")
            ));
            continue;
        }
        let text = runtime_header::prologue(&kernel.cuda) + &kernel.cuda;
        match nvrtc.compile(&text, &options) {
            Ok(_) => compiled += 1,
            Err(log) => {
                let error = log
                    .lines()
                    .find(|line| line.contains("error"))
                    .unwrap_or_default()
                    .to_owned();
                failures.push(format!(
                    "{} S{} {}: {error}",
                    kernel.id, kernel.tier, kernel.name
                ));
            }
        }
    }
    eprintln!(
        "nvrtc {version} {architecture}: {compiled} compile, {} fail, {} refused",
        failures.len(),
        refused.len()
    );
    for line in &refused {
        eprintln!("  refused: {line}");
    }
    if failures.is_empty() {
        Ok(())
    } else {
        Err(failures.join("\n").into())
    }
}
