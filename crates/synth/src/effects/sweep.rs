//! A slow wander of a delay, known for every block from its number alone.

/// Two parabolas that look like a sine; nothing but products, so that it is the same everywhere.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Sweep {
    /// Phase of the first block and turn over a block, in 2⁻³² turns.
    start: u32,
    step: u32,
    /// Samples from one end to the other.
    depth: f64,
    /// Samples of a block.
    length: u32,
}

impl Sweep {
    /// From 0 to `depth` samples and back, `hz` times a second, from a phase in turns on, in blocks
    /// of `length` samples.
    pub(crate) fn new(hz: f64, depth: f64, phase: f64, [length, sample_rate]: [u32; 2]) -> Self {
        let whole = 4_294_967_296.0;
        let seconds = f64::from(length) / f64::from(sample_rate);
        Self {
            start: (phase.rem_euclid(1.0) * whole) as u32,
            step: (hz * seconds * whole) as u32,
            depth,
            length,
        }
    }

    /// Samples at the beginning of a block.
    pub(crate) fn at(&self, block: u64) -> f64 {
        let phase = self
            .start
            .wrapping_add(self.step.wrapping_mul(block as u32));
        let x = f64::from(phase.cast_signed()) / 2_147_483_648.0;
        self.depth * (0.5 + 2.0 * x * (1.0 - x.abs()))
    }

    /// Where a delay reads at sample `n`: whole samples, and the share of the next one.
    pub(crate) fn at_sample(&self, n: usize) -> (usize, f64) {
        let length = self.length as usize;
        let (whole, share, slope) = self.over((n / length) as u64);
        let share = f64::from(share) + f64::from(slope) * (n % length) as f64;
        (whole, share)
    }

    /// Over a block: whole samples, the share of the next one at its beginning, and by how much
    /// that grows with a sample. The share leaves 0 to 1 by no more than a block's wander.
    pub(crate) fn over(&self, block: u64) -> (usize, f32, f32) {
        let (from, to) = (self.at(block), self.at(block.wrapping_add(1)));
        let whole = from.min(to).max(0.0).floor();
        let slope = (to - from) / f64::from(self.length);
        (whole as usize, (from - whole) as f32, slope as f32)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_wanders_over_its_depth_without_a_jump() {
        let sweep = Sweep::new(0.25, 96.0, 0.3, [64, 48_000]);
        let values: Vec<f64> = (0..6_000).map(|block| sweep.at(block)).collect();
        let least = values.iter().copied().fold(f64::INFINITY, f64::min);
        let most = values.iter().copied().fold(0.0, f64::max);
        assert!((0.0..0.1).contains(&least) && (95.9..=96.0).contains(&most));
        assert!(
            values
                .windows(2)
                .all(|pair| (pair[1] - pair[0]).abs() < 0.13)
        );
        for block in 0..6_000 {
            let (whole, share, slope) = sweep.over(block);
            let end = share + 64.0 * slope;
            assert!(
                whole <= 96 && share > -0.01 && share.max(end) < 1.2,
                "{block}"
            );
        }
    }
}
