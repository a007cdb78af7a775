//! What keeps a score from sounding like a machine: timing that wanders, dynamics that breathe.

use warpsmith_workload::random::Random;

/// Noise whose power falls with frequency, as the timing of players does: the sum of four values,
/// each held twice as long as the one before. About standard normal.
#[derive(Clone, Debug, Default)]
pub(crate) struct Wander {
    count: u32,
    held: [f64; 4],
}

impl Wander {
    pub(crate) fn next(&mut self, random: &mut Random) -> f64 {
        for (index, held) in self.held.iter_mut().enumerate() {
            if self.count.is_multiple_of(1 << index) {
                *held = 0.5 * random.normal();
            }
        }
        self.count = self.count.wrapping_add(1);
        self.held.iter().sum()
    }

    /// Seconds that a note comes after its beat, around 2.5 times `spread`. Never before it: the
    /// bar may have begun to sound.
    pub(crate) fn late(&mut self, spread: f64, random: &mut Random) -> f64 {
        (2.5 + self.next(random)).clamp(0.0, 5.0) * spread
    }
}

/// `base` with a little chance, inside what a velocity may be.
pub(crate) fn velocity(base: f64, random: &mut Random) -> f32 {
    (base * (1.0 + 0.06 * random.normal())).clamp(0.02, 1.0) as f32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn timing_wanders_slowly_and_is_never_early() {
        let (mut random, mut wander) = (Random::seeded(1), Wander::default());
        let values: Vec<f64> = (0..20_000).map(|_| wander.next(&mut random)).collect();
        let power: f64 = values.iter().map(|v| v * v).sum();
        let lagged: f64 = values.windows(2).map(|w| w[0] * w[1]).sum();
        // White noise would have 0; the held values give about half.
        assert!(lagged / power > 0.4, "{}", lagged / power);
        assert!((power / 20_000.0 - 1.0).abs() < 0.1);
        assert!((0..20_000).all(|_| (0.0..=0.05).contains(&wander.late(0.01, &mut random))));
    }
}
