//! The host beside the GPUs: CPU, load, memory and swap from `/proc`.

use std::fs;
use std::path::{Path, PathBuf};

use warpsmith_core::MachineIdentity;

use crate::event::{HostState, Inventory};

/// Reads the host's state; shares are of the time since the reading before.
pub(crate) struct HostProbe {
    proc_root: PathBuf,
    cores: i64,
    before: Option<CpuTimes>,
}

/// Jiffies of all cores together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct CpuTimes {
    total: u64,
    idle: u64,
    io_wait: u64,
}

impl HostProbe {
    pub(crate) fn new(proc_root: &Path) -> Self {
        let read = |file: &str| fs::read_to_string(proc_root.join(file)).ok();
        Self {
            proc_root: proc_root.to_owned(),
            cores: i64::try_from(cores()).unwrap_or(1),
            before: read("stat").as_deref().and_then(cpu_times),
        }
    }

    /// The state now.
    pub(crate) fn read(&mut self) -> HostState {
        let read = |file: &str| fs::read_to_string(self.proc_root.join(file)).ok();
        let mut state = HostState::default();
        let now = read("stat").as_deref().and_then(cpu_times);
        if let (Some(before), Some(now)) = (self.before, now) {
            let total = now.total.saturating_sub(before.total);
            if total > 0 {
                let permille = |part: u64| i64::try_from(part.min(total) * 1000 / total).ok();
                let idle = now.idle.saturating_sub(before.idle);
                let io_wait = now.io_wait.saturating_sub(before.io_wait);
                state.cpu_busy_permille = permille(total.saturating_sub(idle + io_wait));
                state.cpu_io_wait_permille = permille(io_wait);
            }
        }
        self.before = now.or(self.before);
        state.load_per_core_permille = read("loadavg").as_deref().and_then(|text| {
            let load: f64 = text.split_whitespace().next()?.parse().ok()?;
            load.is_finite()
                .then_some((load * 1000.0 / self.cores as f64) as i64)
        });
        if let Some(text) = read("meminfo") {
            let bytes = |name: &str| meminfo(&text, name);
            state.memory_available_bytes = bytes("MemAvailable:");
            state.memory_total_bytes = bytes("MemTotal:");
            state.swap_used_bytes = bytes("SwapTotal:")
                .zip(bytes("SwapFree:"))
                .map(|(total, free)| (total - free).max(0));
        }
        state
    }
}

/// The first line of `/proc/stat`. Guest time is already inside user time.
fn cpu_times(stat: &str) -> Option<CpuTimes> {
    let mut numbers = stat
        .lines()
        .next()?
        .strip_prefix("cpu ")?
        .split_whitespace();
    let times: Vec<u64> = numbers
        .by_ref()
        .take(8)
        .map_while(|number| number.parse().ok())
        .collect();
    (times.len() >= 5).then(|| CpuTimes {
        total: times.iter().sum(),
        idle: times[3],
        io_wait: times[4],
    })
}

fn meminfo(text: &str, name: &str) -> Option<i64> {
    let kibibytes: i64 = text
        .lines()
        .find_map(|line| line.strip_prefix(name))?
        .split_whitespace()
        .next()?
        .parse()
        .ok()?;
    kibibytes.checked_mul(1024)
}

/// Cores that this process may use.
pub(crate) fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, Into::into)
}

/// The CPU's model name.
pub(crate) fn cpu_name(proc_root: &Path) -> String {
    fs::read_to_string(proc_root.join("cpuinfo"))
        .ok()
        .and_then(|text| {
            let line = text.lines().find(|line| line.starts_with("model name"))?;
            Some(line.split_once(':')?.1.trim().to_owned())
        })
        .unwrap_or_else(|| "unknown CPU".to_owned())
}

/// Whether the host's processes are visible: kernel threads are only in the first pid namespace.
pub(crate) fn sees_host_pids(proc_root: &Path) -> Option<bool> {
    let name = fs::read_to_string(proc_root.join("2/comm"));
    match name {
        Ok(name) => Some(name.trim() == "kthreadd"),
        Err(_) => proc_root.join("self").exists().then_some(false),
    }
}

/// The machine as reports name it.
pub fn machine_identity(inventory: &Inventory) -> MachineIdentity {
    MachineIdentity {
        system: format!("{} {}", std::env::consts::OS, std::env::consts::ARCH),
        cpu: inventory.cpu.clone(),
        cores: inventory.cores,
        gpus: inventory.gpus.iter().map(|gpu| gpu.name.clone()).collect(),
        driver: inventory.driver.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn guest_time_is_not_counted_twice() {
        let times = cpu_times("cpu  100 0 50 800 25 5 5 15 100 0\ncpu0 …").unwrap();
        assert_eq!(
            times,
            CpuTimes {
                total: 1000,
                idle: 800,
                io_wait: 25
            }
        );
        assert_eq!(cpu_times("intr 5"), None);
        assert_eq!(cpu_times("cpu  1 2 x"), None);
    }

    #[test]
    fn shares_are_of_the_time_between_two_readings() {
        let root = tempfile::tempdir().unwrap();
        let write = |file: &str, text: &str| fs::write(root.path().join(file), text).unwrap();
        write("stat", "cpu  100 0 0 900 0 0 0 0\n");
        write(
            "meminfo",
            "MemTotal: 1000 kB\nMemAvailable: 400 kB\nSwapTotal: 10 kB\nSwapFree: 4 kB\n",
        );
        write("loadavg", "1.50 1 1 1/1 1\n");
        let mut probe = HostProbe::new(root.path());
        assert_eq!(probe.read().cpu_busy_permille, None);
        write("stat", "cpu  400 0 0 1500 100 0 0 0\n");
        let state = probe.read();
        assert_eq!(state.cpu_busy_permille, Some(300));
        assert_eq!(state.cpu_io_wait_permille, Some(100));
        assert_eq!(state.memory_available_bytes, Some(400 << 10));
        assert_eq!(state.swap_used_bytes, Some(6 << 10));
    }

    #[test]
    fn a_host_without_proc_has_absent_values() {
        let mut probe = HostProbe::new(Path::new("/nonexistent"));
        assert_eq!(probe.read(), HostState::default());
    }
}
