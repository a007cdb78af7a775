//! The clock of one thread, which other programs do not hold up.

/// Seconds that this thread has been running.
pub(crate) fn processor_seconds() -> f64 {
    let mut time = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: `time` is a valid place for the one `timespec` that the call writes.
    let done = unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &mut time) };
    assert_eq!(done, 0, "the thread's clock cannot be read");
    time.tv_sec as f64 + 1e-9 * time.tv_nsec as f64
}
