//! The operating system: distribution, WSL, Jetson, container, limits, mounts.

use crate::host::Host;
use crate::machine::facts::{Sourced, System};
use warpsmith_compatibility::Version;

pub(super) fn collect(host: &dyn Host) -> System {
    let release = host.text("/etc/os-release").unwrap_or_default();
    let mounts = host.text("/proc/mounts");
    let kernel = format!(
        "{} {}",
        host.session().kernel,
        host.text("/proc/version").unwrap_or_default()
    )
    .to_ascii_lowercase();
    let limits = host.text("/proc/self/limits");
    let status = host.text("/proc/self/status");
    System {
        distribution: release
            .lines()
            .find_map(|line| line.strip_prefix("PRETTY_NAME="))
            .map(|name| name.trim_matches('"').to_owned()),
        wsl: kernel.contains("microsoft"),
        tegra: host.exists("/etc/nv_tegra_release"),
        container: container(host),
        glibc: glibc(host),
        noexec_mounts: mounts.as_deref().map(|text| {
            text.lines()
                .filter_map(|line| {
                    let mut fields = line.split(' ');
                    let place = fields.nth(1)?;
                    let options = fields.nth(1)?;
                    options
                        .split(',')
                        .any(|option| option == "noexec")
                        .then(|| place.to_owned())
                })
                .collect()
        }),
        shm_bytes: mounts.as_deref().and_then(shm_size),
        locked_memory_limit: limits.as_deref().and_then(|text| {
            let line = text.lines().find(|l| l.starts_with("Max locked memory"))?;
            match line.split_whitespace().nth(3)? {
                "unlimited" => Some(None),
                number => number.parse().ok().map(Some),
            }
        }),
        perf_event_paranoid: host
            .text("/proc/sys/kernel/perf_event_paranoid")
            .and_then(|text| text.trim().parse().ok()),
        sys_admin: status.as_deref().and_then(|text| {
            let mask = text.lines().find_map(|l| l.strip_prefix("CapEff:"))?;
            Some(u64::from_str_radix(mask.trim(), 16).ok()? >> 21 & 1 == 1)
        }),
        systemd_cgroup: host
            .text("/etc/docker/daemon.json")
            .is_some_and(|text| text.contains("native.cgroupdriver=systemd")),
        dev_char_links: host
            .list("/dev/char")
            .map(|names| names.iter().any(|name| name.starts_with("195:"))),
        processes: processes(host),
        cpu: host
            .text("/proc/cpuinfo")
            .and_then(|text| {
                text.lines()
                    .find(|l| l.starts_with("model name"))
                    .and_then(|l| l.split_once(':'))
                    .map(|(_, name)| name.trim().to_owned())
            })
            .unwrap_or_default(),
    }
}

fn container(host: &dyn Host) -> Option<Sourced<String>> {
    for (path, kind) in [("/.dockerenv", "docker"), ("/run/.containerenv", "podman")] {
        if host.exists(path) {
            return Some(Sourced::new(kind.to_owned(), path));
        }
    }
    let groups = host.text("/proc/1/cgroup").unwrap_or_default();
    ["kubepods", "docker", "containerd", "lxc"]
        .iter()
        .find(|word| groups.contains(**word))
        .map(|word| Sourced::new((*word).to_owned(), "/proc/1/cgroup"))
}

fn glibc(host: &dyn Host) -> Option<Sourced<Version>> {
    // The library carries its banner; the file name carried the version until 2.34.
    [
        "/lib/x86_64-linux-gnu",
        "/usr/lib64",
        "/lib64",
        "/usr/lib/x86_64-linux-gnu",
        "/lib/aarch64-linux-gnu",
    ]
    .iter()
    .find_map(|directory| {
        let path = format!("{directory}/libc.so.6");
        let bytes = host.read(&path)?;
        let at = memchr::memmem::find(&bytes, b"GNU C Library")?;
        let banner = String::from_utf8_lossy(&bytes[at..(at + 120).min(bytes.len())]).into_owned();
        let version = banner.split("version ").nth(1)?;
        let end = version.find(|c: char| !(c.is_ascii_digit() || c == '.'))?;
        Some(Sourced::new(
            Version::parse(version[..end].trim_end_matches('.'))?,
            path,
        ))
    })
}

fn shm_size(mounts: &str) -> Option<u64> {
    let line = mounts
        .lines()
        .find(|l| l.split(' ').nth(1) == Some("/dev/shm"))?;
    let options = line.split(' ').nth(3)?;
    let size = options.split(',').find_map(|o| o.strip_prefix("size="))?;
    let (number, unit) = size.split_at(
        size.find(|c: char| !c.is_ascii_digit())
            .unwrap_or(size.len()),
    );
    let number: u64 = number.parse().ok()?;
    match unit {
        "k" => number.checked_mul(1 << 10),
        "m" => number.checked_mul(1 << 20),
        "g" => number.checked_mul(1 << 30),
        "" => Some(number),
        _ => None,
    }
}

/// Names of NVIDIA's daemons that run; reading every process's name costs a millisecond.
fn processes(host: &dyn Host) -> Option<Vec<String>> {
    // Only where a driver is: elsewhere nobody asks.
    if !host.exists("/proc/driver/nvidia/version") {
        return None;
    }
    let names: Vec<_> = host
        .list("/proc")?
        .into_iter()
        .filter(|pid| pid.bytes().all(|b| b.is_ascii_digit()))
        .filter_map(|pid| host.text(&format!("/proc/{pid}/comm")))
        .map(|name| name.trim().to_owned())
        .collect();
    // A captured machine may have no process directory at all: then nothing is known.
    (!names.is_empty()).then(|| {
        names
            .into_iter()
            .filter(|n| n.starts_with("nvidia") || n.starts_with("nv-"))
            .collect()
    })
}
