//! What follows from the host's baseline: the rules behind the findings `B040` to `B044`.

use warpsmith_core::{Bytes, Finding, Rule, Severity, Verdict};

use super::document::HostBaseline;
use crate::event::Inventory;

/// What the rules look at.
pub(super) struct HostFacts<'baseline> {
    pub(super) host: &'baseline HostBaseline,
    pub(super) inventory: &'baseline Inventory,
    pub(super) expect_load: bool,
}

/// A host with more than this median CPU use is not at rest.
const RESTING_CPU_PERCENT: f64 = 25.0;
/// Above this use of memory the next allocation may swap.
const FULL_MEMORY_PERCENT: f64 = 95.0;

/// The rules, in the order of their codes.
pub(super) fn host_rules<'baseline>() -> Vec<Rule<HostFacts<'baseline>>> {
    type Check = fn(&HostFacts<'_>) -> Verdict;
    let checks: [(&'static str, Check); 5] = [
        ("B040", busy_host),
        ("B041", full_memory),
        ("B042", swapping),
        ("B043", no_gpu),
        ("B044", unreachable_gpu),
    ];
    checks
        .into_iter()
        .map(|(code, check)| Rule { code, check })
        .collect()
}

fn busy_host(facts: &HostFacts<'_>) -> Verdict {
    if facts.expect_load {
        return Verdict::NotApplicable("load was expected".into());
    }
    let Some(busy) = facts.host.metrics.get("cpu_busy_percent") else {
        return Verdict::Unknown("the host's CPU use is not known".into());
    };
    let median = busy.summary.p50.value;
    if median < RESTING_CPU_PERCENT {
        return Verdict::Pass;
    }
    // Beside GPUs a busy host disturbs; where the host is all there is, it is the load itself.
    let severity = if facts.inventory.gpus.is_empty() {
        Severity::Error
    } else {
        Severity::Warning
    };
    Verdict::Found(vec![
        Finding::new(
            "B040",
            severity,
            "host: the CPU is busy, though no load was expected",
        )
        .because("median CPU use", format!("{median:.1} %"))
        .hint("`top` names the processes; stop them, or say `--expect-load`"),
    ])
}

fn full_memory(facts: &HostFacts<'_>) -> Verdict {
    match facts.host.metrics.get("memory_used_percent") {
        None => Verdict::Unknown("the host's memory is not known".into()),
        Some(used) if used.summary.max > FULL_MEMORY_PERCENT => Verdict::Found(vec![
            Finding::new("B041", Severity::Warning, "host: memory is nearly full")
                .because("most memory in use", format!("{:.1} %", used.summary.max))
                .hint("free memory before measuring: pinned buffers need it"),
        ]),
        Some(_) => Verdict::Pass,
    }
}

fn swapping(facts: &HostFacts<'_>) -> Verdict {
    match facts.host.swap_used_bytes {
        None => Verdict::Unknown("the host's swap is not known".into()),
        Some(bytes @ 1..) => Verdict::Found(vec![
            Finding::new("B042", Severity::Info, "host: swap is in use")
                .because("most swap in use", Bytes(bytes.unsigned_abs()).to_string()),
        ]),
        Some(_) => Verdict::Pass,
    }
}

fn no_gpu(facts: &HostFacts<'_>) -> Verdict {
    if !facts.inventory.gpus.is_empty() {
        return Verdict::Pass;
    }
    let reason = facts
        .inventory
        .nvml_absent
        .clone()
        .unwrap_or_else(|| "the driver counts no GPU that opens".into());
    Verdict::Found(vec![
        Finding::new(
            "B043",
            Severity::Info,
            "no GPU was sampled: this is the host's baseline alone",
        )
        .because("NVML", reason),
    ])
}

fn unreachable_gpu(facts: &HostFacts<'_>) -> Verdict {
    if facts.inventory.unreachable.is_empty() {
        return Verdict::Pass;
    }
    let mut finding = Finding::new(
        "B044",
        Severity::Error,
        if facts.inventory.gpus.is_empty() && facts.inventory.nvml_absent.is_some() {
            "the driver does not answer"
        } else {
            "a GPU that the driver counts does not open"
        },
    )
    .hint("look for Xid lines in `dmesg`; in a container, look at its device list");
    for gpu in &facts.inventory.unreachable {
        finding = finding.because("driver", gpu.to_string());
    }
    Verdict::Found(vec![finding])
}
