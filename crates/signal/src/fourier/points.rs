//! One frame's transform with its points in the lanes of vectors.
//!
//! The operations on each point are those of [`Plan::run`], so the bits are the same, at a fraction of the
//! latency. Two radix-4 passes take neighbouring points side by side. After them the transform has
//! fallen into sixteen blocks that have nothing to do with each other and see the same twiddles: from
//! there on a lane is a block. Of block `4p + q` come the bins `p + 4q + 16k`; with the blocks in that
//! order the bins lie side by side, in their order.

use warpsmith_lanes::{EightLanes, Lanes};

use super::butterfly::{four, turn_by};
use super::plan::{Plan, root};
use super::real::{bins_of_points, points_of_bins};

/// Points or blocks to a vector.
const LANES: usize = 8;
/// Blocks after two radix-4 passes.
const BLOCKS: usize = 16;
/// Points of a block at most; longer transforms are for those who do not wait for one frame.
const MOST_POINTS: usize = 64;

/// Cosines and sines of the three twiddles of neighbouring points, in turn.
type PointTwiddles = [[f32; LANES]; 6];

/// Tables and the points of one frame, real and imaginary parts apart.
#[derive(Clone, Debug)]
pub(super) struct Points {
    /// The twiddles of the first two passes.
    twiddles: [Vec<PointTwiddles>; 2],
    /// Where the caller puts the points before [`Plan::run_points`].
    pub(super) from: [Vec<f32>; 2],
    /// Where it leaves the bins, lowest first.
    pub(super) bins: [Vec<f32>; 2],
}

impl Points {
    /// For transforms of `length` points; `None` where they do not fill vectors.
    pub(super) fn new(length: usize) -> Option<Self> {
        // Of multiples of 16 the first two radices are fours.
        if !length.is_multiple_of(BLOCKS * LANES) || !(1..=BLOCKS * MOST_POINTS).contains(&length) {
            return None;
        }
        let of_pass = |block: usize| {
            (0..block / 4)
                .step_by(LANES)
                .map(|first| {
                    std::array::from_fn(|row| {
                        std::array::from_fn(|lane| {
                            root((first + lane) * (row / 2 + 1), block)[row % 2]
                        })
                    })
                })
                .collect()
        };
        let parts = [vec![0.0; length], vec![0.0; length]];
        Some(Self {
            twiddles: [of_pass(length), of_pass(length / 4)],
            from: parts.clone(),
            bins: parts,
        })
    }
}

/// The way from a frame's samples and bins to its points and back. A point and the one as far from the
/// end as it is from the start go together, eight pairs at a time; the middle one is its own partner.
impl Points {
    /// Neighbouring samples are the parts of a point.
    #[inline(always)]
    pub(super) fn take_samples<W: EightLanes>(&mut self, samples: &[f32]) {
        for k in (0..self.from[0].len()).step_by(LANES) {
            self.put_point(k, load_pairs::<W>(samples, k));
        }
    }

    /// The bins of the real frame, `halves` its `exp(−2πi·k/length)`.
    #[inline(always)]
    pub(super) fn give_bins<W: EightLanes>(&self, halves: &[[f32; 2]], bins: &mut [f32]) {
        let [re, im] = &self.bins;
        let half = re.len();
        (bins[0], bins[1]) = (re[0] + im[0], 0.0);
        (bins[2 * half], bins[2 * half + 1]) = (re[0] - im[0], 0.0);
        for k in (1..=half / 2).step_by(LANES) {
            let partner = half + 1 - k - LANES;
            let a = [W::load(&re[k..]), W::load(&im[k..])];
            let b = reversed([W::load(&re[partner..]), W::load(&im[partner..])]);
            let w = load_pairs::<W>(halves.as_flattened(), k);
            let [low, high] = bins_of_points(a, b, w);
            store_pairs(reversed(high), bins, partner);
            store_pairs(low, bins, k);
        }
    }

    /// The points, parts exchanged, whose transform has the inverse of the bins.
    #[inline(always)]
    pub(super) fn take_bins<W: EightLanes>(&mut self, halves: &[[f32; 2]], bins: &[f32]) {
        let half = self.from[0].len();
        let (first, last) = (bins[0], bins[2 * half]);
        (self.from[0][0], self.from[1][0]) = (first - last, first + last);
        for k in (1..=half / 2).step_by(LANES) {
            let partner = half + 1 - k - LANES;
            let a = load_pairs::<W>(bins, k);
            let b = reversed(load_pairs::<W>(bins, partner));
            let w = load_pairs::<W>(halves.as_flattened(), k);
            let [low, high] = points_of_bins(a, b, w);
            self.put_point(partner, reversed(high));
            self.put_point(k, low);
        }
    }

    /// The samples of the real frame, parts exchanged once more: all, or the first few.
    #[inline(always)]
    pub(super) fn give_samples<W: EightLanes>(&self, samples: &mut [f32]) {
        let [im, re] = &self.bins;
        let whole = samples.len() / (2 * LANES) * LANES;
        for k in (0..whole).step_by(LANES) {
            store_pairs([W::load(&re[k..]), W::load(&im[k..])], samples, k);
        }
        let pairs = samples[2 * whole..].as_chunks_mut::<2>().0.iter_mut();
        for (pair, (re, im)) in pairs.zip(re[whole..].iter().zip(&im[whole..])) {
            *pair = [*re, *im];
        }
    }

    #[inline(always)]
    fn put_point<W: EightLanes>(&mut self, at: usize, point: [W; 2]) {
        point[0].store(&mut self.from[0][at..]);
        point[1].store(&mut self.from[1][at..]);
    }
}

#[inline(always)]
fn reversed<W: EightLanes>([re, im]: [W; 2]) -> [W; 2] {
    [re.reverse(), im.reverse()]
}

/// Both parts of the pairs from `at` on.
#[inline(always)]
fn load_pairs<W: EightLanes>(from: &[f32], at: usize) -> [W; 2] {
    let from = &from[2 * at..][..2 * LANES];
    W::deinterleave([W::load(from), W::load(&from[LANES..])])
}

#[inline(always)]
fn store_pairs<W: EightLanes>(parts: [W; 2], to: &mut [f32], at: usize) {
    let to = &mut to[2 * at..][..2 * LANES];
    let [first, last] = W::interleave(parts[0], parts[1]);
    first.store(to);
    last.store(&mut to[LANES..]);
}

impl Plan {
    /// Transforms the points of one frame, as [`Plan::run`] does, and brings the bins into their order.
    #[inline(always)]
    pub(super) fn run_points<W: EightLanes>(&self, points: &mut Points) {
        let Points {
            twiddles,
            from: [re, im],
            bins,
        } = points;
        let mut block = re.len();
        for twiddles in twiddles {
            let blocks = re.chunks_exact_mut(block).zip(im.chunks_exact_mut(block));
            for (re, im) in blocks {
                pass::<W>(re, im, twiddles);
            }
            block /= 4;
        }
        let mut room = [[W::splat(0.0); 2]; MOST_POINTS];
        let in_lanes = &mut room[..block];
        for first in (0..BLOCKS).step_by(LANES) {
            for (part, from) in [&*re, &*im].into_iter().enumerate() {
                for (at, slots) in in_lanes.as_chunks_mut::<LANES>().0.iter_mut().enumerate() {
                    let mut rows = [W::splat(0.0); LANES];
                    for (lane, row) in rows.iter_mut().enumerate() {
                        let lane = first + lane;
                        *row = W::load(&from[(4 * (lane % 4) + lane / 4) * block + LANES * at..]);
                    }
                    // Not by value: an array's iterator is copied to memory.
                    for (slot, row) in slots.iter_mut().zip(&W::transpose(rows)) {
                        slot[part] = *row;
                    }
                }
            }
            self.run_after(2, in_lanes);
            for (part, bins) in bins.iter_mut().enumerate() {
                for (k, bins) in bins.chunks_exact_mut(BLOCKS).enumerate() {
                    // The first block's bins are every sixteenth, and lie in it as in any other.
                    in_lanes[self.place(BLOCKS * k)][part].store(&mut bins[first..]);
                }
            }
        }
    }
}

/// A radix-4 pass over one block.
#[inline(always)]
fn pass<W: Lanes>(re: &mut [f32], im: &mut [f32], twiddles: &[PointTwiddles]) {
    let stride = re.len() / 4;
    for (group, w) in twiddles.iter().enumerate() {
        let at: [usize; 4] = std::array::from_fn(|q| q * stride + group * LANES);
        // Not by the array's `map`, which is not compiled for these vectors.
        let load = |q: usize| [W::load(&re[at[q]..]), W::load(&im[at[q]..])];
        let [a, b, c, d] = [load(0), load(1), load(2), load(3)];
        let [x, y, z, t] = four(a, b, c, d);
        let twiddle = |p: usize| [W::load(&w[2 * p]), W::load(&w[2 * p + 1])];
        let turned = [
            x,
            turn_by(y, twiddle(0)),
            turn_by(z, twiddle(1)),
            turn_by(t, twiddle(2)),
        ];
        for (at, value) in at.iter().zip(&turned) {
            value[0].store(&mut re[*at..]);
            value[1].store(&mut im[*at..]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use warpsmith_lanes::{One, Vector};

    #[test]
    fn points_in_lanes_give_the_bits_of_the_plain_passes() {
        for length in [128, 256, 384, 640, 896, 1024] {
            let plan = Plan::new(length);
            let mut points = Points::new(length).unwrap();
            let mut plain = Vec::new();
            for n in 0..length {
                let point = [((n * n) as f32 * 0.37).sin(), (n as f32 * 0.71).cos()];
                plain.push(point.map(One::splat));
                points.from[0][n] = point[0];
                points.from[1][n] = point[1];
            }
            plan.run(&mut plain);
            plan.run_points::<<One as Lanes>::Points>(&mut points);
            for k in 0..length {
                let expected = plain[plan.place(k)].map(|part| {
                    let mut value = [0.0f32];
                    part.store(&mut value);
                    value[0].to_bits()
                });
                let found = [points.bins[0][k], points.bins[1][k]].map(f32::to_bits);
                assert_eq!(found, expected, "length {length}, bin {k}");
            }
        }
        assert!(Points::new(100).is_none());
        assert!(Points::new(0).is_none());
    }
}
