//! Rules about the NVIDIA driver.

use super::evidence::{capabilities, driver, driver_and_newest_cuda};
use super::{Check, anywhere, on_gpu};
use crate::conclude::{Judgement, applies, finding, known, not_applicable, one, pass, unknown};
use crate::machine::facts::{MachineFacts, Sourced};
use warpsmith_compatibility::Capability;
use warpsmith_compatibility::Version;
use warpsmith_compatibility::{DriverBranch, database, lifecycle};

pub(super) const RULES: &[Check] = &[
    anywhere("DRV001", no_driver),
    anywhere("DRV002", nouveau),
    anywhere("DRV003", mismatch),
    anywhere("DRV004", no_smi),
    on_gpu("DRV005", below_floor),
    on_gpu("DRV006", minor_compatibility),
    anywhere("DRV007", unpatched),
    on_gpu("DRV008", dropped_architecture),
    anywhere("DRV009", module_flavour),
    anywhere("DRV010", module_for_kernel),
    anywhere("DRV011", xid),
    anywhere("DRV012", persistence),
    anywhere("DRV013", compat_shadow),
    anywhere("DRV014", stub),
];

fn no_driver(facts: &MachineFacts) -> Judgement {
    let Some(card) = facts.pci.iter().find(|gpu| !gpu.bridge) else {
        return not_applicable("no NVIDIA GPU on the PCI bus");
    };
    if facts.driver.module.is_some() {
        return pass();
    }
    one(
        finding("DRV001", "a GPU is on the PCI bus and no NVIDIA kernel driver is loaded")
            .because(format!("/sys/bus/pci/devices/{}", card.address), format!("NVIDIA device {}", card.device))
            .because("/proc/driver/nvidia/version", "absent")
            .hint("install your distribution's NVIDIA driver package and reboot; CUDA needs no more than that to run programs"),
    )
}

fn nouveau(facts: &MachineFacts) -> Judgement {
    if facts.pci.iter().all(|gpu| gpu.bridge) {
        return not_applicable("no NVIDIA GPU on the PCI bus");
    }
    Ok(
        facts
            .pci
            .iter()
            .filter(|gpu| gpu.kernel_driver.as_deref() == Some("nouveau"))
            .map(|gpu| {
                finding("DRV002", "the open-source nouveau driver owns the GPU: CUDA cannot use it")
                    .because(format!("/sys/bus/pci/devices/{}/driver", gpu.address), "nouveau")
                    .hint("install the NVIDIA driver package; it blacklists nouveau. Then rebuild the initramfs and reboot")
            })
            .collect(),
    )
}

fn mismatch(facts: &MachineFacts) -> Judgement {
    let Some(module) = &facts.driver.module else {
        return not_applicable("no kernel module is loaded");
    };
    known(
        !facts.driver.user_libraries.is_empty(),
        "no user-space driver library was found",
    )?;
    let other: Vec<_> = facts
        .driver
        .user_libraries
        .iter()
        .filter(|library| library.value.cmp(&module.value).is_ne())
        .collect();
    if other.is_empty() {
        return pass();
    }
    let mut found = finding(
        "DRV003",
        format!(
            "kernel module {} and user-space driver {} differ: nothing that uses CUDA will start",
            module.value, other[0].value
        ),
    )
    .because(module.source.clone(), module.value.to_string());
    for library in other {
        found = found.because(library.source.clone(), library.value.to_string());
    }
    one(found.hint("the driver was upgraded under a running module: reboot, or stop every GPU program and reload the nvidia modules"))
}

fn no_smi(facts: &MachineFacts) -> Judgement {
    applies(facts.driver.module.is_some(), "no kernel module is loaded")?;
    match &facts.driver.nvidia_smi {
        Some(path) => match &facts.driver.smi_failure {
            None => pass(),
            Some(failure) => one(finding(
                "DRV004",
                "`nvidia-smi` fails: the driver does not answer, and nothing that uses CUDA will start",
            )
            .because(path.clone(), failure.clone())
            .hint("read the message above; `dmesg | grep -i nvrm` has the driver's own words, and a reboot reloads module and libraries together")),
        },
        None => one(
            finding("DRV004", "the driver is loaded and `nvidia-smi` is not on PATH")
                .because("PATH", "no nvidia-smi")
                .hint("install the driver's utilities (Debian: nvidia-smi, Ubuntu: nvidia-utils of the same branch)"),
        ),
    }
}

/// CUDA versions that something on this machine was built for.
fn cuda_in_use(facts: &MachineFacts) -> Vec<Sourced<Version>> {
    let mut used: Vec<Sourced<Version>> = facts
        .toolkits
        .iter()
        .filter_map(|t| t.version.clone())
        .collect();
    for environment in &facts.environments {
        if let Some(torch) = &environment.torch
            && let Some(cuda) = &torch.cuda
        {
            used.push(Sourced::new(cuda.clone(), torch.source.clone()));
        }
    }
    used
}

fn below_floor(facts: &MachineFacts) -> Judgement {
    let driver = driver(facts)?;
    let used = cuda_in_use(facts);
    applies(!used.is_empty(), "nothing built for CUDA is installed")?;
    let mut findings = Vec::new();
    let mut majors = Vec::new();
    for cuda in used {
        let major = cuda.value.major();
        let Some(floor) = database().driver_floor(major) else {
            continue;
        };
        if &driver.value >= floor || majors.contains(&major) {
            continue;
        }
        majors.push(major);
        findings.push(
            finding(
                "DRV005",
                format!(
                    "driver {} is below {floor}, the lowest that runs anything of CUDA {major}",
                    driver.value
                ),
            )
            .because(driver.source.clone(), driver.value.to_string())
            .because(cuda.source.clone(), format!("CUDA {}", cuda.value))
            .hint(floor_advice(facts, floor, major)),
        );
    }
    Ok(findings)
}

/// How to reach a CUDA major's lowest driver, where a driver that high drives the GPUs here.
fn floor_advice(facts: &MachineFacts, floor: &Version, major: u64) -> String {
    let gpus: Vec<Capability> = facts.capabilities().into_iter().map(|(_, c)| c).collect();
    let last = gpus
        .iter()
        .filter_map(|gpu| database().last_branch_for(*gpu))
        .min();
    match last {
        // Numbers up to the next branch belong to the last one.
        Some(last) if floor.major() >= last + 10 => format!(
            "no driver for CUDA {major} drives this GPU (R{last} is its last branch): use builds for CUDA {} or older",
            major - 1
        ),
        _ => {
            let branches = lifecycle().recommended(&gpus);
            let names: Vec<String> = branches
                .iter()
                .filter(|row| row.branch >= floor.major())
                .map(|row| format!("R{}", row.branch))
                .collect();
            match names.is_empty() {
                true => format!(
                    "upgrade the driver to {floor} or newer, or use builds for CUDA {}",
                    major - 1
                ),
                false => format!(
                    "upgrade the driver to {} ({floor} is the lowest that works), or use builds for CUDA {}",
                    names.join(" or "),
                    major - 1
                ),
            }
        }
    }
}

fn minor_compatibility(facts: &MachineFacts) -> Judgement {
    let (driver, newest) = driver_and_newest_cuda(facts)?;
    let used = cuda_in_use(facts);
    applies(!used.is_empty(), "nothing built for CUDA is installed")?;
    let newer = used
        .into_iter()
        .find(|cuda| cuda.value.major() == newest.major() && cuda.value.part(1) > newest.part(1));
    match newer {
        None => pass(),
        Some(cuda) => one(
            finding(
                "DRV006",
                format!("driver {} knows CUDA up to {newest}; CUDA {} runs by minor-version compatibility, and its PTX cannot be compiled", driver.value, cuda.value.minor_name()),
            )
            .because(driver.source.clone(), driver.value.to_string())
            .because(cuda.source, format!("CUDA {}", cuda.value))
            .hint("upgrade the driver, or ship machine code for this GPU so that no PTX has to be compiled"),
        ),
    }
}

fn unpatched(facts: &MachineFacts) -> Judgement {
    let Some(driver) = &facts.driver.module else {
        return not_applicable("no kernel module is loaded");
    };
    // A Jetson's driver belongs to its L4T release, not to these branches.
    applies(!facts.system.tegra, "a Jetson takes its driver from L4T")?;
    let row = database().patched(&driver.value);
    let branch = lifecycle().branch(driver.value.major());
    let advice = driver_advice(facts);
    let outdated = |why: String| {
        finding("DRV007", format!("driver {} {why}", driver.value))
            .because(driver.source.clone(), driver.value.to_string())
    };
    if let Some(branch) = branch.filter(|branch| branch.in_support == Some(false)) {
        let ended = branch.end.as_deref().unwrap_or("an unknown date");
        // The message says what can be done, so that nobody looks for a driver that there is not.
        return one(outdated(format!(
            "is of branch R{}, which has had no fixes since {ended}",
            branch.branch
        ))
        .because(
            branch.source.clone(),
            format!("R{} ended: {ended}", branch.branch),
        )
        .hint(advice));
    }
    let Some(row) = row else {
        return unknown("the driver's branch has no row in the security bulletins");
    };
    if driver.value < row.min_patched {
        return one(outdated(format!(
            "has known vulnerabilities; {} is the first fixed one of its branch",
            row.min_patched
        ))
        .because(
            format!("NVIDIA bulletin {}", row.bulletin),
            format!("{} fixed on {}", row.min_patched, row.date),
        )
        .hint(advice));
    }
    pass()
}

/// Which driver to install, of those that drive every GPU of this machine and still get fixes.
fn driver_advice(facts: &MachineFacts) -> String {
    let gpus: Vec<Capability> = facts.capabilities().into_iter().map(|(_, c)| c).collect();
    let name = |row: &DriverBranch| {
        let newest = row.newest.as_deref().unwrap_or("newest release");
        let until = row.end.as_deref().unwrap_or("an unknown date");
        format!("R{} ({newest}, fixes until {until})", row.branch)
    };
    let branches = lifecycle().recommended(&gpus);
    if gpus.is_empty() {
        let all: Vec<String> = branches.iter().map(|row| name(row)).collect();
        return format!(
            "install the newest driver of a branch that still gets fixes and drives your GPU: {}",
            all.join(" or ")
        );
    }
    if !branches.is_empty() {
        let all: Vec<String> = branches.iter().map(|row| name(row)).collect();
        let host = facts.system.on_the_host();
        return format!("{host}install the newest driver of {}", all.join(" or "));
    }
    match lifecycle().last_for(&gpus) {
        Some(last) => format!(
            "no branch that still gets fixes drives this GPU; R{} ({}) is the last one that does: keep the machine off untrusted work, or replace the GPU",
            last.branch,
            last.newest.as_deref().unwrap_or("its newest release"),
        ),
        None => "no driver branch in the table drives every GPU of this machine".to_owned(),
    }
}

fn dropped_architecture(facts: &MachineFacts) -> Judgement {
    let driver = driver(facts)?;
    Ok(capabilities(facts)?
        .into_iter()
        .filter_map(|(gpu, capability)| {
            let last = database().last_branch_for(capability)?;
            // R580 is the last branch; its numbers end where the next branch (590) begins.
            (driver.value.major() >= last + 10).then(|| {
                finding(
                    "DRV008",
                    format!(
                        "driver {} no longer drives {} (compute capability {capability})",
                        driver.value, gpu.name
                    ),
                )
                .because(driver.source.clone(), driver.value.to_string())
                .because(gpu.source.clone(), format!("{}, {capability}", gpu.name))
                .hint(format!(
                    "stay on the R{last} branch: it is the last that supports this GPU"
                ))
            })
        })
        .collect())
}

fn module_flavour(facts: &MachineFacts) -> Judgement {
    let (Some(module), Some(open)) = (&facts.driver.module, facts.driver.open_module) else {
        return not_applicable("no kernel module is loaded");
    };
    Ok(capabilities(facts)?
        .into_iter()
        .filter_map(|(gpu, capability)| {
            // The open module needs a GSP (Turing and later); Blackwell has no other.
            let wrong = match open {
                true => capability.sm() < 75,
                false => capability.major >= 10,
            };
            let (has, needs) = if open {
                ("open", "proprietary")
            } else {
                ("proprietary", "open")
            };
            wrong.then(|| {
                finding(
                    "DRV009",
                    format!("the {has} kernel module does not drive {}", gpu.name),
                )
                .because(
                    module.source.clone(),
                    format!("{has} kernel module {}", module.value),
                )
                .because(
                    gpu.source.clone(),
                    format!("compute capability {capability}"),
                )
                .hint(format!(
                    "install the {needs} flavour of the same driver version"
                ))
            })
        })
        .collect())
}

fn module_for_kernel(facts: &MachineFacts) -> Judgement {
    if facts.pci.iter().all(|gpu| gpu.bridge) {
        return not_applicable("no NVIDIA GPU on the PCI bus");
    }
    if facts.driver.module.is_some() {
        return pass();
    }
    let Some(files) = &facts.driver.module_files else {
        return unknown("the modules of the running kernel cannot be listed");
    };
    applies(
        !facts.driver.user_libraries.is_empty(),
        "no NVIDIA driver is installed",
    )?;
    let kernel = &facts.session.kernel;
    let found = finding(
        "DRV010",
        format!("the driver is installed and not loaded on kernel {kernel}"),
    );
    one(match files.first() {
        None => found
            .because(format!("/lib/modules/{kernel}"), "no nvidia.ko")
            .hint(format!("install the headers of kernel {kernel} and run `dkms autoinstall -k {kernel}`")),
        Some(file) => found
            .because(file.clone(), "present, not loaded")
            .hint("run `modprobe nvidia` and read `dmesg`: with Secure Boot on, the module's key must be enrolled (`mokutil --import`)"),
    })
}

fn xid(facts: &MachineFacts) -> Judgement {
    applies(facts.driver.module.is_some(), "no kernel module is loaded")?;
    let Some(lines) = &facts.driver.xid_lines else {
        return unknown("the kernel log cannot be read by this user");
    };
    let Some(last) = lines.last() else {
        return pass();
    };
    let code = last
        .split("): ")
        .nth(1)
        .and_then(|t| t.split(',').next())
        .unwrap_or("")
        .trim();
    let meaning = match code {
        "13" | "31" => "a program read or wrote outside its memory: run it under compute-sanitizer",
        "43" | "45" => "a program was stopped; look at the Xid before it",
        "48" | "63" | "64" | "94" | "95" => {
            "a memory error: see the row-remapping state, reset the GPU, replace it if it returns"
        }
        "61" | "62" => {
            "an internal microcontroller halted: power cycle, then update the firmware and driver"
        }
        "74" => "an NVLink error: reseat or check the bridge and fabric manager",
        "79" => "the GPU fell off the bus: power, seating, or heat",
        "119" | "120" => "the GPU's system processor did not answer: update the driver",
        _ => "look the number up in NVIDIA's Xid catalogue",
    };
    one(finding(
        "DRV011",
        format!(
            "{} Xid errors in the kernel log, the last one is Xid {code}",
            lines.len()
        ),
    )
    .because("dmesg", last.clone())
    .hint(meaning))
}

fn persistence(facts: &MachineFacts) -> Judgement {
    if facts.driver.module.is_none() || facts.system.wsl || facts.system.container.is_some() {
        return not_applicable("not a machine that loads the driver itself");
    }
    let on = facts
        .health
        .as_ref()
        .and_then(|gpus| gpus.first()?.persistence);
    let daemon = facts
        .system
        .processes
        .as_ref()
        .map(|names| names.iter().any(|name| name.starts_with("nvidia-persiste")));
    match (on, daemon) {
        (Some(true), _) | (_, Some(true)) => pass(),
        (None, None) => unknown("neither nvidia-smi nor the process list could be read"),
        _ => one(
            finding("DRV012", "no persistence: the first CUDA call after idling waits for the driver to initialise the GPU")
                .because("nvidia-smi -q", "persistence mode off, no nvidia-persistenced")
                .hint("run `systemctl enable --now nvidia-persistenced`"),
        ),
    }
}

fn compat_shadow(facts: &MachineFacts) -> Judgement {
    let Some(module) = &facts.driver.module else {
        return not_applicable("no kernel module is loaded");
    };
    Ok(
        facts
            .loader
            .path_entries
            .iter()
            .filter(|entry| entry.directory.contains("/compat"))
            .filter_map(|entry| {
                let version = entry
                    .libraries
                    .iter()
                    .filter_map(|name| Version::parse(name.strip_prefix("libcuda.so.")?))
                    .find(|v| v.precision() > 1)?;
                (version < module.value).then(|| {
                    finding("DRV013", format!("a cuda-compat libcuda {version} on LD_LIBRARY_PATH is older than the driver {}", module.value))
                        .because(format!("LD_LIBRARY_PATH: {}", entry.directory), format!("libcuda.so.{version}"))
                        .because(module.source.clone(), module.value.to_string())
                        .hint(format!("take `{}` out of LD_LIBRARY_PATH: the driver is newer and needs no compat package", entry.directory))
                })
            })
            .collect(),
    )
}

fn stub(facts: &MachineFacts) -> Judgement {
    let from_path = facts
        .loader
        .path_entries
        .iter()
        .filter(|entry| {
            entry.directory.contains("/stubs")
                && entry.libraries.iter().any(|l| l.starts_with("libcuda.so"))
        })
        .map(|entry| {
            (
                format!("LD_LIBRARY_PATH: {}", entry.directory),
                entry.directory.clone(),
            )
        });
    let from_cache = facts
        .loader
        .cache
        .iter()
        .flatten()
        .filter(|(name, path)| name.starts_with("libcuda.so") && path.contains("/stubs/"))
        .map(|(_, path)| ("/etc/ld.so.cache".to_owned(), path.clone()));
    let found: Vec<_> = from_path
        .chain(from_cache)
        .map(|(source, seen)| {
            finding("DRV014", "the stub libcuda.so, meant for linking, is on the run-time path")
                .because(source, seen.clone())
                .hint(format!("remove it at run time: export LD_LIBRARY_PATH=$(echo \"$LD_LIBRARY_PATH\" | tr ':' '\\n' | grep -v stubs | paste -sd:)  # {seen}"))
        })
        .collect();
    if found.is_empty() && facts.loader.cache.is_none() && facts.loader.path_entries.is_empty() {
        return unknown("neither LD_LIBRARY_PATH nor the loader's cache could be read");
    }
    Ok(found)
}
