//! Time that a GPU was held back, by reason, from the driver's nanosecond counters.
//!
//! The reasons' bits are a point reading that misses a brake of ten milliseconds; the counters do
//! not. Where a GPU has no counter, the share of samples with the bit set stands in, and says so.

use serde::{Deserialize, Serialize};

use crate::event::State;

/// Why clocks are held back.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ThrottleReason {
    /// At the power limit: normal under load.
    PowerCap,
    /// Keeping step with other GPUs.
    SyncBoost,
    /// A limit of the board.
    BoardLimit,
    /// Slowed by software for heat.
    SoftwareThermal,
    /// Slowed by hardware for heat.
    HardwareThermal,
    /// Slowed by the power supply's brake signal.
    PowerBrake,
}

impl ThrottleReason {
    /// Every reason.
    pub const ALL: [Self; 6] = [
        Self::PowerCap,
        Self::SyncBoost,
        Self::BoardLimit,
        Self::SoftwareThermal,
        Self::HardwareThermal,
        Self::PowerBrake,
    ];

    /// What people call it.
    pub fn name(self) -> &'static str {
        match self {
            Self::PowerCap => "power cap",
            Self::SyncBoost => "sync boost",
            Self::BoardLimit => "board limit",
            Self::SoftwareThermal => "software thermal slowdown",
            Self::HardwareThermal => "hardware thermal slowdown",
            Self::PowerBrake => "hardware power brake",
        }
    }

    /// As a metric's label.
    pub fn label(self) -> &'static str {
        match self {
            Self::PowerCap => "power_cap",
            Self::SyncBoost => "sync_boost",
            Self::BoardLimit => "board_limit",
            Self::SoftwareThermal => "software_thermal",
            Self::HardwareThermal => "hardware_thermal",
            Self::PowerBrake => "power_brake",
        }
    }

    /// Its counter.
    pub fn counter_ns(self, state: &State) -> Option<i64> {
        match self {
            Self::PowerCap => state.power_cap_ns,
            Self::SyncBoost => state.sync_boost_ns,
            Self::BoardLimit => state.board_limit_ns,
            Self::SoftwareThermal => state.software_thermal_ns,
            Self::HardwareThermal => state.hardware_thermal_ns,
            Self::PowerBrake => state.power_brake_ns,
        }
    }

    /// Its bit among the clocks event reasons, where it has one.
    pub fn bit(self) -> Option<i64> {
        match self {
            Self::PowerCap => Some(0x4),
            Self::SyncBoost => Some(0x10),
            // NVML has no bit of it: AMD's and Intel's limits of current.
            Self::BoardLimit => Some(1 << 16),
            Self::SoftwareThermal => Some(0x20),
            Self::HardwareThermal => Some(0x40),
            Self::PowerBrake => Some(0x80),
        }
    }
}

/// How long a GPU was held back for a reason.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ThrottleShare {
    /// Why.
    pub reason: ThrottleReason,
    /// Seconds during the baseline.
    pub seconds: f64,
    /// Share of the baseline's time, 0 to 1.
    pub share: f64,
    /// Whether a counter says so; samples of the bit otherwise.
    pub counted: bool,
}

/// Adds up a counter that may start again from zero (a driver that was loaded again).
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct RisingCounter {
    last: Option<i64>,
    pub(super) total: i64,
}

impl RisingCounter {
    /// Takes a reading in. `modulus` is where the counter wraps, for those that do.
    pub(super) fn take(&mut self, value: i64, modulus: Option<i64>) {
        if let Some(last) = self.last {
            self.total += match modulus {
                _ if value >= last => value - last,
                // A wrapped counter was in the upper half and is in the lower; anything else is
                // a counter that began again.
                Some(modulus) if last >= modulus / 2 && value < modulus / 2 => {
                    value + modulus - last
                }
                _ => value.max(0),
            };
        }
        self.last = Some(value);
    }

    /// Whether it was ever read.
    pub(super) fn is_read(&self) -> bool {
        self.last.is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_wrap_and_begin_again() {
        let total = |readings: &[i64], modulus| {
            let mut counter = RisingCounter::default();
            readings
                .iter()
                .for_each(|value| counter.take(*value, modulus));
            counter.total
        };
        assert_eq!(total(&[5, 9, 12], None), 7);
        assert_eq!(total(&[(1 << 32) - 6, 4], Some(1 << 32)), 10);
        assert_eq!(total(&[1000, 30], Some(1 << 32)), 30);
        assert_eq!(total(&[7], None), 0);
    }
}
