//! Locked clocks that are given back however the measurement ends.
//!
//! A second process holds the lock and waits for the end of its standard input, whose other end
//! is ours: it closes when we end, also by a panic or a signal that nobody can catch.

use std::io::{BufRead, BufReader, Read, Write, stdin, stdout};
use std::os::unix::process::CommandExt;
use std::process::{Child, ChildStdin, Stdio};

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
            .stderr(Stdio::piped())
            // Ctrl-C is for us: the guard goes when we are gone.
            .process_group(0)
            .spawn()
            .context("cannot start the process that holds the clocks")?;
        let rope = child.stdin.take();
        let mut line = String::new();
        if let Some(answers) = child.stdout.take() {
            BufReader::new(answers).read_line(&mut line)?;
        }
        let guard = ClockGuard { child, rope };
        match line.trim().strip_prefix("locked ") {
            Some(clocks) => output::note(global, &format!("SM clocks locked at {clocks} MHz")),
            None => bail!("{}", guard.refusal()),
        }
        Ok(Some(guard))
    }
}

/// Locked clocks; they are free when this is gone.
pub(crate) struct ClockGuard {
    child: Child,
    rope: Option<ChildStdin>,
}

impl ClockGuard {
    /// What the guard said when it could not lock.
    fn refusal(mut self) -> String {
        let mut said = String::new();
        if let Some(mut errors) = self.child.stderr.take() {
            let _ = errors.read_to_string(&mut said);
        }
        let said = said.trim().trim_start_matches("error: ");
        match said.is_empty() {
            true => "the process that holds the clocks ended without a word".to_owned(),
            false => said.to_owned(),
        }
    }
}

impl Drop for ClockGuard {
    fn drop(&mut self) {
        self.rope.take();
        let _ = self.child.wait();
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
        let lock = ClockLock::acquire(Some(self.mhz).filter(|mhz| *mhz > 0))?;
        let clocks: Vec<String> = lock.mhz().iter().map(ToString::to_string).collect();
        writeln!(stdout(), "locked {}", clocks.join(", "))?;
        stdout().flush()?;
        let mut byte = [0];
        while !interruption.came() {
            match stdin().read(&mut byte) {
                Ok(0) => break,
                Ok(_) => {}
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
                Err(_) => break,
            }
        }
        drop(lock);
        Ok(Outcome::Fine)
    }
}
