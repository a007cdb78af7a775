//! What the GPUs did while something was measured: power, temperature, clocks and what held them
//! back, sampled beside the run.

use std::fmt;
use std::sync::mpsc::Receiver;

use serde::Serialize;

use crate::baseline::ThrottleReason;
use crate::clock::Micros;
use crate::event::{Event, Happening, State};
use crate::machine::{Machine, Settings};
use crate::sampler::Sampler;

/// Samples the GPUs until it is finished.
pub struct ConditionsSampler {
    sampler: Sampler,
    events: Receiver<Event>,
    names: Vec<(u32, String, String)>,
}

/// What was seen.
#[derive(Clone, Debug, Serialize)]
pub struct GpuConditions {
    /// One entry for each GPU that NVML knows.
    pub gpus: Vec<GpuMeanwhile>,
}

/// What was seen of one GPU.
#[derive(Clone, Debug, Serialize)]
pub struct GpuMeanwhile {
    index: u32,
    name: String,
    uuid: String,
    /// Readings of the state, ten a second.
    readings: usize,
    /// Mean share of the time in which a kernel ran.
    busy_percent: Option<f64>,
    /// Mean power.
    power_watts: Option<f64>,
    /// Energy from the driver's counter.
    energy_joules: Option<f64>,
    temperature_max_c: Option<i64>,
    sm_clock_min_mhz: Option<i64>,
    sm_clock_max_mhz: Option<i64>,
    memory_max_bytes: Option<i64>,
    /// Milliseconds under each limit, from the driver's counters.
    held_back: Vec<HeldBack>,
    #[serde(skip)]
    series: Vec<GpuReading>,
}

/// One GPU at one moment.
#[derive(Clone, Debug, PartialEq)]
pub struct GpuReading {
    /// When.
    pub at: Micros,
    /// Power of the board.
    pub power_watts: Option<f64>,
    /// What held the clock back, since the reading before.
    pub held_back: Vec<ThrottleReason>,
}

impl GpuConditions {
    /// Every reading of the GPU of this name, in the order taken; `None` where several have it, since
    /// nobody says which of them ran.
    pub fn readings_of(&self, name: &str) -> Option<&[GpuReading]> {
        let mut own = self.gpus.iter().filter(|gpu| gpu.name == name);
        match (own.next(), own.next(), &self.gpus[..]) {
            (Some(gpu), None, _) | (None, None, [gpu]) => Some(&gpu.series),
            _ => None,
        }
    }
}

#[derive(Clone, Debug, Serialize)]
struct HeldBack {
    reason: ThrottleReason,
    milliseconds: f64,
}

impl GpuMeanwhile {
    /// The GPU's identity, `GPU-…`.
    pub fn uuid(&self) -> &str {
        &self.uuid
    }

    /// Energy from the driver's counter.
    pub fn energy_joules(&self) -> Option<f64> {
        self.energy_joules
    }

    /// The lowest and the highest SM clock that was read, in MHz.
    pub fn sm_clock_mhz(&self) -> Option<(i64, i64)> {
        self.sm_clock_min_mhz.zip(self.sm_clock_max_mhz)
    }

    /// What held the clocks back, in words, and for how many milliseconds.
    pub fn held_back(&self) -> Vec<(&'static str, f64)> {
        let held = self.held_back.iter();
        held.map(|held| (held.reason.name(), held.milliseconds))
            .collect()
    }
}

impl ConditionsSampler {
    /// Starts beside what comes next; `None` where there is no GPU that NVML knows.
    pub fn start() -> Option<Self> {
        let settings = Settings::default();
        let machine = Machine::open(&settings).ok()?;
        let gpus = &machine.inventory().gpus;
        if gpus.is_empty() {
            return None;
        }
        let names = gpus
            .iter()
            .map(|gpu| (gpu.index, gpu.name.clone(), gpu.uuid.clone()))
            .collect();
        let (sampler, events) = Sampler::start(machine, &settings);
        Some(Self {
            sampler,
            events,
            names,
        })
    }

    /// Ends, and says what was seen.
    pub fn finish(self) -> GpuConditions {
        self.sampler.stop();
        let events: Vec<Event> = self.events.try_iter().collect();
        let gpus = self.names.into_iter().enumerate();
        GpuConditions {
            gpus: gpus
                .map(|(position, (index, name, uuid))| {
                    let own = events
                        .iter()
                        .filter(|event| usize::from(event.gpu) == position);
                    GpuMeanwhile {
                        uuid,
                        ..summary(index, name, own)
                    }
                })
                .collect(),
        }
    }
}

fn summary<'a>(index: u32, name: String, events: impl Iterator<Item = &'a Event>) -> GpuMeanwhile {
    let mut states: Vec<State> = Vec::new();
    let mut series: Vec<GpuReading> = Vec::new();
    let mut energy: Vec<i64> = Vec::new();
    for event in events {
        match &event.what {
            Happening::State(state) => {
                series.push(reading(event.at, state, states.last()));
                states.push(*state);
            }
            Happening::Energy(reading) => energy.extend(reading.energy_mj),
            _ => {}
        }
    }
    let values = |field: fn(&State) -> Option<i64>| states.iter().filter_map(field);
    let mean = |field: fn(&State) -> Option<i64>| {
        let count = values(field).count();
        let sum: f64 = values(field).map(|value| value as f64).sum();
        (count > 0).then(|| sum / count as f64)
    };
    let grown = |reason: ThrottleReason| {
        let counters: Vec<i64> = states
            .iter()
            .filter_map(|state| reason.counter_ns(state))
            .collect();
        let grown = counters.last()? - counters.first()?;
        (grown > 0).then(|| HeldBack {
            reason,
            milliseconds: grown as f64 / 1e6,
        })
    };
    GpuMeanwhile {
        index,
        name,
        uuid: String::new(),
        readings: states.len(),
        busy_percent: mean(|state| state.busy_percent),
        power_watts: mean(|state| state.power_instant_mw.or(state.power_mw)).map(|mw| mw / 1e3),
        energy_joules: match energy.as_slice() {
            [first, .., last] => Some((last - first) as f64 / 1e3),
            _ => None,
        },
        temperature_max_c: values(|state| state.temperature_c).max(),
        sm_clock_min_mhz: values(|state| state.sm_clock_mhz).min(),
        sm_clock_max_mhz: values(|state| state.sm_clock_mhz).max(),
        memory_max_bytes: values(|state| state.memory_used_bytes).max(),
        held_back: ThrottleReason::ALL.into_iter().filter_map(grown).collect(),
        series,
    }
}

fn reading(at: Micros, state: &State, before: Option<&State>) -> GpuReading {
    let holds = |reason: &ThrottleReason| {
        let now = reason.bit().zip(state.event_reasons);
        let counted = before.and_then(|before| {
            let grown = reason.counter_ns(state)? - reason.counter_ns(before)?;
            Some(grown > 0)
        });
        now.is_some_and(|(bit, bits)| bits & bit != 0) || counted == Some(true)
    };
    let milliwatts = state.power_instant_mw.or(state.power_mw);
    GpuReading {
        at,
        power_watts: milliwatts.map(|mw| mw as f64 / 1e3),
        held_back: ThrottleReason::ALL.into_iter().filter(holds).collect(),
    }
}

impl fmt::Display for GpuConditions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for gpu in &self.gpus {
            let mut parts = Vec::new();
            parts.extend(gpu.busy_percent.map(|busy| format!("{busy:.0} % busy")));
            parts.extend(gpu.power_watts.map(|watts| format!("{watts:.0} W")));
            parts.extend(gpu.energy_joules.map(|joules| format!("{joules:.1} J")));
            parts.extend(gpu.temperature_max_c.map(|c| format!("up to {c} °C")));
            if let (Some(low), Some(high)) = (gpu.sm_clock_min_mhz, gpu.sm_clock_max_mhz) {
                parts.push(format!("SM {low} to {high} MHz"));
            }
            for held in &gpu.held_back {
                parts.push(format!(
                    "{}: {:.0} ms",
                    held.reason.name(),
                    held.milliseconds
                ));
            }
            writeln!(
                f,
                "GPU {} meanwhile: {} ({} readings)",
                gpu.index,
                parts.join(", "),
                gpu.readings
            )?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::Energy;

    #[test]
    fn readings_become_means_extremes_and_growth() {
        let state = |power, clock, capped| {
            Happening::State(State {
                busy_percent: Some(50),
                power_instant_mw: Some(power),
                sm_clock_mhz: Some(clock),
                temperature_c: Some(40),
                power_cap_ns: Some(capped),
                ..State::default()
            })
        };
        let energy = |energy_mj| {
            Happening::Energy(Energy {
                energy_mj: Some(energy_mj),
            })
        };
        let events: Vec<Event> = [
            energy(1_000),
            state(100_000, 1980, 5_000_000),
            state(300_000, 1500, 25_000_000),
            energy(3_500),
        ]
        .into_iter()
        .map(|what| Event {
            at: Micros(0),
            gpu: 0,
            what,
        })
        .collect();
        let seen = GpuConditions {
            gpus: vec![summary(0, "X".into(), events.iter())],
        };
        let readings = seen.readings_of("X").unwrap();
        assert!(readings[0].held_back.is_empty());
        assert_eq!(readings[1].held_back, [ThrottleReason::PowerCap]);
        assert_eq!(readings[1].power_watts, Some(300.0));
        let two = GpuConditions {
            gpus: [0, 1]
                .map(|index| summary(index, "X".into(), events.iter()))
                .into(),
        };
        assert_eq!(two.readings_of("X"), None);
        let text = seen.to_string();
        let gpu = &seen.gpus[0];
        assert_eq!(gpu.energy_joules(), Some(2.5));
        assert_eq!(gpu.sm_clock_mhz(), Some((1500, 1980)));
        assert_eq!(gpu.held_back(), [("power cap", 20.0)]);
        assert_eq!(
            text,
            "GPU 0 meanwhile: 50 % busy, 200 W, 2.5 J, up to 40 °C, SM 1500 to 1980 MHz, \
             power cap: 20 ms (2 readings)\n"
        );
    }
}
