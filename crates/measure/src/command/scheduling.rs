//! What the kernel's accounts say about a process: its time on a core, its time in the queue for
//! one, and the processes that it left behind.

use std::collections::HashSet;
use std::io;
use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;
use std::time::{Duration, Instant};

use crate::leak::process_tree::{Place, tree};

/// Time of one thread since it began, from `/proc/…/schedstat`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Scheduled {
    /// On a core.
    pub(super) on_core: Duration,
    /// Ready to run, while others had the cores.
    pub(super) queued: Duration,
}

impl Scheduled {
    /// The first thread of process `pid`, also of one that has ended and was not waited for;
    /// `None` where the system keeps no such account.
    pub(super) fn of_process(pid: libc::pid_t) -> Option<Self> {
        Self::parse(&std::fs::read_to_string(format!("/proc/{pid}/schedstat")).ok()?)
    }

    /// The calling thread.
    pub(super) fn of_this_thread() -> Option<Self> {
        Self::parse(&std::fs::read_to_string("/proc/thread-self/schedstat").ok()?)
    }

    fn parse(text: &str) -> Option<Self> {
        let mut fields = text.split_whitespace().map(|field| field.parse().ok());
        let mut time = || Some(Duration::from_nanos(fields.next()??));
        Some(Self {
            on_core: time()?,
            queued: time()?,
        })
    }
}

/// What waiting for a process returns.
pub(super) struct Ended {
    pub(super) status: ExitStatus,
    pub(super) usage: Usage,
}

/// Resources of a process and of the descendants that were waited for.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Usage {
    pub(super) cpu: Duration,
    pub(super) peak_bytes: u64,
    pub(super) involuntary_switches: i64,
}

impl Usage {
    fn of(usage: &libc::rusage) -> Self {
        Self {
            cpu: duration(usage.ru_utime) + duration(usage.ru_stime),
            // Linux counts kilobytes, macOS bytes.
            peak_bytes: u64::try_from(usage.ru_maxrss).unwrap_or(0)
                * if cfg!(target_os = "macos") { 1 } else { 1024 },
            involuntary_switches: usage.ru_nivcsw,
        }
    }

    pub(super) fn add(&mut self, other: &Self) {
        self.cpu += other.cpu;
        self.peak_bytes = self.peak_bytes.max(other.peak_bytes);
        self.involuntary_switches += other.involuntary_switches;
    }
}

fn duration(time: libc::timeval) -> Duration {
    Duration::new(
        u64::try_from(time.tv_sec).unwrap_or(0),
        u32::try_from(time.tv_usec).unwrap_or(0) * 1000,
    )
}

/// Waits until child `pid` has ended, and leaves its accounts readable.
pub(super) fn await_end(pid: libc::pid_t) -> io::Result<()> {
    // SAFETY: `siginfo_t` is plain data for which all zeros is a value; waitid fills it.
    let mut info: libc::siginfo_t = unsafe { std::mem::zeroed() };
    let id = libc::id_t::try_from(pid).map_err(io::Error::other)?;
    loop {
        // SAFETY: the pointer is to a live local; the pid is a child that only we wait for.
        let waited =
            unsafe { libc::waitid(libc::P_PID, id, &mut info, libc::WEXITED | libc::WNOWAIT) };
        if waited == 0 {
            return Ok(());
        }
        let error = io::Error::last_os_error();
        if error.kind() != io::ErrorKind::Interrupted {
            return Err(error);
        }
    }
}

/// Takes the accounts of child `pid`, after which its number is free.
pub(super) fn take_accounts(pid: libc::pid_t) -> io::Result<Ended> {
    loop {
        match wait_for(pid, 0) {
            Ok(Some(ended)) => return Ok(ended),
            Ok(None) => {}
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

fn wait_for(pid: libc::pid_t, options: libc::c_int) -> io::Result<Option<Ended>> {
    let mut status = 0;
    // SAFETY: `rusage` is plain data for which all zeros is a value; wait4 fills it.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    // SAFETY: both pointers are to live locals; the pid is a child, or a group of children, that
    // only we wait for.
    match unsafe { libc::wait4(pid, &mut status, options, &mut usage) } {
        -1 => Err(io::Error::last_os_error()),
        0 => Ok(None),
        _ => Ok(Some(Ended {
            status: ExitStatus::from_raw(status),
            usage: Usage::of(&usage),
        })),
    }
}

/// Makes orphans of our commands our children, so that their time is counted and they can be
/// waited for.
#[cfg(target_os = "linux")]
pub(super) fn adopt_orphans() {
    // SAFETY: sets a flag of this process; no pointer is passed. Where it fails, orphans go to
    // init as ever.
    unsafe { libc::prctl(libc::PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) };
}

#[cfg(not(target_os = "linux"))]
pub(super) fn adopt_orphans() {}

/// What this process has used, all its threads.
pub(super) fn own_cpu() -> Duration {
    // SAFETY: `rusage` is plain data for which all zeros is a value; getrusage fills it.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    // SAFETY: the pointer is to a live local.
    unsafe { libc::getrusage(libc::RUSAGE_SELF, &mut usage) };
    Usage::of(&usage).cpu
}

/// Our children in other sessions now, also those that have ended and were not waited for: daemons
/// that were adopted. Children in our own session are somebody else's to wait for.
pub(super) fn children() -> HashSet<libc::pid_t> {
    // SAFETY: `siginfo_t` is plain data for which all zeros is a value; waitid fills it.
    let mut info: libc::siginfo_t = unsafe { std::mem::zeroed() };
    let look = libc::WEXITED | libc::WNOHANG | libc::WNOWAIT;
    // SAFETY: the pointer is to a live local; nothing is waited for, only asked about.
    if unsafe { libc::waitid(libc::P_ALL, 0, &mut info, look) } != 0 {
        // ECHILD, nearly always: reading every process would take milliseconds.
        return HashSet::new();
    }
    let us = std::process::id();
    let our_session = Place::of(us).map(|place| place.session);
    let adopted = |pid: u32| {
        let place = Place::of(pid);
        place.is_some_and(|place| place.parent == us && Some(place.session) != our_session)
    };
    let Ok(processes) = std::fs::read_dir("/proc") else {
        return HashSet::new();
    };
    processes
        .flatten()
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
        .filter(|pid| adopted(*pid))
        .filter_map(|pid| libc::pid_t::try_from(pid).ok())
        .collect()
}

/// What left the group of a command: a daemon makes a session of its own.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Escaped {
    /// Used by those that have ended.
    pub(super) ended: Usage,
    /// Used so far by those that run on, and by their descendants.
    pub(super) running_cpu: Duration,
    /// How many run on.
    pub(super) running: usize,
}

impl Escaped {
    /// Orphans that we have now and had not `before`; the ended ones are waited for.
    pub(super) fn since(before: &HashSet<libc::pid_t>) -> Self {
        let mut escaped = Self::default();
        for pid in children().difference(before) {
            match wait_for(*pid, libc::WNOHANG) {
                Ok(Some(ended)) => escaped.ended.add(&ended.usage),
                Ok(None) => {
                    escaped.running += 1;
                    let root = u32::try_from(*pid).unwrap_or(0);
                    escaped.running_cpu += tree(root).into_iter().map(on_core).sum::<Duration>();
                }
                Err(_) => {}
            }
        }
        escaped
    }
}

/// What the living threads of a process have used.
fn on_core(pid: u32) -> Duration {
    let threads = std::fs::read_dir(format!("/proc/{pid}/task"));
    let stats = threads.into_iter().flatten().flatten().filter_map(|entry| {
        let text = std::fs::read_to_string(entry.path().join("schedstat")).ok()?;
        Scheduled::parse(&text)
    });
    stats.map(|thread| thread.on_core).sum()
}

/// Ends what is left of group `group`, whose leader has ended, and returns what it used.
pub(super) fn end_group(group: libc::pid_t) -> Usage {
    /// A member that the kernel cannot end at once (a disk that hangs) is left to it.
    const PATIENCE: Duration = Duration::from_secs(1);
    // SAFETY: the group id stays taken while any member lives, and a signal to an empty group
    // does nothing; the leader was ours.
    unsafe { libc::kill(-group, libc::SIGKILL) };
    let mut used = Usage::default();
    let begun = Instant::now();
    loop {
        match wait_for(-group, libc::WNOHANG) {
            Ok(Some(ended)) => used.add(&ended.usage),
            Ok(None) if begun.elapsed() < PATIENCE => {
                std::thread::sleep(Duration::from_millis(1));
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            // ECHILD: nobody is left.
            Ok(None) | Err(_) => return used,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_accounts_of_a_thread_are_two_times() {
        let seen = Scheduled::parse("1500 250 3\n").unwrap();
        assert_eq!(seen.on_core, Duration::from_nanos(1500));
        assert_eq!(seen.queued, Duration::from_nanos(250));
        assert_eq!(Scheduled::parse("1500"), None);
        assert_eq!(Scheduled::parse("x 1 2"), None);
    }
}
