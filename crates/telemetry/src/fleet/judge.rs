//! Who is not like the others: remarks about hosts and GPUs, and the findings that sum them up.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use warpsmith_core::{Finding, Severity};

use super::kind::{FEWEST, Kind, Load, QUANTITIES, Typical, by_kind};
use super::reading::{GpuReading, HostReading};

/// Shares of time below this are a blip.
const HELD_BACK: f64 = 0.01;
/// Reasons to be held back that are no fault: the power cap is where busy GPUs live, and sync boost
/// keeps step with others.
const NORMAL_REASONS: [&str; 2] = ["power_cap", "sync_boost"];
/// Most lines of evidence of one finding; the table has the others.
const EVIDENCE: usize = 8;

/// Something about a host or one of its GPUs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Remark {
    /// Its finding.
    pub code: String,
    /// The host.
    pub host: String,
    /// The GPU, where it is about one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gpu: Option<String>,
    /// What is seen there.
    pub seen: String,
}

fn remark(code: &str, host: &HostReading, gpu: Option<&GpuReading>, seen: String) -> Remark {
    Remark {
        code: code.to_owned(),
        host: host.host.clone(),
        gpu: gpu.map(|gpu| gpu.gpu.clone()),
        seen,
    }
}

/// What is remarkable about these hosts; `before` is an earlier reading of them.
pub(super) fn judge(
    hosts: &[HostReading],
    before: Option<&[HostReading]>,
) -> (Vec<Kind>, Vec<Remark>) {
    let mut remarks = Vec::new();
    for host in hosts {
        if let Some(reason) = &host.down {
            remarks.push(remark("F001", host, None, reason.clone()));
        }
        for gpu in &host.gpus {
            health(host, gpu, &mut remarks);
        }
    }
    let kinds = by_kind(hosts);
    for (kind, members) in &kinds {
        if kind.compared {
            outliers(kind, members, &mut remarks);
        }
        links(kind, members, &mut remarks);
    }
    settings(hosts, &mut remarks);
    if let Some(before) = before {
        drift(hosts, before, &mut remarks);
    }
    (kinds.into_iter().map(|(kind, _)| kind).collect(), remarks)
}

fn health(host: &HostReading, gpu: &GpuReading, remarks: &mut Vec<Remark>) {
    if let Some(reason) = &gpu.down {
        remarks.push(remark("F002", host, Some(gpu), reason.clone()));
    }
    for (reason, share) in &gpu.held_back {
        if *share > HELD_BACK && !NORMAL_REASONS.contains(&reason.as_str()) {
            let seen = format!(
                "{} {:.0} % of the time",
                reason.replace('_', " "),
                share * 100.0
            );
            remarks.push(remark("F004", host, Some(gpu), seen));
        }
    }
    let mut faults = Vec::new();
    if let Some(errors) = gpu.ecc_uncorrected.filter(|errors| *errors > 0.0) {
        faults.push(format!("{errors} uncorrected memory errors"));
    }
    if gpu.row_remap_failed == Some(1.0) {
        faults.push("a memory row could not be replaced".to_owned());
    }
    if gpu.row_remap_pending == Some(1.0) {
        faults.push("a memory row waits for a reset".to_owned());
    }
    let codes: Vec<&str> = gpu.xids.keys().map(String::as_str).collect();
    if !codes.is_empty() {
        faults.push(format!("Xid {}", codes.join(", ")));
    }
    if !faults.is_empty() {
        remarks.push(remark("F008", host, Some(gpu), faults.join("; ")));
    }
}

/// A link with fewer lanes is narrow at any time; a lower generation only under load, because idle
/// GPUs lower it to save power.
fn links(kind: &Kind, members: &[(&HostReading, &GpuReading)], remarks: &mut Vec<Remark>) {
    for (host, gpu) in members {
        let below = |now: Option<f64>, most: Option<f64>| {
            now.zip(most).filter(|(now, most)| *now > 0.0 && now < most)
        };
        let mut seen = Vec::new();
        if let Some((now, most)) = below(gpu.pcie_width, gpu.pcie_width_max) {
            seen.push(format!("{now} of {most} lanes"));
        }
        let generation = below(gpu.pcie_generation, gpu.pcie_generation_max);
        if let Some((now, most)) = generation.filter(|_| kind.load == Load::Busy) {
            seen.push(format!("generation {now} of {most}"));
        }
        if !seen.is_empty() {
            let seen = format!("PCIe link: {}", seen.join(", "));
            remarks.push(remark("F005", host, Some(gpu), seen));
        }
    }
}

fn outliers(kind: &Kind, members: &[(&HostReading, &GpuReading)], remarks: &mut Vec<Remark>) {
    for quantity in &QUANTITIES {
        // Clocks and power of GPUs that begin and end work vary for that reason alone.
        if kind.load == Load::Partial && quantity.unit != "°C" {
            continue;
        }
        let typical = kind.typical.iter().find(|(name, _)| name == quantity.name);
        let Some((_, typical)) = typical else {
            continue;
        };
        for (host, gpu) in members {
            if let Some(value) = (quantity.of)(gpu)
                && quantity.is_remarkable(value, typical)
            {
                let seen = format!("{} {}", quantity.name, quantity.beside(value, typical));
                remarks.push(remark("F003", host, Some(gpu), seen));
            }
        }
    }
}

/// What most of them have, where at least two thirds of three or more agree and some do not.
fn majority(values: &[Option<String>]) -> Option<String> {
    let mut counts = BTreeMap::<&str, usize>::new();
    for value in values.iter().flatten() {
        *counts.entry(value).or_default() += 1;
    }
    let all: usize = counts.values().sum();
    let (value, count) = counts.iter().max_by_key(|(_, count)| **count)?;
    (all >= 3 && *count < all && 3 * count >= 2 * all).then(|| (*value).to_owned())
}

/// Who is set up differently: versions, number of GPUs, power limits.
fn settings(hosts: &[HostReading], remarks: &mut Vec<Remark>) {
    type Value = fn(&HostReading) -> Option<String>;
    let values: [(&str, Value); 3] = [
        ("driver", |host| host.driver.clone()),
        ("exporter", |host| host.exporter.clone()),
        ("GPUs", |host| {
            host.down.is_none().then(|| host.gpus.len().to_string())
        }),
    ];
    for (name, value) in values {
        let of: Vec<Option<String>> = hosts.iter().map(value).collect();
        let Some(most) = majority(&of) else { continue };
        for (host, value) in hosts.iter().zip(of) {
            if let Some(value) = value.filter(|value| *value != most) {
                let seen = format!("{name} {value}, most hosts have {most}");
                remarks.push(remark("F006", host, None, seen));
            }
        }
    }
    let mut models = BTreeMap::<&str, Vec<(&HostReading, &GpuReading)>>::new();
    for host in hosts {
        for gpu in &host.gpus {
            models.entry(&gpu.name).or_default().push((host, gpu));
        }
    }
    for members in models.values() {
        let limit = |gpu: &GpuReading| gpu.power_limit_watts.map(|watts| format!("{watts:.0}"));
        let of: Vec<Option<String>> = members.iter().map(|(_, gpu)| limit(gpu)).collect();
        let Some(most) = majority(&of) else { continue };
        for ((host, gpu), value) in members.iter().zip(of) {
            if let Some(value) = value.filter(|value| *value != most) {
                let seen = format!("power limit {value} W, most of its model have {most} W");
                remarks.push(remark("F006", host, Some(gpu), seen));
            }
        }
    }
}

/// Who moved since an earlier reading, more than the others of its kind did: a warmer room moves all.
fn drift(hosts: &[HostReading], before: &[HostReading], remarks: &mut Vec<Remark>) {
    let then: BTreeMap<&str, &GpuReading> = before
        .iter()
        .flat_map(|host| &host.gpus)
        .filter(|gpu| !gpu.uuid.is_empty())
        .map(|gpu| (gpu.uuid.as_str(), gpu))
        .collect();
    for (_, members) in by_kind(hosts) {
        let pairs: Vec<_> = members
            .into_iter()
            .filter_map(|(host, gpu)| {
                let then = then.get(gpu.uuid.as_str())?;
                let alike = then.down.is_none() && Load::of(then) == Load::of(gpu);
                (alike && Load::of(gpu) != Load::Partial).then_some((host, gpu, *then))
            })
            .collect();
        for quantity in &QUANTITIES {
            let moved = |gpu: &GpuReading, then: &GpuReading| {
                Some((quantity.of)(gpu)? - (quantity.of)(then)?)
            };
            let all = pairs.iter().filter_map(|(_, gpu, then)| moved(gpu, then));
            let Some(typical) = Typical::of(all.collect()) else {
                continue;
            };
            for (host, gpu, then) in &pairs {
                let (Some(now), Some(was)) = ((quantity.of)(gpu), (quantity.of)(then)) else {
                    continue;
                };
                let (amount, share) = quantity.matters;
                let bound = typical.bound((amount.max(share * was.abs()), 0.0));
                if typical.count >= FEWEST && (now - was - typical.median).abs() > bound {
                    let seen = format!(
                        "{} {was:.0} → {now:.0} {unit}, others of its kind {:+.0} {unit}",
                        quantity.name,
                        typical.median,
                        unit = quantity.unit,
                    );
                    remarks.push(remark("F007", host, Some(gpu), seen));
                }
            }
        }
    }
}

/// One finding for each code that was seen, with the first of its places.
pub(super) fn findings(remarks: &[Remark]) -> Vec<Finding> {
    const CODES: [(&str, Severity, &str, &str); 8] = [
        (
            "F001",
            Severity::Error,
            "do not answer",
            "look at the exporter there: `systemctl status`, `warpsmith health --address HOST:9877`",
        ),
        (
            "F002",
            Severity::Error,
            "are down",
            "read the driver's log there: `dmesg | grep -i -e xid -e nvrm`",
        ),
        (
            "F003",
            Severity::Warning,
            "differ from others of their kind",
            "compare one with a healthy one: `warpsmith baseline --save` on both, then `warpsmith compare`",
        ),
        (
            "F004",
            Severity::Error,
            "are slowed down",
            "check air flow, fans and power supplies of these machines",
        ),
        (
            "F005",
            Severity::Warning,
            "have a narrow PCIe link",
            "reseat the card or riser, and look for PCIe errors in `dmesg`",
        ),
        (
            "F006",
            Severity::Warning,
            "are set up differently",
            "bring them to the state of the others, or keep them out of comparisons",
        ),
        (
            "F007",
            Severity::Warning,
            "have changed since the earlier reading",
            "look for what happened there meanwhile: `warpsmith baseline` on that machine",
        ),
        (
            "F008",
            Severity::Error,
            "report hardware errors",
            "drain the machine and run `warpsmith check` there",
        ),
    ];
    let mut findings = Vec::new();
    for (code, severity, what, hint) in CODES {
        let seen: Vec<&Remark> = remarks
            .iter()
            .filter(|remark| remark.code == code)
            .collect();
        let (Some(first), many) = (seen.first(), seen.len()) else {
            continue;
        };
        let thing = match (&first.gpu, code) {
            (None, "F001") => "hosts",
            (_, "F006") => "hosts or GPUs",
            _ => "GPUs",
        };
        let mut finding = Finding::new(code, severity, format!("{many} {thing} {what}"));
        for remark in seen.iter().take(EVIDENCE) {
            finding = finding.because(remark.place(), &remark.seen);
        }
        if many > EVIDENCE {
            finding = finding.because("and", format!("{} more in the table", many - EVIDENCE));
        }
        findings.push(finding.hint(hint));
    }
    findings
}

impl Remark {
    /// Host and GPU.
    pub fn place(&self) -> String {
        match &self.gpu {
            None => self.host.clone(),
            Some(gpu) => format!("{} GPU {gpu}", self.host),
        }
    }
}
