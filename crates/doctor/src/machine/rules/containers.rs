//! Rules about containers: on this machine, and around this process.

use super::evidence::driver_and_newest_cuda;
use super::{Check, anywhere, on_gpu};
use crate::conclude::{Judgement, applies, finding, not_applicable, one, pass, unknown};
use crate::machine::facts::MachineFacts;
use warpsmith_compatibility::Version;
use warpsmith_compatibility::database;

pub(super) const RULES: &[Check] = &[
    on_gpu("CTR001", no_runtime),
    anywhere("CTR002", vulnerable),
    on_gpu("CTR003", legacy),
    anywhere("CTR004", cgroups),
    anywhere("CTR005", no_driver_inside),
    anywhere("CTR006", image_requires),
    on_gpu("CTR007", daemon_reload),
    anywhere("CTR008", shared_memory),
    anywhere("CTR009", stale_cdi),
];

fn engine(facts: &MachineFacts) -> Judgement<&str> {
    facts.containers.engine.as_deref().map_or_else(
        || not_applicable("neither docker nor podman is installed"),
        Ok,
    )
}

fn no_runtime(facts: &MachineFacts) -> Judgement {
    let engine = engine(facts)?;
    if facts.containers.docker_runtime || !facts.containers.cdi_specs.is_empty() {
        return pass();
    }
    let hint = match (engine.ends_with("podman"), &facts.containers.toolkit) {
        (true, _) => {
            "install nvidia-container-toolkit, then: nvidia-ctk cdi generate --output=/etc/cdi/nvidia.yaml"
        }
        (false, None) => {
            "install nvidia-container-toolkit, then: nvidia-ctk runtime configure --runtime=docker && systemctl restart docker"
        }
        (false, Some(_)) => {
            "nvidia-ctk runtime configure --runtime=docker && systemctl restart docker"
        }
    };
    one(finding(
        "CTR001",
        "containers cannot get the GPU: no NVIDIA runtime and no CDI specification",
    )
    .because(engine, "installed")
    .because("/etc/docker/daemon.json", "no runtimes.nvidia")
    .because("/etc/cdi, /var/run/cdi", "no specification")
    .hint(hint))
}

fn vulnerable(facts: &MachineFacts) -> Judgement {
    let Some(toolkit) = &facts.containers.toolkit else {
        return not_applicable("the NVIDIA container toolkit is not installed");
    };
    let cves = database().container_toolkit_cves(&toolkit.value);
    let Some(safe) = database()
        .safe_container_toolkit()
        .filter(|_| !cves.is_empty())
    else {
        return pass();
    };
    let names: Vec<_> = cves.iter().map(|(cve, _)| cve.as_str()).collect();
    one(finding("CTR002", format!("nvidia-container-toolkit {} has {} known CVEs, container escapes among them", toolkit.value, cves.len()))
        .because(toolkit.source.clone(), toolkit.value.to_string())
        .because("NVIDIA bulletins", names.join(", "))
        .hint(format!("upgrade nvidia-container-toolkit to {safe} or newer; it is a package of the host, not of the image")))
}

fn legacy(facts: &MachineFacts) -> Judgement {
    engine(facts)?;
    Ok(
        facts
            .containers
            .legacy
            .iter()
            .map(|old| {
                finding("CTR003", format!("{} is still in use", old.value))
                    .because(old.source.clone(), old.value.clone())
                    .hint("remove it and use the libnvidia-container repository with nvidia-container-toolkit")
            })
            .collect(),
    )
}

fn cgroups(facts: &MachineFacts) -> Judgement {
    let Some(no_cgroups) = facts.containers.no_cgroups else {
        return not_applicable("no configuration of the NVIDIA container runtime");
    };
    if no_cgroups == facts.containers.rootless {
        return pass();
    }
    let (message, hint) = if no_cgroups {
        (
            "no-cgroups is set for an engine that runs as root: containers lose the GPU",
            "set no-cgroups = false",
        )
    } else {
        (
            "a rootless engine needs no-cgroups",
            "set no-cgroups = true",
        )
    };
    one(finding("CTR004", message)
        .because(
            "/etc/nvidia-container-runtime/config.toml",
            format!("no-cgroups = {no_cgroups}"),
        )
        .hint(format!(
            "{hint} in /etc/nvidia-container-runtime/config.toml and restart the engine"
        )))
}

fn no_driver_inside(facts: &MachineFacts) -> Judgement {
    let Some(container) = &facts.system.container else {
        return not_applicable("not inside a container");
    };
    let wants = facts
        .env("NVIDIA_VISIBLE_DEVICES")
        .filter(|v| !matches!(*v, "" | "void" | "none"));
    let wants_cuda = facts
        .environments
        .iter()
        .any(|e| e.torch.as_ref().is_some_and(|t| t.cuda.is_some()));
    if facts.loader.libcuda.is_some() {
        return pass();
    }
    let Some(evidence) = wants
        .map(|v| format!("NVIDIA_VISIBLE_DEVICES={v}"))
        .or(wants_cuda.then(|| "torch with CUDA".into()))
    else {
        return not_applicable("the container does not ask for a GPU");
    };
    one(finding("CTR005", "the image expects a GPU and the container has no driver libraries")
        .because(container.source.clone(), container.value.clone())
        .because("the image asks for a GPU", evidence)
        .because("loader", "no libcuda.so.1")
        .hint("start the container with `--gpus all` (docker) or `--device nvidia.com/gpu=all` (podman, CDI)"))
}

fn image_requires(facts: &MachineFacts) -> Judgement {
    let Some(text) = facts.env("NVIDIA_REQUIRE_CUDA") else {
        return not_applicable("the image states no requirement");
    };
    let (driver, newest) = driver_and_newest_cuda(facts)?;
    let wanted = text
        .split_whitespace()
        .find_map(|clause| Version::parse(clause.strip_prefix("cuda>=")?.split(',').next()?));
    match wanted {
        None => unknown("NVIDIA_REQUIRE_CUDA has no `cuda>=`"),
        Some(wanted) if wanted <= newest => pass(),
        // Branches that the image names as sufficient are accepted by the runtime too.
        Some(wanted) if wanted.major() == newest.major() && text.contains("driver>=") => pass(),
        Some(wanted) => one(finding(
            "CTR006",
            format!(
                "the image requires CUDA {wanted} and driver {} has {newest} at most",
                driver.value
            ),
        )
        .because("NVIDIA_REQUIRE_CUDA", text)
        .because(driver.source.clone(), driver.value.to_string())
        .hint(format!(
            "use an image for CUDA {newest} or older, or upgrade the driver"
        ))),
    }
}

fn daemon_reload(facts: &MachineFacts) -> Judgement {
    engine(facts)?;
    if !facts.system.systemd_cgroup || !facts.containers.docker_runtime {
        return not_applicable(
            "the engine does not use the systemd cgroup driver with the NVIDIA runtime",
        );
    }
    match facts.system.dev_char_links {
        None => unknown("/dev/char cannot be listed"),
        Some(true) => pass(),
        Some(false) => one(finding(
            "CTR007",
            "running containers lose the GPU when systemd is reloaded",
        )
        .because("/dev/char", "no links to the NVIDIA nodes (195:*)")
        .hint("nvidia-ctk system create-dev-char-symlinks --create-all, or use CDI")),
    }
}

fn shared_memory(facts: &MachineFacts) -> Judgement {
    applies(facts.system.container.is_some(), "not inside a container")?;
    match facts.system.shm_bytes {
        None => unknown("the size of /dev/shm is not known"),
        Some(size) if size >= 1 << 30 => pass(),
        Some(size) => one(finding(
            "CTR008",
            format!(
                "/dev/shm has {} MiB: data loaders with workers and NCCL fail with `Bus error`",
                size >> 20
            ),
        )
        .because("/proc/mounts", format!("/dev/shm size {size}"))
        .hint("start the container with `--shm-size=8g` or `--ipc=host`")),
    }
}

fn stale_cdi(facts: &MachineFacts) -> Judgement {
    applies(
        !facts.containers.cdi_specs.is_empty(),
        "no CDI specification",
    )?;
    match facts.containers.cdi_missing_paths.first() {
        None => pass(),
        Some(path) => one(finding(
            "CTR009",
            "the CDI specification names driver files that are gone: containers will not start",
        )
        .because(
            facts.containers.cdi_specs[0].clone(),
            format!("{path} does not exist"),
        )
        .hint("nvidia-ctk cdi generate --output=/etc/cdi/nvidia.yaml")),
    }
}
