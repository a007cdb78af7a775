//! A command as a target: spawned without a shell, waited for with its resource usage, killed when
//! it takes too long.
//!
//! Invariants: its standard output never fills memory (it is discarded or written to a file); the
//! end of its standard error is kept to explain a failure; a time-out ends the whole process group.

use std::io::Read;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Command, ExitStatus, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use thiserror::Error;

/// Why a command gave no sample.
#[derive(Debug, Error)]
pub enum CommandError {
    /// Nothing to run.
    #[error("no command was given")]
    Empty,
    /// The program could not be started.
    #[error("cannot start `{program}`")]
    Spawn {
        /// As typed.
        program: String,
        /// What the system said.
        source: std::io::Error,
    },
    /// The system call that waits failed.
    #[error("cannot wait for `{program}`")]
    Wait {
        /// As typed.
        program: String,
        /// What the system said.
        source: std::io::Error,
    },
    /// It ended with a failure.
    #[error("`{command}` failed ({status}) on run {run}{}", indented(.stderr_tail))]
    Failed {
        /// As typed.
        command: String,
        /// How it ended.
        status: ExitStatus,
        /// Which run, from 1.
        run: usize,
        /// The end of its standard error.
        stderr_tail: String,
    },
    /// It was ended because it took too long.
    #[error("`{command}` was ended after {} s on run {run}", .limit.as_secs_f64())]
    TimedOut {
        /// As typed.
        command: String,
        /// The limit.
        limit: Duration,
        /// Which run, from 1.
        run: usize,
    },
}

fn indented(text: &str) -> String {
    text.lines().map(|line| format!("\n    | {line}")).collect()
}

/// One run of a command.
#[derive(Clone, Debug)]
pub struct CommandRun {
    /// From spawn to exit.
    pub wall: Duration,
    /// User and system time of the process and its waited-for children.
    pub cpu: Duration,
    /// Largest resident set in bytes.
    pub peak_bytes: u64,
    /// How it ended.
    pub status: ExitStatus,
    /// The end of its standard error.
    pub stderr_tail: String,
}

/// A command that can be run again and again.
#[derive(Clone, Debug)]
pub struct CommandTarget {
    /// Program and arguments.
    pub words: Vec<String>,
    /// A run that takes longer is ended.
    pub limit: Duration,
    /// Whether a failing exit status is accepted as a sample.
    pub ignore_failure: bool,
}

impl CommandTarget {
    /// How much of the standard error is kept.
    const STDERR_KEPT: usize = 2048;

    /// The command as one line.
    pub fn line(&self) -> String {
        self.words.join(" ")
    }

    /// Runs it once and checks how it ended; `run` counts from 1 and names the run in errors.
    pub fn run(&self, run: usize) -> Result<CommandRun, CommandError> {
        let done = self.spawn_and_wait(run)?;
        if !done.status.success() && !self.ignore_failure {
            return Err(CommandError::Failed {
                command: self.line(),
                status: done.status,
                run,
                stderr_tail: done.stderr_tail,
            });
        }
        Ok(done)
    }

    fn spawn_and_wait(&self, run: usize) -> Result<CommandRun, CommandError> {
        let (program, arguments) = self.words.split_first().ok_or(CommandError::Empty)?;
        let mut command = Command::new(program);
        command
            .args(arguments)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            // A group of its own, so that a time-out reaches its children too.
            .process_group(0);
        let begun = Instant::now();
        let mut child = command.spawn().map_err(|source| CommandError::Spawn {
            program: program.clone(),
            source,
        })?;
        let stderr = child.stderr.take();
        let pid = i32::try_from(child.id()).unwrap_or(i32::MAX);
        thread::scope(|scope| {
            let tail = scope.spawn(move || stderr.map(keep_tail).unwrap_or_default());
            let (ended, watched) = mpsc::channel::<()>();
            let limit = self.limit;
            let guard = scope.spawn(move || {
                let expired = watched.recv_timeout(limit) == Err(mpsc::RecvTimeoutError::Timeout);
                if expired {
                    // SAFETY: the group is our child's, which has not been waited for: its id
                    // cannot have been given to another process.
                    unsafe { libc::kill(-pid, libc::SIGKILL) };
                }
                expired
            });
            let waited = wait_with_usage(pid);
            let wall = begun.elapsed();
            drop(ended);
            // A grandchild may hold the pipe open after the child ended; it is not waited for
            // longer than the group lives.
            let expired = guard.join().unwrap_or(false);
            // SAFETY: as above, except that the leader has been waited for; the group id stays
            // taken while any member lives, and a signal to an empty group does nothing.
            unsafe { libc::kill(-pid, libc::SIGKILL) };
            let stderr_tail = tail.join().unwrap_or_default();
            let (status, usage) = waited.map_err(|source| CommandError::Wait {
                program: program.clone(),
                source,
            })?;
            if expired {
                return Err(CommandError::TimedOut {
                    command: self.line(),
                    limit,
                    run,
                });
            }
            Ok(CommandRun {
                wall,
                cpu: duration(usage.ru_utime) + duration(usage.ru_stime),
                // Linux counts kilobytes, macOS bytes.
                peak_bytes: u64::try_from(usage.ru_maxrss).unwrap_or(0)
                    * if cfg!(target_os = "macos") { 1 } else { 1024 },
                status,
                stderr_tail,
            })
        })
    }
}

fn wait_with_usage(pid: i32) -> std::io::Result<(ExitStatus, libc::rusage)> {
    let mut status = 0;
    // SAFETY: `rusage` is plain data for which all zeros is a value; wait4 fills it.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    loop {
        // SAFETY: both pointers are to live locals; the pid is a child that only we wait for.
        let waited = unsafe { libc::wait4(pid, &mut status, 0, &mut usage) };
        if waited == pid {
            return Ok((ExitStatus::from_raw(status), usage));
        }
        let error = std::io::Error::last_os_error();
        if error.kind() != std::io::ErrorKind::Interrupted {
            return Err(error);
        }
    }
}

fn duration(time: libc::timeval) -> Duration {
    Duration::new(
        u64::try_from(time.tv_sec).unwrap_or(0),
        u32::try_from(time.tv_usec).unwrap_or(0) * 1000,
    )
}

/// Reads to the end and keeps the last bytes, so that megabytes of messages cost no memory.
fn keep_tail(mut pipe: impl Read) -> String {
    let mut kept: Vec<u8> = Vec::new();
    let mut chunk = [0; 8192];
    while let Ok(count @ 1..) = pipe.read(&mut chunk) {
        kept.extend_from_slice(&chunk[..count]);
        let surplus = kept.len().saturating_sub(CommandTarget::STDERR_KEPT);
        kept.drain(..surplus);
    }
    String::from_utf8_lossy(&kept).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str) -> CommandTarget {
        CommandTarget {
            words: vec!["sh".into(), "-c".into(), script.into()],
            limit: Duration::from_secs(20),
            ignore_failure: false,
        }
    }

    #[test]
    fn a_run_reports_time_and_memory() {
        let run = shell("true").run(1).unwrap();
        assert!(run.wall > Duration::ZERO && run.peak_bytes > 0);
    }

    #[test]
    fn a_failure_names_the_run_the_status_and_what_was_said() {
        let error = shell("echo cannot open x >&2; exit 3").run(7).unwrap_err();
        let text = error.to_string();
        assert!(
            text.contains("exit status: 3") && text.contains("run 7"),
            "{text}"
        );
        assert!(text.contains("| cannot open x"), "{text}");
        let tolerant = CommandTarget {
            ignore_failure: true,
            ..shell("exit 3")
        };
        assert_eq!(tolerant.run(1).unwrap().status.code(), Some(3));
    }

    #[test]
    fn megabytes_on_both_streams_neither_block_nor_stay() {
        let run = shell("head -c 5000000 /dev/zero; head -c 5000000 /dev/zero >&2")
            .run(1)
            .unwrap();
        assert!(run.stderr_tail.len() <= 3 * CommandTarget::STDERR_KEPT);
    }

    #[test]
    fn a_command_that_never_ends_is_ended_with_its_children() {
        let target = CommandTarget {
            limit: Duration::from_millis(100),
            ..shell("sleep 1000 & sleep 1000; wait")
        };
        assert!(matches!(target.run(1), Err(CommandError::TimedOut { .. })));
    }

    #[test]
    fn a_program_that_is_not_there_is_named() {
        let target = CommandTarget {
            words: vec!["no-such-program-here".into()],
            ..shell("")
        };
        assert!(
            target
                .run(1)
                .unwrap_err()
                .to_string()
                .contains("no-such-program-here")
        );
        let empty = CommandTarget {
            words: vec![],
            ..shell("")
        };
        assert!(matches!(empty.run(1), Err(CommandError::Empty)));
    }
}
