//! NVRTC's CPU time for emitted forward and backward kernels: our prologue against Warp's header with
//! its precompiled header, on the same kernels in the same run.
//!
//! `cargo bench -p warpsmith-compiler --bench nvrtc_header` needs the suite, an NVRTC wheel in
//! `target/wheels` (`cargo xtask test` unpacks it) and Warp in `target/oracle/warp` (whose own NVRTC the peer uses).
#![allow(clippy::print_stdout, reason = "a bench prints its figures")]

#[path = "../tests/suite/mod.rs"]
mod suite;

use std::collections::HashMap;
use std::path::Path;
use std::process::Command;

use suite::{
    conformance,
    nvrtc::{self, Nvrtc},
};
use warpsmith_compiler::runtime_header;

const VERSION: &str = "12.9.86";
const LAST_TIER: u32 = 5;
const KERNELS: usize = 40;
const REPEATS: usize = 3;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let (Some(path), Some(nvrtc)) = (
        conformance::file(),
        Nvrtc::open(&conformance::nvrtc_wheel(VERSION), VERSION),
    ) else {
        println!("skipped: needs the conformance suite and NVRTC {VERSION} in target/wheels");
        return Ok(());
    };
    let mut options = nvrtc::options(VERSION);
    options.push("--gpu-architecture=compute_90".to_owned());
    let all: Vec<_> = conformance::kernels(&path, LAST_TIER)
        .into_iter()
        .filter(|kernel| {
            kernel.cuda.contains("_cuda_kernel_backward(")
                && runtime_header::missing(&kernel.cuda).is_empty()
        })
        .collect();
    let kernels: Vec<_> = all.iter().step_by((all.len() / KERNELS).max(1)).collect();

    let folder = tempfile::tempdir()?;
    let manifest = folder.path().join("manifest.jsonl");
    let lines: Vec<String> = kernels
        .iter()
        .map(|kernel| {
            serde_json::json!({ "id": kernel.id, "module": kernel.cuda_module }).to_string()
        })
        .collect();
    std::fs::write(&manifest, lines.join("\n"))?;
    let peer = Command::new(conformance::oracle("warp/bin/python"))
        .arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("benches/warp_nvrtc_peer.py"))
        .args([&manifest, folder.path()])
        .output()?;
    let mut theirs = HashMap::new();
    for line in String::from_utf8_lossy(&peer.stdout)
        .lines()
        .filter(|line| line.starts_with('{'))
    {
        let figure: serde_json::Value = serde_json::from_str(line)?;
        theirs.insert(
            figure["id"].as_str().unwrap_or_default().to_owned(),
            figure["cpu_seconds"].as_f64().unwrap_or(f64::NAN),
        );
    }
    if theirs.is_empty() {
        println!(
            "skipped the peer: {}",
            String::from_utf8_lossy(&peer.stderr)
        );
    }

    let empty = least_cpu_seconds(|| nvrtc.compile("__global__ void empty() {}", &options))?;
    let (mut ours_total, mut theirs_total, mut ratios, mut ours_all) =
        (0.0, 0.0, Vec::new(), Vec::new());
    for kernel in &kernels {
        let ours = least_cpu_seconds(|| {
            let text = runtime_header::prologue(&kernel.cuda) + &kernel.cuda;
            nvrtc.compile(&text, &options)
        })?;
        ours_all.push(ours);
        if let Some(&theirs) = theirs.get(&kernel.id) {
            ours_total += ours;
            theirs_total += theirs;
            ratios.push(ours / theirs);
        }
    }
    println!(
        "{} kernels of S0 to S{LAST_TIER}, forward and backward, NVRTC {VERSION} to PTX for compute_90",
        kernels.len()
    );
    println!(
        "CPU time of one: median {:.4} s (an empty kernel: {empty:.4} s)",
        median(&mut ours_all)
    );
    if !ratios.is_empty() {
        println!(
            "peer, Warp's header precompiled: mean {:.4} s; ours: mean {:.4} s",
            theirs_total / ratios.len() as f64,
            ours_total / ratios.len() as f64
        );
        println!(
            "ratio ours / peer: of the sums {:.2}, median {:.2}",
            ours_total / theirs_total,
            median(&mut ratios)
        );
    }
    Ok(())
}

fn median(values: &mut [f64]) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(f64::NAN)
}

fn least_cpu_seconds(mut work: impl FnMut() -> Result<String, String>) -> Result<f64, String> {
    let mut least = f64::INFINITY;
    for _ in 0..REPEATS {
        let start = process_cpu_seconds();
        work()?;
        least = least.min(process_cpu_seconds() - start);
    }
    Ok(least)
}

/// User and system time of this process, all threads: NVRTC works on several.
fn process_cpu_seconds() -> f64 {
    let mut time = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: `time` is a valid place for the result, and the clock exists on every Linux.
    unsafe { libc::clock_gettime(libc::CLOCK_PROCESS_CPUTIME_ID, &mut time) };
    time.tv_sec as f64 + time.tv_nsec as f64 * 1e-9
}
