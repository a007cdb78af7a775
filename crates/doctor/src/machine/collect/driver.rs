//! The NVIDIA driver: kernel module, user-space libraries, parameters.

use std::time::Duration;

use crate::host::Host;
use crate::machine::facts::{Driver, Sourced};
use warpsmith_compatibility::Version;

/// Directories in which a distribution or a container runtime puts driver libraries.
pub(super) const LIBRARY_DIRECTORIES: [&str; 9] = [
    "/usr/lib/x86_64-linux-gnu",
    "/usr/lib/aarch64-linux-gnu",
    "/usr/lib64",
    "/usr/lib",
    "/lib/x86_64-linux-gnu",
    "/usr/local/nvidia/lib64",
    "/usr/local/nvidia/lib",
    "/usr/lib/wsl/lib",
    "/usr/lib/aarch64-linux-gnu/tegra",
];

pub(super) fn collect(host: &dyn Host) -> Driver {
    const PROC: &str = "/proc/driver/nvidia/version";
    const SYS: &str = "/sys/module/nvidia/version";
    let banner = host.text(PROC);
    let module = banner
        .as_deref()
        .and_then(|text| {
            let line = text.lines().find(|l| l.contains("Kernel Module"))?;
            line.split_whitespace()
                .filter(|word| word.contains('.') && word.starts_with(|c: char| c.is_ascii_digit()))
                .find_map(Version::parse)
        })
        .map(|version| Sourced::new(version, PROC))
        .or_else(|| Some(Sourced::new(Version::parse(&host.text(SYS)?)?, SYS)));
    let params = host.text("/proc/driver/nvidia/params");
    Driver {
        open_module: banner
            .as_deref()
            .map(|text| text.contains("Open Kernel Module")),
        user_libraries: user_libraries(host),
        nvidia_smi: host.which("nvidia-smi").or_else(|| {
            [
                "/usr/lib/wsl/lib/nvidia-smi",
                "/usr/local/nvidia/bin/nvidia-smi",
            ]
            .into_iter()
            .find(|path| host.exists(path))
            .map(str::to_owned)
        }),
        smi_failure: None,
        profiling_admin_only: params.as_deref().and_then(|text| {
            let value = text
                .lines()
                .find_map(|l| l.strip_prefix("RmProfilingAdminOnly:"))?;
            Some(value.trim() != "0")
        }),
        module_files: module_files(host),
        xid_lines: if module.is_some() {
            xid_lines(host)
        } else {
            None
        },
        module,
    }
}

fn user_libraries(host: &dyn Host) -> Vec<Sourced<Version>> {
    let mut found = Vec::new();
    for directory in LIBRARY_DIRECTORIES {
        for name in host.list(directory).unwrap_or_default() {
            let version = ["libcuda.so.", "libnvidia-ml.so."]
                .iter()
                .find_map(|stem| name.strip_prefix(stem))
                .and_then(Version::parse)
                // `libcuda.so.1` is the soname, not a version.
                .filter(|version| version.precision() > 1);
            if let Some(version) = version {
                found.push(Sourced::new(version, format!("{directory}/{name}")));
            }
        }
    }
    found
}

fn module_files(host: &dyn Host) -> Option<Vec<String>> {
    let base = format!("/lib/modules/{}", host.session().kernel);
    host.list(&base)?;
    let mut found = Vec::new();
    for folder in [
        "updates/dkms",
        "updates",
        "extra",
        "kernel/drivers/video",
        "kernel/nvidia",
        "extramodules",
    ] {
        for name in host.list(&format!("{base}/{folder}")).unwrap_or_default() {
            if name.starts_with("nvidia.ko") {
                found.push(format!("{base}/{folder}/{name}"));
            }
        }
    }
    Some(found)
}

/// Lines of the kernel log that report an Xid; `None` where the log cannot be read.
fn xid_lines(host: &dyn Host) -> Option<Vec<String>> {
    let output = host.run(
        &["dmesg", "--level=err,warn,notice,info"],
        Duration::from_millis(500),
    )?;
    (output.rc == 0).then(|| {
        output
            .stdout
            .lines()
            .filter(|line| line.contains("NVRM: Xid"))
            .map(|line| line.trim().chars().take(200).collect())
            .collect()
    })
}
