//! What follows from a GPU's baseline: the rules behind the findings `B001` to `B020`.
//!
//! An error makes the GPU unfit for a baseline; a warning is said beside a fit one. A power cap
//! under load is what a power limit is for, so it is information.

use warpsmith_core::{Bytes, Finding, Rule, Severity, Verdict};

use super::codes;
use super::document::{GpuBaseline, Metric, ProcessSeen};
use super::thermal::ThermalBand;
use super::throttle::ThrottleReason;
use crate::event::Presence;

/// What the rules look at.
pub(super) struct GpuFacts<'baseline> {
    pub(super) baseline: &'baseline GpuBaseline,
    pub(super) expect_load: bool,
    pub(super) host_pids: Option<bool>,
}

/// The rule whose missing facts leave the verdict open.
pub(super) const LOAD_CODE: &str = "B002";

/// Below this P95 a GPU counts as idle.
const IDLE_BUSY_PERCENT: f64 = 5.0;
/// Memory without an owner beyond this is a ghost.
const GHOST_BYTES: i64 = 500 * 1_000_000;
/// How many culprits are named.
const CULPRITS: usize = 5;

/// The rules, in the order of their codes.
pub(super) fn gpu_rules<'baseline>() -> Vec<Rule<GpuFacts<'baseline>>> {
    type Check = fn(&GpuFacts<'_>) -> Verdict;
    let checks: [(&str, Check); 20] = [
        ("B001", idle),
        ("B002", unexpected_load),
        ("B003", ghost_memory),
        ("B004", power_limited),
        ("B005", thermally_limited),
        ("B006", clocks_locked),
        ("B007", pcie_degraded),
        ("B008", uncorrectable_errors),
        ("B009", corrected_errors),
        ("B010", row_remapper),
        ("B011", temperature),
        ("B012", lost),
        ("B013", stale),
        ("B014", coverage),
        ("B015", power_brake),
        ("B016", missing_load),
        ("B017", hidden_processes),
        ("B018", lowered_limit),
        ("B019", unsteady),
        ("B020", reported_errors),
    ];
    checks
        .into_iter()
        .map(|(code, check)| Rule {
            doc: codes::doc(code),
            check,
        })
        .collect()
}

fn found(finding: Finding) -> Verdict {
    Verdict::Found(vec![finding])
}

fn unknown(what: &str) -> Verdict {
    Verdict::Unknown(what.to_owned())
}

impl GpuFacts<'_> {
    fn metric(&self, name: &str) -> Option<&Metric> {
        self.baseline.metrics.get(name)
    }

    fn busy_p95(&self) -> Option<f64> {
        self.metric("busy_percent")
            .map(|busy| busy.summary.p95.value)
    }

    fn computing(&self) -> Option<Vec<&ProcessSeen>> {
        let processes = self.baseline.processes.as_ref()?;
        Some(processes.iter().filter(|process| process.compute).collect())
    }

    /// Idle, as far as can be told: both facts must agree, and in MIG mode, where there is no
    /// utilisation, the process list decides alone.
    fn is_idle(&self) -> Option<bool> {
        match (self.busy_p95(), self.computing()) {
            (Some(busy), _) if busy >= IDLE_BUSY_PERCENT => Some(false),
            (_, Some(list)) if !list.is_empty() => Some(false),
            (Some(_), Some(_)) => Some(true),
            (None, Some(_)) if self.baseline.gpu.mig => Some(true),
            // Busy is known to be low, but a context without work would not show.
            (Some(_), None) => Some(true),
            (None, _) => None,
        }
    }

    fn throttled(&self, reason: ThrottleReason) -> Option<&super::throttle::ThrottleShare> {
        self.baseline
            .throttle
            .iter()
            .find(|held| held.reason == reason)
    }

    fn say(&self, code: &str, severity: Severity, message: String) -> Finding {
        Finding::new(
            code,
            severity,
            format!("GPU {}: {message}", self.baseline.gpu.index),
        )
    }
}

fn idle(facts: &GpuFacts<'_>) -> Verdict {
    match facts.is_idle() {
        None => unknown("neither utilisation nor processes are known"),
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

fn unexpected_load(facts: &GpuFacts<'_>) -> Verdict {
    if facts.expect_load {
        return Verdict::NotApplicable("load was expected".into());
    }
    match facts.is_idle() {
        None => unknown("neither utilisation nor processes are known"),
        Some(true) => Verdict::Pass,
        Some(false) => {
            let busy = facts.busy_p95().unwrap_or(0.0);
            let list = facts.computing().unwrap_or_default();
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
                finding = finding.because("processes", "none visible");
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
    line
}

fn ghost_memory(facts: &GpuFacts<'_>) -> Verdict {
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

fn power_limited(facts: &GpuFacts<'_>) -> Verdict {
    match facts.throttled(ThrottleReason::PowerCap) {
        None => unknown("no power cap counter and no clocks event reasons"),
        Some(held) if held.share > 0.01 => {
            let finding = facts
                .say(
                    "B004",
                    Severity::Info,
                    "at its power limit, which is normal under load".into(),
                )
                .because("time under the power cap", percent(held.share));
            found(match facts.baseline.power_limit_w {
                Some(watts) => finding.because("power limit", format!("{watts:.0} W")),
                None => finding,
            })
        }
        Some(_) => Verdict::Pass,
    }
}

fn percent(share: f64) -> String {
    format!("{:.1} %", share * 100.0)
}

fn thermally_limited(facts: &GpuFacts<'_>) -> Verdict {
    let reasons = [
        ThrottleReason::SoftwareThermal,
        ThrottleReason::HardwareThermal,
    ];
    let held: Vec<_> = reasons
        .iter()
        .filter_map(|reason| facts.throttled(*reason))
        .collect();
    if held.is_empty() {
        return unknown("no thermal counters and no clocks event reasons");
    }
    let mut finding = facts
        .say("B005", Severity::Error, "slowed down for heat".into())
        .hint("look at airflow, fans and neighbours; let it cool before measuring");
    let mut any = false;
    for held in held.into_iter().filter(|held| held.seconds > 1e-3) {
        any = true;
        finding = finding.because(
            held.reason.name(),
            format!("{:.2} s, {}", held.seconds, percent(held.share)),
        );
    }
    if any { found(finding) } else { Verdict::Pass }
}

fn clocks_locked(facts: &GpuFacts<'_>) -> Verdict {
    match facts.baseline.clocks_locked_share {
        None => unknown("no clocks event reasons"),
        Some(share) if share > 0.5 => found(
            facts
                .say(
                    "B006",
                    Severity::Warning,
                    "clocks are set by hand, below what the GPU could do".into(),
                )
                .because("samples with clocks set by an application", percent(share))
                .hint(
                    "`nvidia-smi -rac` and `nvidia-smi -rgc` give them back, if that is not wanted",
                ),
        ),
        Some(_) => Verdict::Pass,
    }
}

fn pcie_degraded(facts: &GpuFacts<'_>) -> Verdict {
    let baseline = facts.baseline;
    let busy = facts
        .metric("busy_percent")
        .is_some_and(|busy| busy.summary.p50.value >= IDLE_BUSY_PERCENT);
    let below = |now: Option<i64>, most: Option<i64>| match (now, most) {
        (Some(now), Some(most)) => Some((now < most, now, most)),
        _ => None,
    };
    let width = below(baseline.pcie_width, baseline.gpu.pcie_width_max);
    let generation = below(baseline.pcie_generation, baseline.gpu.pcie_generation_max);
    if width.is_none() && generation.is_none() {
        return unknown("the PCIe link is not known");
    }
    let mut finding = facts
        .say(
            "B007",
            Severity::Warning,
            "the PCIe link is below what GPU and slot can do".into(),
        )
        .hint("reseat the card, look at risers and at the slot's lanes in the firmware");
    let mut any = false;
    if let Some((true, now, most)) = width {
        any = true;
        finding = finding.because("lanes", format!("{now} of {most}"));
    }
    // An idle link is allowed to slow down; a busy one is not.
    if let (Some((true, now, most)), true) = (generation, busy) {
        any = true;
        finding = finding.because("generation while busy", format!("{now} of {most}"));
    }
    if any { found(finding) } else { Verdict::Pass }
}

fn uncorrectable_errors(facts: &GpuFacts<'_>) -> Verdict {
    match facts.baseline.ecc_uncorrected {
        None => unknown("no ECC counters"),
        Some((_, 0)) => Verdict::Pass,
        Some((during, in_all)) => found(
            facts
                .say(
                    "B008",
                    Severity::Error,
                    "uncorrectable memory errors".into(),
                )
                .because("since the driver was loaded", in_all.to_string())
                .because("during the baseline", during.to_string())
                .hint("reset the GPU; when they come back, have it replaced"),
        ),
    }
}

fn corrected_errors(facts: &GpuFacts<'_>) -> Verdict {
    match facts.baseline.ecc_corrected_during {
        None => unknown("no ECC counters"),
        Some(0) => Verdict::Pass,
        Some(errors) => found(
            facts
                .say(
                    "B009",
                    Severity::Warning,
                    "memory errors were corrected during the baseline".into(),
                )
                .because("corrected errors", errors.to_string())
                .hint("watch their rate; many of them announce worse"),
        ),
    }
}

fn row_remapper(facts: &GpuFacts<'_>) -> Verdict {
    match facts.baseline.remap_pending_failed {
        None => unknown("no row remapper, or not in this mode"),
        Some((_, failed)) if failed != 0 => found(
            facts
                .say(
                    "B010",
                    Severity::Error,
                    "a memory row could not be replaced".into(),
                )
                .hint("have the GPU replaced"),
        ),
        Some((pending, _)) if pending != 0 => found(
            facts
                .say(
                    "B010",
                    Severity::Warning,
                    "a memory row waits to be replaced".into(),
                )
                .hint("reset the GPU (`nvidia-smi -r`) or reboot"),
        ),
        Some(_) => Verdict::Pass,
    }
}

fn temperature(facts: &GpuFacts<'_>) -> Verdict {
    let severity = match facts.baseline.thermal {
        None => return unknown("no temperature"),
        Some(ThermalBand::Hot) => Severity::Warning,
        Some(ThermalBand::Critical) => Severity::Error,
        Some(_) => return Verdict::Pass,
    };
    let mut finding = facts.say("B011", severity, "near or at its temperature limit".into());
    if let Some(margin) = facts.baseline.margin_min_c {
        finding = finding.because("smallest margin", format!("{margin:.0} °C"));
    }
    if let Some(degrees) = facts.metric("temperature_c") {
        finding = finding.because(
            "highest temperature",
            format!("{:.0} °C", degrees.summary.max),
        );
    }
    found(finding.hint("look at airflow, fans and the room's temperature"))
}

fn lost(facts: &GpuFacts<'_>) -> Verdict {
    if facts.baseline.worst_presence != Presence::Lost {
        return Verdict::Pass;
    }
    found(
        facts
            .say(
                "B012",
                Severity::Error,
                "fell off the bus during the baseline".into(),
            )
            .hint(
                "look for Xid lines in `dmesg`; power, risers and the driver are the usual causes",
            ),
    )
}

fn stale(facts: &GpuFacts<'_>) -> Verdict {
    if facts.baseline.worst_presence != Presence::Stale {
        return Verdict::Pass;
    }
    found(
        facts
            .say(
                "B013",
                Severity::Error,
                "a driver call did not come back in time".into(),
            )
            .hint("look for Xid lines and hung tasks in `dmesg`; a reboot may be needed"),
    )
}

fn coverage(facts: &GpuFacts<'_>) -> Verdict {
    let share = facts.baseline.coverage;
    if share >= 0.8 {
        return Verdict::Pass;
    }
    // Half of the samples missing is no baseline any more.
    let severity = if share < 0.5 {
        Severity::Error
    } else {
        Severity::Warning
    };
    found(
        facts
            .say("B014", severity, "samples are missing".into())
            .because("samples taken of those due", percent(share))
            .hint("the host was too busy, or the driver too slow; run again on a quiet host"),
    )
}

fn power_brake(facts: &GpuFacts<'_>) -> Verdict {
    let brake = facts.throttled(ThrottleReason::PowerBrake);
    let slowdown = facts.baseline.hardware_slowdown_share;
    if brake.is_none() && slowdown.is_none() {
        return unknown("no power brake counter and no clocks event reasons");
    }
    let mut finding = facts
        .say("B015", Severity::Error, "slowed down by hardware".into())
        .hint("look at power supply and cables: the brake signal comes from outside of the GPU");
    let mut any = false;
    if let Some(held) = brake.filter(|held| held.seconds > 1e-3) {
        any = true;
        finding = finding.because(held.reason.name(), format!("{:.2} s", held.seconds));
    }
    if let Some(share) = slowdown.filter(|share| *share > 0.0) {
        any = true;
        finding = finding.because("samples with hardware slowdown", percent(share));
    }
    if any { found(finding) } else { Verdict::Pass }
}

fn missing_load(facts: &GpuFacts<'_>) -> Verdict {
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

fn hidden_processes(facts: &GpuFacts<'_>) -> Verdict {
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

fn lowered_limit(facts: &GpuFacts<'_>) -> Verdict {
    let default = facts
        .baseline
        .gpu
        .power_limit_default_mw
        .map(|mw| mw as f64 / 1e3);
    match (facts.baseline.power_limit_w, default) {
        (Some(limit), Some(default)) if limit < 0.99 * default => found(
            facts
                .say(
                    "B018",
                    Severity::Warning,
                    "the power limit is below the factory's".into(),
                )
                .because("power limit", format!("{limit:.0} of {default:.0} W"))
                .hint("`nvidia-smi -pl` sets it; compare only with runs under the same limit"),
        ),
        (Some(_), Some(_)) => Verdict::Pass,
        _ => unknown("the power limit is not known"),
    }
}

fn unsteady(facts: &GpuFacts<'_>) -> Verdict {
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

/// Errors that a program brings upon itself; all others are the GPU's.
const APPLICATION_XIDS: &[i64] = &[13, 31, 43, 45, 68, 69, 137];

fn reported_errors(facts: &GpuFacts<'_>) -> Verdict {
    let xids = &facts.baseline.xids;
    if xids.is_empty() {
        return Verdict::Pass;
    }
    let applications = xids.keys().all(|code| APPLICATION_XIDS.contains(code));
    let (severity, whose) = if applications {
        (Severity::Warning, "an application's")
    } else {
        (Severity::Error, "the GPU's")
    };
    let list: Vec<String> = xids.keys().map(i64::to_string).collect();
    let mut finding = facts.say(
        "B020",
        severity,
        format!(
            "the driver reported Xid {} ({whose} error)",
            list.join(", ")
        ),
    );
    for (code, count) in xids {
        finding = finding.because(format!("Xid {code}"), format!("{count} times"));
    }
    found(finding.hint("`dmesg | grep Xid` has the whole line"))
}
