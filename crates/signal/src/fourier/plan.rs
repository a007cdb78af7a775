//! How a transform of a given length is cut into passes: radices, twiddle factors, and the order in
//! which an in-place decimation in frequency leaves its results.
//!
//! Invariant: `order` is a permutation of `0..length`.

use std::f64::consts::TAU;

use warpsmith_lanes::{Lanes, Task};

use super::butterfly;
use super::inlet::Inlet;

/// A complex transform of one length.
#[derive(Clone, Debug)]
pub(crate) struct Plan {
    length: usize,
    passes: Vec<Pass>,
    order: Vec<u32>,
}

/// One sweep over the data.
#[derive(Clone, Debug)]
struct Pass {
    radix: usize,
    /// Distance between a butterfly's inputs.
    stride: usize,
    /// `stride × (radix − 1)` factors `exp(−2πi·j·p/(radix·stride))`, `j` outermost.
    twiddles: Vec<[f32; 2]>,
    /// `exp(−2πi·q/radix)`, for radices without a butterfly of their own.
    roots: Vec<[f32; 2]>,
}

/// `exp(−2πi·numerator/denominator)`, computed in f64 and rounded once.
pub(super) fn root(numerator: usize, denominator: usize) -> [f32; 2] {
    let angle = TAU * ((numerator % denominator) as f64) / denominator as f64;
    [angle.cos() as f32, -angle.sin() as f32]
}

/// The smallest even length not below `length` whose only prime factors are 2, 3 and 5: the
/// lengths with fast butterflies.
pub fn smooth_length_at_least(length: usize) -> usize {
    let is_smooth = |mut n: usize| {
        for prime in [2, 3, 5] {
            while n.is_multiple_of(prime) {
                n /= prime;
            }
        }
        n == 1
    };
    let mut candidate = length.max(2).next_multiple_of(2);
    while !is_smooth(candidate) {
        candidate += 2;
    }
    candidate
}

/// Radices in the order of their passes: fours first, because they cost least per point.
fn radices(mut length: usize) -> Vec<usize> {
    let mut radices = Vec::new();
    for radix in [4, 2, 3, 5] {
        while length.is_multiple_of(radix) {
            radices.push(radix);
            length /= radix;
        }
    }
    let mut radix = 7;
    while length > 1 {
        if length.is_multiple_of(radix) {
            radices.push(radix);
            length /= radix;
        } else if radix * radix > length {
            radix = length;
        } else {
            radix += 2;
        }
    }
    radices
}

impl Plan {
    /// A plan for transforms of `length` points; `length` is at least 1.
    pub(crate) fn new(length: usize) -> Self {
        let mut passes = Vec::new();
        let mut order = vec![0u32];
        let mut block = length;
        let mut digits = 1;
        for radix in radices(length) {
            let stride = block / radix;
            let mut twiddles = Vec::with_capacity(stride * (radix - 1));
            for j in 0..stride {
                for p in 1..radix {
                    twiddles.push(root(j * p, block));
                }
            }
            let roots = (0..radix).map(|q| root(q, radix)).collect();
            passes.push(Pass {
                radix,
                stride,
                twiddles,
                roots,
            });
            // Bin k = p₀ + r₀·(p₁ + r₁·(…)) ends up at p₀·stride₀ + p₁·stride₁ + ….
            let mut next = Vec::with_capacity(digits * radix);
            for p in 0..radix {
                next.extend(order.iter().map(|at| at + (p * stride) as u32));
            }
            order = next;
            digits *= radix;
            block = stride;
        }
        Self {
            length,
            passes,
            order,
        }
    }

    /// Number of points.
    pub(crate) fn length(&self) -> usize {
        self.length
    }

    /// Where bin `k` stands after [`Plan::run`].
    #[inline(always)]
    pub(crate) fn place(&self, bin: usize) -> usize {
        self.order[bin] as usize
    }

    /// Transforms `data` in place; bin `k` is left at [`Plan::place`]`(k)`.
    #[inline(always)]
    pub(crate) fn run<V: Lanes>(&self, data: &mut [[V; 2]]) {
        self.run_blocks(&self.passes, data.len(), data);
    }

    /// Transforms the points that `inlet` yields into `data`, as [`Plan::run`] does.
    #[inline(always)]
    pub(super) fn run_from<V: Lanes>(&self, inlet: &impl Inlet<[V; 2]>, data: &mut [[V; 2]]) {
        match self.passes.split_first() {
            Some((pass, passes)) if pass.radix == 4 => {
                butterfly::radix4_from(inlet, data, &pass.twiddles);
                self.run_blocks(passes, pass.stride, data);
            }
            _ => {
                for (n, slot) in data.iter_mut().enumerate() {
                    *slot = inlet.get(n);
                }
                self.run(data);
            }
        }
    }

    /// The last passes, on data that has fallen into blocks.
    #[inline(always)]
    fn run_blocks<V: Lanes>(&self, passes: &[Pass], block: usize, data: &mut [[V; 2]]) {
        let room = NEAREST_CACHE / size_of::<[V; 2]>();
        let wide = passes
            .iter()
            .take_while(|pass| pass.radix * pass.stride > room);
        let (wide, narrow) = passes.split_at(wide.count());
        // After a pass its blocks have nothing more to do with each other: once one fits the nearest
        // cache, all of its passes are done before the next block is touched. The bits are the same.
        let block = wide.last().map_or(block, |pass| pass.stride).max(1);
        for (passes, block) in [(wide, data.len().max(1)), (narrow, block)] {
            for data in data.chunks_exact_mut(block) {
                for pass in passes {
                    V::vectorize(PassTask { pass, data });
                }
            }
        }
    }
}

impl Plan {
    /// The passes after the first few, on one block that those have left.
    #[inline(always)]
    pub(super) fn run_after<V: Lanes>(&self, passes: usize, data: &mut [[V; 2]]) {
        for pass in &self.passes[passes..] {
            V::vectorize(PassTask { pass, data });
        }
    }
}

/// Bytes of transforms that stay in a core's nearest cache, of 32 KiB or more.
const NEAREST_CACHE: usize = 32 << 10;

struct PassTask<'a, V> {
    pass: &'a Pass,
    data: &'a mut [[V; 2]],
}

impl<V: Lanes> Task for PassTask<'_, V> {
    #[inline(always)]
    fn run(self) {
        let Self { pass, data } = self;
        match pass.radix {
            2 => butterfly::radix2(data, pass.stride, &pass.twiddles),
            3 => butterfly::radix3(data, pass.stride, &pass.twiddles),
            4 => butterfly::radix4(data, pass.stride, &pass.twiddles),
            5 => butterfly::radix5(data, pass.stride, &pass.twiddles),
            radix => butterfly::any(data, radix, pass.stride, &pass.twiddles, &pass.roots),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use warpsmith_lanes::{Blocks, Eight, InstructionSet, LanesTask};

    struct AgainstDefinition(usize);

    impl LanesTask for AgainstDefinition {
        type Output = ();

        fn run<V: Lanes>(self) {
            against_definition::<V>(self.0);
        }
    }

    fn against_definition<V: Lanes>(length: usize) {
        let signal: Vec<[f32; 2]> = (0..length)
            .map(|n| [((n * n) as f32 * 0.37).sin(), ((n * 7) as f32 * 0.11).cos()])
            .collect();
        let plan = Plan::new(length);
        let mut data: Vec<[V; 2]> = signal
            .iter()
            .map(|[re, im]| [V::splat(*re), V::splat(*im)])
            .collect();
        plan.run(&mut data);
        let mut scale = 0.0f64;
        let mut worst = 0.0f64;
        for k in 0..length {
            let (mut re, mut im) = (0.0f64, 0.0f64);
            for (n, [a, b]) in signal.iter().enumerate() {
                let angle = -TAU * ((n * k) % length) as f64 / length as f64;
                re += f64::from(*a) * angle.cos() - f64::from(*b) * angle.sin();
                im += f64::from(*a) * angle.sin() + f64::from(*b) * angle.cos();
            }
            let mut got = [[0.0f32; 16]; 2];
            data[plan.place(k)][0].store(&mut got[0]);
            data[plan.place(k)][1].store(&mut got[1]);
            scale = scale.max(re.hypot(im));
            worst = worst.max((f64::from(got[0][0]) - re).hypot(f64::from(got[1][0]) - im));
        }
        assert!(worst <= 3e-7 * scale, "length {length}: {worst} of {scale}");
    }

    #[test]
    fn every_length_agrees_with_the_definition() {
        for length in (1..=40).chain([64, 77, 97, 200, 256, 360, 512, 625, 640, 1024, 1440]) {
            for set in InstructionSet::present() {
                set.with_lanes(Blocks::Single, AgainstDefinition(length));
            }
        }
    }

    #[test]
    fn transforms_beyond_the_nearest_cache_are_the_same() {
        for length in [600, 1024, 1440, 2048] {
            assert!(length * size_of::<[Eight; 2]>() > NEAREST_CACHE);
            against_definition::<Eight>(length);
        }
    }

    #[test]
    fn smooth_lengths_are_even_and_not_shorter() {
        assert_eq!(smooth_length_at_least(1), 2);
        assert_eq!(smooth_length_at_least(1271), 1280);
        assert_eq!(smooth_length_at_least(2728), 2880);
    }
}
