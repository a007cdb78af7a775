//! Rules about variables, limits, mounts and WSL.

use super::{Check, anywhere, on_gpu};
use crate::conclude::{Judgement, applies, finding, not_applicable, one, pass, unknown};
use crate::machine::facts::MachineFacts;
use warpsmith_compatibility::TorchArchList;

pub(super) const RULES: &[Check] = &[
    anywhere("ENV001", leftovers),
    anywhere("ENV002", arch_list),
    anywhere("ENV003", cache),
    anywhere("ENV004", noexec),
    on_gpu("ENV005", locked_memory),
    anywhere("ENV006", wsl_shadow),
    anywhere("ENV007", two_on_path),
    anywhere("ENV008", mps),
];

/// Variables that help for an hour and hurt for a year: name, value that hurts, what it does.
const LEFTOVERS: [(&str, &str, &str); 4] = [
    (
        "CUDA_LAUNCH_BLOCKING",
        "1",
        "every launch waits for the kernel to end",
    ),
    (
        "NVIDIA_TF32_OVERRIDE",
        "0",
        "matrix products do not use TF32 even where asked to",
    ),
    (
        "CUDA_MODULE_LOADING",
        "EAGER",
        "every kernel of every library is loaded at start",
    ),
    (
        "CUDA_FORCE_PTX_JIT",
        "1",
        "machine code in binaries is ignored",
    ),
];

fn leftovers(facts: &MachineFacts) -> Judgement {
    Ok(LEFTOVERS
        .iter()
        .filter(|(name, value, _)| facts.env(name) == Some(value))
        .map(|(name, value, effect)| {
            finding("ENV001", format!("{name}={value} is set: {effect}"))
                .because(*name, *value)
                .hint(format!("unset {name}"))
        })
        .collect())
}

fn arch_list(facts: &MachineFacts) -> Judgement {
    let Some(text) = facts.env("TORCH_CUDA_ARCH_LIST") else {
        return not_applicable("TORCH_CUDA_ARCH_LIST is not set");
    };
    let list = TorchArchList::parse(text);
    if list.undotted.is_empty() && list.unknown.is_empty() {
        return pass();
    }
    let bad = [list.undotted.clone(), list.unknown.clone()].concat();
    let hint = if list.unknown.is_empty() {
        format!(
            "export TORCH_CUDA_ARCH_LIST=\"{}\"",
            TorchArchList::dotted(text)
        )
    } else {
        format!("remove {}", list.unknown.join(", "))
    };
    one(finding(
        "ENV002",
        format!("torch cannot read TORCH_CUDA_ARCH_LIST: {}", bad.join(", ")),
    )
    .because("TORCH_CUDA_ARCH_LIST", text)
    .hint(hint))
}

fn cache(facts: &MachineFacts) -> Judgement {
    match facts.env("CUDA_CACHE_DISABLE") {
        Some("1") => one(finding(
            "ENV003",
            "the driver's cache of compiled PTX is off: every start compiles again",
        )
        .because("CUDA_CACHE_DISABLE", "1")
        .hint("unset CUDA_CACHE_DISABLE")),
        _ => pass(),
    }
}

fn noexec(facts: &MachineFacts) -> Judgement {
    let Some(mounts) = &facts.system.noexec_mounts else {
        return unknown("/proc/mounts cannot be read");
    };
    let temporary = facts
        .env("TMPDIR")
        .unwrap_or("/tmp")
        .trim_end_matches('/')
        .to_owned();
    let compiles = facts
        .environments
        .iter()
        .any(|e| e.package("triton").is_some() || e.torch.is_some());
    applies(compiles, "nothing here compiles kernels at run time")?;
    if !mounts.contains(&temporary) {
        return pass();
    }
    one(finding("ENV004", format!("{temporary} does not allow programs: Triton and torch extensions cannot load what they compile"))
        .because("/proc/mounts", format!("{temporary} noexec"))
        .hint("export TMPDIR and TRITON_CACHE_DIR to a directory that allows programs"))
}

fn locked_memory(facts: &MachineFacts) -> Judgement {
    match facts.system.locked_memory_limit {
        None => unknown("/proc/self/limits cannot be read"),
        Some(Some(bytes)) if bytes < 64 << 20 && facts.session.euid != 0 => one(
            finding("ENV005", format!("this user may lock {} KiB of memory: RDMA and GPUDirect registrations fail", bytes >> 10))
                .because("/proc/self/limits", format!("Max locked memory {bytes}"))
                .hint("set `ulimit -l unlimited` (limits.conf: memlock); plain pinned memory is not limited by this"),
        ),
        _ => pass(),
    }
}

fn wsl_shadow(facts: &MachineFacts) -> Judgement {
    applies(facts.system.wsl, "not WSL")?;
    let shadow = facts
        .driver
        .user_libraries
        .iter()
        .find(|l| !l.source.starts_with("/usr/lib/wsl/"));
    match shadow {
        None => pass(),
        Some(library) => one(
            finding("ENV006", "a Linux driver package hides WSL's own libcuda: CUDA cannot reach the GPU")
                .because(library.source.clone(), library.value.to_string())
                .because("/usr/lib/wsl/lib", "WSL's libraries come from the Windows driver")
                .hint("remove the Linux driver packages (`apt-get remove --purge '^nvidia-.*' '^libnvidia-.*' libcuda1`); under WSL only the Windows driver is installed"),
        ),
    }
}

fn two_on_path(facts: &MachineFacts) -> Judgement {
    let Some(path) = facts.env("PATH") else {
        return unknown("PATH is not set");
    };
    let mut found: Vec<&str> = Vec::new();
    for directory in path.split(':') {
        let nvcc = format!("{}/nvcc", directory.trim_end_matches('/'));
        if let Some(toolkit) = facts
            .toolkits
            .iter()
            .find(|t| t.nvcc.as_ref() == Some(&nvcc))
            && !found.contains(&toolkit.root.as_str())
        {
            found.push(&toolkit.root);
        }
    }
    if found.len() < 2 {
        return pass();
    }
    one(finding(
        "ENV007",
        format!(
            "PATH has {} different nvcc; the one in {} runs",
            found.len(),
            found[0]
        ),
    )
    .because("PATH", found.join(", "))
    .hint(format!(
        "keep one of them: export PATH={}/bin:$PATH",
        found[0]
    )))
}

fn mps(facts: &MachineFacts) -> Judgement {
    let set: Vec<_> = facts
        .session
        .env
        .iter()
        .filter(|(name, _)| name.starts_with("CUDA_MPS_"))
        .collect();
    match set.first() {
        None => pass(),
        Some((name, value)) => one(finding(
            "ENV008",
            "MPS variables are set: processes share the GPU through the MPS server",
        )
        .because((*name).clone(), (*value).clone())
        .hint("a failing client takes the others with it; unset them to measure")),
    }
}
