//! What the device did during each sample: its power, the energy of a call, and what held its clock
//! back, from readings that somebody took beside the run.
//!
//! The driver is read ten times a second and averages over some of that: a sample has the reading
//! that is nearest to it. The energy of one call is that power times the call's time.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::measurement::Measurement;
use crate::statistics::order::median_of;

/// The device at one moment.
#[derive(Clone, Debug, PartialEq)]
pub struct DeviceReading {
    /// Seconds since 1970.
    pub at: f64,
    /// Power of the board.
    pub power_watts: Option<f64>,
    /// What held the clock back.
    pub held_back: Vec<&'static str>,
}

/// The device during every sample.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct DeviceSamples {
    /// Power of the board, 0 where it was not read near a sample; empty where it never was.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub power_watts: Vec<f32>,
    /// Energy of one call, 0 where the power was not read.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub energy_joules: Vec<f64>,
    /// For every reason that held the clock back, the samples that it did so in, rising.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub held_back: BTreeMap<String, Vec<usize>>,
}

/// What is said about all samples.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DeviceState {
    /// Median power of the board.
    pub power_watts: Option<f64>,
    /// Median energy of a call.
    pub energy_joules: Option<f64>,
    /// For every reason that held the clock back, in how many samples it did.
    pub held_back: BTreeMap<String, usize>,
    /// Samples near which the device was read.
    pub read: usize,
}

/// A reading that is further away says nothing about a sample.
const NEAR_SECONDS: f64 = 0.25;

impl Measurement {
    /// Gives every sample the nearest of `readings`, which rise in time. Samples that do not say when
    /// they were taken are left as they are.
    pub fn attach_device(&mut self, readings: &[DeviceReading]) {
        if self.taken_at.len() != self.seconds.len() || readings.is_empty() {
            return;
        }
        let mut samples = DeviceSamples::default();
        for (index, (at, seconds)) in self.taken_at.iter().zip(&self.seconds).enumerate() {
            let reading = nearest(readings, *at);
            let watts = reading
                .and_then(|reading| reading.power_watts)
                .unwrap_or(0.0);
            samples.power_watts.push(watts as f32);
            samples.energy_joules.push(watts * seconds);
            for reason in reading.map_or(&[][..], |reading| &reading.held_back) {
                let held = samples.held_back.entry((*reason).to_owned()).or_default();
                held.push(index);
            }
        }
        self.device_samples = Some(samples);
    }

    /// What the device did; `None` where it was not read beside the samples.
    pub fn device_state(&self) -> Option<DeviceState> {
        let samples = self.device_samples.as_ref()?;
        let power: Vec<f64> = samples.power_watts.iter().map(|w| f64::from(*w)).collect();
        let median = |values: &[f64]| {
            let read: Vec<f64> = values.iter().copied().filter(|v| *v > 0.0).collect();
            (!read.is_empty()).then(|| median_of(&read))
        };
        let held = samples.held_back.iter();
        Some(DeviceState {
            power_watts: median(&power),
            energy_joules: median(&samples.energy_joules),
            held_back: held
                .map(|(reason, samples)| (reason.clone(), samples.len()))
                .collect(),
            read: power.iter().filter(|watts| **watts > 0.0).count(),
        })
    }
}

fn nearest(readings: &[DeviceReading], at: f64) -> Option<&DeviceReading> {
    let after = readings.partition_point(|reading| reading.at < at);
    let around = [after.checked_sub(1), Some(after)];
    around
        .into_iter()
        .flatten()
        .filter_map(|index| readings.get(index))
        .map(|reading| ((reading.at - at).abs(), reading))
        .filter(|(distance, _)| *distance <= NEAR_SECONDS)
        .min_by(|(a, _), (b, _)| a.total_cmp(b))
        .map(|(_, reading)| reading)
}

impl std::fmt::Display for DeviceState {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut parts = Vec::new();
        if let Some((joules, watts)) = self.energy_joules.zip(self.power_watts) {
            parts.push(format!("{} a run at {watts:.0} W", energy(joules)));
        }
        for (reason, samples) in &self.held_back {
            parts.push(format!("{reason} in {samples} samples"));
        }
        f.write_str(&parts.join(", "))
    }
}

fn energy(joules: f64) -> String {
    match joules {
        joules if joules >= 1.0 => format!("{joules:.2} J"),
        joules if joules >= 1e-3 => format!("{:.2} mJ", 1e3 * joules),
        joules => format!("{:.2} µJ", 1e6 * joules),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measurement::Sample;

    fn reading(at: f64, watts: Option<f64>, held_back: &[&'static str]) -> DeviceReading {
        DeviceReading {
            at,
            power_watts: watts,
            held_back: held_back.to_vec(),
        }
    }

    fn taken(at: &[f64]) -> Measurement {
        let mut measurement = Measurement::imported("k", Vec::new());
        for at in at {
            measurement.push(Sample {
                taken_at: Some(*at),
                ..Sample::of_seconds(2e-3)
            });
        }
        measurement
    }

    #[test]
    fn every_sample_has_the_nearest_reading() {
        let mut measurement = taken(&[10.0, 10.04, 10.06, 10.1, 12.0]);
        measurement.attach_device(&[
            reading(10.0, Some(100.0), &[]),
            reading(10.1, Some(300.0), &["power cap"]),
        ]);
        let samples = measurement.device_samples.clone().unwrap();
        // The last sample was two seconds after the last reading.
        assert_eq!(samples.power_watts, [100.0, 100.0, 300.0, 300.0, 0.0]);
        assert_eq!(samples.held_back["power cap"], [2, 3]);
        assert_eq!(samples.energy_joules[2], 0.6);
        let state = measurement.device_state().unwrap();
        assert_eq!((state.read, state.held_back["power cap"]), (4, 2));
        assert_eq!(state.power_watts, Some(200.0));
        assert_eq!(
            state.to_string(),
            "400.00 mJ a run at 200 W, power cap in 2 samples"
        );
        let json = serde_json::to_string(&measurement).unwrap();
        let read: Measurement = serde_json::from_str(&json).unwrap();
        assert_eq!(read, measurement);
    }

    #[test]
    fn samples_without_a_time_get_nothing() {
        let mut measurement = Measurement::imported("x", vec![1.0; 4]);
        measurement.attach_device(&[reading(10.0, Some(100.0), &[])]);
        assert_eq!(measurement.device_state(), None);
        let mut unread = taken(&[1.0]);
        unread.attach_device(&[reading(1.0, None, &[])]);
        let state = unread.device_state().unwrap();
        assert_eq!((state.power_watts, state.energy_joules), (None, None));
    }
}
