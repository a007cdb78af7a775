//! A small seeded generator (SplitMix64): the order of runs inside a round, bootstrap resampling
//! and simulations must repeat from their seed on every machine.

use std::f64::consts::TAU;

/// A stream of pseudo-random numbers that its seed determines.
#[derive(Clone, Debug)]
pub struct Random {
    state: u64,
}

impl Random {
    /// The stream of `seed`.
    pub fn seeded(seed: u64) -> Self {
        let mut random = Self { state: seed };
        // Neighbouring seeds start neighbouring streams; one step parts them.
        random.state = random.bits();
        random
    }

    /// 64 uniform bits.
    pub fn bits(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.state;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Uniform in [0, 1).
    pub fn unit(&mut self) -> f64 {
        (self.bits() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// Uniform below `bound`, which is not zero.
    pub fn below(&mut self, bound: usize) -> usize {
        ((u128::from(self.bits()) * bound as u128) >> 64) as usize
    }

    /// Standard normal.
    pub fn normal(&mut self) -> f64 {
        // 1 − unit is never zero, so the logarithm is finite.
        (-2.0 * (1.0 - self.unit()).ln()).sqrt() * (TAU * self.unit()).cos()
    }

    /// Exponential with mean 1.
    pub fn exponential(&mut self) -> f64 {
        -(1.0 - self.unit()).ln()
    }

    /// Puts `items` in a random order.
    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for last in (1..items.len()).rev() {
            let chosen = self.below(last + 1);
            items.swap(last, chosen);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_gives_its_stream_again() {
        let stream = |seed| {
            let mut random = Random::seeded(seed);
            [random.bits(), random.bits(), random.bits()]
        };
        assert_eq!(stream(7), stream(7));
        assert_ne!(stream(7), stream(8));
    }

    #[test]
    fn normals_have_mean_zero_and_variance_one() {
        let mut random = Random::seeded(3);
        let values: Vec<f64> = (0..100_000).map(|_| random.normal()).collect();
        let mean = values.iter().sum::<f64>() / 1e5;
        let variance = values.iter().map(|v| v * v).sum::<f64>() / 1e5;
        assert!(
            mean.abs() < 0.015 && (variance - 1.0).abs() < 0.02,
            "{mean} {variance}"
        );
    }

    #[test]
    fn a_shuffle_keeps_every_item() {
        let mut items: Vec<u32> = (0..50).collect();
        Random::seeded(1).shuffle(&mut items);
        assert_ne!(items, (0..50).collect::<Vec<_>>());
        items.sort_unstable();
        assert_eq!(items, (0..50).collect::<Vec<_>>());
    }
}
