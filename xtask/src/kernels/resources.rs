//! What a kernel costs on real architectures, read from the assembler's report.

use std::collections::BTreeMap;
use std::fs;

use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};

use super::source::Source;
use crate::wheels::wheel;
use crate::workspace;

/// The architectures that registers and spills are recorded for.
const ARCHITECTURES: [u32; 3] = [70, 80, 90];

/// Cost of one function on one architecture.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Resources {
    pub(super) registers: u32,
    pub(super) spill_bytes: u32,
    pub(super) shared_bytes: u32,
}

/// Function → architecture → cost.
pub(super) type Functions = BTreeMap<String, BTreeMap<String, Resources>>;

/// Assembles `ptx` for every architecture that can run it.
pub(super) fn functions(source: &Source, ptx: &str) -> Result<Functions> {
    let ptxas = wheel("nvidia-cuda-nvcc-cu12", "12.9.86")?.join("nvidia/cuda_nvcc/bin/ptxas");
    let folder = tempfile::tempdir_in(workspace::target())?;
    let input = folder.path().join("kernel.ptx");
    fs::write(&input, ptx)?;
    let input = input.to_str().context("the checkout's path is not UTF-8")?;
    let mut functions = Functions::new();
    for sm in ARCHITECTURES.into_iter().filter(|&sm| source.runs_on(sm)) {
        let architecture = source.name_of(&format!("sm_{sm}"));
        let target = format!("--gpu-name={architecture}");
        let report = workspace::output(&ptxas, &[&target, "-v", "-o", "/dev/null", input])?;
        for (function, resources) in parse(&report) {
            functions
                .entry(function)
                .or_default()
                .insert(architecture.clone(), resources);
        }
    }
    Ok(functions)
}

/// Reads `ptxas -v`.
fn parse(report: &str) -> Vec<(String, Resources)> {
    let mut found: Vec<(String, Resources)> = Vec::new();
    for line in report.lines() {
        if let Some((_, rest)) = line.split_once("Compiling entry function '") {
            let name = rest.split('\'').next().unwrap_or_default();
            found.push((name.to_owned(), Resources::default()));
        }
        let Some((_, current)) = found.last_mut() else {
            continue;
        };
        let before = |words: &str| {
            let (number, _) = line.split_once(words)?;
            number.split_whitespace().last()?.parse::<u32>().ok()
        };
        current.registers = before(" registers").unwrap_or(current.registers);
        current.shared_bytes = before(" bytes smem").unwrap_or(current.shared_bytes);
        if line.contains("spill stores") {
            current.spill_bytes = before(" bytes spill stores").unwrap_or(0)
                + before(" bytes spill loads").unwrap_or(0);
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_assemblers_report_is_understood() {
        let report = "\
ptxas info    : 0 bytes gmem
ptxas info    : Compiling entry function 'saxpy' for 'sm_90'
ptxas info    : Function properties for saxpy
    0 bytes stack frame, 8 bytes spill stores, 12 bytes spill loads
ptxas info    : Used 18 registers, used 0 barriers, 1024 bytes smem, 572 bytes cmem[0]
ptxas info    : Compile time = 2.1 ms
ptxas info    : Compiling entry function 'mark' for 'sm_90'
ptxas info    : Used 8 registers, used 0 barriers, 544 bytes cmem[0]
";
        assert_eq!(
            parse(report),
            [
                (
                    "saxpy".into(),
                    Resources {
                        registers: 18,
                        spill_bytes: 20,
                        shared_bytes: 1024
                    }
                ),
                (
                    "mark".into(),
                    Resources {
                        registers: 8,
                        spill_bytes: 0,
                        shared_bytes: 0
                    }
                ),
            ]
        );
    }
}
