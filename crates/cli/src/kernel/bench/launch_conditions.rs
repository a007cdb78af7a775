//! What one launch of a case's kernel costs the GPU: energy, and the clocks that it ran at.

use std::time::Duration;

use serde::Serialize;
use warpsmith_device::CudaDevice;
use warpsmith_measure::run_sampler::RunTarget;
use warpsmith_telemetry::ConditionsSampler;
use warpsmith_workload::WorkloadError;

/// The kernel runs back to back for so long: the driver's counter of energy moves ten times in it.
const SPAN: Duration = Duration::from_millis(500);

/// Energy, clocks and what held them back while a kernel ran back to back.
#[derive(Serialize)]
pub(super) struct LaunchConditions {
    /// Energy of the whole GPU for one launch, idle power included.
    pub(super) joules: Option<f64>,
    /// The lowest and the highest SM clock.
    pub(super) sm_clock_mhz: Option<(i64, i64)>,
    /// What held the clocks back, and for how many milliseconds.
    pub(super) held_back: Vec<(&'static str, f64)>,
    /// Launches that this is the mean of.
    pub(super) launches: u64,
}

impl LaunchConditions {
    /// Runs the kernel back to back and reads the GPU's counters; `None` where NVML does not know the GPU.
    pub(super) fn read(
        gpu: &CudaDevice,
        target: &mut RunTarget,
    ) -> Result<Option<Self>, WorkloadError> {
        let Some(sampler) = ConditionsSampler::start() else {
            return Ok(None);
        };
        let launches = target.run_for(SPAN)?;
        let seen = sampler.finish();
        let uuid = &gpu.facts().uuid;
        let own = seen.gpus.iter().find(|one| one.uuid() == uuid);
        Ok(own.map(|one| Self {
            joules: one.energy_joules().map(|all| all / launches.max(1) as f64),
            sm_clock_mhz: one.sm_clock_mhz(),
            held_back: one.held_back(),
            launches,
        }))
    }

    /// `1.2 mJ`.
    pub(super) fn energy(&self) -> String {
        match self.joules {
            None => "-".into(),
            Some(joules) if joules >= 1.0 => format!("{joules:.2} J"),
            Some(joules) if joules >= 1e-3 => format!("{:.2} mJ", 1e3 * joules),
            Some(joules) => format!("{:.1} µJ", 1e6 * joules),
        }
    }

    /// `1980 MHz`, or the range.
    pub(super) fn clock(&self) -> String {
        match self.sm_clock_mhz {
            None => "-".into(),
            Some((low, high)) if low == high => format!("{low} MHz"),
            Some((low, high)) => format!("{low} to {high} MHz"),
        }
    }

    /// `power cap 20 ms`.
    pub(super) fn limits(&self) -> String {
        let held = self.held_back.iter();
        let words: Vec<String> = held
            .map(|(what, ms)| format!("{what} {ms:.0} ms"))
            .collect();
        match words.is_empty() {
            true => "nothing".into(),
            false => words.join(", "),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn energy_and_clocks_read_with_their_units() {
        let one = |joules, sm_clock_mhz| LaunchConditions {
            joules,
            sm_clock_mhz,
            held_back: vec![("power cap", 12.4)],
            launches: 1,
        };
        assert_eq!(one(Some(0.0123), None).energy(), "12.30 mJ");
        assert_eq!(one(Some(4.2e-5), None).energy(), "42.0 µJ");
        assert_eq!(one(None, None).energy(), "-");
        assert_eq!(one(None, Some((1980, 1980))).clock(), "1980 MHz");
        assert_eq!(one(None, Some((1500, 1980))).clock(), "1500 to 1980 MHz");
        assert_eq!(one(None, None).limits(), "power cap 12 ms");
    }
}
