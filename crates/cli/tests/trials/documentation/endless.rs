//! A session that goes on until it is interrupted, as its reader would do.

use std::fs::File;
use std::os::unix::process::CommandExt;
use std::process::Command;
use std::time::{Duration, Instant};

use libtest_mimic::Failed;

use crate::session::page::Step;

/// What is looked at before the interrupt; a page that is served is up long before.
const WATCHED: Duration = Duration::from_secs(10);
/// What a program may take to end after it.
const PATIENCE: Duration = Duration::from_secs(20);

/// Runs the commands in one shell. What ends must succeed, what is shown must be printed, and what
/// does not end must do so when it is interrupted.
pub(super) fn run(steps: &[Step<'_>], mut shell: Command) -> Result<(), Failed> {
    let mut script = String::from("exec 2>&1\n");
    for step in steps {
        script.push_str(&match step.command.strip_suffix('&') {
            // Ready before the next command asks it.
            Some(server) => format!("{server} & sleep 3\n"),
            None => format!(
                "{} || echo \"exit code $?: {}\"\n",
                step.command, step.command
            ),
        });
    }
    let folder = tempfile::tempdir()?;
    let seen = folder.path().join("seen");
    let mut session = shell
        .args(["-c", &script])
        .stdout(File::create(&seen)?)
        // A group of its own: an interrupt at a terminal reaches all of it.
        .process_group(0)
        .spawn()?;
    let begun = Instant::now();
    while begun.elapsed() < WATCHED && session.try_wait()?.is_none() {
        std::thread::sleep(Duration::from_millis(50));
    }
    let group = session.id().to_string();
    let signal = |name: &str| {
        Command::new("kill")
            .args([&format!("-{name}"), "--", &format!("-{group}")])
            .output()
    };
    signal("INT")?;
    let told = Instant::now();
    let mut stopped = false;
    let ended = loop {
        if session.try_wait()?.is_some() {
            break true;
        }
        // A shell ignores interrupts for what it runs in the background.
        if !stopped && told.elapsed() > PATIENCE / 2 {
            stopped = true;
            signal("TERM")?;
        }
        if told.elapsed() > PATIENCE {
            break false;
        }
        std::thread::sleep(Duration::from_millis(50));
    };
    signal("KILL")?;
    session.wait()?;
    let seen = String::from_utf8_lossy(&std::fs::read(seen)?).into_owned();
    if !ended {
        return Err(format!("it did not end when it was interrupted\n{seen}").into());
    }
    // 130 and 143: ended by the signals above.
    let failed = |line: &&str| {
        line.starts_with("exit code ")
            && !line.starts_with("exit code 130")
            && !line.starts_with("exit code 143")
    };
    if seen.lines().any(|line| failed(&line)) || seen.contains("panicked") {
        return Err(format!("it failed\n{seen}").into());
    }
    let shown = steps.iter().flat_map(|step| &step.output);
    match shown.into_iter().find(|line| !seen.contains(line.trim())) {
        Some(line) => Err(format!("no line `{line}` in\n{seen}").into()),
        None => Ok(()),
    }
}
