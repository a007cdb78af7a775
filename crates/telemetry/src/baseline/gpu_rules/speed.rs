//! What holds the GPU back: power, heat, clocks, its link.

use warpsmith_core::{Severity, Verdict};

use super::facts::{GpuFacts, IDLE_BUSY_PERCENT, found, percent, unknown};
use crate::baseline::thermal::ThermalBand;
use crate::baseline::throttle::ThrottleReason;
use crate::event::Vendor;

pub(super) fn power_limited(facts: &GpuFacts<'_>) -> Verdict {
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

pub(super) fn thermally_limited(facts: &GpuFacts<'_>) -> Verdict {
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

pub(super) fn clocks_locked(facts: &GpuFacts<'_>) -> Verdict {
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
                .hint(match facts.vendor() {
                    Vendor::Nvidia => {
                        "`nvidia-smi -rac` and `nvidia-smi -rgc` give them back, if that is not wanted"
                    }
                    Vendor::Amd => {
                        "`rocm-smi --setperflevel auto` gives them back, if that is not wanted"
                    }
                    Vendor::Intel => "write the driver's own limits back, if that is not wanted",
                }),
        ),
        Some(_) => Verdict::Pass,
    }
}

pub(super) fn pcie_degraded(facts: &GpuFacts<'_>) -> Verdict {
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

pub(super) fn temperature(facts: &GpuFacts<'_>) -> Verdict {
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

pub(super) fn power_brake(facts: &GpuFacts<'_>) -> Verdict {
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

pub(super) fn lowered_limit(facts: &GpuFacts<'_>) -> Verdict {
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
                .hint(match facts.vendor() {
                    Vendor::Nvidia => {
                        "`nvidia-smi -pl` sets it; compare only with runs under the same limit"
                    }
                    Vendor::Amd => {
                        "`rocm-smi --setpoweroverdrive` sets it; compare only with runs under the same limit"
                    }
                    Vendor::Intel => {
                        "`power1_max` of its hwmon folder sets it; compare only with runs under the same limit"
                    }
                }),
        ),
        (Some(_), Some(_)) => Verdict::Pass,
        _ => unknown("the power limit is not known"),
    }
}
