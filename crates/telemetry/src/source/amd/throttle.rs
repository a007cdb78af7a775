//! From the firmware's words for what holds the clocks back to the one vocabulary of reasons.

use super::metrics::{Residency, Throttle};
use crate::baseline::ThrottleReason;

/// Bits of the word that means the same on every GPU, by the kernel's numbers: power limits, limits of
/// current, temperatures, signals of regulators and of the board.
const POWER: u64 = 0xff;
const CURRENT: u64 = 0xff << 16;
const HEAT: u64 = 0xfff << 32;
const SIGNAL: u64 = 0xf << 44;

/// The Instinct series' own: the board's signal, power, socket, regulator, memory.
const INSTINCT: [(u64, ThrottleReason); 5] = [
    (0x1, ThrottleReason::HardwareThermal),
    (0x2, ThrottleReason::PowerCap),
    (0x4, ThrottleReason::SoftwareThermal),
    (0x8, ThrottleReason::HardwareThermal),
    (0x10, ThrottleReason::SoftwareThermal),
];

fn bits_of(reasons: impl Iterator<Item = ThrottleReason>) -> i64 {
    reasons
        .filter_map(ThrottleReason::bit)
        .fold(0, |all, bit| all | bit)
}

/// Follows the throttling of one GPU.
#[derive(Debug, Default)]
pub(super) struct ThrottleWatch {
    before: Option<(Residency, Option<i64>)>,
    held: [f64; 3],
    counted: bool,
}

/// The reasons of [`ThrottleWatch`]'s counters.
const COUNTED: [ThrottleReason; 3] = [
    ThrottleReason::PowerCap,
    ThrottleReason::SoftwareThermal,
    ThrottleReason::HardwareThermal,
];

impl ThrottleWatch {
    /// The bits now; `None` where the GPU does not say.
    pub(super) fn bits(&mut self, throttle: Throttle, time_ns: Option<i64>) -> Option<i64> {
        match throttle {
            Throttle::Unknown => None,
            Throttle::Independent(word) => {
                let reasons = [
                    (POWER, ThrottleReason::PowerCap),
                    (CURRENT, ThrottleReason::BoardLimit),
                    (HEAT, ThrottleReason::SoftwareThermal),
                    (SIGNAL, ThrottleReason::HardwareThermal),
                ];
                let held = reasons.into_iter().filter(|(bits, _)| word & bits != 0);
                Some(bits_of(held.map(|(_, reason)| reason)))
            }
            Throttle::Instinct(word) => {
                let held = INSTINCT.into_iter().filter(|(bit, _)| word & bit != 0);
                Some(bits_of(held.map(|(_, reason)| reason)))
            }
            Throttle::Residency(now) => {
                let grown = self.take(now, time_ns);
                let held = COUNTED.into_iter().zip(grown);
                let held = held.filter(|(_, rounds)| *rounds > 0);
                Some(bits_of(held.map(|(reason, _)| reason)))
            }
        }
    }

    /// Time held back since the first reading, by [`COUNTED`]; `None` where the GPU has no such counters.
    pub(super) fn held_ns(&self) -> Option<[i64; 3]> {
        self.counted.then(|| self.held.map(|held| held as i64))
    }

    /// How much each counter has grown.
    fn take(&mut self, now: Residency, time_ns: Option<i64>) -> [i64; 3] {
        let Some((before, then_ns)) = self.before.replace((now, time_ns)) else {
            self.counted = now.rounds.is_some();
            return [0; 3];
        };
        let grown = [
            now.power.saturating_sub(before.power),
            now.heat.saturating_sub(before.heat),
            now.signal.saturating_sub(before.signal),
        ]
        // A counter that began again has not grown.
        .map(|grown| grown.max(0));
        let passed = |after: Option<i64>, earlier: Option<i64>| {
            let passed = after.zip(earlier).map(|(a, b)| a.saturating_sub(b))?;
            (passed > 0).then_some(passed as f64)
        };
        if let (Some(rounds), Some(span)) =
            (passed(now.rounds, before.rounds), passed(time_ns, then_ns))
        {
            for (held, grown) in self.held.iter_mut().zip(grown) {
                *held += (grown as f64 / rounds).min(1.0) * span;
            }
        }
        grown
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_common_word_becomes_reasons() {
        let bits = |word| ThrottleWatch::default().bits(Throttle::Independent(word), None);
        assert_eq!(bits(0), Some(0));
        assert_eq!(bits(1), ThrottleReason::PowerCap.bit());
        assert_eq!(bits(1 << 16), ThrottleReason::BoardLimit.bit());
        assert_eq!(bits(1 << 36), ThrottleReason::SoftwareThermal.bit());
        assert_eq!(bits(1 << 47), ThrottleReason::HardwareThermal.bit());
        assert_eq!(bits(1 | (1 << 34)), Some(0x4 | 0x20));
        let instinct = ThrottleWatch::default().bits(Throttle::Instinct(0b110), None);
        assert_eq!(instinct, Some(0x4 | 0x20));
    }

    #[test]
    fn rounds_of_the_firmware_become_time() {
        let mut watch = ThrottleWatch::default();
        let at = |rounds, power, heat| {
            Throttle::Residency(Residency {
                rounds: Some(rounds),
                power,
                heat,
                signal: 0,
            })
        };
        assert_eq!(watch.held_ns(), None);
        assert_eq!(watch.bits(at(1000, 500, 7), Some(0)), Some(0));
        assert_eq!(watch.held_ns(), Some([0; 3]));
        let held = watch.bits(at(1100, 550, 7), Some(100_000_000));
        assert_eq!(held, ThrottleReason::PowerCap.bit());
        assert_eq!(watch.held_ns(), Some([50_000_000, 0, 0]));
        // A reset: everything begins again.
        assert_eq!(watch.bits(at(3, 0, 0), Some(200_000_000)), Some(0));
        assert_eq!(watch.held_ns(), Some([50_000_000, 0, 0]));
    }
}
