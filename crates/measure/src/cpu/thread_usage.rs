//! What the scheduler did to this thread: involuntary context switches and CPU time.

use std::time::Duration;

/// Counters of the calling thread since it began.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ThreadUsage {
    /// Times that the core was taken away while the thread could have gone on.
    pub involuntary_switches: i64,
    /// Times that the thread gave the core up by itself, to wait for something.
    pub voluntary_switches: i64,
    /// Time on a core.
    pub cpu_time: Duration,
}

impl ThreadUsage {
    /// Reads the counters of the calling thread (about half a microsecond); `None` where the
    /// system does not keep them per thread.
    #[cfg(target_os = "linux")]
    pub fn read() -> Option<Self> {
        // SAFETY: `rusage` is plain data for which all zeros is a value; getrusage fills it.
        let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
        // SAFETY: the pointer is to a live rusage that nothing else refers to.
        if unsafe { libc::getrusage(libc::RUSAGE_THREAD, &mut usage) } != 0 {
            return None;
        }
        let mut time = libc::timespec {
            tv_sec: 0,
            tv_nsec: 0,
        };
        // The times in `rusage` stand still between scheduler ticks; this clock does not.
        // SAFETY: the pointer is to a live timespec that nothing else refers to.
        if unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &mut time) } != 0 {
            return None;
        }
        Some(Self {
            involuntary_switches: usage.ru_nivcsw,
            voluntary_switches: usage.ru_nvcsw,
            cpu_time: Duration::new(
                u64::try_from(time.tv_sec).ok()?,
                u32::try_from(time.tv_nsec).ok()?,
            ),
        })
    }

    /// Reads the counters of the calling thread; this system does not keep them per thread.
    #[cfg(not(target_os = "linux"))]
    pub fn read() -> Option<Self> {
        None
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn cpu_time_moves_while_this_thread_works() {
        let before = ThreadUsage::read().unwrap();
        let mut sum = 0u64;
        for i in 0..2_000_000u64 {
            sum = std::hint::black_box(sum ^ i);
        }
        let after = ThreadUsage::read().unwrap();
        assert!(after.cpu_time > before.cpu_time);
        assert!(after.involuntary_switches >= before.involuntary_switches);
    }
}
