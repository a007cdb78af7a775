//! Which machine, when, and from which sources.

use std::fs;
use std::process::Command;
use std::time::{SystemTime, UNIX_EPOCH};

use warpsmith_core::{Bytes, Hertz};
use warpsmith_device::{CpuFacts, Device, GpuFacts, VulkanFacts, cuda_devices, vulkan_devices};
use warpsmith_lattice::InstructionSet;
use warpsmith_report::calendar;
use warpsmith_report::document::{Commit, Fitness, Subject};
use warpsmith_report::facts::{Facts, MachineFacts};

use crate::project::report::job::Job;

/// Facts of this machine, of which nothing has been measured yet.
pub(in crate::project::report) fn begin(job: &Job, allowed_seconds: f64) -> Facts {
    let machine = machine(job);
    let started_unix = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .map_or(0, |since| since.as_secs());
    let subject = Subject {
        title: title(&machine),
        facts: lines(&machine),
        host: read("/proc/sys/kernel/hostname"),
        started_unix,
        started: calendar::utc(started_unix),
        commit: commit(),
        kind: job.kind,
        seconds: 0.0,
        allowed_seconds,
    };
    let load = read("/proc/loadavg")
        .split_whitespace()
        .next()
        .and_then(|load| load.parse::<f64>().ok());
    let cores = machine.cpu.logical_cores.max(1) as f64;
    let mut facts = Facts::new(subject, machine);
    facts.fitness = Fitness {
        load_per_core: load.map(|load| load / cores),
        ..Fitness::default()
    };
    facts
}

fn read(path: &str) -> String {
    fs::read_to_string(path).map_or(String::new(), |text| text.trim().to_owned())
}

fn machine(job: &Job) -> MachineFacts {
    let cpu = CpuFacts::read();
    let gpus = cuda_devices().unwrap_or_default();
    MachineFacts {
        threads: cpu.usable_cores,
        instructions: match InstructionSet::widest() {
            InstructionSet::Avx512(_) => "AVX-512",
            InstructionSet::Avx2(_) => "AVX2",
            InstructionSet::Portable => "portable",
        }
        .to_owned(),
        cpu_clock_hz: clock(&cpu.model),
        measured_gpu: job.device.cuda().map(|gpu| gpu.facts().index),
        measured_vulkan: match &job.device {
            Device::Vulkan(device) => Some(device.facts().clone()),
            Device::Cpu(_) | Device::Cuda(_) => None,
        },
        driver: gpus.first().and_then(|gpu| gpu.driver_version.clone()),
        system: system(),
        cpu,
        gpus,
    }
}

/// The base clock: in the CPU's name, else what the kernel says.
fn clock(model: &str) -> Option<f64> {
    let named = model
        .split_once('@')
        .and_then(|(_, rest)| rest.trim().strip_suffix("GHz"))
        .and_then(|text| text.trim().parse::<f64>().ok())
        .map(|gigahertz| gigahertz * 1e9);
    let base = || {
        let path = "/sys/devices/system/cpu/cpu0/cpufreq/base_frequency";
        Some(read(path).parse::<f64>().ok()? * 1e3)
    };
    let now = || {
        let text = read("/proc/cpuinfo");
        let line = text.lines().find(|line| line.starts_with("cpu MHz"))?;
        Some(line.split_once(':')?.1.trim().parse::<f64>().ok()? * 1e6)
    };
    named.or_else(base).or_else(now)
}

fn system() -> String {
    let release = read("/etc/os-release");
    let name = release
        .lines()
        .find_map(|line| line.strip_prefix("PRETTY_NAME="));
    name.map_or(std::env::consts::OS.to_owned(), |name| {
        name.trim_matches('"').to_owned()
    })
}

fn cpu_name(cpu: &CpuFacts) -> String {
    let plain = cpu
        .model
        .replace("(R)", "")
        .replace("(TM)", "")
        .replace(" CPU", "")
        .replace(" Processor", "");
    let name = plain.split('@').next().unwrap_or(&plain);
    name.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn cores(count: usize) -> String {
    match count {
        1 => "1 core".to_owned(),
        count => format!("{count} cores"),
    }
}

fn title(machine: &MachineFacts) -> String {
    match (machine.gpu(), &machine.measured_vulkan) {
        (Some(gpu), _) if machine.gpus.len() > 1 => {
            format!("{} × {}", machine.gpus.len(), gpu.name)
        }
        (Some(gpu), _) => gpu.name.clone(),
        (None, Some(device)) => format!("{}, by Vulkan", device.name),
        (None, None) => format!(
            "{}, {}",
            cpu_name(&machine.cpu),
            cores(machine.cpu.usable_cores)
        ),
    }
}

fn lines(machine: &MachineFacts) -> Vec<String> {
    let cpu = &machine.cpu;
    let memory = cpu.memory_limit_bytes.or(cpu.memory_bytes).map(Bytes);
    let mut host: Vec<String> = Vec::new();
    if !machine.on_cpu() {
        host.push(format!("{} × {}", cpu.usable_cores, cpu_name(cpu)));
        host.push(machine.instructions.clone());
    } else {
        host.extend(machine.cpu_clock_hz.map(|clock| Hertz(clock).to_string()));
        host.push(machine.instructions.clone());
        let caches = cpu.caches.iter().filter(|cache| cache.level > 1);
        host.extend(caches.map(|cache| format!("L{} {}", cache.level, Bytes(cache.bytes))));
    }
    host.extend(memory.map(|bytes| bytes.to_string()));
    let quota = cpu
        .quota_cores
        .map(|cores| format!("quota of {cores} cores"));
    host.extend(quota);
    let mut lines = Vec::new();
    match (machine.gpu(), &machine.measured_vulkan) {
        (Some(gpu), _) => {
            lines.push(gpu_line(gpu, machine.driver.as_deref()));
            host.push(machine.system.clone());
            lines.push(host.join(" · "));
        }
        (None, Some(device)) => {
            lines.push(format!(
                "{} · Vulkan {} · driver {}",
                Bytes(device.memory),
                device.api,
                device.driver
            ));
            host.push(machine.system.clone());
            lines.push(host.join(" · "));
        }
        (None, None) => {
            host.push(match machine.gpus.is_empty() {
                true => "no GPU".to_owned(),
                false => "its GPU was not used".to_owned(),
            });
            lines.push(host.join(" · "));
            lines.push(machine.system.clone());
        }
    }
    // Without a loader there are none.
    lines.extend(vulkan_line(&vulkan_devices().unwrap_or_default()));
    lines
}

/// The Vulkan devices, and what they lack.
fn vulkan_line(devices: &[VulkanFacts]) -> Option<String> {
    let words: Vec<String> = (devices.iter())
        .map(|device| {
            let mut missing = device.lacks.clone();
            missing.extend(device.missing_features().into_iter().map(str::to_owned));
            let lacks = match missing.is_empty() {
                true => String::new(),
                false => format!(", lacks {}", missing.join(", ")),
            };
            format!("{} ({}{lacks})", device.name, device.kind.word())
        })
        .collect();
    (!words.is_empty()).then(|| format!("Vulkan: {}", words.join(" · ")))
}

fn gpu_line(gpu: &GpuFacts, driver: Option<&str>) -> String {
    let (major, minor) = gpu.compute_capability;
    let mut words = vec![
        Bytes(gpu.memory_bytes).to_string(),
        format!(
            "{} multiprocessors at {}",
            gpu.multiprocessors,
            Hertz(gpu.sm_clock_hz)
        ),
        format!("compute {major}.{minor}"),
    ];
    words.extend(driver.map(|driver| format!("driver {driver}")));
    words.join(" · ")
}

/// The commit of the folder that the report is made in.
fn commit() -> Option<Commit> {
    let git = |arguments: &[&str]| {
        let output = Command::new("git").args(arguments).output().ok()?;
        let said = String::from_utf8_lossy(&output.stdout).trim().to_owned();
        output.status.success().then_some(said)
    };
    Some(Commit {
        hash: git(&["rev-parse", "--short=7", "HEAD"])?,
        changed: !git(&["status", "--porcelain", "--untracked-files=no"])?.is_empty(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cpu_says_its_clock_in_its_name() {
        assert_eq!(clock("Intel(R) Xeon(R) CPU @ 2.20GHz"), Some(2.2e9));
    }

    #[test]
    fn names_lose_what_lawyers_added() {
        let cpu = CpuFacts {
            model: "Intel(R) Xeon(R) Processor @ 2.50GHz".to_owned(),
            ..CpuFacts::read()
        };
        assert_eq!(cpu_name(&cpu), "Intel Xeon");
        assert_eq!((cores(1), cores(2)), ("1 core".into(), "2 cores".into()));
    }
}
