//! The runtime header computes what Warp computes: Warp's own CPU text, compiled with our prologue by
//! a host compiler, against Warp's execution of the same kernel on the same arguments, forward and
//! backward.
//!
//! Needs the suite, `g++` and a virtual environment with Warp in `target/oracle/warp`. Tries a sample
//! of the suite, or all of it with `WARPSMITH_SUITE_STRIDE=1`.

use std::collections::HashMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::suite::conformance::{self, Kernel};
use libtest_mimic::{Failed, Trial};
use warpsmith_compiler::runtime_header;

/// First and last tier of each group.
const GROUPS: &[(u32, u32)] = &[(0, 2), (3, 5), (6, 8)];
const SAMPLE_STRIDE: usize = 30;
/// Kernels in one translation unit: the host compiler's own start is then no longer the cost.
const BATCH: usize = 40;
/// Calls whose results random arguments do not determine: this factorisation is unique up to the signs of
/// vectors only, and a lock that is taken at the start is waited for without end.
const NOT_COMPARABLE: &[&str] = &["wp::svd2(", "wp::atomic_cas("];

pub(crate) fn trials() -> Vec<Trial> {
    let python = conformance::oracle("warp/bin/python");
    let host_compiler = Command::new("g++").arg("--version").output().is_ok();
    let missing = conformance::file().is_none() || !python.is_file() || !host_compiler;
    GROUPS
        .iter()
        .map(|&(first, last)| {
            Trial::test(
                format!("tiers S{first} to S{last} agree with Warp"),
                move || compare(first, last),
            )
            .with_ignored_flag(missing)
        })
        .collect()
}

fn compare(first: u32, last: u32) -> Result<(), Failed> {
    let path = conformance::file().ok_or("the suite is missing")?;
    let kernels: Vec<Kernel> = conformance::kernels(&path, last)
        .into_iter()
        .filter(|kernel| kernel.tier >= first)
        .collect();
    let (supported, refused): (Vec<&Kernel>, Vec<&Kernel>) = kernels
        .iter()
        .step_by(conformance::stride(SAMPLE_STRIDE))
        .partition(|kernel| {
            runtime_header::missing(&kernel.cpu).is_empty()
                && !NOT_COMPARABLE.iter().any(|call| kernel.cpu.contains(call))
        });
    let folder = tempfile::tempdir()?;
    let manifest = folder.path().join("manifest.jsonl");
    let mut lines = String::new();
    for (number, batch) in supported.chunks(BATCH).enumerate() {
        let library = build(folder.path(), number, batch)?;
        for kernel in batch {
            writeln!(lines, "{}", case(kernel, &library))?;
        }
    }
    std::fs::write(&manifest, lines)?;
    let output = Command::new(conformance::oracle("warp/bin/python"))
        .arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/warp_cpu_oracle.py"))
        .arg(&manifest)
        .env(
            "WARP_KERNEL_CACHE",
            conformance::oracle("warp-kernel-cache"),
        )
        .output()?;
    if !output.status.success() {
        return Err(String::from_utf8_lossy(&output.stderr).into_owned().into());
    }
    report(
        &format!("S{first} to S{last}"),
        &supported,
        refused.len(),
        &String::from_utf8_lossy(&output.stdout),
    )
}

/// One shared object for a batch, each kernel in a namespace of its own.
fn build(folder: &Path, number: usize, batch: &[&Kernel]) -> Result<PathBuf, Failed> {
    let mut text = String::new();
    for kernel in batch {
        let emitted = kernel.cpu.replace("_HASH", &format!("_{}", kernel.id));
        writeln!(
            text,
            "#line 1 \"{}\"\nnamespace k_{} {{\n{emitted}\n}}",
            kernel.id, kernel.id
        )?;
    }
    let source = folder.join(format!("batch{number}.cpp"));
    let library = folder.join(format!("batch{number}.so"));
    std::fs::write(&source, runtime_header::prologue(&text) + &text)?;
    let output = Command::new("g++")
        .args(["-std=c++17", "-O1", "-w", "-shared", "-fPIC"])
        .arg(&source)
        .arg("-o")
        .arg(&library)
        .output()?;
    if output.status.success() {
        Ok(library)
    } else {
        Err(String::from_utf8_lossy(&output.stderr).into_owned().into())
    }
}

fn case(kernel: &Kernel, library: &Path) -> serde_json::Value {
    let entry = |direction: &str| {
        let end = kernel.cpu.find(&format!("_HASH_cpu_{direction}(\n"))?;
        let start = kernel.cpu[..end].rfind(' ')? + 1;
        Some(format!(
            "{}_{}_cpu_{direction}",
            &kernel.cpu[start..end],
            kernel.id
        ))
    };
    let rank = kernel
        .cpu
        .split_once("launch_bounds_t<")
        .and_then(|(_, rest)| rest[..1].parse::<u32>().ok());
    let backward = entry("backward").filter(|_| !reads_unreplayed_atomic(&kernel.cpu));
    serde_json::json!({
        "id": kernel.id, "source": kernel.source, "library": library,
        "forward": entry("forward"), "backward": backward, "rank": rank,
    })
}

/// Whether a backward pass reads the result of an atomic. Atomics are not replayed there, so the
/// variable was never written: Warp's result is whatever the stack held, and there is nothing to compare.
fn reads_unreplayed_atomic(text: &str) -> bool {
    text.split("\n}\n").any(|function| {
        function.lines().any(|line| {
            let Some((result, _)) = line
                .trim()
                .strip_prefix("// var_")
                .and_then(|rest| rest.split_once(" = wp::atomic_"))
            else {
                return false;
            };
            let reads = [
                format!("var_{result},"),
                format!("var_{result})"),
                format!("var_{result} "),
            ];
            function
                .lines()
                .filter(|line| !line.trim_start().starts_with("//"))
                .any(|line| reads.iter().any(|read| line.contains(read.as_str())))
        })
    })
}

fn report(group: &str, kernels: &[&Kernel], refused: usize, verdicts: &str) -> Result<(), Failed> {
    let names: HashMap<&str, &str> = kernels
        .iter()
        .map(|kernel| (kernel.id.as_str(), kernel.name.as_str()))
        .collect();
    let (mut agree, mut backward, mut judged, mut not_run, mut wrong) = (0, 0, 0, 0, String::new());
    for line in verdicts.lines().filter(|line| line.starts_with('{')) {
        let verdict: serde_json::Value = serde_json::from_str(line)?;
        let text = |key: &str| verdict[key].as_str().unwrap_or_default();
        let described = format!(
            "{} {}: {}",
            text("id"),
            names.get(text("id")).unwrap_or(&""),
            text("detail")
        );
        judged += 1;
        match text("verdict") {
            "agrees" => {
                agree += 1;
                backward += usize::from(text("detail").contains("backward"));
            }
            "not run" => {
                not_run += 1;
                eprintln!("  not run: {described}");
            }
            other => writeln!(wrong, "{other}: {described}")?,
        }
    }
    eprintln!(
        "{group}: {agree} agree ({backward} backward too), {not_run} not run, {refused} not comparable, {} wrong",
        wrong.lines().count()
    );
    if judged != kernels.len() {
        return Err(format!("{judged} verdicts for {} kernels", kernels.len()).into());
    }
    if wrong.is_empty() {
        Ok(())
    } else {
        Err(wrong.into())
    }
}
