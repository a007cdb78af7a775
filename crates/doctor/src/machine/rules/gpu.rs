//! Rules about the GPUs themselves: visibility, modes, health.

use warpsmith_core::Finding;

use super::{Check, anywhere, on_gpu};
use crate::conclude::{Judgement, applies, finding, known, not_applicable, one, pass, unknown};
use crate::machine::facts::{GpuHealth, MachineFacts};
use warpsmith_compatibility::database;

pub(super) const RULES: &[Check] = &[
    anywhere("GPU001", none),
    anywhere("GPU002", nodes),
    anywhere("GPU003", visible_devices),
    on_gpu("GPU004", compute_mode),
    on_gpu("GPU005", mig),
    on_gpu("GPU006", memory_repair),
    on_gpu("GPU007", link),
    on_gpu("GPU008", throttling),
    anywhere("GPU009", fabric),
    on_gpu("GPU010", mixed),
    on_gpu("GPU011", memory_in_use),
    anywhere("GPU012", fell_off),
    on_gpu("GPU013", card),
];

fn none(facts: &MachineFacts) -> Judgement {
    if facts.has_gpu() {
        return pass();
    }
    let mut found = finding(
        "GPU001",
        "no NVIDIA GPU in this machine; rules about GPUs do not apply",
    )
    .because("/sys/bus/pci/devices", "no NVIDIA display or 3D controller")
    .because("/dev", "no nvidia nodes, no dxg");
    for gpu in &facts.other_gpus {
        let place = format!("/sys/bus/pci/devices/{}", gpu.address);
        found = found.because(place, gpu.name());
    }
    one(match facts.other_gpus.is_empty() {
        true => found,
        false => found.hint(
            "`warpsmith watch` and `warpsmith baseline` read AMD's and Intel's GPUs; kernels run on them through Vulkan (`--device vulkan`)",
        ),
    })
}

fn nodes(facts: &MachineFacts) -> Judgement {
    applies(facts.driver.module.is_some(), "no kernel module is loaded")?;
    if facts.device_nodes.is_empty() {
        return one(finding(
            "GPU002",
            "the driver is loaded and there are no /dev/nvidia nodes",
        )
        .because("/dev", "no nvidia*")
        .hint(
            "run `nvidia-modprobe -c 0 -u` as root; in a container, start it with `--gpus all`",
        ));
    }
    let mut findings: Vec<Finding> = facts
        .device_nodes
        .iter()
        .filter(|(_, node)| !node.allowed)
        .map(|(path, node)| {
            finding("GPU002", format!("this user may not open {path}"))
                .because(format!("stat {path}"), format!("{}, uid {}", node.mode, facts.session.euid))
                .hint("add the user to the node's group (`usermod -aG video,render $USER`, then log in again), or set NVreg_DeviceFileMode=0666")
        })
        .collect();
    for needed in ["/dev/nvidiactl", "/dev/nvidia-uvm"] {
        if !facts.device_nodes.contains_key(needed) {
            findings.push(
                finding("GPU002", format!("{needed} is missing"))
                    .because("/dev", format!("no {needed}"))
                    .hint("run `nvidia-modprobe -c 0 -u` as root"),
            );
        }
    }
    Ok(findings)
}

fn visible_devices(facts: &MachineFacts) -> Judgement {
    let Some(value) = facts.env("CUDA_VISIBLE_DEVICES") else {
        return not_applicable("CUDA_VISIBLE_DEVICES is not set");
    };
    applies(!facts.gpus.is_empty(), "the driver lists no GPU")?;
    let known = |entry: &str| {
        entry.parse::<usize>().is_ok_and(|n| n < facts.gpus.len())
            || facts.gpus.iter().any(|gpu| {
                entry.len() > 4
                    && gpu
                        .uuid
                        .as_deref()
                        .is_some_and(|uuid| uuid.starts_with(entry))
            })
            || entry.starts_with("MIG-")
    };
    let entries: Vec<_> = value.split(',').map(str::trim).collect();
    let message = match entries.iter().position(|entry| !known(entry)) {
        None => return pass(),
        Some(0) if value.trim().is_empty() || value.trim() == "-1" => {
            "CUDA_VISIBLE_DEVICES hides every GPU".to_owned()
        }
        Some(0) => format!(
            "CUDA_VISIBLE_DEVICES names `{}`, which does not exist: every GPU is hidden",
            entries[0]
        ),
        Some(n) => format!(
            "CUDA_VISIBLE_DEVICES names `{}`, which does not exist: it and everything after it is hidden",
            entries[n]
        ),
    };
    one(finding("GPU003", message)
        .because("CUDA_VISIBLE_DEVICES", value)
        .because(
            "devices",
            format!("{} (0 to {})", facts.gpus.len(), facts.gpus.len() - 1),
        )
        .hint("run `unset CUDA_VISIBLE_DEVICES`, or name existing devices"))
}

fn health_rule(
    facts: &MachineFacts,
    each: impl Fn(usize, &GpuHealth) -> Option<Finding>,
) -> Judgement {
    match &facts.health {
        None => unknown("nvidia-smi -q -x did not answer"),
        Some(gpus) => Ok(gpus
            .iter()
            .enumerate()
            .filter_map(|(n, gpu)| each(n, gpu))
            .collect()),
    }
}

fn compute_mode(facts: &MachineFacts) -> Judgement {
    health_rule(facts, |n, gpu| {
        let mode = gpu
            .compute_mode
            .as_deref()
            .filter(|mode| *mode != "Default")?;
        Some(
            finding(
                "GPU004",
                format!("GPU {n} is in compute mode {mode}: a second process cannot use it"),
            )
            .because("nvidia-smi -q -x", format!("compute_mode {mode}"))
            .hint(format!("run `nvidia-smi -i {n} -c 0` as root")),
        )
    })
}

fn mig(facts: &MachineFacts) -> Judgement {
    health_rule(facts, |n, gpu| {
        (gpu.mig_enabled == Some(true) && gpu.mig_instances == 0).then(|| {
            finding("GPU005", format!("GPU {n} has MIG enabled and no instance: CUDA sees no device"))
                .because("nvidia-smi -q -x", "current_mig Enabled, no mig_device")
                .hint(format!("create instances (`nvidia-smi mig -i {n} -cgi 0 -C`) or disable MIG (`nvidia-smi -i {n} -mig 0`)"))
        })
    })
}

fn memory_repair(facts: &MachineFacts) -> Judgement {
    health_rule(facts, |n, gpu| {
        let first = gpu.pending_repair.first()?;
        Some(
            finding("GPU006", format!("GPU {n}: {first}"))
                .because("nvidia-smi -q -x", gpu.pending_repair.join("; "))
                .hint(format!("drain the machine and run `nvidia-smi -i {n} -r`; if the errors return, replace the GPU")),
        )
    })
}

fn link(facts: &MachineFacts) -> Judgement {
    let widths: Vec<_> = facts
        .pci
        .iter()
        .filter(|gpu| !gpu.bridge)
        .filter_map(|gpu| Some((gpu, gpu.width?)))
        .collect();
    known(!widths.is_empty(), "the PCIe link width cannot be read")?;
    // An idle GPU lowers its link speed on purpose, never its width: only the width tells.
    Ok(widths
        .into_iter()
        .filter(|(_, (now, most))| now < most)
        .map(|(gpu, (now, most))| {
            finding(
                "GPU007",
                format!("GPU {} runs on {now} of {most} PCIe lanes", gpu.address),
            )
            .because(
                format!("/sys/bus/pci/devices/{}/current_link_width", gpu.address),
                format!("x{now} of x{most}"),
            )
            .hint("reseat the card, check the slot's wiring and the BIOS's bifurcation setting")
        })
        .collect())
}

fn throttling(facts: &MachineFacts) -> Judgement {
    health_rule(facts, |n, gpu| {
        (!gpu.throttle.is_empty()).then(|| {
            finding("GPU008", format!("GPU {n} is slowed down now: {}", gpu.throttle.join(", ")))
                .because("nvidia-smi -q -x", gpu.throttle.join(", "))
                .hint("look at cooling and the power supply; a measurement taken now is not the GPU's best")
        })
    })
}

fn fabric(facts: &MachineFacts) -> Judgement {
    applies(
        facts.pci.iter().any(|gpu| gpu.bridge),
        "no NVSwitch on the PCI bus",
    )?;
    if facts.system.container.is_some() {
        return not_applicable("the fabric manager runs outside the container");
    }
    match &facts.system.processes {
        None => unknown("the process list cannot be read"),
        Some(names) if names.iter().any(|name| name.starts_with("nv-fabric") || name.starts_with("nv-host")) => pass(),
        Some(_) => one(
            finding("GPU009", "the machine has NVSwitches and no fabric manager runs: CUDA initialisation fails with error 802")
                .because("/proc", "no nv-fabricmanager")
                .hint("install nvidia-fabricmanager of exactly the driver's version and run `systemctl enable --now nvidia-fabricmanager`"),
        ),
    }
}

fn mixed(facts: &MachineFacts) -> Judgement {
    let mut kinds: Vec<_> = facts
        .capabilities()
        .into_iter()
        .map(|(_, capability)| capability)
        .collect();
    known(
        !kinds.is_empty(),
        "the GPU's compute capability is not known",
    )?;
    kinds.sort();
    kinds.dedup();
    if kinds.len() == 1 {
        return pass();
    }
    let names: Vec<_> = kinds.iter().map(ToString::to_string).collect();
    one(finding(
        "GPU010",
        format!("GPUs of different compute capability: {}", names.join(", ")),
    )
    .because(
        "devices",
        facts
            .gpus
            .iter()
            .map(|g| g.name.as_str())
            .collect::<Vec<_>>()
            .join(", "),
    )
    .hint("build for all of them, or choose with CUDA_VISIBLE_DEVICES"))
}

fn memory_in_use(facts: &MachineFacts) -> Judgement {
    health_rule(facts, |n, gpu| {
        let used = gpu.memory_used_mib?;
        let total = facts.gpus.get(n)?.memory_mib.filter(|m| *m > 0)?;
        // The driver itself holds some hundred MiB.
        (used * 10 > total && used > 1024).then(|| {
            finding(
                "GPU011",
                format!("GPU {n}: {used} of {total} MiB are in use"),
            )
            .because(
                "nvidia-smi -q -x",
                format!("fb_memory_usage used {used} MiB"),
            )
            .hint("see `nvidia-smi` for the programs that hold it")
        })
    })
}

fn fell_off(facts: &MachineFacts) -> Judgement {
    applies(!facts.pci.is_empty(), "no NVIDIA GPU on the PCI bus")?;
    Ok(
        facts
            .pci
            .iter()
            .filter(|gpu| gpu.fell_off)
            .map(|gpu| {
                finding("GPU012", format!("GPU {} no longer answers on the PCI bus", gpu.address))
                    .because(format!("/sys/bus/pci/devices/{}/revision", gpu.address), "0xff")
                    .hint("power the machine off and on; look for Xid 79 in the kernel log, then at power and seating")
            })
            .collect(),
    )
}

fn card(facts: &MachineFacts) -> Judgement {
    known(!facts.gpus.is_empty(), "the driver lists no GPU")?;
    Ok(facts
        .gpus
        .iter()
        .map(|gpu| {
            let capability = gpu
                .capability
                .map_or("unknown".to_owned(), |c| c.to_string());
            let found = finding(
                "GPU013",
                format!("{}: compute capability {capability}", gpu.name),
            )
            .because(gpu.source.clone(), gpu.name.clone());
            match database().gpu(&gpu.name) {
                None => found,
                Some(row) => found.because(
                    format!("database ({})", row.provenance),
                    format!(
                        "{}, {} GB {}, {} GB/s, {} W",
                        row.arch, row.memory_gb, row.memory_type, row.bandwidth_gb_s, row.tdp_w
                    ),
                ),
            }
        })
        .collect())
}
