//! `warpsmith devices`: what can run something here.

use std::fmt::Write;

use anyhow::Result;
use clap::Args;
use serde::Serialize;
use warpsmith_core::{Bytes, BytesPerSecond, CodeDoc, Finding, Hertz, Severity};
use warpsmith_device::{CpuFacts, DeviceError, GpuFacts, cuda_devices};

use crate::arguments::Global;
use crate::exit::Outcome;
use crate::output;

/// Findings about the driver as such.
pub(crate) const CODES: &[CodeDoc] = &[
    CodeDoc {
        code: "D001",
        title: "no GPU is visible",
        explanation: "The CUDA driver library is not on this machine, or it starts and reports no \
                      device. Everything that needs no GPU works; `--device auto` uses the CPU.",
        fix: "Install an NVIDIA driver; in a container, start it with the NVIDIA container toolkit; \
              look whether `CUDA_VISIBLE_DEVICES` hides the device.",
    },
    CodeDoc {
        code: "D002",
        title: "the CUDA driver does not start",
        explanation: "The driver library is there and cannot be initialised. Nothing falls back to \
                      the CPU: a run that asked for the GPU and got the CPU is a wrong number.",
        fix: "`nvidia-smi` shows whether the driver works at all. After a driver update the kernel \
              module and the library differ until the next reboot.",
    },
];

/// List the CPU and every GPU with their facts.
#[derive(Args)]
#[command(after_help = "Examples:\n  warpsmith devices\n  warpsmith devices --format json")]
pub(crate) struct Devices {}

#[derive(Serialize)]
struct Body {
    cpu: CpuFacts,
    gpus: Vec<GpuFacts>,
}

impl Devices {
    pub(crate) fn run(&self, global: &Global) -> Result<Outcome> {
        let (gpus, finding) = match cuda_devices() {
            Ok(gpus) => (gpus, None),
            Err(error) => {
                let severity = if error.is_missing_hardware() {
                    Severity::Info
                } else {
                    Severity::Error
                };
                let code = if error.is_missing_hardware() {
                    "D001"
                } else {
                    "D002"
                };
                let mut finding = Finding::new(code, severity, error.to_string());
                finding.hint = error.hint().map(str::to_owned);
                (Vec::new(), Some(finding))
            }
        };
        let mut report = output::report(
            "devices",
            Body {
                cpu: CpuFacts::read(),
                gpus,
            },
        );
        report.findings.extend(finding);
        output::print(global, &report, describe)?;
        let broken = report.worst() == Some(Severity::Error);
        Ok(if broken {
            Outcome::NotFine
        } else {
            Outcome::Fine
        })
    }
}

/// What a driver that gives no devices means: nothing where there is no GPU, trouble otherwise.
pub(crate) fn driver_finding(error: &DeviceError) -> Finding {
    let (code, severity) = if error.is_missing_hardware() {
        ("D001", Severity::Info)
    } else {
        ("D002", Severity::Error)
    };
    let mut finding = Finding::new(code, severity, error.to_string());
    finding.hint = error.hint().map(str::to_owned);
    finding
}

fn describe(body: &Body) -> String {
    let mut text = describe_cpu(&body.cpu);
    for gpu in &body.gpus {
        text.push_str(&describe_gpu(gpu));
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
