//! What the CPU is and how much of it this process may use.

use std::fs;
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::cgroup::CgroupLimits;

/// Facts about the CPU and the memory beside it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CpuFacts {
    /// Model name, or the architecture where the system does not say.
    pub model: String,
    /// Logical processors of the machine.
    pub logical_cores: usize,
    /// Whole processors that this process may use under its affinity and its container's quota.
    pub usable_cores: usize,
    /// The container's quota in cores, where there is one, e.g. 1.5.
    pub quota_cores: Option<f64>,
    /// Caches of the first core, level 1 first.
    pub caches: Vec<CpuCache>,
    /// Vector instruction sets that matter here, e.g. `avx2`.
    pub simd: Vec<String>,
    /// Physical memory in bytes.
    pub memory_bytes: Option<u64>,
    /// The container's memory limit in bytes, where there is one.
    pub memory_limit_bytes: Option<u64>,
}

/// One cache of a core.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CpuCache {
    /// 1, 2, 3.
    pub level: u32,
    /// `data`, `instruction` or `unified`.
    pub kind: String,
    /// Size in bytes.
    pub bytes: u64,
}

impl CpuFacts {
    /// Reads them from the system; takes under a millisecond.
    pub fn read() -> Self {
        let cpuinfo = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
        let limits = CgroupLimits::read();
        // `available_parallelism` honours affinity and quota, rounding a fraction of a core up.
        let usable_cores = std::thread::available_parallelism().map_or(1, usize::from);
        Self {
            model: model_name(&cpuinfo).unwrap_or_else(|| std::env::consts::ARCH.to_owned()),
            logical_cores: cpuinfo
                .lines()
                .filter(|line| line.starts_with("processor"))
                .count()
                .max(usable_cores),
            usable_cores,
            quota_cores: limits.cpu_quota,
            caches: caches(Path::new("/sys/devices/system/cpu/cpu0/cache")),
            simd: simd_features(),
            memory_bytes: fs::read_to_string("/proc/meminfo")
                .ok()
                .and_then(|text| total(&text)),
            memory_limit_bytes: limits.memory,
        }
    }
}

fn model_name(cpuinfo: &str) -> Option<String> {
    let line = cpuinfo
        .lines()
        .find(|line| line.starts_with("model name"))?;
    let name = line.split_once(':')?.1;
    Some(name.split_whitespace().collect::<Vec<_>>().join(" "))
}

fn total(meminfo: &str) -> Option<u64> {
    let line = meminfo.lines().find(|line| line.starts_with("MemTotal:"))?;
    let kib: u64 = line.split_whitespace().nth(1)?.parse().ok()?;
    kib.checked_mul(1024)
}

fn caches(folder: &Path) -> Vec<CpuCache> {
    let read = |index: usize, name: &str| {
        fs::read_to_string(folder.join(format!("index{index}/{name}")))
            .ok()
            .map(|text| text.trim().to_lowercase())
    };
    (0..8)
        .map_while(|index| {
            Some(CpuCache {
                level: read(index, "level")?.parse().ok()?,
                kind: read(index, "type")?,
                bytes: cache_size(&read(index, "size")?)?,
            })
        })
        .collect()
}

fn cache_size(text: &str) -> Option<u64> {
    match text.strip_suffix('k') {
        Some(kib) => kib.parse::<u64>().ok()?.checked_mul(1 << 10),
        None => text
            .strip_suffix('m')?
            .parse::<u64>()
            .ok()?
            .checked_mul(1 << 20),
    }
}

fn simd_features() -> Vec<String> {
    let mut found = Vec::new();
    #[cfg(target_arch = "x86_64")]
    {
        macro_rules! detect {
            ($($name:tt)*) => {$(
                if std::arch::is_x86_feature_detected!($name) {
                    found.push($name.to_owned());
                }
            )*};
        }
        detect!("sse4.2" "avx" "avx2" "fma" "f16c" "avx512f" "avx512bw" "avx512vnni");
    }
    #[cfg(target_arch = "aarch64")]
    {
        found.push("neon".to_owned());
        if std::arch::is_aarch64_feature_detected!("sve") {
            found.push("sve".to_owned());
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_machine_has_a_name_and_a_core() {
        let facts = CpuFacts::read();
        assert!(!facts.model.is_empty());
        assert!(facts.usable_cores >= 1 && facts.logical_cores >= facts.usable_cores);
    }

    #[test]
    fn the_kernels_texts_are_understood() {
        let cpuinfo = "processor\t: 0\nmodel name\t: Intel(R)  Xeon(R) @ 2.0GHz\n";
        assert_eq!(model_name(cpuinfo).unwrap(), "Intel(R) Xeon(R) @ 2.0GHz");
        assert_eq!(
            total("MemFree: 1 kB\nMemTotal:       2048 kB\n"),
            Some(2 << 20)
        );
        assert_eq!(cache_size("48k"), Some(48 << 10));
        assert_eq!(cache_size("105m"), Some(105 << 20));
        assert_eq!(cache_size("?"), None);
    }
}
