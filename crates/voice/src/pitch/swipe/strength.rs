//! How well each candidate's kernel fits the loudness of each frame: a product of two matrices, of which the
//! kernels' is left out where it is zero.

use std::ops::Range;

use super::plan::SwipePlan;
use warpsmith_lanes::{Lanes, Task};

/// Frames whose sums are in registers at a time.
const FRAMES: usize = 8;

/// The kernels of neighbouring candidates, one to a lane, channel after channel.
struct Neighbours<V> {
    /// Channels in which one of them is not zero.
    runs: Vec<Range<usize>>,
    weights: Vec<V>,
}

/// All kernels.
pub(super) struct Kernels<V> {
    neighbours: Vec<Neighbours<V>>,
}

impl<V: Lanes> Kernels<V> {
    pub(super) fn new(plan: &SwipePlan) -> Self {
        let neighbours = (0..plan.candidates.len())
            .step_by(V::WIDTH)
            .map(|first| {
                let last = (first + V::WIDTH).min(plan.candidates.len());
                let kernels: Vec<Vec<f32>> = (first..last).map(|n| plan.kernel(n)).collect();
                let wanted = |channel: &usize| kernels.iter().any(|kernel| kernel[*channel] != 0.0);
                let mut runs: Vec<Range<usize>> = Vec::new();
                let mut weights = Vec::new();
                for channel in (0..plan.channels()).filter(wanted) {
                    match runs.last_mut() {
                        Some(run) if run.end == channel => run.end += 1,
                        _ => runs.push(channel..channel + 1),
                    }
                    let mut lanes = vec![0.0f32; V::WIDTH];
                    for (lane, kernel) in lanes.iter_mut().zip(&kernels) {
                        *lane = kernel[channel];
                    }
                    weights.push(V::load(&lanes));
                }
                Neighbours { runs, weights }
            })
            .collect();
        Self { neighbours }
    }

    /// Candidates in whole vectors.
    pub(super) fn width(&self) -> usize {
        self.neighbours.len() * V::WIDTH
    }

    /// The strengths of `candidates`, and of some around them, in the frames whose loudness is given: a row of
    /// [`Kernels::width`] to each.
    pub(super) fn apply(&self, loudness: &[V], candidates: &Range<usize>, rows: &mut [f32]) {
        V::vectorize(ApplyTask {
            kernels: self,
            loudness: V::floats(loudness),
            candidates,
            rows,
        });
    }
}

struct ApplyTask<'a, V> {
    kernels: &'a Kernels<V>,
    loudness: &'a [f32],
    candidates: &'a Range<usize>,
    rows: &'a mut [f32],
}

impl<V: Lanes> Task for ApplyTask<'_, V> {
    #[inline(always)]
    fn run(self) {
        let width = self.kernels.width();
        let count = const { if V::WIDTH < FRAMES { V::WIDTH } else { FRAMES } };
        let groups = self.candidates.start / V::WIDTH..self.candidates.end.div_ceil(V::WIDTH);
        for group in groups {
            let Neighbours { runs, weights } = &self.kernels.neighbours[group];
            for frame in (0..V::WIDTH).step_by(FRAMES) {
                let mut sums = [V::splat(0.0); FRAMES];
                let mut weights = &weights[..];
                for run in runs {
                    let levels = &self.loudness[run.start * V::WIDTH..run.end * V::WIDTH];
                    let (these, others) = weights.split_at(run.len());
                    weights = others;
                    for (weight, levels) in these.iter().zip(levels.chunks_exact(V::WIDTH)) {
                        for (sum, level) in sums.iter_mut().zip(&levels[frame..frame + count]) {
                            *sum = weight.mul_add(V::splat(*level), *sum);
                        }
                    }
                }
                for (n, sum) in sums[..count].iter().enumerate() {
                    sum.store(&mut self.rows[(frame + n) * width + group * V::WIDTH..]);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pitch::range::PitchRange;
    use warpsmith_lanes::{Blocks, InstructionSet, LanesTask};

    struct SumsOfProducts;

    impl LanesTask for SumsOfProducts {
        type Output = ();

        fn run<V: Lanes>(self) {
            agree_with_the_sum_of_products::<V>();
        }
    }

    fn agree_with_the_sum_of_products<V: Lanes>() {
        let plan = SwipePlan::new(16_000, 160, PitchRange::VOICE).unwrap();
        let kernels = Kernels::<V>::new(&plan);
        let levels: Vec<f32> = (0..plan.channels() * V::WIDTH)
            .map(|n| ((n * n + 7) as f32).sin())
            .collect();
        let vectors: Vec<V> = levels.chunks_exact(V::WIDTH).map(V::load).collect();
        let mut rows = vec![f32::NAN; V::WIDTH * kernels.width()];
        let heard = 37..plan.candidates.len();
        kernels.apply(&vectors, &heard, &mut rows);
        for candidate in heard {
            let kernel = plan.kernel(candidate);
            for frame in 0..V::WIDTH {
                let levels = levels[frame..].iter().step_by(V::WIDTH);
                let sum: f64 = levels.zip(&kernel).map(|(a, b)| f64::from(a * b)).sum();
                let found = f64::from(rows[frame * kernels.width() + candidate]);
                assert!((found - sum).abs() < 1e-5, "{candidate}: {found}, {sum}");
            }
        }
    }

    #[test]
    fn strengths_are_sums_of_products() {
        for set in InstructionSet::present() {
            for blocks in [Blocks::Single, Blocks::Wide] {
                set.with_lanes(blocks, SumsOfProducts);
            }
        }
    }
}
