//! Ending a process that a list names: surely the one in the list, and only where that is allowed.
//!
//! Invariant: a signal goes to the process that was listed or to nobody. Its start time is compared
//! when it is chosen; from then on the kernel's handle names it, whatever becomes of its number.

use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::path::Path;

use crate::event::ProcessIdentity;
use crate::process_identity::start_ticks;

/// How to end a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Signal {
    /// Ask it to end: it may clean up first.
    Terminate,
    /// End it at once.
    Kill,
}

impl Signal {
    /// The name that everybody knows.
    pub fn name(self) -> &'static str {
        match self {
            Self::Terminate => "SIGTERM",
            Self::Kill => "SIGKILL",
        }
    }

    fn number(self) -> libc::c_int {
        match self {
            Self::Terminate => libc::SIGTERM,
            Self::Kill => libc::SIGKILL,
        }
    }
}

/// Why a process cannot be signalled.
#[derive(Debug, thiserror::Error)]
pub enum SignalError {
    /// It is not there any more.
    #[error("process {0} has ended")]
    Gone(u32),
    /// Another process has its number by now.
    #[error("process {0} has ended, and another process has its number: nothing was sent")]
    Replaced(u32),
    /// Nothing was known about it when it was listed.
    #[error(
        "process {0} is not visible from here (another container?): nothing was sent (hint: run where the host's processes are visible, such as `docker run --pid=host`)"
    )]
    NotVisible(u32),
    /// This user may not.
    #[error(
        "process {pid} belongs to {user}: you may not signal it (hint: `sudo warpsmith watch`)"
    )]
    NotPermitted {
        /// Whose number it has.
        pid: u32,
        /// Its owner.
        user: String,
    },
    /// The one that asks.
    #[error("process {0} is this program: press q to quit")]
    Own(u32),
    /// What the kernel said otherwise.
    #[error("cannot signal process {pid}: {source}")]
    System {
        /// Whose number it has.
        pid: u32,
        /// The kernel's answer.
        source: io::Error,
    },
}

/// A process that may be signalled.
#[derive(Debug)]
pub struct SignalTarget {
    pid: u32,
    user: String,
    handle: OwnedFd,
}

impl SignalTarget {
    /// Finds the process that was listed as `identity`, and asks the kernel whether it may be
    /// signalled. `proc_root` is where it was looked up.
    pub fn find(proc_root: &Path, identity: &ProcessIdentity) -> Result<Self, SignalError> {
        let pid = identity.pid;
        if pid == std::process::id() {
            return Err(SignalError::Own(pid));
        }
        // Numbers 0 and -1 would mean groups of processes, and the first process is the system's.
        let number = libc::pid_t::try_from(pid).ok().filter(|pid| *pid > 1);
        let (Some(number), Some(listed)) = (number, identity.start_ticks) else {
            return Err(SignalError::NotVisible(pid));
        };
        // SAFETY: two numbers, no memory.
        let handle = unsafe { libc::syscall(libc::SYS_pidfd_open, number, 0) };
        let handle = libc::c_int::try_from(handle).unwrap_or(-1);
        let user = identity.user.clone();
        let target = Self {
            pid,
            user: user.unwrap_or_else(|| "another user".to_owned()),
            handle: match handle {
                handle if handle >= 0 => {
                    // SAFETY: the kernel made it just now for this call, and nobody else has it.
                    unsafe { OwnedFd::from_raw_fd(handle) }
                }
                _ => {
                    return Err(match io::Error::last_os_error() {
                        error if error.raw_os_error() == Some(libc::ESRCH) => {
                            SignalError::Gone(pid)
                        }
                        source => SignalError::System { pid, source },
                    });
                }
            },
        };
        // The listed one started before and is there now: the handle, opened in between, is its own.
        match start_ticks(proc_root, pid) {
            Some(ticks) if ticks == listed => {}
            Some(_) => return Err(SignalError::Replaced(pid)),
            None => return Err(SignalError::Gone(pid)),
        }
        target.send_number(0)?;
        Ok(target)
    }

    /// Its number.
    pub fn pid(&self) -> u32 {
        self.pid
    }

    /// Sends the signal.
    pub fn send(&self, signal: Signal) -> Result<(), SignalError> {
        self.send_number(signal.number())
    }

    /// Whether it has ended.
    pub fn has_ended(&self) -> bool {
        let mut poll = libc::pollfd {
            fd: self.handle.as_raw_fd(),
            events: libc::POLLIN,
            revents: 0,
        };
        // SAFETY: one entry, alive during the call, which does not wait.
        unsafe { libc::poll(&raw mut poll, 1, 0) == 1 }
    }

    fn send_number(&self, number: libc::c_int) -> Result<(), SignalError> {
        let pid = self.pid;
        let no_information = std::ptr::null::<libc::siginfo_t>();
        // SAFETY: the handle is open, and a null pointer stands for the kernel's own information.
        let sent = unsafe {
            let handle = self.handle.as_raw_fd();
            libc::syscall(
                libc::SYS_pidfd_send_signal,
                handle,
                number,
                no_information,
                0,
            )
        };
        if sent == 0 {
            return Ok(());
        }
        let source = io::Error::last_os_error();
        Err(match source.raw_os_error() {
            Some(libc::ESRCH) => SignalError::Gone(pid),
            Some(libc::EPERM) => SignalError::NotPermitted {
                pid,
                user: self.user.clone(),
            },
            _ => SignalError::System { pid, source },
        })
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::process::{CommandExt, ExitStatusExt};
    use std::process::{Child, Command};

    use super::*;
    use crate::process_identity::ProcessLookup;

    fn sleeper() -> Child {
        Command::new("sleep").arg("600").spawn().expect("it starts")
    }

    fn listed(pid: u32) -> ProcessIdentity {
        ProcessLookup::new(Path::new("/proc"), false).identify(pid)
    }

    fn find(identity: &ProcessIdentity) -> Result<SignalTarget, SignalError> {
        SignalTarget::find(Path::new("/proc"), identity)
    }

    #[test]
    fn a_child_ends_by_the_signal_that_was_chosen() {
        for (signal, number) in [(Signal::Terminate, 15), (Signal::Kill, 9)] {
            let mut child = sleeper();
            let target = find(&listed(child.id())).expect("it is ours");
            assert!(!target.has_ended());
            target.send(signal).expect("sent");
            assert_eq!(child.wait().expect("it ends").signal(), Some(number));
            assert!(target.has_ended());
            // Waited for, its number may be anybody's: the handle is still its own.
            assert!(matches!(target.send(signal), Err(SignalError::Gone(_))));
        }
    }

    #[test]
    fn another_process_with_the_same_number_is_left_alone() {
        let mut child = sleeper();
        let mut identity = listed(child.id());
        identity.start_ticks = identity.start_ticks.map(|ticks| ticks - 1);
        assert!(matches!(find(&identity), Err(SignalError::Replaced(_))));
        identity.start_ticks = None;
        assert!(matches!(find(&identity), Err(SignalError::NotVisible(_))));
        assert!(child.try_wait().expect("asked").is_none(), "it lives");
        child.kill().expect("ours");
        child.wait().expect("it ends");
    }

    #[test]
    fn ended_processes_the_first_one_and_this_one_are_refused() {
        let mut child = sleeper();
        let identity = listed(child.id());
        child.kill().expect("ours");
        child.wait().expect("it ends");
        assert!(matches!(find(&identity), Err(SignalError::Gone(_))));
        for pid in [0, 1, u32::MAX] {
            let identity = ProcessIdentity {
                pid,
                start_ticks: Some(1),
                ..ProcessIdentity::default()
            };
            assert!(matches!(find(&identity), Err(SignalError::NotVisible(_))));
        }
        let own = find(&listed(std::process::id()));
        assert!(matches!(own, Err(SignalError::Own(_))));
    }

    /// As nobody, in a program of its own: this test starts itself again under another user.
    #[test]
    fn a_process_of_somebody_else_is_refused_by_name() {
        const VICTIM: &str = "SIGNAL_TEST_VICTIM";
        if let Ok(victim) = std::env::var(VICTIM) {
            let identity = listed(victim.parse().expect("a number"));
            match find(&identity) {
                Err(SignalError::NotPermitted { user, .. }) => assert_eq!(user, "root"),
                other => panic!("{other:?}"),
            }
            return;
        }
        // SAFETY: a number comes back and nothing else happens.
        if unsafe { libc::geteuid() } != 0 {
            // Without root, one of root's will do: the kernel's own thread is always there on a host.
            let other = listed(2);
            if other.user.as_deref() == Some("root") {
                assert!(matches!(
                    find(&other),
                    Err(SignalError::NotPermitted { .. })
                ));
            }
            return;
        }
        let mut child = sleeper();
        let program = std::env::current_exe().expect("a test program has a path");
        let copy = tempfile::Builder::new()
            .permissions(std::os::unix::fs::PermissionsExt::from_mode(0o755))
            .tempdir_in("/tmp")
            .expect("a folder for everybody");
        let copied = copy.path().join("test");
        std::fs::copy(program, &copied).expect("copied");
        let name = "process_signal::tests::a_process_of_somebody_else_is_refused_by_name";
        let output = Command::new(&copied)
            .args(["--exact", name])
            .env(VICTIM, child.id().to_string())
            .current_dir("/")
            .uid(65_534)
            .gid(65_534)
            .output()
            .expect("it runs");
        child.kill().expect("ours");
        child.wait().expect("it ends");
        assert!(output.status.success(), "{output:?}");
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(said.contains("1 passed"), "{said}");
    }
}
