//! Locked clocks that are given back however the measurement ends.
//!
//! A second process holds the lock and waits for the end of its standard input, whose other end
//! is ours: it closes when we end, also by a panic or a signal that nobody can catch.
//!
//! Nothing here waits for a driver without a limit: the second process says what it waits for, gives up
//! by itself, and stays for a while to give back what a call locks that comes back late.

use std::io::{BufRead, BufReader, Read, Write, stdin, stdout};
use std::os::unix::process::CommandExt;
use std::process::{Child, ChildStdin, ChildStdout, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use clap::Args;
use warpsmith_telemetry::ClockLock;

use warpsmith_console::exit::Outcome;
use warpsmith_console::global::Global;
use warpsmith_console::interruption::Interruption;
use warpsmith_console::output;

/// The option of verbs that measure on GPUs.
#[derive(Args)]
pub(crate) struct LockClocks {
    /// Keep the SM clock of every GPU at this frequency; without a number, at its highest.
    ///
    /// The clocks are given back at the end, even after `kill -9`. The driver requires root.
    #[arg(hide_short_help = true, long, value_name = "MHZ", num_args = 0..=1, default_missing_value = "0",
          value_parser = clap::value_parser!(u32).range(0..=10_000))]
    lock_clocks: Option<u32>,
}

impl LockClocks {
    /// Locks them where that was requested.
    pub(crate) fn acquire(&self, global: &Global) -> Result<Option<ClockGuard>> {
        let Some(mhz) = self.lock_clocks else {
            return Ok(None);
        };
        let mut command = global.host.command()?;
        command.arg("clock-guard").arg(mhz.to_string());
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            // Ctrl-C is for us: the guard goes when we are gone.
            .process_group(0)
            .spawn()
            .context("cannot start the process that holds the clocks")?;
        let rope = child.stdin.take();
        let lines = child.stdout.take().map(lines);
        let until = Instant::now() + ANSWER;
        while let Some(lines) = &lines {
            let left = until.saturating_duration_since(Instant::now());
            let Ok(line) = lines.recv_timeout(left) else {
                break;
            };
            match line.split_once(' ') {
                Some(("locked", clocks)) => {
                    output::note(global, &format!("SM clocks locked at {clocks} MHz"));
                    return Ok(Some(ClockGuard { child, rope }));
                }
                Some(("waits", what)) => {
                    output::note(global, &format!("waiting for the driver: {what}"));
                }
                // It ends by itself, when the driver has taken back what was locked.
                Some(("refused", why)) => bail!("{why}"),
                _ => break,
            }
        }
        bail!("the process that holds the clocks does not answer")
    }
}

/// A little more than the second process takes until it gives up.
const ANSWER: Duration = Duration::from_secs(10);

/// What the second process says, line by line, without waiting for it.
fn lines(output: ChildStdout) -> Receiver<String> {
    let (send, lines) = channel();
    thread::spawn(move || {
        for line in BufReader::new(output).lines().map_while(Result::ok) {
            if send.send(line).is_err() {
                return;
            }
        }
    });
    lines
}

/// Locked clocks; they are free when this is gone.
pub(crate) struct ClockGuard {
    child: Child,
    rope: Option<ChildStdin>,
}

impl Drop for ClockGuard {
    fn drop(&mut self) {
        self.rope.take();
        let until = Instant::now() + ANSWER;
        while let Ok(None) = self.child.try_wait() {
            if Instant::now() > until {
                // Nothing can be done about a standard error that is closed.
                let _ = writeln!(
                    std::io::stderr(),
                    "warning: the driver does not take the clocks back (hint: `sudo nvidia-smi -rgc`)"
                );
                return;
            }
            thread::sleep(Duration::from_millis(10));
        }
    }
}

/// Hold locked clocks until standard input ends.
#[derive(Args)]
#[command(hide = true)]
pub(crate) struct GuardClocks {
    /// MHz; 0 is each GPU's highest.
    mhz: u32,
}

impl GuardClocks {
    pub(crate) fn run(&self) -> Result<Outcome> {
        // Listening keeps a polite signal from ending us before the clocks are free.
        let interruption = Interruption::listen()?;
        let mut lock = ClockLock::begin(Some(self.mhz).filter(|mhz| *mhz > 0));
        if !lock.wait(PROMPT) {
            say("waits", &lock.waits_for())?;
            lock.wait(PATIENCE - PROMPT);
        }
        match lock.locked(PATIENCE) {
            Ok(clocks) => {
                let clocks: Vec<String> = clocks.iter().map(ToString::to_string).collect();
                say("locked", &clocks.join(", "))?;
            }
            Err(error) => {
                say("refused", &error.to_string())?;
                // A call that comes back later may have locked a clock.
                lock.give_back(LINGER);
                return Err(error.into());
            }
        }
        let mut byte = [0];
        while !interruption.came() {
            match stdin().read(&mut byte) {
                Ok(0) => break,
                Ok(_) => {}
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
                Err(_) => break,
            }
        }
        lock.give_back(LINGER);
        Ok(Outcome::Fine)
    }
}

/// Afterwards we say what we wait for.
const PROMPT: Duration = Duration::from_secs(1);
/// What the driver has for all of its GPUs.
const PATIENCE: Duration = Duration::from_secs(5);
/// How long a call that hangs is waited for at the end.
const LINGER: Duration = Duration::from_secs(60);

/// A line for the process that measures.
fn say(word: &str, what: &str) -> Result<()> {
    writeln!(stdout(), "{word} {what}")?;
    Ok(stdout().flush()?)
}
