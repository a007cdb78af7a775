//! What a GPU is busy with before our own work starts: one look, for a prediction.

use std::time::Duration;

use crate::baseline::ThrottleReason;
use crate::event::State;
use crate::live_machine::snapshot;
use crate::machine::{Machine, Settings};

/// A prediction is not worth more than this much waiting for a driver.
const PATIENCE: Duration = Duration::from_secs(3);

/// A GPU at one moment.
#[derive(Clone, Debug)]
pub struct GpuLoad {
    /// `GPU-…`.
    pub uuid: String,
    state: State,
}

impl GpuLoad {
    /// One look at every GPU; empty where there is no NVML.
    pub fn look() -> Vec<Self> {
        let settings = Settings {
            patience: PATIENCE,
            ..Settings::default()
        };
        let Ok(machine) = Machine::open(&settings) else {
            return Vec::new();
        };
        let board = snapshot(machine, &settings, PATIENCE);
        let gpus = board.inventory.gpus.into_iter().zip(board.gpus);
        gpus.filter(|(_, gpu)| gpu.state_at.is_some())
            .map(|(identity, gpu)| Self {
                uuid: identity.uuid,
                state: gpu.state,
            })
            .collect()
    }

    /// The clock now over `full_clock_hz` where the GPU is slowed down, at most 1. Idle clocks are low
    /// for a good reason and say nothing, and the power cap is normal under load.
    pub fn clock_share(&self, full_clock_hz: f64) -> f64 {
        /// NVML's bit for a slowdown by hardware, whatever its reason.
        const HARDWARE_SLOWDOWN: i64 = 0x8;
        let slowed = [
            ThrottleReason::SoftwareThermal,
            ThrottleReason::HardwareThermal,
            ThrottleReason::PowerBrake,
        ];
        let bits = slowed.into_iter().filter_map(ThrottleReason::bit);
        let held_back = bits.fold(HARDWARE_SLOWDOWN, |all, bit| all | bit);
        if self.state.event_reasons.unwrap_or(0) & held_back == 0 || full_clock_hz <= 0.0 {
            return 1.0;
        }
        let clock_hz = self.state.sm_clock_mhz.unwrap_or(0) as f64 * 1e6;
        (clock_hz / full_clock_hz).clamp(0.05, 1.0)
    }

    /// Share of the time in which a kernel runs, 0 to 1.
    pub fn busy_share(&self) -> f64 {
        (self.state.busy_percent.unwrap_or(0) as f64 / 100.0).clamp(0.0, 1.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn load(busy_percent: i64, sm_clock_mhz: i64, event_reasons: i64) -> GpuLoad {
        GpuLoad {
            uuid: String::new(),
            state: State {
                busy_percent: Some(busy_percent),
                sm_clock_mhz: Some(sm_clock_mhz),
                event_reasons: Some(event_reasons),
                ..State::default()
            },
        }
    }

    #[test]
    fn a_throttled_gpu_counts_as_slow_and_an_idle_one_does_not() {
        assert_eq!(load(0, 345, 0x1).clock_share(1.98e9), 1.0);
        assert_eq!(load(0, 990, 0x4).clock_share(1.98e9), 1.0);
        for held_back in [0x8, 0x20, 0x40, 0x80] {
            let share = load(0, 990, held_back).clock_share(1.98e9);
            assert!((share - 0.5).abs() < 1e-9, "{held_back:#x}: {share}");
        }
        assert_eq!(load(50, 1980, 0).busy_share(), 0.5);
    }
}
