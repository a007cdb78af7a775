//! Errors of the GPU, of the driver and of the sampling itself.

use warpsmith_core::{Severity, Verdict};

use super::facts::{GpuFacts, found, percent, unknown};
use crate::event::{Presence, Vendor};

/// Errors that a program brings upon itself; all others are the GPU's.
const APPLICATION_XIDS: &[i64] = &[13, 31, 43, 45, 68, 69, 137];

pub(super) fn uncorrectable_errors(facts: &GpuFacts<'_>) -> Verdict {
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

pub(super) fn corrected_errors(facts: &GpuFacts<'_>) -> Verdict {
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

pub(super) fn row_remapper(facts: &GpuFacts<'_>) -> Verdict {
    if facts.vendor() != Vendor::Nvidia {
        return Verdict::NotApplicable("only NVIDIA's GPUs have a row remapper".into());
    }
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

pub(super) fn lost(facts: &GpuFacts<'_>) -> Verdict {
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
            .hint(match facts.vendor() {
                Vendor::Nvidia => {
                    "look for Xid lines in `dmesg`; power, risers and the driver are the usual causes"
                }
                Vendor::Amd | Vendor::Intel => {
                    "`dmesg` has the driver's last words; power, risers and the driver are the usual causes"
                }
            }),
    )
}

pub(super) fn stale(facts: &GpuFacts<'_>) -> Verdict {
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
            .hint(match facts.vendor() {
                Vendor::Nvidia => {
                    "look for Xid lines and hung tasks in `dmesg`; a reboot may be needed"
                }
                Vendor::Amd | Vendor::Intel => {
                    "look for resets and hung tasks in `dmesg`; a reboot may be needed"
                }
            }),
    )
}

pub(super) fn coverage(facts: &GpuFacts<'_>) -> Verdict {
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

/// Fewer states than this, eight tenths of a second of them, say nothing about a machine at rest.
const FEWEST_STATES: usize = 8;

pub(super) fn too_few_samples(facts: &GpuFacts<'_>) -> Verdict {
    let taken = facts.baseline.states;
    if taken >= FEWEST_STATES {
        return Verdict::Pass;
    }
    let finding = facts
        .say("B021", Severity::Error, "too few samples to judge".into())
        .because("samples taken", taken.to_string())
        .because("fewest that are judged", FEWEST_STATES.to_string());
    found(match facts.baseline.worst_presence {
        Presence::Live => finding.hint("sample for longer: `--duration 10s`"),
        Presence::Stale | Presence::Lost => {
            finding.hint("the GPU did not answer: see B012 and B013")
        }
    })
}

pub(super) fn reported_errors(facts: &GpuFacts<'_>) -> Verdict {
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
