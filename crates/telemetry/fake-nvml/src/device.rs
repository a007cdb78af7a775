//! One GPU's readings at a moment, from the scenario's waves or from a recording.

use std::path::Path;

use warpsmith_telemetry::recording::Recording;
use warpsmith_telemetry::{
    Energy, Event, Happening, Micros, ProcessUse, RingSample, Slow, State, Steady,
};

use crate::scenario::{Gpu, Process, Throttle, instance_number};

const MEGA: f64 = 1024.0 * 1024.0;

/// What answers for a GPU.
pub enum Device {
    /// Waves.
    Scripted(Box<Gpu>),
    /// A recording, moved so that it begins at the start.
    Recorded(Box<Gpu>, Vec<Event>),
}

impl Device {
    /// A GPU of the scenario; a recording is read whole, once.
    pub fn new(gpu: Gpu) -> Result<Self, String> {
        match gpu.recording.clone() {
            None => Ok(Self::Scripted(Box::new(gpu))),
            Some(path) => {
                let (identity, events) = load(&path)?;
                let mut gpu = gpu;
                gpu.name = identity.name;
                if let Some(bytes) = identity.memory_total_bytes {
                    gpu.memory_total_mb = bytes as f64 / MEGA;
                }
                Ok(Self::Recorded(Box::new(gpu), events))
            }
        }
    }

    /// What the scenario says that stays the same.
    pub fn gpu(&self) -> &Gpu {
        match self {
            Self::Scripted(gpu) | Self::Recorded(gpu, _) => gpu,
        }
    }

    /// The latest event at `t` that `pick` likes.
    fn latest<T>(events: &[Event], t: f64, pick: impl Fn(&Happening) -> Option<T>) -> Option<T> {
        let end = events.partition_point(|event| event.at.as_seconds() <= t);
        events[..end]
            .iter()
            .rev()
            .find_map(|event| pick(&event.what))
    }

    /// The fast tier.
    pub fn state(&self, t: f64) -> State {
        match self {
            Self::Scripted(gpu) => scripted_state(gpu, t),
            Self::Recorded(_, events) => Self::latest(events, t, |what| match what {
                Happening::State(state) => Some(*state),
                _ => None,
            })
            .unwrap_or_default(),
        }
    }

    /// The tier of a second.
    pub fn steady(&self, t: f64) -> Steady {
        match self {
            Self::Scripted(gpu) => Steady {
                margin_c: gpu
                    .margin_reference_c
                    .map(|reference| (reference - gpu.temperature_c.at(t).floor()) as i64),
                performance_state: Some(0),
                fan_percent: Some(30),
                encoder_percent: Some(0),
                decoder_percent: Some(0),
                ..activity(gpu, t)
            },
            Self::Recorded(_, events) => Self::latest(events, t, |what| match what {
                Happening::Steady(steady) => Some(*steady),
                _ => None,
            })
            .unwrap_or_default(),
        }
    }

    /// The critical errors until `t`, with their times.
    pub fn xids(&self, t: f64) -> Vec<(f64, i64)> {
        match self {
            Self::Scripted(gpu) => gpu
                .xids
                .iter()
                .filter(|[at, _]| *at <= t)
                .map(|[at, code]| (*at, *code as i64))
                .collect(),
            Self::Recorded(_, events) => events
                .iter()
                .filter(|event| event.at.as_seconds() <= t)
                .filter_map(|event| match event.what {
                    Happening::Xid(xid) => Some((event.at.as_seconds(), xid.code?)),
                    _ => None,
                })
                .collect(),
        }
    }

    /// The slow tier.
    pub fn slow(&self, t: f64) -> Slow {
        match self {
            Self::Scripted(gpu) => {
                let bytes = (gpu.pcie_start + (gpu.pcie_bytes_per_s * t) as u64) % (1 << 32);
                Slow {
                    ecc_corrected: Some(gpu.ecc_corrected.at(t) as i64),
                    ecc_uncorrected: Some(gpu.ecc_uncorrected.at(t) as i64),
                    ecc_uncorrected_lifetime: Some(gpu.ecc_uncorrected.at(t) as i64),
                    remapped_corrected_rows: Some(gpu.remapped[0].into()),
                    remapped_uncorrected_rows: Some(gpu.remapped[1].into()),
                    remap_pending: Some(gpu.remapped[2].into()),
                    remap_failed: Some(gpu.remapped[3].into()),
                    pcie_sent_bytes: i64::try_from(bytes).ok(),
                    pcie_received_bytes: i64::try_from(bytes).ok(),
                    pcie_replays: Some(gpu.pcie_replays.at(t) as i64),
                    pcie_generation: Some(gpu.pcie[0].into()),
                    pcie_width: Some(gpu.pcie[2].into()),
                    power_limit_mw: Some((gpu.power_limit_w * 1e3) as i64),
                }
            }
            Self::Recorded(_, events) => Self::latest(events, t, |what| match what {
                Happening::Slow(slow) => Some(*slow),
                _ => None,
            })
            .unwrap_or_default(),
        }
    }

    /// The energy counter.
    pub fn energy(&self, t: f64) -> Energy {
        match self {
            Self::Scripted(gpu) => Energy {
                // The counter moves every 100 ms, as on an H200.
                energy_mj: Some(
                    gpu.energy_start_mj as i64
                        + (gpu.power_w.integral((t * 10.0).floor() / 10.0) * 1e3) as i64,
                ),
            },
            Self::Recorded(_, events) => Self::latest(events, t, |what| match what {
                Happening::Energy(energy) => Some(*energy),
                _ => None,
            })
            .unwrap_or_default(),
        }
    }

    /// The samples of a ring in `(after, t]`, in seconds since the start.
    pub fn ring(&self, kind: u32, after: f64, t: f64) -> Vec<(f64, i64)> {
        match self {
            Self::Scripted(gpu) => {
                let (period, depth) = if kind == 0 { (0.02, 119) } else { (0.2, 71) };
                let last = (t / period).floor() as i64;
                // One more than `after / period` rounds to, so that a sample is never repeated.
                let first = ((after / period + 1e-6).floor() as i64 + 1).max(last - depth + 1);
                (first.max(0)..=last)
                    .map(|slot| {
                        let at = slot as f64 * period;
                        let value = match kind {
                            0 => gpu.power_w.at(at) * 1e3,
                            1 => gpu.busy.at(at).clamp(0.0, 100.0),
                            _ => gpu.memory_busy.at(at).clamp(0.0, 100.0),
                        };
                        (at, value.round() as i64)
                    })
                    .collect()
            }
            Self::Recorded(_, events) => {
                let ring = |what: &Happening| -> Option<Vec<RingSample>> {
                    match (kind, what) {
                        (0, Happening::PowerRing(samples))
                        | (1, Happening::BusyRing(samples))
                        | (2, Happening::MemoryBusyRing(samples)) => Some(samples.clone()),
                        _ => None,
                    }
                };
                events
                    .iter()
                    .filter_map(|event| ring(&event.what))
                    .flatten()
                    .map(|sample| (sample.at.as_seconds(), sample.value))
                    .filter(|(at, _)| *at > after && *at <= t)
                    .collect()
            }
        }
    }

    /// The processes.
    pub fn processes(&self, t: f64) -> Vec<ProcessUse> {
        match self {
            Self::Scripted(gpu) => {
                let here = |process: &&Process| (process.from_s..process.until_s).contains(&t);
                let here: Vec<&Process> = gpu.processes.iter().filter(here).collect();
                let all: u32 = here.iter().map(|process| process.count).sum();
                let part = gpu.busy.at(t).clamp(0.0, 100.0) / f64::from(all.max(1));
                let uses = here.into_iter().flat_map(|process| {
                    (0..process.count).map(move |nth| ProcessUse {
                        pid: process.pid + nth,
                        memory_bytes: process.memory_mb.map(|mb| (mb * MEGA) as i64),
                        compute: !process.graphics,
                        busy_percent: Some(process.busy.unwrap_or(part).round() as i64),
                        gpu_instance: process.mig.map(instance_number),
                    })
                });
                uses.collect()
            }
            Self::Recorded(_, events) => Self::latest(events, t, |what| match what {
                Happening::Processes(list) => Some(list.clone()),
                _ => None,
            })
            .unwrap_or_default(),
        }
    }
}

/// How much of the GPU works; nothing on one without such counters.
fn activity(gpu: &Gpu, t: f64) -> Steady {
    let Some(sm_active) = &gpu.sm_active else {
        return Steady::default();
    };
    let permille = |wave: &crate::Wave| Some((wave.at(t).clamp(0.0, 100.0) * 10.0).round() as i64);
    Steady {
        sm_active_permille: permille(sm_active),
        sm_occupancy_permille: permille(sm_active).map(|active| active / 2),
        tensor_active_permille: permille(&gpu.tensor_active),
        dram_active_permille: permille(&gpu.dram_active),
        fp64_active_permille: Some(0),
        fp32_active_permille: permille(sm_active).map(|active| active / 4),
        fp16_active_permille: Some(0),
        pcie_sent_bytes_s: Some(gpu.pcie_bytes_per_s as i64),
        pcie_received_bytes_s: Some(gpu.pcie_bytes_per_s as i64),
        ..Steady::default()
    }
}

fn scripted_state(gpu: &Gpu, t: f64) -> State {
    let whole = |value: f64| Some(value.round() as i64);
    let Throttle {
        power_cap,
        thermal_policy,
        sync_boost,
        board_limit,
        software_thermal,
        hardware_thermal,
        power_brake,
    } = &gpu.throttle;
    let counter = |share: &crate::Wave| {
        i64::try_from(gpu.counter_start + (share.integral(t) * 1e9) as u64).ok()
    };
    State {
        busy_percent: whole(gpu.busy.at(t).clamp(0.0, 100.0)),
        memory_busy_percent: whole(gpu.memory_busy.at(t).clamp(0.0, 100.0)),
        power_mw: whole(gpu.power_w.at(t) * 1e3),
        power_instant_mw: whole(gpu.power_w.at(t) * 1e3),
        temperature_c: Some(gpu.temperature_c.at(t).floor() as i64),
        memory_temperature_c: Some(gpu.memory_temperature_c.at(t).floor() as i64),
        sm_clock_mhz: whole(gpu.sm_clock_mhz.at(t)),
        memory_clock_mhz: whole(gpu.memory_clock_mhz.at(t)),
        event_reasons: whole(gpu.reasons.at(t)),
        memory_used_bytes: whole(gpu.memory_used_mb.at(t) * MEGA),
        memory_reserved_bytes: whole(gpu.memory_reserved_mb * MEGA),
        power_cap_ns: counter(power_cap),
        thermal_policy_ns: counter(thermal_policy),
        sync_boost_ns: counter(sync_boost),
        board_limit_ns: counter(board_limit),
        low_utilization_ns: Some(0),
        reliability_ns: Some(0),
        software_thermal_ns: counter(software_thermal),
        hardware_thermal_ns: counter(hardware_thermal),
        power_brake_ns: counter(power_brake),
        ..State::default()
    }
}

/// The first GPU's events with times in seconds since the recording's first event.
fn load(path: &Path) -> Result<(warpsmith_telemetry::GpuIdentity, Vec<Event>), String> {
    let recording = Recording::open(path).map_err(|error| error.to_string())?;
    let identity = recording
        .inventory()
        .gpus
        .first()
        .cloned()
        .ok_or("the recording has no GPU")?;
    let mut events = Vec::new();
    for event in recording.events() {
        let event = event.map_err(|error| error.to_string())?;
        if event.gpu == 0 && !matches!(event.what, Happening::Host(_)) {
            events.push(event);
        }
    }
    let start = events.iter().map(|event| event.at.0).min().unwrap_or(0);
    let shift = |at: &mut Micros| at.0 = at.0.saturating_sub(start);
    for event in &mut events {
        shift(&mut event.at);
        if let Happening::PowerRing(samples)
        | Happening::BusyRing(samples)
        | Happening::MemoryBusyRing(samples) = &mut event.what
        {
            samples.iter_mut().for_each(|sample| shift(&mut sample.at));
        }
    }
    events.sort_by_key(|event| event.at);
    Ok((identity, events))
}
