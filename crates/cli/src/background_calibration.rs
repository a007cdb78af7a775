//! Measuring this machine for the next choice, once the caller's own work is done.

use std::env;
use std::process::{Command, Stdio};

use crate::arguments::Global;
use crate::output;

/// Set to `off`, nothing is started.
const SWITCH: &str = "WARPSMITH_BACKGROUND";

/// Starts a quick calibration of one workload in a process of its own that outlives this one. A
/// failure to start costs a lesson, not the run.
pub(crate) fn start(global: &Global, workload: &str) {
    if env::var_os(SWITCH).is_some_and(|value| value == "off") {
        return;
    }
    let Ok(program) = env::current_exe() else {
        return;
    };
    // Whoever works now goes first; without `nice` there is no calibration.
    let mut command = Command::new("nice");
    command.args(["-n", "19"]).arg(program);
    command.args(["wisdom", "calibrate", "--quick", "--only", workload]);
    command.stdin(Stdio::null());
    command.stdout(Stdio::null()).stderr(Stdio::null());
    // Its own group, so that an interrupt at the terminal is not for it.
    #[cfg(unix)]
    std::os::unix::process::CommandExt::process_group(&mut command, 0);
    if command.spawn().is_ok() {
        output::note(
            global,
            &format!(
                "note: `{workload}` is being measured in the background for the next choice; \
                 `{SWITCH}=off` forbids it"
            ),
        );
    }
}
