//! A program of its own: what a command leaves behind can be told only where no other command of the
//! process runs meanwhile, and tests of one program run side by side.

#![cfg(target_os = "linux")]

use std::time::Duration;

use warpsmith_measure::command::CommandTarget;

/// Ends the daemon of a test.
struct Daemon(std::path::PathBuf);

impl Drop for Daemon {
    fn drop(&mut self) {
        let pid = std::fs::read_to_string(&self.0).unwrap_or_default();
        let _ = std::process::Command::new("kill").arg(pid.trim()).status();
    }
}

fn run(folder: &std::path::Path, daemon: &str) -> warpsmith_measure::command::CommandRun {
    let at = folder.display();
    // Forks twice and leaves the session, as daemons do; the pipe says when it has computed.
    let script = format!(
        "mkfifo {at}/done; (setsid sh -c 'echo $$ > {at}/pid; {daemon}' >/dev/null 2>&1 &); \\
         read word < {at}/done"
    );
    let target = CommandTarget {
        limit: Duration::from_secs(60),
        ..CommandTarget::shell(&script)
    };
    target.run(1).expect("it runs")
}

#[test]
fn a_daemon_is_counted_while_the_command_runs_and_left_alone_after_it() {
    let computes = "i=0; while [ $i -lt 300000 ]; do i=$((i+1)); done";
    let alone = CommandTarget::shell(computes).run(1).expect("it runs").cpu;

    // It runs on when the command has ended.
    let folder = tempfile::tempdir().expect("a folder");
    let at = folder.path().display().to_string();
    let _daemon = Daemon(folder.path().join("pid"));
    let lives = run(
        folder.path(),
        &format!("{computes}; echo >{at}/done; sleep 600"),
    );
    assert_eq!(lives.left_running, 1);
    assert!(lives.cpu > alone / 2, "{:?} of {alone:?}", lives.cpu);

    // It ends before the command does, and its parent never waits for it.
    let folder = tempfile::tempdir().expect("a folder");
    let at = folder.path().display().to_string();
    let ends = run(folder.path(), &format!("{computes}; echo >{at}/done"));
    assert!(ends.cpu > alone / 2, "{:?} of {alone:?}", ends.cpu);

    // Nothing of it is in the next account.
    let next = CommandTarget::shell("true").run(1).expect("it runs");
    assert_eq!(next.left_running, 0);
    assert!(next.cpu < alone / 2, "{:?} of {alone:?}", next.cpu);
}
