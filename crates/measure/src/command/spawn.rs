//! Starting a process by `posix_spawn`: no copy of our memory is made, so that starting costs the
//! same however large we are.
//!
//! A command runs in a session of its own: a time-out reaches all of it, the terminal's signals
//! none of it, and where the scheduler shares the machine out by session it competes with other
//! sessions rather than with each of their processes.

use std::ffi::{CString, OsStr};
use std::fs::File;
use std::io::{self, PipeReader, PipeWriter};
use std::mem::MaybeUninit;
use std::os::fd::{AsRawFd, RawFd};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::Path;
use std::ptr;

use super::precedence::{self, Precedence};

/// A process that was started, and the read end of its standard error.
pub(super) struct Spawned {
    pub(super) pid: libc::pid_t,
    pub(super) stderr: PipeReader,
}

/// Everything that starting needs, prepared outside of any timed window.
pub(super) struct SpawnPlan {
    words: Vec<CString>,
    environment: Vec<CString>,
    stdin: File,
    discard: File,
    stderr: (PipeReader, PipeWriter),
}

impl SpawnPlan {
    pub(super) fn new(words: &[String], stdin: Option<&Path>) -> io::Result<Self> {
        let words = words.iter().map(|word| c_string(OsStr::new(word)));
        let environment = std::env::vars_os().map(|(name, value)| {
            let mut entry = name.into_vec();
            entry.push(b'=');
            entry.extend_from_slice(value.as_bytes());
            CString::new(entry).map_err(io::Error::other)
        });
        let null = Path::new("/dev/null");
        Ok(Self {
            words: words.collect::<io::Result<_>>()?,
            environment: environment.collect::<io::Result<_>>()?,
            stdin: File::open(stdin.unwrap_or(null))?,
            discard: File::options().write(true).open(null)?,
            stderr: io::pipe()?,
        })
    }

    /// Starts it, before others where there is precedence. The program is looked for in `PATH`.
    pub(super) fn start(self, precedence: Option<&Precedence>) -> io::Result<Spawned> {
        let pointers = |texts: &[CString]| -> Vec<*mut libc::c_char> {
            let pointers = texts.iter().map(|text| text.as_ptr().cast_mut());
            pointers.chain([ptr::null_mut()]).collect()
        };
        let (words, environment) = (pointers(&self.words), pointers(&self.environment));
        let actions = FileActions::new(&[
            (self.stdin.as_raw_fd(), libc::STDIN_FILENO),
            (self.discard.as_raw_fd(), libc::STDOUT_FILENO),
            (self.stderr.1.as_raw_fd(), libc::STDERR_FILENO),
        ])?;
        let attributes = Attributes::new(precedence.is_some())?;
        let mut pid = 0;
        // SAFETY: both lists are of NUL-terminated strings that live in `self`, and end in a null
        // pointer; actions and attributes were initialised by their constructors.
        check(unsafe {
            libc::posix_spawnp(
                &mut pid,
                words[0],
                &actions.0,
                &attributes.0,
                words.as_ptr(),
                environment.as_ptr(),
            )
        })?;
        // Our end for writing closes here with `self`: the reader sees the end of the last writer.
        Ok(Spawned {
            pid,
            stderr: self.stderr.0,
        })
    }
}

fn c_string(text: &OsStr) -> io::Result<CString> {
    CString::new(text.as_bytes()).map_err(|_| {
        io::Error::new(
            io::ErrorKind::InvalidInput,
            format!("`{}` has a zero byte in it", text.display()),
        )
    })
}

/// These calls return their error instead of setting `errno`.
fn check(code: libc::c_int) -> io::Result<()> {
    match code {
        0 => Ok(()),
        code => Err(io::Error::from_raw_os_error(code)),
    }
}

struct FileActions(libc::posix_spawn_file_actions_t);

impl FileActions {
    /// Each pair becomes a `dup2` in the child; all other descriptors close at `exec`.
    fn new(pairs: &[(RawFd, RawFd)]) -> io::Result<Self> {
        let mut actions = MaybeUninit::uninit();
        // SAFETY: initialises the object that the pointer is to.
        check(unsafe { libc::posix_spawn_file_actions_init(actions.as_mut_ptr()) })?;
        // SAFETY: the call above succeeded.
        let mut actions = Self(unsafe { actions.assume_init() });
        for (from, to) in pairs {
            // SAFETY: the object is initialised.
            check(unsafe { libc::posix_spawn_file_actions_adddup2(&mut actions.0, *from, *to) })?;
        }
        Ok(actions)
    }
}

impl Drop for FileActions {
    fn drop(&mut self) {
        // SAFETY: initialised in `new`, destroyed once.
        unsafe { libc::posix_spawn_file_actions_destroy(&mut self.0) };
    }
}

struct Attributes(libc::posix_spawnattr_t);

impl Attributes {
    #[cfg(target_os = "linux")]
    const OWN_GROUP: libc::c_int = libc::POSIX_SPAWN_SETSID as libc::c_int;
    // A session where libc has no name for it is a group: zero is the default group, its own.
    #[cfg(not(target_os = "linux"))]
    const OWN_GROUP: libc::c_int = libc::POSIX_SPAWN_SETPGROUP as libc::c_int;

    /// `precedes`: the class of a command that starts before others.
    fn new(precedes: bool) -> io::Result<Self> {
        let mut attributes = MaybeUninit::uninit();
        // SAFETY: initialises the object that the pointer is to.
        check(unsafe { libc::posix_spawnattr_init(attributes.as_mut_ptr()) })?;
        // SAFETY: the call above succeeded.
        let mut attributes = Self(unsafe { attributes.assume_init() });
        let mut none = MaybeUninit::uninit();
        let mut pipe = MaybeUninit::uninit();
        // SAFETY: both calls initialise the sets that they get.
        let (none, pipe) = unsafe {
            libc::sigemptyset(none.as_mut_ptr());
            libc::sigemptyset(pipe.as_mut_ptr());
            libc::sigaddset(pipe.as_mut_ptr(), libc::SIGPIPE);
            (none.assume_init(), pipe.assume_init())
        };
        // Rust ignores SIGPIPE, and a command should not inherit that; nor our mask.
        let mut flags = Self::OWN_GROUP
            | libc::POSIX_SPAWN_SETSIGMASK as libc::c_int
            | libc::POSIX_SPAWN_SETSIGDEF as libc::c_int;
        if precedes {
            flags |= libc::POSIX_SPAWN_SETSCHEDULER as libc::c_int;
        }
        // SAFETY: the attributes and both sets are initialised.
        unsafe {
            check(libc::posix_spawnattr_setsigmask(&mut attributes.0, &none))?;
            check(libc::posix_spawnattr_setsigdefault(
                &mut attributes.0,
                &pipe,
            ))?;
            #[cfg(target_os = "linux")]
            if precedes {
                let starting = libc::sched_param {
                    sched_priority: precedence::STARTING,
                };
                check(libc::posix_spawnattr_setschedpolicy(
                    &mut attributes.0,
                    libc::SCHED_RR,
                ))?;
                check(libc::posix_spawnattr_setschedparam(
                    &mut attributes.0,
                    &starting,
                ))?;
            }
            check(libc::posix_spawnattr_setflags(
                &mut attributes.0,
                flags as libc::c_short,
            ))?;
        }
        Ok(attributes)
    }
}

impl Drop for Attributes {
    fn drop(&mut self) {
        // SAFETY: initialised in `new`, destroyed once.
        unsafe { libc::posix_spawnattr_destroy(&mut self.0) };
    }
}
