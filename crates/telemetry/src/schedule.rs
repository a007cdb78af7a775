//! How often each kind of reading is worth taking, and which are due.
//!
//! The periods follow what the driver refreshes and what a call costs: state changes every 100 ms
//! and costs microseconds; the rings hold 2.4 s of power and 14 s of utilisation; links, errors and
//! the energy counter cost milliseconds of CPU (`cargo bench --bench driver_costs` prints them). On
//! a virtual machine with an H200 a wake-up alone takes 45 µs: 0.045 % of a core at ten a second.

use std::time::Duration;

use crate::Micros;

/// A kind of reading with a period of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tier {
    /// Utilisation, power, temperature, clocks, reasons, throttle counters, memory.
    State,
    /// Margin, performance state, fan, codecs.
    Steady,
    /// Who is on the GPU, and its MIG instances.
    Processes,
    /// The driver's power samples.
    PowerRing,
    /// Errors, link, counters, limits.
    Slow,
    /// The driver's utilisation samples.
    BusyRing,
    /// The energy counter.
    Energy,
}

impl Tier {
    /// Every tier, the cheapest first.
    pub const ALL: [Self; 7] = [
        Self::State,
        Self::Steady,
        Self::Processes,
        Self::PowerRing,
        Self::Slow,
        Self::BusyRing,
        Self::Energy,
    ];
}

/// The period of each tier.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Schedule {
    periods: [Duration; 7],
    /// Period of the host's readings.
    pub host: Duration,
}

impl Default for Schedule {
    fn default() -> Self {
        Self {
            periods: [100, 1_000, 2_000, 2_200, 30_000, 12_000, 60_000].map(Duration::from_millis),
            host: Duration::from_secs(2),
        }
    }
}

impl Schedule {
    /// The period of a tier.
    pub fn period(&self, tier: Tier) -> Duration {
        self.periods[tier as usize]
    }

    /// The same schedule with another period for one tier; at least a millisecond.
    #[must_use]
    pub fn with(mut self, tier: Tier, period: Duration) -> Self {
        self.periods[tier as usize] = period.max(Duration::from_millis(1));
        self
    }

    /// The same schedule with another period for the host.
    #[must_use]
    pub fn with_host(mut self, period: Duration) -> Self {
        self.host = period.max(Duration::from_millis(10));
        self
    }
}

/// When each tier is due next.
#[derive(Clone, Debug)]
pub(crate) struct Agenda {
    schedule: Schedule,
    due: [Micros; 7],
}

impl Agenda {
    /// Everything is due at `start`.
    pub(crate) fn new(schedule: Schedule, start: Micros) -> Self {
        Self {
            schedule,
            due: [start; 7],
        }
    }

    /// Whether `tier` is due at `now`; if so, it is put off to its next turn. Turns that were
    /// missed (a call that hung, a suspended machine) are skipped, not caught up.
    pub(crate) fn take(&mut self, tier: Tier, now: Micros) -> bool {
        let due = &mut self.due[tier as usize];
        if now < *due {
            return false;
        }
        let period = self.schedule.period(tier);
        let missed = now.since(*due).as_micros() / period.as_micros().max(1);
        *due = due.plus(period * (u32::try_from(missed).unwrap_or(u32::MAX - 1) + 1));
        if *due <= now {
            *due = now.plus(period);
        }
        true
    }

    /// Makes a tier due at once: at the marks of a measurement.
    pub(crate) fn mark(&mut self, tier: Tier, now: Micros) {
        self.due[tier as usize] = now;
    }

    /// When the next tier is due.
    pub(crate) fn next(&self) -> Micros {
        self.due.into_iter().min().unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_minute_takes_each_tier_as_often_as_its_period_says() {
        let start = Micros(1_000_000);
        let mut agenda = Agenda::new(Schedule::default(), start);
        let mut taken = [0; 7];
        let mut now = start;
        while now < start.plus(Duration::from_secs(60)) {
            for tier in Tier::ALL {
                if agenda.take(tier, now) {
                    taken[tier as usize] += 1;
                }
            }
            now = agenda.next();
        }
        assert_eq!(taken, [600, 60, 30, 28, 2, 5, 1]);
    }

    #[test]
    fn missed_turns_are_skipped_and_the_beat_is_kept() {
        let mut agenda = Agenda::new(Schedule::default(), Micros(0));
        assert!(agenda.take(Tier::State, Micros(0)));
        assert!(agenda.take(Tier::State, Micros(10_050_000)));
        assert!(!agenda.take(Tier::State, Micros(10_099_999)));
        assert!(agenda.take(Tier::State, Micros(10_100_000)));
    }
}
