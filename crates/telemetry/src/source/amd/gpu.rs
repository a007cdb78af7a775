//! One AMD GPU: its tiers of readings.
//!
//! Invariants: the binary table is read once a state and everything it says is taken from it; a GPU that
//! sleeps is not read, since that would wake it; what cannot be read now is absent, and a GPU that is
//! gone says so.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::identity::identity;
use super::kfd::Kfd;
use super::levels::Levels;
use super::metrics::{GpuMetrics, LIMIT, MetricsError};
use super::throttle::ThrottleWatch;
use crate::Micros;
use crate::event::{Energy, GpuIdentity, ProcessUse, Slow, State, Steady};
use crate::source::cards::Card;
use crate::source::fdinfo::{Clients, Usage};
use crate::source::sysfs::{Attribute, Hwmon, Link, Sensor, Sleep, list, number_in};
use crate::source::{Depth, Gpu, Reading, Refusal, SteadyWanted, Wanted};

/// NVML's bit for a GPU with nothing to do, and for clocks that somebody has set.
const IDLE: i64 = 0x1;
const CLOCKS_SET: i64 = 0x2;

/// Single values, for what the table does not say.
struct Files {
    metrics: Attribute,
    busy: Attribute,
    memory_busy: Attribute,
    vram_used: Attribute,
    gtt_used: Attribute,
    performance_level: Attribute,
    core_clock_levels: Attribute,
    memory_clock_levels: Attribute,
    replays: Attribute,
    sensors: Option<Sensors>,
    errors: Vec<Attribute>,
}

/// Files of `hwmon` beside the temperatures.
struct Sensors {
    power_average: Attribute,
    power_now: Attribute,
    power_limit: Attribute,
    core_clock: Attribute,
    memory_clock: Attribute,
    fan_duty: Attribute,
    fan: Attribute,
}

/// An open AMD GPU.
pub(crate) struct AmdGpu {
    card: Card,
    files: Files,
    /// Edge, junction, memory: as many as there are.
    temperatures: Vec<Sensor>,
    sleep: Sleep,
    link: Link,
    kfd: Option<Kfd>,
    usage: Usage,
    throttle: ThrottleWatch,
    /// The table of the last state, and whether its version is one that cannot be read.
    table: GpuMetrics,
    unreadable: bool,
    known: Known,
    buffer: Box<[u8; LIMIT]>,
}

/// What was read less often than the tier it is a part of.
#[derive(Default)]
struct Known {
    state: State,
    clocks_set: bool,
    hidden: Option<i64>,
    /// Sums over XGMI and when they were read.
    xgmi: Option<(Micros, i64, i64)>,
}

impl AmdGpu {
    /// Opens a card's files; what does not read is found out when it is wanted.
    pub(crate) fn open(card: Card, clients: Arc<Clients>) -> (Self, GpuIdentity) {
        let device = &card.pci.folder;
        let file = |name: &str, call| Attribute::new(device.join(name), call);
        let hwmon = Hwmon::of(device, "amdgpu");
        let temperatures = hwmon.as_ref().map(Hwmon::temperatures).unwrap_or_default();
        let errors = list(&device.join("ras"), "").into_iter();
        let errors = errors.filter(|name| name.ends_with("_err_count"));
        let files = Files {
            metrics: file("gpu_metrics", "gpu_metrics"),
            busy: file("gpu_busy_percent", "gpu_busy_percent"),
            memory_busy: file("mem_busy_percent", "mem_busy_percent"),
            vram_used: file("mem_info_vram_used", "mem_info_vram_used"),
            gtt_used: file("mem_info_gtt_used", "mem_info_gtt_used"),
            performance_level: file(
                "power_dpm_force_performance_level",
                "power_dpm_force_performance_level",
            ),
            core_clock_levels: file("pp_dpm_sclk", "pp_dpm_sclk"),
            memory_clock_levels: file("pp_dpm_mclk", "pp_dpm_mclk"),
            replays: file("pcie_replay_count", "pcie_replay_count"),
            sensors: hwmon.as_ref().map(|hwmon| Sensors {
                power_average: hwmon.file("power1_average", "power1_average"),
                power_now: hwmon.file("power1_input", "power1_input"),
                power_limit: hwmon.file("power1_cap", "power1_cap"),
                core_clock: hwmon.file("freq1_input", "freq1_input"),
                memory_clock: hwmon.file("freq2_input", "freq2_input"),
                fan_duty: hwmon.file("pwm1", "pwm1"),
                fan: hwmon.file("fan1_input", "fan1_input"),
            }),
            errors: errors
                .map(|name| Attribute::new(device.join("ras").join(name), "ras"))
                .collect(),
        };
        let mut gpu = Self {
            kfd: Kfd::of(&card.sys_root, &card.pci.address),
            usage: Usage::new(clients, card.pci.address.clone()),
            sleep: Sleep::of(device),
            link: card.pci.link(),
            files,
            temperatures,
            throttle: ThrottleWatch::default(),
            table: GpuMetrics::default(),
            unreadable: false,
            known: Known::default(),
            buffer: Box::new([0; LIMIT]),
            card,
        };
        let asleep = gpu.sleep.asleep() == Some(true);
        let mut known = identity(
            &gpu.card,
            hwmon.as_ref(),
            &gpu.temperatures,
            &gpu.link,
            asleep,
        );
        // A table that cannot be read is said once, with its version; the rest goes on without it.
        if !asleep && let Ok(Err(error)) = gpu.read_table() {
            known.unread.push(error.to_string());
        }
        (gpu, known)
    }

    /// Reads the binary table; `Ok(Err(…))` where it is there and cannot be understood.
    fn read_table(&mut self) -> Reading<Result<(), MetricsError>> {
        self.table = GpuMetrics::default();
        if self.unreadable {
            return Err(Refusal::NotSupported);
        }
        let bytes = self.files.metrics.read(&mut self.buffer[..])?;
        match GpuMetrics::of_bytes(bytes) {
            Ok(table) => {
                self.table = table;
                Ok(Ok(()))
            }
            Err(error) => {
                // Another version does not come; a table that was cut short may.
                self.unreadable = matches!(error, MetricsError::UnknownVersion(..));
                Ok(Err(error))
            }
        }
    }

    fn read_temperatures(&mut self) {
        let table = &self.table;
        let mut of = |label: &str, known: Option<i64>| {
            known.or_else(|| {
                let mut sensors = self.temperatures.iter_mut();
                sensors.find(|sensor| sensor.label == label)?.read()
            })
        };
        let edge = of("edge", table.edge_c);
        let hotspot = of("junction", table.hotspot_c);
        let memory = of("mem", table.memory_c);
        let any = || {
            let mut unnamed = self.temperatures.iter_mut();
            unnamed.find(|sensor| sensor.label.is_empty())?.read()
        };
        let state = &mut self.known.state;
        state.temperature_c = edge.or(hotspot).or_else(any);
        state.hotspot_temperature_c = hotspot;
        state.memory_temperature_c = memory;
    }

    fn read_power(&mut self) {
        let (mut average, mut now) = (self.table.power_mw, self.table.power_instant_mw);
        if average.is_none()
            && now.is_none()
            && let Some(sensors) = &mut self.files.sensors
        {
            let milliwatts = |file: &mut Attribute| file.number().ok().map(|micro| micro / 1000);
            average = milliwatts(&mut sensors.power_average);
            if average.is_none() {
                now = milliwatts(&mut sensors.power_now);
            }
        }
        self.known.state.power_mw = average.or(now).filter(|power| *power >= 0);
        self.known.state.power_instant_mw = now.filter(|power| *power >= 0);
    }

    fn read_clocks(&mut self) {
        let (mut core, mut memory) = (self.table.gfx_clock_mhz, self.table.memory_clock_mhz);
        if let Some(sensors) = &mut self.files.sensors {
            let megahertz =
                |file: &mut Attribute| file.number().ok().map(|hertz| hertz / 1_000_000);
            core = core.or_else(|| megahertz(&mut sensors.core_clock));
            memory = memory.or_else(|| megahertz(&mut sensors.memory_clock));
        }
        let level = |file: &mut Attribute| Levels::of_text(&file.text().ok()?).current_mhz;
        let state = &mut self.known.state;
        state.sm_clock_mhz = core.or_else(|| level(&mut self.files.core_clock_levels));
        state.memory_clock_mhz = memory.or_else(|| level(&mut self.files.memory_clock_levels));
    }

    fn read_use(&mut self) {
        let percent = |file: &mut Attribute| {
            let value = file.number().ok();
            value.filter(|percent| (0..=100).contains(percent))
        };
        let busy = self.table.busy_percent;
        self.known.state.busy_percent = busy.or_else(|| percent(&mut self.files.busy));
        let busy = self.table.memory_busy_percent;
        self.known.state.memory_busy_percent =
            busy.or_else(|| percent(&mut self.files.memory_busy));
    }

    /// Reasons as the table says them, with what is known beside it.
    fn reasons(&mut self) -> Option<i64> {
        let bits = self
            .throttle
            .bits(self.table.throttle, self.table.time_ns)?;
        let idle = self.known.state.busy_percent == Some(0);
        let locked = self.table.clocks_locked.is_some_and(|parts| parts != 0);
        let set = self.known.clocks_set || locked;
        Some(bits | if idle { IDLE } else { 0 } | if set { CLOCKS_SET } else { 0 })
    }

    /// Degrees left at the sensor that is nearest to its limit.
    fn margin_c(&self) -> Option<i64> {
        let state = &self.known.state;
        let left = self.temperatures.iter().filter_map(|sensor| {
            let now = match sensor.label.as_str() {
                "junction" => state.hotspot_temperature_c,
                "mem" => state.memory_temperature_c,
                _ => state.temperature_c,
            };
            Some(sensor.limit_c?.saturating_sub(now?))
        });
        left.min()
    }

    /// Bytes a second over XGMI since the last time.
    fn xgmi(&mut self, at: Micros) -> Option<(i64, i64)> {
        let (read, written) = self.table.xgmi_read_kb.zip(self.table.xgmi_written_kb)?;
        let (then, read_then, written_then) = self.known.xgmi.replace((at, read, written))?;
        let seconds = at.since(then).as_secs_f64();
        let rate = |now: i64, then: i64| {
            (now.saturating_sub(then).max(0) as f64 * 1000.0 / seconds) as i64
        };
        (seconds > 0.0).then(|| (rate(read, read_then), rate(written, written_then)))
    }
}

impl Gpu for AmdGpu {
    fn reopen(&mut self) -> Reading<()> {
        let card = self.card.found_again().ok_or(Refusal::Lost)?;
        let clients = self.usage.clients();
        (*self, _) = Self::open(card, clients);
        Ok(())
    }

    fn state(&mut self, _at: Micros, wanted: Wanted) -> Reading<State> {
        let asleep = self.sleep.asleep();
        if asleep == Some(true) {
            self.known.state = State::default();
            return Ok(State {
                asleep: Some(1),
                ..State::default()
            });
        }
        // A table that is not there, or not now, leaves its values to the other files.
        if self.read_table() == Err(Refusal::Lost) {
            return Err(Refusal::Lost);
        }
        self.read_use();
        self.read_power();
        self.read_clocks();
        if wanted.temperature || self.table.hotspot_c.is_some() {
            self.read_temperatures();
        }
        if wanted.depth >= Depth::Counters {
            let bytes = |file: &mut Attribute| file.number().ok().filter(|bytes| *bytes >= 0);
            let state = &mut self.known.state;
            state.memory_used_bytes = bytes(&mut self.files.vram_used);
            state.shared_memory_used_bytes = bytes(&mut self.files.gtt_used);
        }
        let reasons = self.reasons();
        let mut state = self.known.state;
        state.event_reasons = reasons;
        if let Some([power, heat, signal]) = self.throttle.held_ns() {
            state.power_cap_ns = Some(power);
            state.software_thermal_ns = Some(heat);
            state.hardware_thermal_ns = Some(signal);
        }
        state.asleep = asleep.map(i64::from);
        Ok(state)
    }

    fn steady(&mut self, at: Micros, _wanted: SteadyWanted) -> Reading<Steady> {
        if !self.card.pci.folder.join("vendor").exists() {
            return Err(Refusal::Lost);
        }
        let hidden = self.known.hidden;
        if self.sleep.asleep() == Some(true) {
            return Ok(Steady {
                hidden_processes: hidden,
                ..Steady::default()
            });
        }
        let mut fan_rpm = self.table.fan_rpm;
        let mut duty = None;
        if let Some(sensors) = &mut self.files.sensors {
            duty = sensors.fan_duty.number().ok();
            fan_rpm = fan_rpm.or_else(|| sensors.fan.number().ok());
        }
        let xgmi = self.xgmi(at);
        Ok(Steady {
            margin_c: self.margin_c(),
            fan_percent: duty
                .filter(|duty| (0..=255).contains(duty))
                .map(|duty| (duty * 100 + 127) / 255),
            fan_rpm: fan_rpm.filter(|rpm| (0..50_000).contains(rpm)),
            media_percent: self.table.media_percent,
            hidden_processes: hidden,
            xgmi_read_bytes_s: xgmi.map(|(read, _)| read),
            xgmi_written_bytes_s: xgmi.map(|(_, written)| written),
            ..Steady::default()
        })
    }

    fn slow(&mut self) -> Reading<Slow> {
        if self.sleep.asleep() == Some(true) {
            return Ok(Slow::default());
        }
        let level = self.files.performance_level.text().ok();
        let level = level.as_deref().map(str::trim);
        self.known.clocks_set = level.is_some_and(|level| !level.is_empty() && level != "auto");
        let mut errors: Option<(i64, i64)> = None;
        for block in &mut self.files.errors {
            if let Some((corrected, uncorrected)) =
                block.text().ok().and_then(|text| error_counts(&text))
            {
                let (all_corrected, all_uncorrected) = errors.unwrap_or((0, 0));
                errors = Some((
                    all_corrected.saturating_add(corrected),
                    all_uncorrected.saturating_add(uncorrected),
                ));
            }
        }
        let (generation, width) = self.link.read();
        let limit = self.files.sensors.as_mut();
        let limit = limit.and_then(|sensors| sensors.power_limit.number().ok());
        Ok(Slow {
            ecc_corrected: errors.map(|(corrected, _)| corrected),
            ecc_uncorrected: errors.map(|(_, uncorrected)| uncorrected),
            // Both know the link; the table of a card with a switch of its own knows the slot's.
            pcie_generation: self.table.pcie_generation.or(generation),
            pcie_width: self.table.pcie_width.or(width),
            pcie_replays: self
                .table
                .pcie_replays
                .or_else(|| self.files.replays.number().ok()),
            power_limit_mw: limit.filter(|limit| *limit > 0).map(|micro| micro / 1000),
            ..Slow::default()
        })
    }

    fn energy(&mut self) -> Reading<Energy> {
        Ok(Energy {
            energy_mj: self.table.energy_mj,
        })
    }

    fn processes(&mut self, at: Micros) -> Reading<Option<Vec<ProcessUse>>> {
        let computing = self.kfd.as_ref().map_or_else(BTreeMap::new, Kfd::processes);
        let looked = self.usage.look(at, &computing);
        self.known.hidden = Some(looked.hidden);
        Ok(Some(looked.processes))
    }

    fn takes_two_looks(&self) -> bool {
        true
    }
}

/// `ue: 0` and `ce: 3`: errors that could not be corrected, and those that were.
fn error_counts(text: &str) -> Option<(i64, i64)> {
    let count = |name: &str| {
        let line = text.lines().find_map(|line| line.trim().strip_prefix(name));
        line.and_then(|value| number_in(value.trim().as_bytes()))
            .filter(|count| *count >= 0)
    };
    Some((count("ce:")?, count("ue:")?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn error_counts_are_both_or_none() {
        assert_eq!(error_counts("ue: 2\nce: 17\n"), Some((17, 2)));
        assert_eq!(error_counts("ue: 2\n"), None);
        assert_eq!(error_counts("ue: -1\nce: 0\n"), None);
        assert_eq!(error_counts("query failed\n"), None);
    }
}
