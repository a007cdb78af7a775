//! What the machine is.

use anyhow::Result;
use warpsmith_core::{Bytes, BytesPerSecond, Hertz};
use warpsmith_device::{CpuFacts, GpuFacts, cuda_devices, driver_finding};

use crate::project::report::document::{Block, Section};
use crate::project::report::job::Job;

pub(in crate::project::report) fn section(_: &Job) -> Result<Section> {
    let cpu = CpuFacts::read();
    let mut section = Section::default();
    let mut rows = cpu_rows(&cpu);
    match cuda_devices() {
        Ok(gpus) => {
            rows.extend(gpus.iter().flat_map(gpu_rows));
            section.raw = serde_json::json!({ "cpu": cpu, "gpus": gpus });
        }
        Err(error) => {
            section.findings.push(driver_finding(&error));
            section.raw = serde_json::json!({ "cpu": cpu, "gpus": [] });
        }
    }
    section
        .blocks
        .push(Block::table(&["device", "fact", "value"], rows));
    Ok(section)
}

fn cpu_rows(cpu: &CpuFacts) -> Vec<Vec<String>> {
    let row = |fact: &str, value: String| vec!["cpu".to_owned(), fact.to_owned(), value];
    let mut rows = vec![
        row("model", cpu.model.clone()),
        row(
            "cores this process may use",
            format!("{} of {}", cpu.usable_cores, cpu.logical_cores),
        ),
        row("vector instructions", cpu.simd.join(" ")),
    ];
    for cache in cpu
        .caches
        .iter()
        .filter(|cache| cache.kind != "instruction")
    {
        rows.push(row(
            &format!("L{} cache", cache.level),
            Bytes(cache.bytes).to_string(),
        ));
    }
    if let Some(quota) = cpu.quota_cores {
        rows.push(row("container quota in cores", quota.to_string()));
    }
    rows.extend(
        cpu.memory_bytes
            .map(|bytes| row("memory", Bytes(bytes).to_string())),
    );
    rows
}

fn gpu_rows(gpu: &GpuFacts) -> Vec<Vec<String>> {
    let (major, minor) = gpu.compute_capability;
    let facts = [
        ("name", gpu.name.clone()),
        ("compute capability", format!("{major}.{minor}")),
        (
            "multiprocessors",
            format!("{} at {}", gpu.multiprocessors, Hertz(gpu.sm_clock_hz)),
        ),
        ("memory", Bytes(gpu.memory_bytes).to_string()),
        (
            "memory rate by datasheet",
            BytesPerSecond(gpu.memory_bandwidth).to_string(),
        ),
        ("L2 cache", Bytes(gpu.l2_bytes).to_string()),
        ("driver", gpu.driver_version.clone().unwrap_or_default()),
        ("CUDA of the driver", gpu.cuda_version.clone()),
    ];
    let device = format!("cuda:{}", gpu.index);
    facts
        .into_iter()
        .map(|(fact, value)| vec![device.clone(), fact.to_owned(), value])
        .collect()
}
