//! A GT, Intel's word for a part of the GPU with a clock of its own: its clock, its idle time, and what
//! holds it back. `i915` and `xe` have the same files under other names.

use std::path::{Path, PathBuf};

use crate::baseline::ThrottleReason;
use crate::source::cards::{Card, Driver};
use crate::source::sysfs::{Attribute, list, number_in, text_of};

/// One GT's files.
pub(super) struct Gt {
    clock: Attribute,
    idle: Attribute,
    throttled: Attribute,
    reasons: Vec<(ThrottleReason, Attribute)>,
    pub(super) clock_max_mhz: Option<i64>,
}

/// Where the files of a driver are.
struct Places {
    clock: PathBuf,
    clock_max: PathBuf,
    idle: PathBuf,
    /// The folder of reasons, and how its files begin.
    reasons: PathBuf,
    prefix: &'static str,
    throttled: &'static str,
}

impl Gt {
    /// The first GT of each tile: what renders and computes. The others are for video.
    pub(super) fn all(card: &Card) -> Vec<Self> {
        match card.driver {
            Driver::Xe => {
                let device = &card.pci.folder;
                let tiles = list(device, "tile").into_iter();
                let firsts = tiles.filter_map(|tile| {
                    let tile = device.join(tile);
                    let first = list(&tile, "gt").into_iter().next()?;
                    Some(tile.join(first))
                });
                firsts.map(|gt| Self::of(xe(&gt))).collect()
            }
            _ => {
                let gt = card.folder.join("gt/gt0");
                let places = if gt.is_dir() {
                    i915(&gt)
                } else {
                    old_i915(&card.folder)
                };
                vec![Self::of(places)]
            }
        }
    }

    fn of(places: Places) -> Self {
        let reasons = list(&places.reasons, places.prefix).into_iter();
        let reasons = reasons.filter_map(|name| {
            let reason = reason(name.strip_prefix(places.prefix)?)?;
            let file = Attribute::new(places.reasons.join(&name), "throttle_reason");
            Some((reason, file))
        });
        Self {
            reasons: reasons.collect(),
            clock: Attribute::new(places.clock, "act_freq"),
            idle: Attribute::new(places.idle, "idle_residency"),
            throttled: Attribute::new(places.reasons.join(places.throttled), "throttle_status"),
            clock_max_mhz: text_of(&places.clock_max).and_then(|text| number_in(text.as_bytes())),
        }
    }

    /// Megahertz now; 0 while it rests.
    pub(super) fn clock_mhz(&mut self) -> Option<i64> {
        let clock = self.clock.number().ok();
        clock.filter(|mhz| (0..20_000).contains(mhz))
    }

    /// Milliseconds in its idle state so far.
    pub(super) fn idle_ms(&mut self) -> Option<i64> {
        self.idle.number().ok()
    }

    /// Bits of what holds it back; `None` where the driver does not say.
    pub(super) fn throttle_bits(&mut self) -> Option<i64> {
        if self.throttled.number().ok()? == 0 {
            return Some(0);
        }
        let held = self.reasons.iter_mut().filter_map(|(reason, file)| {
            let holds = file.number().ok()? != 0;
            reason.bit().filter(|_| holds)
        });
        Some(held.fold(0, |all, bit| all | bit))
    }
}

fn xe(gt: &Path) -> Places {
    Places {
        clock: gt.join("freq0/act_freq"),
        clock_max: gt.join("freq0/rp0_freq"),
        idle: gt.join("gtidle/idle_residency_ms"),
        reasons: gt.join("freq0/throttle"),
        prefix: "reason_",
        throttled: "status",
    }
}

fn i915(gt: &Path) -> Places {
    Places {
        clock: gt.join("rps_act_freq_mhz"),
        clock_max: gt.join("rps_RP0_freq_mhz"),
        idle: gt.join("rc6_residency_ms"),
        reasons: gt.to_owned(),
        prefix: "throttle_reason_",
        throttled: "throttle_reason_status",
    }
}

/// Kernels before 5.18 have one GT, and no folder for it.
fn old_i915(card: &Path) -> Places {
    Places {
        clock: card.join("gt_act_freq_mhz"),
        clock_max: card.join("gt_RP0_freq_mhz"),
        idle: card.join("power/rc6_residency_ms"),
        reasons: card.to_owned(),
        prefix: "throttle_reason_",
        throttled: "throttle_reason_status",
    }
}

/// The reason behind a file's name; those of frequency limits hold nothing back.
fn reason(name: &str) -> Option<ThrottleReason> {
    Some(match name {
        "pl1" | "pl2" | "pl4" | "psys_pl1" | "psys_pl2" | "psys_crit" => ThrottleReason::PowerCap,
        "vr_tdc" | "iccmax" | "fastvmode" => ThrottleReason::BoardLimit,
        "thermal" | "ratl" | "soc_thermal" | "mem_thermal" | "soc_avg_thermal" => {
            ThrottleReason::SoftwareThermal
        }
        "prochot" | "vr_thermalert" | "vr_thermal" => ThrottleReason::HardwareThermal,
        _ => return None,
    })
}
