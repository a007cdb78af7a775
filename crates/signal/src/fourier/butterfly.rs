//! The butterflies of a decimation in frequency, in place, twiddles after the small transform.
//!
//! Each function sweeps over all blocks of `radix × stride` points. The twiddle of input `j` and
//! output `p` is at `twiddles[j · (radix − 1) + p − 1]`.

use warpsmith_lanes::Lanes;

use super::inlet::Inlet;

/// `value · (w[0] + i·w[1])`.
#[inline(always)]
fn turn<V: Lanes>(value: [V; 2], w: [f32; 2]) -> [V; 2] {
    turn_by(value, w.map(V::splat))
}

/// As [`turn`], by a factor to each lane.
#[inline(always)]
pub(super) fn turn_by<V: Lanes>([re, im]: [V; 2], [cos, sin]: [V; 2]) -> [V; 2] {
    [
        im.neg_mul_add(sin, re.mul(cos)),
        im.mul_add(cos, re.mul(sin)),
    ]
}

#[inline(always)]
fn plus<V: Lanes>(a: [V; 2], b: [V; 2]) -> [V; 2] {
    [a[0].add(b[0]), a[1].add(b[1])]
}

#[inline(always)]
fn minus<V: Lanes>(a: [V; 2], b: [V; 2]) -> [V; 2] {
    [a[0].sub(b[0]), a[1].sub(b[1])]
}

/// `a − i·b`.
#[inline(always)]
fn minus_i<V: Lanes>(a: [V; 2], b: [V; 2]) -> [V; 2] {
    [a[0].add(b[1]), a[1].sub(b[0])]
}

/// `a + i·b`.
#[inline(always)]
fn plus_i<V: Lanes>(a: [V; 2], b: [V; 2]) -> [V; 2] {
    [a[0].sub(b[1]), a[1].add(b[0])]
}

/// Two-point butterflies.
#[inline(always)]
pub(super) fn radix2<V: Lanes>(data: &mut [[V; 2]], stride: usize, twiddles: &[[f32; 2]]) {
    let twiddles = &twiddles[..stride];
    for block in data.chunks_exact_mut(2 * stride) {
        let (a, b) = block.split_at_mut(stride);
        for ((a, b), w) in a.iter_mut().zip(b).zip(twiddles) {
            let (sum, difference) = (plus(*a, *b), minus(*a, *b));
            *a = sum;
            *b = turn(difference, *w);
        }
    }
}

/// The four-point transform of the values.
#[inline(always)]
pub(super) fn four<V: Lanes>(a: [V; 2], b: [V; 2], c: [V; 2], d: [V; 2]) -> [[V; 2]; 4] {
    let (ac, a_c) = (plus(a, c), minus(a, c));
    let (bd, b_d) = (plus(b, d), minus(b, d));
    [
        plus(ac, bd),
        minus_i(a_c, b_d),
        minus(ac, bd),
        plus_i(a_c, b_d),
    ]
}

/// Four-point butterflies.
#[inline(always)]
pub(super) fn radix4<V: Lanes>(data: &mut [[V; 2]], stride: usize, twiddles: &[[f32; 2]]) {
    if stride == 1 {
        // The last pass: every twiddle is one.
        for block in data.chunks_exact_mut(4) {
            let [a, b, c, d] = [block[0], block[1], block[2], block[3]];
            block.copy_from_slice(&four(a, b, c, d));
        }
        return;
    }
    for block in data.chunks_exact_mut(4 * stride) {
        let (a, rest) = block.split_at_mut(stride);
        let (b, rest) = rest.split_at_mut(stride);
        let (c, d) = rest.split_at_mut(stride);
        let inputs = a.iter_mut().zip(b).zip(c).zip(d);
        for ((((a, b), c), d), w) in inputs.zip(twiddles.as_chunks::<3>().0) {
            let [x, y, z, t] = four(*a, *b, *c, *d);
            *a = x;
            *b = turn(y, w[0]);
            *c = turn(z, w[1]);
            *d = turn(t, w[2]);
        }
    }
}

/// Four-point butterflies over one block, `data`, its points from `inlet`.
#[inline(always)]
pub(super) fn radix4_from<V: Lanes>(
    inlet: &impl Inlet<[V; 2]>,
    data: &mut [[V; 2]],
    twiddles: &[[f32; 2]],
) {
    let stride = data.len() / 4;
    let (a, rest) = data.split_at_mut(stride);
    let (b, rest) = rest.split_at_mut(stride);
    let (c, d) = rest.split_at_mut(stride);
    let outputs = a.iter_mut().zip(b).zip(c).zip(d);
    for (j, ((((a, b), c), d), w)) in outputs.zip(twiddles.as_chunks::<3>().0).enumerate() {
        let [x, y, z, t] = four(
            inlet.get(j),
            inlet.get(j + stride),
            inlet.get(j + 2 * stride),
            inlet.get(j + 3 * stride),
        );
        *a = x;
        *b = turn(y, w[0]);
        *c = turn(z, w[1]);
        *d = turn(t, w[2]);
    }
}

/// Three-point butterflies.
#[inline(always)]
pub(super) fn radix3<V: Lanes>(data: &mut [[V; 2]], stride: usize, twiddles: &[[f32; 2]]) {
    let half = V::splat(0.5);
    let sin = V::splat(0.866_025_4);
    for block in data.chunks_exact_mut(3 * stride) {
        let (a, rest) = block.split_at_mut(stride);
        let (b, c) = rest.split_at_mut(stride);
        for (((a, b), c), w) in a.iter_mut().zip(b).zip(c).zip(twiddles.as_chunks::<2>().0) {
            let (sum, difference) = (plus(*b, *c), minus(*b, *c));
            let middle = [
                sum[0].neg_mul_add(half, a[0]),
                sum[1].neg_mul_add(half, a[1]),
            ];
            *a = plus(*a, sum);
            let y = [
                difference[1].mul_add(sin, middle[0]),
                difference[0].neg_mul_add(sin, middle[1]),
            ];
            let z = [
                difference[1].neg_mul_add(sin, middle[0]),
                difference[0].mul_add(sin, middle[1]),
            ];
            *b = turn(y, w[0]);
            *c = turn(z, w[1]);
        }
    }
}

/// Five-point butterflies.
#[inline(always)]
pub(super) fn radix5<V: Lanes>(data: &mut [[V; 2]], stride: usize, twiddles: &[[f32; 2]]) {
    let (cos1, cos2) = (V::splat(0.309_017), V::splat(-0.809_017));
    let (sin1, sin2) = (V::splat(0.951_056_5), V::splat(0.587_785_25));
    for block in data.chunks_exact_mut(5 * stride) {
        let (a, rest) = block.split_at_mut(stride);
        let (b, rest) = rest.split_at_mut(stride);
        let (c, rest) = rest.split_at_mut(stride);
        let (d, e) = rest.split_at_mut(stride);
        let inputs = a.iter_mut().zip(b).zip(c).zip(d).zip(e);
        for (((((a, b), c), d), e), w) in inputs.zip(twiddles.as_chunks::<4>().0) {
            let (be, b_e) = (plus(*b, *e), minus(*b, *e));
            let (cd, c_d) = (plus(*c, *d), minus(*c, *d));
            let zero = *a;
            *a = plus(zero, plus(be, cd));
            let mut even = [zero; 2];
            let mut odd = [zero; 2];
            for part in 0..2 {
                even[0][part] = cd[part].mul_add(cos2, be[part].mul_add(cos1, zero[part]));
                even[1][part] = cd[part].mul_add(cos1, be[part].mul_add(cos2, zero[part]));
                odd[0][part] = c_d[part].mul_add(sin2, b_e[part].mul(sin1));
                odd[1][part] = c_d[part].neg_mul_add(sin1, b_e[part].mul(sin2));
            }
            *b = turn(minus_i(even[0], odd[0]), w[0]);
            *c = turn(minus_i(even[1], odd[1]), w[1]);
            *d = turn(plus_i(even[1], odd[1]), w[2]);
            *e = turn(plus_i(even[0], odd[0]), w[3]);
        }
    }
}

/// Butterflies of any radix by the definition: right for every length, fast for none.
#[inline(always)]
pub(super) fn any<V: Lanes>(
    data: &mut [[V; 2]],
    radix: usize,
    stride: usize,
    twiddles: &[[f32; 2]],
    roots: &[[f32; 2]],
) {
    let mut inputs = vec![[V::splat(0.0); 2]; radix];
    for block in data.chunks_exact_mut(radix * stride) {
        for j in 0..stride {
            for (q, input) in inputs.iter_mut().enumerate() {
                *input = block[j + q * stride];
            }
            for p in 0..radix {
                let mut sum = inputs[0];
                for (q, input) in inputs.iter().enumerate().skip(1) {
                    sum = plus(sum, turn(*input, roots[p * q % radix]));
                }
                block[j + p * stride] = match p {
                    0 => sum,
                    _ => turn(sum, twiddles[j * (radix - 1) + p - 1]),
                };
            }
        }
    }
}
