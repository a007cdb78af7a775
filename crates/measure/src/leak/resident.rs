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

    #[test]
    fn memory_of_the_machine_is_read() {
        assert!(available_bytes().unwrap() > 0);
        assert!(resident_bytes(Some(u32::MAX)).is_none());
    }
}
