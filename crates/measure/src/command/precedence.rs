//! Precedence over others while commands are measured: on a busy machine a command that is hardly
//! interrupted keeps its caches, and many times as many runs fit into a budget.
//!
//! Only a privileged user can have it (root, `CAP_SYS_NICE`, or limits that allow it); for all
//! others nothing changes. A command gets the largest share of the ordinary class, so that the
//! others go on. The thread that starts it and waits for it goes before everything: it sleeps
//! nearly always, and must not queue when a command ends. So does the command until it has become
//! its program, because a new session starts with an ordinary share and would queue for long.
//!
//! Invariants: the calling thread is scheduled as before when this value is gone; a command is of
//! the ordinary class from its first millisecond on; all that was changed belongs to threads and
//! sessions of ours, and ends with them however they end.

use std::mem::MaybeUninit;
use std::sync::atomic::{AtomicBool, Ordering};

/// The largest share that the ordinary class knows.
const LARGEST_SHARE: libc::c_int = -20;
/// Of the thread that waits.
const WAITING: libc::c_int = 2;
/// Of a command that starts: below the thread's, so that it is made ordinary in time.
pub(super) const STARTING: libc::c_int = 1;
/// Once refused, nothing is tried again.
static REFUSED: AtomicBool = AtomicBool::new(false);

/// The calling thread, and what it starts, before the others.
pub(super) struct Precedence {
    former: Scheduling,
    raised: Scheduling,
}

/// How a thread is scheduled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Scheduling {
    policy: libc::c_int,
    priority: libc::c_int,
    nice: libc::c_int,
}

/// Whether this process may take it.
pub fn is_permitted() -> bool {
    Precedence::take().is_some()
}

impl Precedence {
    /// Takes it. `None` where the system does not permit it, and where the user gave this process
    /// a smaller share than usual.
    pub(super) fn take() -> Option<Self> {
        if REFUSED.load(Ordering::Relaxed) {
            return None;
        }
        let former = Scheduling::of(0)?;
        if former.nice > 0 {
            return None;
        }
        let raised = Scheduling {
            policy: libc::SCHED_RR,
            priority: WAITING,
            nice: LARGEST_SHARE,
        };
        if !raised.apply(0) {
            REFUSED.store(true, Ordering::Relaxed);
            former.apply(0);
            return None;
        }
        Some(Self { former, raised })
    }

    /// Does `work` without it.
    pub(super) fn pause<T>(&self, work: impl FnOnce() -> T) -> T {
        self.former.apply(0);
        let done = work();
        self.raised.apply(0);
        done
    }

    /// Ends the start of `pid`: it keeps the largest share, and so does its session, because the
    /// priority of a process may count only within its session; it leaves the waiting thread's
    /// class.
    pub(super) fn has_started(&self, pid: libc::pid_t) {
        // Absent where sessions are not scheduled as groups.
        let _ = std::fs::write(format!("/proc/{pid}/autogroup"), LARGEST_SHARE.to_string());
        let ordinary = Scheduling {
            policy: libc::SCHED_OTHER,
            priority: 0,
            nice: LARGEST_SHARE,
        };
        ordinary.apply(pid);
    }
}

impl Drop for Precedence {
    fn drop(&mut self) {
        self.former.apply(0);
    }
}

#[cfg(target_os = "linux")]
impl Scheduling {
    /// Of a thread; zero is the calling one.
    fn of(thread: libc::pid_t) -> Option<Self> {
        let mut parameters = MaybeUninit::<libc::sched_param>::uninit();
        // SAFETY: the pointer is to a live local, which is read only where the call has filled it.
        unsafe {
            let policy = libc::sched_getscheduler(thread);
            let read = libc::sched_getparam(thread, parameters.as_mut_ptr()) == 0;
            (policy >= 0 && read).then(|| Self {
                policy,
                priority: parameters.assume_init().sched_priority,
                nice: libc::getpriority(libc::PRIO_PROCESS, thread.cast_unsigned()),
            })
        }
    }

    /// Whether all of it was permitted; zero is the calling thread.
    fn apply(self, thread: libc::pid_t) -> bool {
        let parameters = libc::sched_param {
            sched_priority: self.priority,
        };
        // SAFETY: the pointer is to a live local.
        unsafe {
            libc::setpriority(libc::PRIO_PROCESS, thread.cast_unsigned(), self.nice) == 0
                && libc::sched_setscheduler(thread, self.policy, &parameters) == 0
        }
    }
}

/// Where a thread has no priority of its own.
#[cfg(not(target_os = "linux"))]
impl Scheduling {
    fn of(_: libc::pid_t) -> Option<Self> {
        None
    }

    fn apply(self, _: libc::pid_t) -> bool {
        false
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn a_smaller_share_is_respected() {
        std::thread::spawn(|| {
            let before = Scheduling::of(0).unwrap();
            let low = Scheduling {
                nice: before.nice.max(0) + 5,
                ..before
            };
            assert!(low.apply(0));
            assert!(Precedence::take().is_none());
            assert_eq!(Scheduling::of(0).unwrap(), low);
        })
        .join()
        .unwrap();
    }
}
