//! Rules about profilers, debuggers and what they may do.

use warpsmith_core::Finding;

use super::evidence::capabilities;
use super::{Check, anywhere, on_gpu};
use crate::conclude::{Judgement, applies, finding, not_applicable, one, pass, unknown};
use crate::machine::facts::MachineFacts;
use warpsmith_compatibility::Version;

pub(super) const RULES: &[Check] = &[
    on_gpu("PRF001", nsys),
    on_gpu("PRF002", ncu),
    anywhere("PRF003", counters),
    on_gpu("PRF004", cpu_sampling),
    anywhere("PRF005", cupti),
    on_gpu("PRF006", debuggers),
    anywhere("PRF007", old_profiler),
];

fn absent(code: &str, name: &str) -> Finding {
    finding(code, format!("{name} was not found")).because("PATH, toolkits, /opt/nvidia", "absent")
}

fn nsys(facts: &MachineFacts) -> Judgement {
    if facts.profilers.nsys.is_some() {
        return pass();
    }
    one(absent("PRF001", "Nsight Systems (nsys)")
        .hint("install nsight-systems from NVIDIA's repository"))
}

fn ncu(facts: &MachineFacts) -> Judgement {
    if facts.profilers.ncu.is_some() {
        return pass();
    }
    one(absent("PRF002", "Nsight Compute (ncu)")
        .hint("install nsight-compute from NVIDIA's repository"))
}

fn debuggers(facts: &MachineFacts) -> Judgement {
    if facts.profilers.sanitizer.is_some() || facts.profilers.gdb.is_some() {
        return pass();
    }
    one(absent("PRF006", "compute-sanitizer or cuda-gdb")
        .hint("install cuda-sanitizer and cuda-gdb of your toolkit's version"))
}

fn counters(facts: &MachineFacts) -> Judgement {
    applies(facts.driver.module.is_some(), "no kernel module is loaded")?;
    let Some(admin_only) = facts.driver.profiling_admin_only else {
        return unknown("/proc/driver/nvidia/params cannot be read");
    };
    if !admin_only || facts.session.euid == 0 || facts.system.sys_admin == Some(true) {
        return pass();
    }
    one(finding("PRF003", "GPU performance counters are for administrators only: `ncu` ends with ERR_NVGPUCTRPERM")
        .because("/proc/driver/nvidia/params", "RmProfilingAdminOnly: 1")
        .because("effective user", facts.session.euid.to_string())
        .hint(format!("{}put `options nvidia NVreg_RestrictProfilingToAdminUsers=0` into /etc/modprobe.d/nvidia-profiling.conf and reload the module", facts.system.on_the_host())))
}

fn cpu_sampling(facts: &MachineFacts) -> Judgement {
    match facts.system.perf_event_paranoid {
        None => unknown("perf_event_paranoid cannot be read"),
        Some(level) if level <= 2 || facts.session.euid == 0 => pass(),
        Some(level) => one(finding("PRF004", "nsys cannot sample CPU activity")
            .because("/proc/sys/kernel/perf_event_paranoid", level.to_string())
            .hint("run `sysctl kernel.perf_event_paranoid=2` as root")),
    }
}

fn cupti(facts: &MachineFacts) -> Judgement {
    let with_torch: Vec<_> = facts
        .environments
        .iter()
        .filter_map(|e| Some((e, e.torch.as_ref()?.cuda.as_ref()?)))
        .collect();
    applies(!with_torch.is_empty(), "no torch with CUDA was found")?;
    let findings: Vec<Finding> = with_torch
        .into_iter()
        .filter_map(|(environment, cuda)| {
            let majors: Vec<u64> = environment
                .nvidia_libraries
                .iter()
                .filter_map(|path| {
                    Version::parse(path.rsplit('/').next()?.strip_prefix("libcupti.so.")?)
                })
                .map(|v| v.major())
                .collect();
            (!majors.is_empty() && !majors.contains(&cuda.major())).then(|| {
                finding(
                    "PRF005",
                    format!(
                        "CUPTI is of CUDA {} and torch of CUDA {}: torch.profiler sees no kernels",
                        majors[0],
                        cuda.major()
                    ),
                )
                .because(
                    environment.site_packages.clone(),
                    format!("libcupti.so.{}", majors[0]),
                )
                .hint(format!("install the CUPTI wheel of CUDA {}", cuda.major()))
            })
        })
        .collect();
    Ok(findings)
}

fn old_profiler(facts: &MachineFacts) -> Judgement {
    let Some(version) = &facts.profilers.ncu_version else {
        return if facts.profilers.ncu.is_none() {
            not_applicable("Nsight Compute is not installed")
        } else {
            unknown("the version of Nsight Compute is not known")
        };
    };
    Ok(capabilities(facts)?
        .into_iter()
        .filter_map(|(gpu, capability)| {
            // The first release that lists the generation (release notes, from memory).
            let first = match capability.sm() {
                120.. => "2025.1",
                100.. => "2025.1",
                90.. => "2022.3",
                89 => "2022.3",
                80.. => "2020.1",
                _ => return None,
            };
            (*version < Version::parse(first)?).then(|| {
                finding(
                    "PRF007",
                    format!("Nsight Compute {version} does not know {}", gpu.name),
                )
                .because("/opt/nvidia/nsight-compute", version.to_string())
                .hint(format!("install {first} or newer"))
            })
        })
        .collect())
}
