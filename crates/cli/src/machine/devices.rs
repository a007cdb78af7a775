//! `warpsmith devices`: what can run something here.

use std::fmt::Write;

use anyhow::Result;
use clap::Args;
use serde::Serialize;
use warpsmith_core::{Bytes, BytesPerSecond, Finding, Hertz, Severity};
use warpsmith_device::{
    CpuFacts, DeviceError, GpuFacts, VulkanFacts, cuda_devices, driver_finding, vulkan_devices,
};

use warpsmith_console::exit::Outcome;
use warpsmith_console::global::Global;
use warpsmith_console::output;

/// List the CPU and every GPU with their facts.
#[derive(Args)]
#[command(after_long_help = "Examples:\n  warpsmith devices\n  warpsmith devices --format json")]
pub(crate) struct Devices {}

#[derive(Serialize)]
struct Body {
    cpu: CpuFacts,
    gpus: Vec<GpuFacts>,
    vulkan: Vec<VulkanFacts>,
}

impl Devices {
    pub(crate) fn run(&self, global: &Global) -> Result<Outcome> {
        let (gpus, finding) = match cuda_devices() {
            Ok(gpus) => (gpus, None),
            Err(error) => (Vec::new(), Some(driver_finding(&error))),
        };
        let (vulkan, broken) = match vulkan_devices() {
            Ok(vulkan) => (vulkan, None),
            Err(error) => (Vec::new(), broken_vulkan(&error)),
        };
        let mut report = output::report(
            "devices",
            Body {
                cpu: CpuFacts::read(),
                gpus,
                vulkan,
            },
        );
        report.findings.extend(finding);
        report.findings.extend(broken);
        output::print(global, &report, describe)?;
        let broken = report.worst() == Some(Severity::Error);
        Ok(Outcome::fine_if(!broken))
    }
}

/// Drivers that Vulkan's loader cannot use; without a loader there are none, which is no problem of the machine.
pub(super) fn broken_vulkan(error: &DeviceError) -> Option<Finding> {
    let DeviceError::NoVulkan { seen, manifests } = error else {
        return None;
    };
    let found = Finding::new("D005", Severity::Warning, "Vulkan does not start")
        .because("the loader says", seen.clone())
        .hint(error.hint().unwrap_or_default());
    let because = |found: Finding, one: &String| found.because("drivers", one.clone());
    (!manifests.is_empty()).then(|| manifests.iter().fold(found, because))
}

fn describe(body: &Body) -> String {
    let mut text = describe_cpu(&body.cpu);
    for gpu in &body.gpus {
        text.push_str(&describe_gpu(gpu));
    }
    for device in &body.vulkan {
        text.push_str(&describe_vulkan(device));
    }
    text
}

fn describe_cpu(cpu: &CpuFacts) -> String {
    let mut text = format!("cpu     {}\n", cpu.model);
    let quota = cpu
        .quota_cores
        .map_or(String::new(), |cores| format!(", quota {cores}"));
    let _ = writeln!(
        text,
        "        {} of {} cores{quota}",
        cpu.usable_cores, cpu.logical_cores
    );
    let caches: Vec<_> = cpu
        .caches
        .iter()
        .filter(|cache| cache.kind != "instruction")
        .map(|cache| format!("L{} {}", cache.level, Bytes(cache.bytes)))
        .collect();
    if !caches.is_empty() {
        let _ = writeln!(text, "        {}", caches.join(", "));
    }
    if !cpu.simd.is_empty() {
        let _ = writeln!(text, "        {}", cpu.simd.join(" "));
    }
    if let Some(memory) = cpu.memory_bytes {
        let limit = cpu.memory_limit_bytes.map_or(String::new(), |limit| {
            format!(", limited to {}", Bytes(limit))
        });
        let _ = writeln!(text, "        {} memory{limit}", Bytes(memory));
    }
    text
}

fn describe_gpu(gpu: &GpuFacts) -> String {
    let (major, minor) = gpu.compute_capability;
    let mig = gpu
        .mig_profile
        .as_ref()
        .map_or(String::new(), |mig| format!(", MIG {mig}"));
    let driver = gpu.driver_version.as_deref().unwrap_or("unknown");
    format!(
        "cuda:{:<2} {}\n        compute capability {major}.{minor}, {} SMs at {}{mig}\n        \
         {} memory, {}-bit at {}, {} by datasheet, ECC {}\n        \
         L2 {}, shared memory {} per SM ({} per block)\n        \
         {}  PCI {}\n        driver {driver}, CUDA {}\n",
        gpu.index,
        gpu.name,
        gpu.multiprocessors,
        Hertz(gpu.sm_clock_hz),
        Bytes(gpu.memory_bytes),
        gpu.memory_bus_bits,
        Hertz(gpu.memory_clock_hz),
        BytesPerSecond(gpu.memory_bandwidth),
        if gpu.ecc { "on" } else { "off" },
        Bytes(gpu.l2_bytes),
        Bytes(gpu.shared_bytes_per_multiprocessor),
        Bytes(gpu.shared_bytes_per_block),
        gpu.uuid,
        gpu.pci,
        gpu.cuda_version,
    )
}

fn describe_vulkan(device: &VulkanFacts) -> String {
    let features = [
        (device.float64, "f64"),
        (device.int64_atomics, "64-bit atomics"),
        (device.bytes, "8-bit memory"),
        (device.halves, "16-bit memory"),
        (device.timestamp_period > 0.0, "timer"),
    ];
    let has: Vec<&str> = (features.into_iter())
        .filter(|(has, _)| *has)
        .map(|(_, what)| what)
        .collect();
    let mut text = format!(
        "vulkan:{} {}\n        {}, {} memory, Vulkan {}, {}\n        has {}\n",
        device.index,
        device.name,
        device.kind.word(),
        Bytes(device.memory),
        device.api,
        device.driver,
        has.join(", "),
    );
    let missing = device.missing_features();
    if device.lacks.is_empty() && !missing.is_empty() {
        let _ = writeln!(text, "        lacks {}", missing.join(", "));
    }
    if !device.lacks.is_empty() {
        let _ = writeln!(
            text,
            "        runs no kernels: lacks {}",
            device.lacks.join(", ")
        );
    }
    text
}
