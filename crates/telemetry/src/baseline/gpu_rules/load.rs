//! Whether the load is the expected one, and whose it is.

use warpsmith_core::{Bytes, Severity, Verdict};

use super::facts::{GpuFacts, IDLE_BUSY_PERCENT, found, unknown};
use crate::baseline::document::ProcessSeen;
use crate::event::Presence;

/// Memory without an owner beyond this is a ghost.
const GHOST_BYTES: i64 = 500 * 1_000_000;
/// How many culprits are named.
const CULPRITS: usize = 5;

pub(super) fn idle(facts: &GpuFacts<'_>) -> Verdict {
    match facts.is_idle() {
        None => unknown(unknown_load(facts)),
        Some(true) if !facts.expect_load => {
            let mut finding = facts.say("B001", Severity::Info, "idle throughout".into());
            if let Some(busy) = facts.busy_p95() {
                finding = finding.because("P95 of utilisation", format!("{busy:.1} %"));
            }
            found(finding)
        }
        Some(_) => Verdict::Pass,
    }
}

/// Why nobody knows whether the GPU was at rest.
fn unknown_load(facts: &GpuFacts<'_>) -> &'static str {
    match facts.baseline.worst_presence {
        Presence::Live if facts.metric("awake_percent").is_some() => {
            "something kept it awake, and processes of other users are not visible (hint: run as root)"
        }
        Presence::Live => "neither utilisation nor processes are known",
        Presence::Stale => "a driver call hung",
        Presence::Lost => "the GPU was lost",
    }
}

pub(super) fn unexpected_load(facts: &GpuFacts<'_>) -> Verdict {
    if facts.expect_load {
        return Verdict::NotApplicable("load was expected".into());
    }
    match facts.is_idle() {
        None => unknown(unknown_load(facts)),
        Some(true) => Verdict::Pass,
        Some(false) => {
            let busy = facts.busy_p95().unwrap_or(0.0);
            // Where nothing computes, whoever draws may be it.
            let computing = facts.computing().unwrap_or_default();
            let list = match (computing.is_empty(), &facts.baseline.processes) {
                (true, Some(all)) => all.iter().collect(),
                _ => computing,
            };
            let message = if busy >= IDLE_BUSY_PERCENT {
                "in use, though no load was expected"
            } else {
                "held by processes, though no load was expected"
            };
            let mut finding = facts
                .say("B002", Severity::Error, message.into())
                .because("P95 of utilisation", format!("{busy:.1} %"));
            for process in list.iter().take(CULPRITS) {
                finding = finding.because(
                    format!("process {}", process.identity.pid),
                    culprit(process),
                );
            }
            if list.len() > CULPRITS {
                finding = finding.because("more processes", (list.len() - CULPRITS).to_string());
            }
            if list.is_empty() {
                let none = match &facts.baseline.processes {
                    Some(_) => "none visible",
                    None => "not listed by the driver",
                };
                finding = finding.because("processes", none);
            }
            found(finding.hint("stop these processes, or say `--expect-load`"))
        }
    }
}

/// A culprit in a line: user, program, container, memory.
fn culprit(process: &ProcessSeen) -> String {
    let identity = &process.identity;
    let mut line = identity
        .name
        .clone()
        .unwrap_or_else(|| "name not visible".into());
    if let Some(user) = &identity.user {
        line.push_str(&format!(" of user {user}"));
    }
    if let Some(container) = &identity.container {
        line.push_str(&format!(" in container {container}"));
    }
    match process.memory_bytes.map(u64::try_from) {
        Some(Ok(bytes)) => line.push_str(&format!(", {}", Bytes(bytes))),
        _ => line.push_str(", memory not known"),
    }
    if !process.compute {
        line.push_str(", graphics");
    }
    line
}

pub(super) fn ghost_memory(facts: &GpuFacts<'_>) -> Verdict {
    if facts.baseline.gpu.mig {
        return Verdict::NotApplicable("memory belongs to MIG instances".into());
    }
    match facts.baseline.ghost_memory_bytes {
        None => unknown("memory of the driver or of a process is not known"),
        Some(bytes) if bytes > GHOST_BYTES => found(
            facts
                .say(
                    "B003",
                    Severity::Warning,
                    "memory in use that no visible process holds".into(),
                )
                .because(
                    "memory without an owner",
                    Bytes(bytes.unsigned_abs()).to_string(),
                )
                .hint(
                    "look for processes in other containers (run with the host's pids) or for a \
                     process that died without letting go",
                ),
        ),
        Some(_) => Verdict::Pass,
    }
}

pub(super) fn missing_load(facts: &GpuFacts<'_>) -> Verdict {
    if !facts.expect_load {
        return Verdict::NotApplicable("no load was expected".into());
    }
    match facts.metric("busy_percent") {
        None => unknown("no utilisation"),
        Some(busy) if busy.summary.p50.value < IDLE_BUSY_PERCENT => found(
            facts
                .say(
                    "B016",
                    Severity::Error,
                    "load was expected and did not come".into(),
                )
                .because(
                    "median utilisation",
                    format!("{:.1} %", busy.summary.p50.value),
                )
                .hint("start the load before the baseline, and on this GPU"),
        ),
        Some(_) => Verdict::Pass,
    }
}

pub(super) fn hidden_processes(facts: &GpuFacts<'_>) -> Verdict {
    let Some(processes) = &facts.baseline.processes else {
        return found(
            facts
                .say(
                    "B017",
                    Severity::Info,
                    "the driver does not list processes here".into(),
                )
                .hint("ask as root, or outside of the container"),
        );
    };
    let nameless = processes
        .iter()
        .filter(|process| process.identity.name.is_none())
        .count();
    if nameless == 0 {
        return Verdict::Pass;
    }
    let finding = facts
        .say(
            "B017",
            Severity::Info,
            "the names of processes are not visible".into(),
        )
        .because("processes without a name", nameless.to_string());
    found(match facts.host_pids {
        Some(false) => finding.hint("this runs in a pid namespace: use the host's (`--pid host`)"),
        _ => finding.hint("they ended before they were looked up, or belong to another namespace"),
    })
}

pub(super) fn unsteady(facts: &GpuFacts<'_>) -> Verdict {
    if !facts.expect_load {
        return Verdict::NotApplicable("no load was expected".into());
    }
    let Some(power) = facts.metric("power_w") else {
        return unknown("no power");
    };
    let values = &power.series.values;
    let third = values.len() / 3;
    if third < 10 {
        return unknown("too few samples");
    }
    let mean = |part: &[f64]| part.iter().sum::<f64>() / part.len() as f64;
    let (first, last) = (
        mean(&values[..third]),
        mean(&values[values.len() - third..]),
    );
    if (last - first).abs() <= 0.1 * first.max(last) {
        return Verdict::Pass;
    }
    found(
        facts
            .say("B019", Severity::Warning, "the load was not steady".into())
            .because("mean power, first third", format!("{first:.1} W"))
            .because("mean power, last third", format!("{last:.1} W"))
            .hint("start the baseline after the warm-up, and end it before the load does"),
    )
}
