//! Whether the host has room for what is about to be allocated. Linux promises memory that it does
//! not have and kills the process that believes it, so a large request is checked first.

use std::fs;

use warpsmith_core::Bytes;

use super::cgroup::CgroupLimits;
use crate::error::DeviceError;

/// Fails where `bytes` more would not fit into memory; says nothing where the system does not tell.
pub fn ensure_host_room(bytes: u64) -> Result<(), DeviceError> {
    let free = fs::read_to_string("/proc/meminfo")
        .ok()
        .and_then(|text| available(&text));
    let limit = CgroupLimits::read().memory;
    match free.into_iter().chain(limit).min() {
        Some(room) if room < bytes => Err(DeviceError::OutOfHostMemory {
            asked: Bytes(bytes),
            available: Bytes(room),
        }),
        _ => Ok(()),
    }
}

fn available(meminfo: &str) -> Option<u64> {
    let line = meminfo
        .lines()
        .find(|line| line.starts_with("MemAvailable:"))?;
    line.split_whitespace()
        .nth(1)?
        .parse::<u64>()
        .ok()?
        .checked_mul(1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_fits_and_an_exabyte_does_not() {
        ensure_host_room(4096).unwrap();
        let error = ensure_host_room(1 << 60).unwrap_err();
        assert!(error.to_string().contains("host memory"), "{error}");
    }
}
