//! Resident memory of a process, from `/proc`.

use std::fs;

/// Resident bytes of a process; `None` where the system does not say or the process is gone.
pub fn resident_bytes(pid: Option<u32>) -> Option<u64> {
    let path = match pid {
        None => "/proc/self/statm".to_owned(),
        Some(pid) => format!("/proc/{pid}/statm"),
    };
    let text = fs::read_to_string(path).ok()?;
    let pages: u64 = text.split_whitespace().nth(1)?.parse().ok()?;
    Some(pages * page_bytes())
}

/// Bytes still available to processes, from `/proc/meminfo`.
pub fn available_bytes() -> Option<u64> {
    let text = fs::read_to_string("/proc/meminfo").ok()?;
    let line = text
        .lines()
        .find(|line| line.starts_with("MemAvailable:"))?;
    let kibibytes: u64 = line.split_whitespace().nth(1)?.parse().ok()?;
    Some(kibibytes * 1024)
}

/// Bytes of a page: the grain of resident memory.
pub fn page_bytes() -> u64 {
    // SAFETY: sysconf only reads a constant of the system.
    let size = unsafe { libc::sysconf(libc::_SC_PAGESIZE) };
    u64::try_from(size).unwrap_or(4096)
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;
    use crate::leak::detector::{LeakPlan, LeakVerdict, judge};

    #[test]
    fn a_real_leak_of_host_memory_is_found_with_its_rate() {
        const PER_STEP: usize = 64 * 1024;
        let mut kept: Vec<Vec<u8>> = Vec::new();
        let trace: Vec<f64> = (0..600)
            .map(|step| {
                // Touched, or it would not be resident.
                kept.push(vec![step as u8 | 1; PER_STEP]);
                resident_bytes(None).unwrap() as f64
            })
            .collect();
        let plan = LeakPlan {
            grain: page_bytes() as f64,
            ..LeakPlan::default()
        };
        let report = judge(&trace, &plan);
        assert_eq!(report.verdict, LeakVerdict::Leak, "{report:?}");
        assert!(
            (report.bytes_per_step / PER_STEP as f64 - 1.0).abs() < 0.1,
            "{report:?}"
        );
        assert_eq!(kept.len(), 600);
    }

    #[test]
    fn memory_of_the_machine_is_read() {
        assert!(available_bytes().unwrap() > 0);
        assert!(resident_bytes(Some(u32::MAX)).is_none());
    }
}
