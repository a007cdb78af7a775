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
    fn at(&self, block: u64) -> f64 {
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
    fn over(&self, block: u64) -> (usize, f32, f32) {
        let (from, to) = (self.at(block), self.at(block.wrapping_add(1)));
        let whole = from.min(to).max(0.0).floor();
        let slope = (to - from) / f64::from(self.length);
        (whole as usize, (from - whole) as f32, slope as f32)
    }
}

/// Several that wander over blocks of the same length, side by side in vectors.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sweeps<const N: usize> {
    start: [u32; N],
    step: [u32; N],
    depth: [f64; N],
    /// What a block's wander is multiplied by for that of a sample.
    each: f64,
}

/// What [`Sweep::over`] says of each.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Paths<const N: usize> {
    pub(crate) whole: [u32; N],
    pub(crate) share: [f32; N],
    pub(crate) slope: [f32; N],
}

impl<const N: usize> Sweeps<N> {
    /// The length of their blocks is a power of two.
    pub(crate) fn new(sweeps: [Sweep; N]) -> Self {
        Self {
            start: sweeps.map(|sweep| sweep.start),
            step: sweeps.map(|sweep| sweep.step),
            depth: sweeps.map(|sweep| sweep.depth),
            // Exact, as the quotient by a power of two is.
            each: 1.0 / sweeps.first().map_or(1.0, |sweep| f64::from(sweep.length)),
        }
    }

    /// Samples at the beginning of a block.
    #[inline(always)]
    #[allow(clippy::needless_range_loop)] // plain loops become vector loops
    fn at(&self, block: u32) -> [f64; N] {
        let mut samples = [0.0; N];
        for i in 0..N {
            let phase = self.start[i].wrapping_add(self.step[i].wrapping_mul(block));
            let x = f64::from(phase.cast_signed()) * (1.0 / 2_147_483_648.0);
            samples[i] = self.depth[i] * (0.5 + 2.0 * x * (1.0 - x.abs()));
        }
        samples
    }

    /// Each over a block.
    #[inline(always)]
    pub(crate) fn over(&self, block: u64) -> Paths<N> {
        let (from, to) = (self.at(block as u32), self.at(block.wrapping_add(1) as u32));
        let mut paths = Paths {
            whole: [0; N],
            share: [0.0; N],
            slope: [0.0; N],
        };
        for i in 0..N {
            // A depth is positive, so that what is cut off is what lies above a whole sample.
            let least = if from[i] < to[i] { from[i] } else { to[i] };
            let whole = (least as i32).max(0);
            paths.whole[i] = whole.cast_unsigned();
            paths.share[i] = (from[i] - f64::from(whole)) as f32;
            paths.slope[i] = ((to[i] - from[i]) * self.each) as f32;
        }
        paths
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn side_by_side_they_wander_as_each_does_alone() {
        let all: [Sweep; 5] = std::array::from_fn(|i| {
            let turns = i as f64;
            Sweep::new(
                0.08 + 0.1 * turns,
                7.5 + 20.0 * turns,
                0.3 * turns,
                [32, 24_000],
            )
        });
        let together = Sweeps::new(all);
        for block in (0..20_000).chain(u64::from(u32::MAX) - 9..u64::from(u32::MAX) + 9) {
            let paths = together.over(block);
            for (i, sweep) in all.iter().enumerate() {
                let (whole, share, slope) = sweep.over(block);
                assert_eq!(paths.whole[i] as usize, whole, "{i} over {block}");
                assert_eq!((paths.share[i], paths.slope[i]), (share, slope));
            }
        }
    }

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
