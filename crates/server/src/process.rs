//! What this process uses, from the kernel's own counts.

use std::time::Duration;

/// Resident memory in bytes; zero where the kernel does not say.
pub fn resident_bytes() -> u64 {
    let statm = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    let pages: u64 = statm
        .split_whitespace()
        .nth(1)
        .and_then(|pages| pages.parse().ok())
        .unwrap_or(0);
    // SAFETY: `sysconf` reads a constant of the system and touches no memory of ours.
    let page = unsafe { libc::sysconf(libc::_SC_PAGESIZE) };
    pages * u64::try_from(page).unwrap_or(0)
}

/// Processor time of all threads so far.
pub fn cpu_time() -> Duration {
    let mut time = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: `time` is a valid place for the one `timespec` that the call writes.
    let done = unsafe { libc::clock_gettime(libc::CLOCK_PROCESS_CPUTIME_ID, &mut time) };
    if done != 0 {
        return Duration::ZERO;
    }
    Duration::new(
        u64::try_from(time.tv_sec).unwrap_or(0),
        u32::try_from(time.tv_nsec).unwrap_or(0),
    )
}

/// Allows as many open files as the system lets this process have; gives how many.
pub fn allow_many_files() -> u64 {
    let mut limit = libc::rlimit {
        rlim_cur: 0,
        rlim_max: 0,
    };
    // SAFETY: `limit` is a valid `rlimit` for the call to fill in, and then to read.
    unsafe {
        if libc::getrlimit(libc::RLIMIT_NOFILE, &mut limit) == 0 && limit.rlim_cur < limit.rlim_max
        {
            limit.rlim_cur = limit.rlim_max;
            libc::setrlimit(libc::RLIMIT_NOFILE, &limit);
            libc::getrlimit(libc::RLIMIT_NOFILE, &mut limit);
        }
    }
    limit.rlim_cur
}

/// Gives memory that is free back to the system: the allocator keeps what a crowd of listeners needed,
/// in case that they return.
pub fn give_memory_back() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    // SAFETY: releases free pages of the allocator's own arenas under their locks; nothing that is in
    // use is touched.
    unsafe {
        libc::malloc_trim(0);
    }
}

/// Lets this thread run after others: it gets a tenth of a core that they fill, since with less a
/// full machine would never finish what it does.
pub(crate) fn step_back() {
    // SAFETY: changes the priority of the calling thread alone (`who` 0) and touches no memory.
    unsafe {
        libc::setpriority(libc::PRIO_PROCESS, 0, 10);
    }
}
