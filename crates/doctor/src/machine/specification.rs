//! What the database knows about this machine's GPUs, and which library versions go with them.

use serde::{Deserialize, Serialize};

use super::facts::MachineFacts;
use warpsmith_compatibility::Runs;
use warpsmith_compatibility::database;

/// A GPU with its datasheet.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct GpuSpecification {
    /// Device index.
    pub index: usize,
    /// The driver's name for it.
    pub name: String,
    /// Compute capability.
    pub compute_capability: Option<String>,
    /// Architecture.
    pub architecture: Option<String>,
    /// Memory in MiB, as the driver says.
    pub memory_mib: Option<u64>,
    /// Datasheet bandwidth in GB/s.
    pub bandwidth_gb_s: Option<f64>,
    /// Datasheet board power in watts.
    pub tdp_w: Option<f64>,
    /// How the datasheet values are known.
    pub provenance: Option<String>,
}

/// One library of this machine against its driver and GPU.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MatrixRow {
    /// Where it is installed.
    pub environment: String,
    /// Its name.
    pub library: String,
    /// Its version.
    pub version: String,
    /// CUDA that it was built for.
    pub cuda: Option<String>,
    /// Whether the driver runs that CUDA; absent where it is not known.
    pub driver_runs_it: Option<bool>,
    /// Whether it has code for the GPU; absent where it is not known.
    pub gpu_code: Option<String>,
}

pub(super) fn specifications(facts: &MachineFacts) -> Vec<GpuSpecification> {
    facts
        .gpus
        .iter()
        .map(|gpu| {
            let row = database().gpu(&gpu.name);
            GpuSpecification {
                index: gpu.index,
                name: gpu.name.clone(),
                compute_capability: gpu.capability.map(|c| c.to_string()),
                architecture: row.map(|r| r.arch.clone()),
                memory_mib: gpu.memory_mib,
                bandwidth_gb_s: row.map(|r| r.bandwidth_gb_s),
                tdp_w: row.map(|r| r.tdp_w),
                provenance: row.map(|r| {
                    format!(
                        "{} ({})",
                        r.provenance,
                        r.confidence.as_deref().unwrap_or("no confidence stated")
                    )
                }),
            }
        })
        .collect()
}

pub(super) fn matrix(facts: &MachineFacts) -> Vec<MatrixRow> {
    let driver = facts.driver_version().map(|d| d.value.clone());
    let device = facts.capabilities().into_iter().map(|(_, c)| c).min();
    let runs = |cuda: &warpsmith_compatibility::Version| {
        Some(driver.as_ref()? >= database().driver_floor(cuda.major())?)
    };
    let mut rows = Vec::new();
    for environment in &facts.environments {
        for package in &environment.packages {
            let cuda = match package.name.as_str() {
                "torch" => environment.torch.as_ref().and_then(|t| t.cuda.clone()),
                "tensorflow" => environment
                    .tensorflow_cuda
                    .as_ref()
                    .and_then(|c| warpsmith_compatibility::Version::parse(&c.value)),
                name if name.starts_with("cupy-cuda")
                    || name.starts_with("onnxruntime-gpu")
                    || name.starts_with("jax-cuda") =>
                {
                    database()
                        .releases(name)
                        .into_iter()
                        .find(|row| {
                            package
                                .version
                                .as_ref()
                                .is_some_and(|v| row.version.cmp(v).is_eq())
                        })
                        .and_then(|row| row.cuda.as_deref())
                        .and_then(|c| {
                            warpsmith_compatibility::Version::parse(c.trim_end_matches(".x"))
                        })
                }
                "numba" | "numba-cuda" | "triton" | "bitsandbytes" | "flash-attn" | "xformers"
                | "jaxlib" => None,
                _ => continue,
            };
            let coverage = match package.name.as_str() {
                "torch" => environment.torch.as_ref().and_then(|t| t.coverage.clone()),
                name => environment
                    .binaries
                    .iter()
                    .find(|b| b.package.replace('_', "-") == name && b.coverage.is_some())
                    .and_then(|b| b.coverage.clone()),
            };
            rows.push(MatrixRow {
                environment: environment.site_packages.clone(),
                library: package.name.clone(),
                version: package
                    .version
                    .as_ref()
                    .map_or_else(String::new, ToString::to_string),
                driver_runs_it: cuda.as_ref().and_then(runs),
                cuda: cuda.map(|c| c.to_string()),
                gpu_code: device.zip(coverage).map(|(device, coverage)| {
                    match coverage.runs_on(device) {
                        Runs::Native(target) => format!("machine code ({target})"),
                        Runs::Jit(target) => format!("compiled at load from PTX ({target})"),
                        Runs::No(why) => why,
                    }
                }),
            });
        }
    }
    rows
}
