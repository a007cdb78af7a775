//! A command as a target: spawned, waited for with the accounts of its whole tree, ended when it
//! takes too long.
//!
//! Invariants: its standard output is discarded and its standard error never fills memory, but the
//! end of it is kept to explain a failure; a time-out ends the whole session, and nothing of it
//! but a daemon that left the session outlives a run.

use std::io::Read;
use std::path::PathBuf;
use std::process::ExitStatus;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::{Duration, Instant};

use thiserror::Error;

use super::peak_memory::inherited_peak;
use super::precedence::Precedence;
use super::scheduling::{self, Escaped, Scheduled};
use super::spawn::{SpawnPlan, Spawned};
use super::tree_account::{Running, TreeAccount};
use super::words::replaced_by_its_program;
use crate::cpu::thread_usage::ThreadUsage;
use crate::measurement::Sample;

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
    #[error("`{command}` failed ({status}) {}{}", which(*.run), indented(.stderr_tail))]
    Failed {
        /// As typed.
        command: String,
        /// How it ended.
        status: ExitStatus,
        /// Which run, from 1; 0 is the warm-up.
        run: usize,
        /// The end of its standard error.
        stderr_tail: String,
    },
    /// The file that it should read cannot be read.
    #[error("cannot read `{}`", .path.display())]
    Input {
        /// As typed.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// The user ended it.
    #[error("interrupted")]
    Interrupted,
    /// It was ended because it took too long.
    #[error("`{command}` was ended after {} s {}", .limit.as_secs_f64(), which(*.run))]
    TimedOut {
        /// As typed.
        command: String,
        /// The limit.
        limit: Duration,
        /// Which run, from 1; 0 is the warm-up.
        run: usize,
    },
}

fn which(run: usize) -> String {
    match run {
        0 => "in the warm-up".to_owned(),
        run => format!("on run {run}"),
    }
}

fn indented(text: &str) -> String {
    text.lines().map(|line| format!("\n    | {line}")).collect()
}

/// One run of a command.
#[derive(Clone, Debug)]
pub struct CommandRun {
    /// From spawn to exit.
    pub wall: Duration,
    /// User and system time of the process and of everything that it started, until it ended: from
    /// a control group where one can be made, else from the accounts of its descendants.
    pub cpu: Duration,
    /// Time neither on a core nor in the queue for one; `None` where the work was not done by one
    /// thread, or the system keeps no such account.
    pub waited: Option<Duration>,
    /// Others had the core for a while.
    pub preempted: bool,
    /// Largest resident set in bytes; `None` where it is below our own, which hides it.
    pub peak_bytes: Option<u64>,
    /// Processes that left its session and run on: a daemon is not ours to end, and what it does
    /// after this is not counted.
    pub left_running: usize,
    /// How it ended.
    pub status: ExitStatus,
    /// The end of its standard error.
    pub stderr_tail: String,
}

impl CommandRun {
    /// The run as a sample.
    pub fn sample(&self) -> Sample {
        Sample {
            cpu_seconds: Some(self.cpu.as_secs_f64()),
            waited_seconds: self.waited.map(|waited| waited.as_secs_f64()),
            preempted: self.preempted,
            ..Sample::of_seconds(self.wall.as_secs_f64())
        }
    }
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
    /// What it reads; nothing where there is none.
    pub stdin: Option<PathBuf>,
    /// Whether it goes before everything else that wants a core, where this user may decide that.
    pub precedes: bool,
    /// Ends the run when it becomes true, with [`CommandError::Interrupted`].
    pub interrupted: Option<Arc<AtomicBool>>,
}

impl CommandTarget {
    /// How much of the standard error is kept.
    const STDERR_KEPT: usize = 2048;
    /// Time in the queue up to this share of the run is what a quiet machine has, too.
    const QUEUED_SHARE: f64 = 0.02;
    /// One thread did the work if it has this share of the CPU time.
    const ONE_THREAD: f64 = 0.95;

    /// A command without input and precedence that may take ten minutes.
    pub fn new(words: Vec<String>) -> Self {
        Self {
            words,
            limit: Duration::from_secs(600),
            ignore_failure: false,
            stdin: None,
            precedes: false,
            interrupted: None,
        }
    }

    /// A line for `sh -c`.
    pub fn shell(line: &str) -> Self {
        Self::new(vec!["sh".into(), "-c".into(), line.into()])
    }

    /// The command as one line; a line for the shell as it was given.
    pub fn line(&self) -> String {
        match &self.words[..] {
            [shell, flag, line] if shell == "sh" && flag == "-c" => line.clone(),
            words => words.join(" "),
        }
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
        let program = self.words.first().ok_or(CommandError::Empty)?;
        let cannot_start = |source| CommandError::Spawn {
            program: program.clone(),
            source,
        };
        if let Some(path) = &self.stdin
            && let Err(source) = std::fs::File::open(path)
        {
            let path = path.clone();
            return Err(CommandError::Input { path, source });
        }
        // A run that is shorter than a glance ends before its guard looks.
        if self.was_interrupted() {
            return Err(CommandError::Interrupted);
        }
        scheduling::adopt_orphans();
        let ours_before = scheduling::children();
        let words = replaced_by_its_program(&self.words);
        let plan = SpawnPlan::new(&words, self.stdin.as_deref()).map_err(cannot_start)?;
        let running = Running::begin();
        let account = TreeAccount::open(&running);
        let (our_queue, our_cpu) = (Scheduled::of_this_thread(), ThreadUsage::read());
        let precedence = self.precedes.then(Precedence::take).flatten();
        let begun = Instant::now();
        let Spawned { pid, stderr } = plan.start(precedence.as_ref()).map_err(cannot_start)?;
        if let Some(precedence) = &precedence {
            precedence.has_started(pid);
        }
        thread::scope(|scope| {
            let tail = scope.spawn(move || keep_tail(stderr));
            let (ended, watched) = mpsc::channel::<()>();
            let guard = scope.spawn(move || self.guard(pid, begun, &watched));
            let awaited = scheduling::await_end(pid);
            let wall = begun.elapsed();
            let accounts = awaited.and_then(|()| {
                let ours = our_queue
                    .zip(Scheduled::of_this_thread())
                    .map(|(early, late)| late.queued.saturating_sub(early.queued));
                let busy = our_cpu
                    .zip(ThreadUsage::read())
                    .map(|(early, late)| late.cpu_time.saturating_sub(early.cpu_time));
                let leader = Scheduled::of_process(pid);
                Ok((ours, busy, leader, scheduling::take_accounts(pid)?))
            });
            drop(ended);
            let stopped = guard.join().unwrap_or(None);
            // A descendant may hold the pipe open after the command ended: it ends here, too.
            let left_behind = scheduling::end_group(pid);
            let stderr_tail = tail.join().unwrap_or_default();
            let (ours, busy, leader, mut done) = accounts.map_err(|source| CommandError::Wait {
                program: program.clone(),
                source,
            })?;
            match stopped {
                Some(Stopped::Limit) => {
                    return Err(CommandError::TimedOut {
                        command: self.line(),
                        limit: self.limit,
                        run,
                    });
                }
                Some(Stopped::Interrupted) => return Err(CommandError::Interrupted),
                None => {}
            }
            done.usage.add(&left_behind);
            let tree = account.as_ref().and_then(|account| account.used(&running));
            drop(account);
            // Beside other commands of this process, theirs could not be told from this one's.
            let escaped = match running.was_alone() {
                true => Escaped::since(&ours_before),
                false => Escaped::default(),
            };
            done.usage.add(&escaped.ended);
            let cpu = whole_tree(done.usage.cpu, tree, &escaped);
            // What one thread did, and nothing else of the tree, is fully accounted for: on a
            // core, in the queue, or waiting. Our own time around it is neither.
            let one_thread = leader.filter(|leader| {
                leader.on_core.as_secs_f64() >= Self::ONE_THREAD * cpu.as_secs_f64()
            });
            let queued = one_thread
                .zip(ours)
                .map(|(leader, ours)| leader.queued + ours);
            let waited = queued.zip(busy).map(|(queued, busy)| {
                wall.saturating_sub(cpu)
                    .saturating_sub(queued)
                    .saturating_sub(busy)
            });
            let own_share = |part: Duration| part.as_secs_f64() / wall.as_secs_f64().max(1e-9);
            let preempted = match queued {
                Some(queued) => own_share(queued) > Self::QUEUED_SHARE,
                None => {
                    done.usage.involuntary_switches > 0
                        && own_share(wall.saturating_sub(cpu)) > Self::QUEUED_SHARE
                }
            };
            let peak_bytes = done.usage.peak_bytes;
            // Read now, because our own mark may have risen until the command replaced our pages;
            // and the kernel counts pages per core in batches.
            let hidden_below = inherited_peak() + (512 << 10);
            Ok(CommandRun {
                wall,
                cpu,
                waited,
                preempted,
                peak_bytes: (peak_bytes > hidden_below).then_some(peak_bytes),
                left_running: escaped.running,
                status: done.status,
                stderr_tail,
            })
        })
    }

    fn was_interrupted(&self) -> bool {
        let flag = self.interrupted.as_ref();
        flag.is_some_and(|flag| flag.load(Ordering::Relaxed))
    }

    /// Ends the group of `pid` when its time is up or the user ends it; says which.
    fn guard(
        &self,
        pid: libc::pid_t,
        begun: Instant,
        watched: &mpsc::Receiver<()>,
    ) -> Option<Stopped> {
        // How long a key press may go unheard.
        const GLANCE: Duration = Duration::from_millis(50);
        loop {
            let left = self.limit.saturating_sub(begun.elapsed());
            let nap = match self.interrupted {
                Some(_) => left.min(GLANCE),
                None => left,
            };
            if watched.recv_timeout(nap) != Err(mpsc::RecvTimeoutError::Timeout) {
                return None;
            }
            let stopped = if self.was_interrupted() {
                Stopped::Interrupted
            } else if begun.elapsed() >= self.limit {
                Stopped::Limit
            } else {
                continue;
            };
            // SAFETY: the group is our child's, which is waited for only after this thread was
            // told: its id cannot have been given to another process, except between the end of
            // the child and the telling, and a signal to a group of that id then reaches what is
            // left of it.
            unsafe { libc::kill(-pid, libc::SIGKILL) };
            return Some(stopped);
        }
    }
}

/// The CPU time of the whole tree: what was waited for, and what its group shows beyond that.
fn whole_tree(waited_for: Duration, tree: Option<Duration>, escaped: &Escaped) -> Duration {
    match tree {
        // The two accounts differ by what starting and reading cost; the one that was waited for
        // is the sharper one.
        Some(tree) if tree > waited_for.mul_f64(1.02) + Duration::from_micros(500) => tree,
        Some(_) => waited_for,
        None => waited_for + escaped.running_cpu,
    }
}

/// Why a run was ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stopped {
    Limit,
    Interrupted,
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
            limit: Duration::from_secs(20),
            ..CommandTarget::shell(script)
        }
    }

    #[test]
    fn a_run_reports_time_and_memory() {
        let run = shell("exec dd if=/dev/zero of=/dev/null bs=500M count=1")
            .run(1)
            .unwrap();
        assert!(run.wall >= run.cpu.mul_f64(0.9) && run.cpu > Duration::ZERO);
        let peak = run.peak_bytes.unwrap();
        assert!((500 << 20..600 << 20).contains(&peak), "{peak}");
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn computing_and_sleeping_are_told_apart() {
        let waited = |run: &CommandRun| {
            let waited = run.waited?.as_secs_f64();
            Some(waited / (waited + run.cpu.as_secs_f64()))
        };
        // A host that takes the processor away from a virtual machine looks like waiting: one quiet
        // run is enough.
        let counts = shell("i=0; while [ $i -lt 100000 ]; do i=$((i+1)); done");
        let mut shares: Vec<Option<f64>> = Vec::new();
        while !shares.iter().flatten().any(|share| *share < 0.2) {
            assert!(shares.len() < 30, "{shares:?}");
            shares.push(waited(&counts.run(1).unwrap()));
        }
        let sleeps = shell("exec sleep 0.2").run(1).unwrap();
        assert!(waited(&sleeps).unwrap() > 0.8, "{sleeps:?}");
        assert!(sleeps.wall >= Duration::from_millis(200));
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_line_that_is_one_program_shows_where_its_time_goes() {
        // Not a word of the shell: without `exec` the shell would be the one that is looked at.
        let run = shell("dd if=/dev/zero of=/dev/null bs=64k count=20000").run(1);
        assert!(run.unwrap().waited.is_some());
        let run =
            shell("dd if=/dev/zero of=/dev/null bs=64k count=1; dd if=/dev/null of=/dev/null");
        assert!(run.run(1).unwrap().waited.is_none());
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn descendants_that_are_left_behind_are_counted_and_ended() {
        // The shell ends at once; its child computes on until the group is ended. The pipe tells
        // the shell when the child has used a share of a second.
        let spin = "i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done; echo >&3";
        let script = format!("mkfifo $0.fifo; ({spin}; sleep 1000) 3<>$0.fifo & read x <$0.fifo");
        let folder = tempfile::tempdir().unwrap();
        let name = folder.path().join("left").display().to_string();
        let mut target = shell(&script);
        target.words.push(name);
        let run = target.run(1).unwrap();
        let alone = shell("true").run(1).unwrap();
        assert!(run.cpu > 3 * alone.cpu, "{:?} {:?}", run.cpu, alone.cpu);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn what_the_tree_used_is_what_its_group_shows() {
        let ms = Duration::from_millis;
        let escaped = Escaped {
            running_cpu: ms(7),
            ..Escaped::default()
        };
        // A daemon's time is in the group's account, and nowhere else.
        assert_eq!(whole_tree(ms(10), Some(ms(30)), &escaped), ms(30));
        assert_eq!(whole_tree(ms(10), Some(ms(10)), &escaped), ms(10));
        assert_eq!(whole_tree(ms(10), None, &escaped), ms(17));
    }

    #[test]
    fn input_comes_from_a_file() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("input");
        std::fs::write(&path, "seven\n").unwrap();
        let mut target = shell("read word; test \"$word\" = seven");
        assert!(matches!(target.run(1), Err(CommandError::Failed { .. })));
        target.stdin = Some(path.clone());
        target.run(1).unwrap();
        target.stdin = Some(folder.path().join("missing"));
        let error = target.run(1).unwrap_err().to_string();
        assert!(error.contains("missing"), "{error}");
    }

    #[test]
    fn an_interruption_ends_a_run() {
        let flag = Arc::new(AtomicBool::new(true));
        let target = CommandTarget {
            interrupted: Some(flag),
            ..shell("sleep 1000 & sleep 1000")
        };
        assert!(matches!(target.run(1), Err(CommandError::Interrupted)));
        let short = CommandTarget {
            words: shell("true").words,
            ..target
        };
        assert!(matches!(short.run(1), Err(CommandError::Interrupted)));
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
