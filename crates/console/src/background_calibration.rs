//! Measuring this machine for the next choice, once the caller's own work is done.

use std::env;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};

use crate::global::Global;
use crate::output;

/// Set to `off`, nothing is started.
const SWITCH: &str = "WARPSMITH_BACKGROUND";

/// Starts a quick calibration of the workloads whose names contain `only`, or a whole one of all, in
/// a process of its own that outlives this one.
pub fn start(global: &Global, only: Option<&str>) -> Result<()> {
    if is_forbidden() {
        bail!("`{SWITCH}=off` forbids calibration in the background");
    }
    let program = global.host.command();
    let program = program.context("cannot find this program")?;
    // Whoever works now goes first.
    let mut command = Command::new("nice");
    command
        .args(["-n", "19"])
        .arg(program.get_program())
        .args(program.get_args());
    command.args(["wisdom", "calibrate"]);
    if let Some(only) = only {
        command.args(["--quick", "--only", only]);
    }
    command.stdin(Stdio::null());
    command.stdout(Stdio::null()).stderr(Stdio::null());
    // Its own group, so that an interrupt at the terminal is not for it.
    #[cfg(unix)]
    std::os::unix::process::CommandExt::process_group(&mut command, 0);
    command.spawn().context("cannot start `nice`")?;
    let what = only.map_or_else(|| "this machine".to_owned(), |only| format!("`{only}`"));
    output::note(
        global,
        &format!(
            "note: {what} is being measured in the background for the next choice; \
             `{SWITCH}=off` forbids it"
        ),
    );
    Ok(())
}

/// The same after a choice that had nothing to go by: neither a prohibition nor a failure to start
/// is the caller's affair, they cost a lesson.
pub fn offer(global: &Global, workload: &str) {
    if !is_forbidden() {
        let _ = start(global, Some(workload));
    }
}

fn is_forbidden() -> bool {
    env::var_os(SWITCH).is_some_and(|value| value == "off")
}
