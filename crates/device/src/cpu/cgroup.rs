//! CPU and memory limits that a container or service manager put on this process.

use std::fs;
use std::path::{Path, PathBuf};

/// Limits of the control group; absent where there is none.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct CgroupLimits {
    /// CPU time per wall time, e.g. 1.5 cores.
    pub(crate) cpu_quota: Option<f64>,
    /// Bytes.
    pub(crate) memory: Option<u64>,
}

impl CgroupLimits {
    /// The limits on this process, from the files under `/sys/fs/cgroup`.
    pub(crate) fn read() -> Self {
        let own = fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
        Self::under(Path::new("/sys/fs/cgroup"), &own)
    }

    /// The tightest limits from the process's group (`own` is `/proc/self/cgroup`) up to `root`.
    fn under(root: &Path, own: &str) -> Self {
        let mut limits = Self::default();
        for (folder, unified) in folders(root, own) {
            let (cpu, memory) = if unified {
                unified_limits(&folder)
            } else {
                legacy_limits(&folder)
            };
            limits.cpu_quota = tighter(limits.cpu_quota, cpu, f64::min);
            limits.memory = tighter(limits.memory, memory, u64::min);
        }
        limits
    }
}

fn tighter<T>(a: Option<T>, b: Option<T>, min: fn(T, T) -> T) -> Option<T> {
    match (a, b) {
        (Some(a), Some(b)) => Some(min(a, b)),
        (a, b) => a.or(b),
    }
}

/// Folders that can limit the process, with whether they are of the unified hierarchy (v2).
/// Parents limit their children, so every ancestor counts.
fn folders(root: &Path, own: &str) -> Vec<(PathBuf, bool)> {
    let mut folders = Vec::new();
    for line in own.lines() {
        let mut fields = line.splitn(3, ':');
        let (_, Some(controllers), Some(path)) = (fields.next(), fields.next(), fields.next())
        else {
            continue;
        };
        let bases: Vec<(PathBuf, bool)> = if controllers.is_empty() {
            vec![(root.to_owned(), true), (root.join("unified"), true)]
        } else {
            controllers
                .split(',')
                .filter(|name| matches!(*name, "cpu" | "memory"))
                .map(|name| (root.join(name), false))
                .collect()
        };
        for (base, unified) in bases {
            let relative = Path::new(path.trim_start_matches('/'));
            for ancestor in relative.ancestors() {
                folders.push((base.join(ancestor), unified));
            }
        }
    }
    folders
}

fn unified_limits(folder: &Path) -> (Option<f64>, Option<u64>) {
    let cpu = fs::read_to_string(folder.join("cpu.max"))
        .ok()
        .and_then(|text| {
            let mut fields = text.split_whitespace();
            let quota: f64 = fields.next()?.parse().ok()?; // "max" is no number: no limit
            let period: f64 = fields.next()?.parse().ok()?;
            (period > 0.0).then(|| quota / period)
        });
    let memory = number(&folder.join("memory.max"));
    (cpu, memory)
}

fn legacy_limits(folder: &Path) -> (Option<f64>, Option<u64>) {
    let quota = number(&folder.join("cpu.cfs_quota_us")); // -1 is no u64: no limit
    let period = number(&folder.join("cpu.cfs_period_us")).filter(|&period| period > 0);
    let cpu = quota
        .zip(period)
        .map(|(quota, period)| quota as f64 / period as f64);
    // The kernel writes "no limit" as the largest page-aligned number.
    let memory =
        number(&folder.join("memory.limit_in_bytes")).filter(|&bytes| bytes < u64::MAX >> 2);
    (cpu, memory)
}

fn number(path: &Path) -> Option<u64> {
    fs::read_to_string(path).ok()?.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tree(files: &[(&str, &str)]) -> tempfile::TempDir {
        let root = tempfile::tempdir().unwrap();
        for (path, text) in files {
            let path = root.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        root
    }

    #[test]
    fn the_tightest_ancestor_of_the_unified_hierarchy_wins() {
        let root = tree(&[
            ("cpu.max", "max 100000\n"),
            ("pod/cpu.max", "150000 100000\n"),
            ("pod/app/cpu.max", "400000 100000\n"),
            ("pod/app/memory.max", "1073741824\n"),
        ]);
        let limits = CgroupLimits::under(root.path(), "0::/pod/app\n");
        assert_eq!(
            limits,
            CgroupLimits {
                cpu_quota: Some(1.5),
                memory: Some(1 << 30)
            }
        );
    }

    #[test]
    fn the_legacy_hierarchy_is_read_too_and_its_no_limit_is_no_limit() {
        let root = tree(&[
            ("cpu/docker/cpu.cfs_quota_us", "200000\n"),
            ("cpu/docker/cpu.cfs_period_us", "100000\n"),
            (
                "memory/docker/memory.limit_in_bytes",
                "9223372036854771712\n",
            ),
        ]);
        let own = "4:memory:/docker\n3:cpu,cpuacct:/docker\n";
        let limits = CgroupLimits::under(root.path(), own);
        assert_eq!(
            limits,
            CgroupLimits {
                cpu_quota: Some(2.0),
                memory: None
            }
        );
    }

    #[test]
    fn junk_is_no_limit() {
        let root = tree(&[("cpu.max", "junk"), ("memory.max", "")]);
        assert_eq!(
            CgroupLimits::under(root.path(), "0::/\nnonsense\n"),
            CgroupLimits::default()
        );
    }
}
