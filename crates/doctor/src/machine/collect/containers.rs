//! Container engines and NVIDIA's part of them.

use std::time::Duration;

use crate::host::Host;
use crate::machine::facts::{Containers, Sourced};
use warpsmith_compatibility::Version;

pub(super) fn collect(host: &dyn Host) -> Containers {
    let engine = host.which("docker").or_else(|| host.which("podman"));
    let daemon = host.text("/etc/docker/daemon.json").unwrap_or_default();
    let docker_runtime = serde_json::from_str::<serde_json::Value>(&daemon)
        .is_ok_and(|json| json["runtimes"].get("nvidia").is_some());
    let cdi_specs: Vec<String> = ["/etc/cdi", "/var/run/cdi", "/run/cdi"]
        .iter()
        .flat_map(|directory| {
            host.list(directory)
                .unwrap_or_default()
                .into_iter()
                .filter(|name| name.contains("nvidia"))
                .map(move |name| format!("{directory}/{name}"))
        })
        .collect();
    let status = host.text("/var/lib/dpkg/status").unwrap_or_default();
    let config = host.text("/etc/nvidia-container-runtime/config.toml");
    Containers {
        docker_runtime,
        cdi_missing_paths: cdi_specs
            .iter()
            .filter_map(|path| host.text(path))
            .flat_map(|text| missing_paths(host, &text))
            .collect(),
        cdi_specs,
        toolkit: installed(host, &status),
        legacy: legacy(host, &status),
        no_cgroups: config.as_deref().map(|text| {
            text.lines()
                .map(str::trim)
                .any(|l| l.replace(' ', "").starts_with("no-cgroups=true"))
        }),
        rootless: host
            .session()
            .env
            .get("DOCKER_HOST")
            .is_some_and(|h| h.contains("/run/user/")),
        engine,
    }
}

fn installed(host: &dyn Host, status: &str) -> Option<Sourced<Version>> {
    if let Some(version) = package_version(status, "nvidia-container-toolkit") {
        return Some(Sourced::new(version, "/var/lib/dpkg/status"));
    }
    let output = host.run(&["nvidia-ctk", "--version"], Duration::from_secs(2))?;
    let version = output
        .stdout
        .split("version ")
        .nth(1)?
        .split_whitespace()
        .next()?;
    Some(Sourced::new(
        Version::parse(version)?,
        "nvidia-ctk --version",
    ))
}

fn package_version(status: &str, package: &str) -> Option<Version> {
    let from = status.find(&format!("Package: {package}\n"))?;
    let block = status[from..].split("\n\n").next()?;
    if !block.contains("Status: install ok installed") {
        return None;
    }
    Version::parse(block.lines().find_map(|l| l.strip_prefix("Version: "))?)
}

fn legacy(host: &dyn Host, status: &str) -> Vec<Sourced<String>> {
    let mut found = Vec::new();
    if package_version(status, "nvidia-docker2").is_some() {
        found.push(Sourced::new(
            "package nvidia-docker2".to_owned(),
            "/var/lib/dpkg/status",
        ));
    }
    const SOURCES: &str = "/etc/apt/sources.list.d";
    for name in host.list(SOURCES).unwrap_or_default() {
        let path = format!("{SOURCES}/{name}");
        let text = host.text(&path).unwrap_or_default();
        if text.contains("nvidia.github.io/nvidia-docker") {
            found.push(Sourced::new(
                "the retired nvidia-docker repository".to_owned(),
                path,
            ));
        }
    }
    found
}

/// Host paths in a CDI specification that are gone.
fn missing_paths(host: &dyn Host, spec: &str) -> Vec<String> {
    spec.lines()
        .filter_map(|line| {
            line.trim()
                .trim_start_matches("- ")
                .strip_prefix("hostPath:")
        })
        .map(|path| path.trim().trim_matches(['"', '\'']).to_owned())
        .filter(|path| path.starts_with('/') && path.contains(".so.") && !host.exists(path))
        .take(8)
        .collect()
}
