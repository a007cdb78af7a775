//! One frame's transform with its points in the lanes of vectors.
//!
//! The operations on each point are those of [`Plan::run`], so the bits are the same, at a fraction of the
//! latency. Two radix-4 passes take neighbouring points side by side. After them the transform has
//! fallen into sixteen blocks that have nothing to do with each other and see the same twiddles: from
//! there on a lane is a block.

use super::butterfly::{four, turn_by};
use super::plan::{Plan, root};
use crate::lanes::Lanes;

/// Points or blocks to a vector.
const LANES: usize = 8;
/// Blocks after two radix-4 passes.
const BLOCKS: usize = 16;

/// Cosines and sines of the three twiddles of neighbouring points, in turn.
type PointTwiddles = [[f32; LANES]; 6];

/// The twiddles of the first two passes.
#[derive(Clone, Debug)]
pub(super) struct PointPasses {
    twiddles: [Vec<PointTwiddles>; 2],
}

impl PointPasses {
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
        Some(Self {
            twiddles: [of_pass(length), of_pass(length / 4)],
        })
    }
}

/// Points of a block at most; longer transforms are for those who do not wait for one frame.
const MOST_POINTS: usize = 64;

impl Plan {
    /// Transforms one frame in place, as [`Plan::run`] does; `V` has one lane, `parts` twice the
    /// points.
    #[inline(always)]
    pub(super) fn run_points<V: Lanes>(
        &self,
        points: &PointPasses,
        data: &mut [[V; 2]],
        parts: &mut [f32],
    ) {
        let length = data.len();
        let (re, im) = parts.split_at_mut(length);
        let mut room = [[V::Points::splat(0.0); 2]; MOST_POINTS];
        let in_lanes = &mut room[..length / BLOCKS];
        for ((point, re), im) in data.iter().zip(re.iter_mut()).zip(im.iter_mut()) {
            point[0].store(std::slice::from_mut(re));
            point[1].store(std::slice::from_mut(im));
        }
        let mut block = length;
        for twiddles in &points.twiddles {
            let blocks = re.chunks_exact_mut(block).zip(im.chunks_exact_mut(block));
            for (re, im) in blocks {
                pass::<V::Points>(re, im, twiddles);
            }
            block /= 4;
        }
        let mut lanes = [[0.0f32; 16]; 2];
        for first in (0..BLOCKS).step_by(LANES) {
            for (i, slot) in in_lanes.iter_mut().enumerate() {
                for lane in 0..LANES {
                    lanes[0][lane] = re[(first + lane) * block + i];
                    lanes[1][lane] = im[(first + lane) * block + i];
                }
                *slot = [V::Points::load(&lanes[0]), V::Points::load(&lanes[1])];
            }
            self.run_after(2, in_lanes);
            for (i, slot) in in_lanes.iter().enumerate() {
                slot[0].store(&mut lanes[0]);
                slot[1].store(&mut lanes[1]);
                for lane in 0..LANES {
                    let point = [V::load(&lanes[0][lane..]), V::load(&lanes[1][lane..])];
                    data[(first + lane) * block + i] = point;
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
        let [a, b, c, d] = at.map(|at| [W::load(&re[at..]), W::load(&im[at..])]);
        let [x, y, z, t] = four(a, b, c, d);
        let twiddle = |p: usize| [W::load(&w[2 * p]), W::load(&w[2 * p + 1])];
        let turned = [
            x,
            turn_by(y, twiddle(0)),
            turn_by(z, twiddle(1)),
            turn_by(t, twiddle(2)),
        ];
        for (at, value) in at.into_iter().zip(turned) {
            value[0].store(&mut re[at..]);
            value[1].store(&mut im[at..]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lanes::One;

    #[test]
    fn points_in_lanes_give_the_bits_of_the_plain_passes() {
        for length in [128, 256, 384, 640, 896, 1024] {
            let plan = Plan::new(length);
            let points = PointPasses::new(length).unwrap();
            let mut plain: Vec<[One; 2]> = (0..length)
                .map(|n| [((n * n) as f32 * 0.37).sin(), (n as f32 * 0.71).cos()].map(One::splat))
                .collect();
            let mut fast = plain.clone();
            plan.run(&mut plain);
            plan.run_points(&points, &mut fast, &mut vec![0.0; 2 * length]);
            let bits = |data: &[[One; 2]]| -> Vec<u32> {
                let parts = data.as_flattened().iter();
                parts
                    .map(|part| {
                        let mut value = [0.0f32];
                        part.store(&mut value);
                        value[0].to_bits()
                    })
                    .collect()
            };
            assert_eq!(bits(&plain), bits(&fast), "length {length}");
        }
        assert!(PointPasses::new(100).is_none());
        assert!(PointPasses::new(0).is_none());
    }
}
