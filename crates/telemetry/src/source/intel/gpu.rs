//! One Intel GPU: its tiers of readings.
//!
//! Invariants: power is the growth of the energy counter, so that the first state has none; use and
//! memory are those of the processes that this user may look at; a GPU that sleeps is not read.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use super::gt::Gt;
use crate::Micros;
use crate::event::{Energy, GpuIdentity, ProcessUse, Slow, State, Steady, Vendor};
use crate::source::cards::Card;
use crate::source::fdinfo::{Clients, Looked, Usage};
use crate::source::sysfs::{
    Attribute, Hwmon, Link, Sensor, Sleep, list, number_in, pci_name, text_of,
};
use crate::source::{Depth, Gpu, Reading, Refusal, SteadyWanted, Wanted};

/// The state looks at the processes each second. What it found serves their list, too.
const YOUNG: Duration = Duration::from_millis(1_500);

/// NVML's bit for a GPU with nothing to do.
const IDLE: i64 = 0x1;

/// An open Intel GPU.
pub(crate) struct IntelGpu {
    card: Card,
    gts: Vec<Gt>,
    sleep: Sleep,
    energy: Option<Attribute>,
    power_limit: Option<Attribute>,
    temperatures: Vec<Sensor>,
    fans: Vec<Attribute>,
    link: Link,
    /// Whether the link is one of a slot: a GPU inside of the processor has none.
    has_link: bool,
    usage: Usage,
    looked: Looked,
    looked_at: Option<Micros>,
    state: State,
    /// Microjoules and when they were read.
    energy_before: Option<(Micros, i64)>,
    energy_now: Option<i64>,
    /// Milliseconds at rest and when they were read.
    idle_before: Option<(Micros, i64)>,
}

impl IntelGpu {
    /// Opens a card's files; what does not read is found out when it is wanted.
    pub(crate) fn open(card: Card, clients: Arc<Clients>) -> (Self, GpuIdentity) {
        let device = &card.pci.folder;
        let hwmon = Hwmon::of(device, card.driver.name());
        let hwmon = hwmon.as_ref();
        // The card's own where it is told from the package's.
        let quantity = |kind: &str, file: &str| {
            let hwmon = hwmon?;
            let card = hwmon.labelled(kind, "card");
            let stems = [card, Some(format!("{kind}1")), hwmon.labelled(kind, "pkg")];
            let stems = stems.into_iter().flatten().chain([format!("{kind}2")]);
            let mut names = stems.map(|stem| format!("{stem}_{file}"));
            names.find(|name| hwmon.fixed(name).is_some())
        };
        let file = |name: Option<String>, call| Some(hwmon?.file(&name?, call));
        let gts = Gt::all(&card);
        let link = card.pci.link();
        let clock_max = gts.iter().filter_map(|gt| gt.clock_max_mhz).max();
        let rated = quantity("power", "rated_max").and_then(|name| hwmon?.fixed(&name));
        let temperatures = hwmon.map(Hwmon::temperatures).unwrap_or_default();
        let core = core_sensor(&temperatures).and_then(|nth| temperatures[nth].limit_c);
        let mut identity = GpuIdentity {
            uuid: format!("pci-{}", card.pci.address),
            name: name(&card),
            vendor: Vendor::Intel,
            driver: Some(card.driver_version.clone()),
            pci_bus_id: Some(card.pci.address.clone()),
            memory_total_bytes: memory_total(&card),
            sm_clock_max_mhz: clock_max,
            power_limit_default_mw: rated.filter(|limit| *limit > 0).map(|micro| micro / 1000),
            slowdown_temperature_c: core,
            ..GpuIdentity::default()
        };
        // What is inside of the processor shows a link that is none.
        let has_link = identity.memory_total_bytes.is_some() || hwmon.is_some();
        if has_link {
            identity.pcie_generation_max = link.generation_max;
            identity.pcie_width_max = link.width_max;
        }
        let gpu = Self {
            gts,
            sleep: Sleep::of(device),
            energy: file(quantity("energy", "input"), "energy_input"),
            power_limit: file(quantity("power", "max"), "power_max"),
            temperatures,
            fans: hwmon.map(Hwmon::fans).unwrap_or_default(),
            link,
            has_link,
            usage: Usage::new(clients, card.pci.address.clone()),
            looked: Looked::default(),
            looked_at: None,
            state: State::default(),
            energy_before: None,
            energy_now: None,
            idle_before: None,
            card,
        };
        (gpu, identity)
    }

    fn look(&mut self, at: Micros) {
        self.looked = self.usage.look(at, &BTreeMap::new());
        self.looked_at = Some(at);
    }

    /// Milliwatts since the state before.
    fn power_mw(&mut self, at: Micros) -> Reading<Option<i64>> {
        let Some(energy) = &mut self.energy else {
            return Ok(None);
        };
        let now = match energy.number() {
            Ok(now) => now,
            Err(Refusal::Lost) => return Err(Refusal::Lost),
            Err(_) => return Ok(None),
        };
        self.energy_now = Some(now);
        let Some((then, before)) = self.energy_before.replace((at, now)) else {
            return Ok(None);
        };
        let micros = i64::try_from(at.since(then).as_micros()).unwrap_or(0);
        let grown = now.saturating_sub(before);
        // Microjoules in microseconds are watts.
        Ok((micros > 0 && grown >= 0).then(|| grown.saturating_mul(1000) / micros))
    }

    fn read_temperatures(&mut self) {
        let core = core_sensor(&self.temperatures);
        self.state.temperature_c = core.and_then(|nth| self.temperatures[nth].read());
        let memory = self.temperatures.iter_mut();
        let memory = memory.filter(|sensor| sensor.label.starts_with("vram"));
        self.state.memory_temperature_c = memory.filter_map(Sensor::read).max();
    }

    fn reasons(&mut self) -> Option<i64> {
        let held = self.gts.iter_mut().filter_map(Gt::throttle_bits);
        let bits = held.reduce(|all, bits| all | bits)?;
        let idle = self.state.busy_percent == Some(0);
        Some(bits | if idle { IDLE } else { 0 })
    }

    /// Share of time in which the first GT was not at rest, since the last time.
    fn awake_percent(&mut self, at: Micros) -> Option<i64> {
        let now = self.gts.first_mut()?.idle_ms()?;
        let (then, before) = self.idle_before.replace((at, now))?;
        let passed = at.since(then).as_secs_f64() * 1e3;
        let idle = now.saturating_sub(before) as f64;
        (passed > 0.0 && idle >= 0.0)
            .then(|| ((1.0 - idle / passed) * 100.0).round().clamp(0.0, 100.0) as i64)
    }
}

/// The sensor of the package, else the first.
fn core_sensor(sensors: &[Sensor]) -> Option<usize> {
    let package = sensors.iter().position(|sensor| sensor.label == "pkg");
    let unnamed = || sensors.iter().position(|sensor| sensor.label.is_empty());
    package.or_else(unnamed)
}

fn memory_total(card: &Card) -> Option<i64> {
    let number = |path: std::path::PathBuf| number_in(text_of(&path)?.as_bytes());
    let own = number(card.folder.join("lmem_total_bytes"));
    let tiles = || {
        let names = list(&card.pci.folder, "tile").into_iter();
        let sizes = names
            .filter_map(|tile| number(card.pci.folder.join(tile).join("physical_vram_size_bytes")));
        sizes.reduce(i64::saturating_add)
    };
    own.or_else(tiles).filter(|bytes| *bytes > 0)
}

fn name(card: &Card) -> String {
    let pci = &card.pci;
    match pci_name(pci) {
        Some(name) if name.starts_with("Intel ") => name,
        Some(name) => format!("Intel {name}"),
        None => format!("Intel GPU {:04x}:{:04x}", pci.vendor, pci.device),
    }
}

impl Gpu for IntelGpu {
    fn reopen(&mut self) -> Reading<()> {
        let card = self.card.found_again().ok_or(Refusal::Lost)?;
        let clients = self.usage.clients();
        (*self, _) = Self::open(card, clients);
        Ok(())
    }

    fn state(&mut self, at: Micros, wanted: Wanted) -> Reading<State> {
        let asleep = self.sleep.asleep();
        if asleep == Some(true) {
            self.state = State::default();
            self.energy_before = None;
            return Ok(State {
                asleep: Some(1),
                ..State::default()
            });
        }
        if wanted.depth >= Depth::Counters {
            self.look(at);
        }
        self.state.busy_percent = self.looked.busy_percent;
        self.state.memory_used_bytes = self.looked.device_bytes;
        self.state.shared_memory_used_bytes = self.looked.system_bytes;
        if wanted.temperature {
            self.read_temperatures();
        }
        self.state.power_mw = self.power_mw(at)?;
        self.state.sm_clock_mhz = self.gts.iter_mut().filter_map(Gt::clock_mhz).max();
        self.state.event_reasons = self.reasons();
        self.state.asleep = asleep.map(i64::from);
        Ok(self.state)
    }

    fn steady(&mut self, at: Micros, _wanted: SteadyWanted) -> Reading<Steady> {
        if !self.card.pci.folder.join("vendor").exists() {
            return Err(Refusal::Lost);
        }
        let hidden_processes = Some(self.looked.hidden);
        if self.sleep.asleep() == Some(true) {
            self.idle_before = None;
            return Ok(Steady {
                hidden_processes,
                ..Steady::default()
            });
        }
        let fans = self.fans.iter_mut().filter_map(|fan| fan.number().ok());
        let fan_rpm = fans.filter(|rpm| (0..50_000).contains(rpm)).max();
        let margins = core_sensor(&self.temperatures);
        let limit = margins.and_then(|nth| self.temperatures[nth].limit_c);
        let now = self.state.temperature_c;
        Ok(Steady {
            margin_c: limit.zip(now).map(|(limit, now)| limit.saturating_sub(now)),
            fan_rpm,
            media_percent: self.looked.media_percent,
            awake_percent: self.awake_percent(at),
            hidden_processes,
            ..Steady::default()
        })
    }

    fn slow(&mut self) -> Reading<Slow> {
        if self.sleep.asleep() == Some(true) {
            return Ok(Slow::default());
        }
        let (generation, width) = match self.has_link {
            true => self.link.read(),
            false => (None, None),
        };
        let limit = self.power_limit.as_mut();
        let limit = limit.and_then(|limit| limit.number().ok());
        Ok(Slow {
            pcie_generation: generation,
            pcie_width: width,
            // Zero says that there is none.
            power_limit_mw: limit.filter(|limit| *limit > 0).map(|micro| micro / 1000),
            ..Slow::default()
        })
    }

    fn energy(&mut self) -> Reading<Energy> {
        Ok(Energy {
            energy_mj: self.energy_now.map(|micro| micro / 1000),
        })
    }

    fn processes(&mut self, at: Micros) -> Reading<Option<Vec<ProcessUse>>> {
        let is_young = self.looked_at.is_some_and(|then| at.since(then) <= YOUNG);
        // The first look has no shares.
        if !is_young || self.looked.busy_percent.is_none() {
            self.look(at);
        }
        Ok(Some(self.looked.processes.clone()))
    }

    fn takes_two_looks(&self) -> bool {
        true
    }
}
