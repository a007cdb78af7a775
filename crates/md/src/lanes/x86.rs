//! Lanes in AVX2 and AVX-512 registers.

use std::arch::x86_64::*;

use super::{Lanes, Task, WIDEST};
use crate::real::Real;

/// Sixteen lanes of `f32`.
#[derive(Clone, Copy, Debug)]
pub struct Avx512F32(__m512);
/// Eight lanes of `f64`.
#[derive(Clone, Copy, Debug)]
pub struct Avx512F64(__m512d);
/// Eight lanes of `f32`.
#[derive(Clone, Copy, Debug)]
pub struct Avx2F32(__m256);
/// Four lanes of `f64`.
#[derive(Clone, Copy, Debug)]
pub struct Avx2F64(__m256d);

#[target_feature(enable = "avx512f,avx512dq,avx2,fma")]
pub(super) fn in_avx512<R: Real, T: Task<R>>(task: T) -> T::Output {
    task.run::<R::Avx512>()
}

#[target_feature(enable = "avx2,fma")]
pub(super) fn in_avx2<R: Real, T: Task<R>>(task: T) -> T::Output {
    task.run::<R::Avx2>()
}

macro_rules! lanes_in_registers {
    (
        $type:ident, $scalar:ty, $mask:ty, $width:literal, splat $splat:ident, load $load:ident, store $store:ident,
        gather $gather:ident, add $add:ident, sub $sub:ident, mul $mul:ident, fmadd $fmadd:ident,
        fnmadd $fnmadd:ident, where $fmadd_where:ident, nearest $nearest:ident, reciprocal $reciprocal:ident, root $root:ident,
        less $less:ident, keep $keep:ident, sum $sum:ident, bits $bits:ident $(, append $append:ident)?
    ) => {
        impl Lanes for $type {
            type Scalar = $scalar;
            type Mask = $mask;
            const WIDTH: usize = $width;

            #[inline(always)]
            fn splat(value: $scalar) -> Self {
                // SAFETY: see the module above.
                Self(unsafe { $splat(value) })
            }
            #[inline(always)]
            fn load(from: &[$scalar]) -> Self {
                let from = &from[..$width];
                // SAFETY: the slice holds a whole vector; the load takes any alignment.
                Self(unsafe { $load(from.as_ptr()) })
            }
            #[inline(always)]
            fn store(self, to: &mut [$scalar]) {
                let to = &mut to[..$width];
                // SAFETY: the slice has room for a whole vector; the store takes any alignment.
                unsafe { $store(to.as_mut_ptr(), self.0) }
            }
            #[inline(always)]
            unsafe fn gather_vectors(from: *const $scalar, places: *const u32) -> [Self; 3] {
                // SAFETY: the caller promises a vector of indices, each of four numbers.
                unsafe { $gather(from, places) }.map(Self)
            }
            #[inline(always)]
            fn add(self, other: Self) -> Self {
                // SAFETY: see the module above.
                Self(unsafe { $add(self.0, other.0) })
            }
            #[inline(always)]
            fn sub(self, other: Self) -> Self {
                // SAFETY: see the module above.
                Self(unsafe { $sub(self.0, other.0) })
            }
            #[inline(always)]
            fn mul(self, other: Self) -> Self {
                // SAFETY: see the module above.
                Self(unsafe { $mul(self.0, other.0) })
            }
            #[inline(always)]
            fn mul_add(self, factor: Self, addend: Self) -> Self {
                // SAFETY: see the module above.
                Self(unsafe { $fmadd(self.0, factor.0, addend.0) })
            }
            #[inline(always)]
            fn neg_mul_add(self, factor: Self, addend: Self) -> Self {
                // SAFETY: see the module above.
                Self(unsafe { $fnmadd(self.0, factor.0, addend.0) })
            }
            #[inline(always)]
            fn mul_add_where(self, factor: Self, addend: Self, mask: $mask) -> Self {
                // SAFETY: see the module above.
                Self(unsafe { $fmadd_where(self.0, factor.0, addend.0, mask) })
            }
            #[inline(always)]
            fn nearest(self) -> Self {
                // SAFETY: see the module above.
                Self(unsafe { $nearest::<{ _MM_FROUND_TO_NEAREST_INT }>(self.0) })
            }
            #[inline(always)]
            fn reciprocal(self) -> Self {
                // SAFETY: see the module above.
                Self(unsafe { $reciprocal(self.0) })
            }
            #[inline(always)]
            fn root(self) -> Self {
                // SAFETY: see the module above.
                Self(unsafe { $root(self.0) })
            }
            #[inline(always)]
            fn less(self, other: Self) -> $mask {
                // SAFETY: see the module above.
                unsafe { $less::<_CMP_LT_OQ>(self.0, other.0) }
            }
            #[inline(always)]
            fn keep(self, mask: $mask) -> Self {
                // SAFETY: see the module above.
                Self(unsafe { $keep(mask, self.0) })
            }
            #[inline(always)]
            fn sum(self) -> $scalar {
                // SAFETY: see the module above.
                unsafe { $sum(self.0) }
            }
            #[inline(always)]
            fn bits(mask: $mask) -> u32 {
                // SAFETY: see the module above.
                unsafe { $bits(mask) as u32 }
            }
            $(
                #[inline(always)]
                fn append(bits: u32, first: u32, out: &mut [u32]) -> usize {
                    // SAFETY: see the module above.
                    unsafe { $append(bits, first, out) }
                }
            )?
        }
    };
}

/// Columns of four rows of four, in each quarter of a register: x, y and z; w is not asked for.
macro_rules! columns_f32 {
    ($rows:expr, $low:ident, $high:ident, $low_pairs:ident, $high_pairs:ident, $pairs:ident, $singles:ident) => {{
        let [a, b, c, d] = $rows;
        let (near, far) = ($pairs($low(a, b)), $pairs($low(c, d)));
        let (near_z, far_z) = ($pairs($high(a, b)), $pairs($high(c, d)));
        [
            $singles($low_pairs(near, far)),
            $singles($high_pairs(near, far)),
            $singles($low_pairs(near_z, far_z)),
        ]
    }};
}

#[inline]
#[target_feature(enable = "avx512f,avx512dq")]
unsafe fn gather_512_f32(from: *const f32, places: *const u32) -> [__m512; 3] {
    macro_rules! row {
        ($k:expr) => {{
            // SAFETY: the caller promises sixteen indices, each of four numbers.
            let [a, b, c, d] = unsafe {
                [
                    _mm_loadu_ps(from.add(*places.add($k) as usize)),
                    _mm_loadu_ps(from.add(*places.add($k + 4) as usize)),
                    _mm_loadu_ps(from.add(*places.add($k + 8) as usize)),
                    _mm_loadu_ps(from.add(*places.add($k + 12) as usize)),
                ]
            };
            let row = _mm512_insertf32x4::<1>(_mm512_castps128_ps512(a), b);
            _mm512_insertf32x4::<3>(_mm512_insertf32x4::<2>(row, c), d)
        }};
    }
    let rows = [row!(0), row!(1), row!(2), row!(3)];
    columns_f32!(
        rows,
        _mm512_unpacklo_ps,
        _mm512_unpackhi_ps,
        _mm512_unpacklo_pd,
        _mm512_unpackhi_pd,
        _mm512_castps_pd,
        _mm512_castpd_ps
    )
}

#[inline]
#[target_feature(enable = "avx2")]
unsafe fn gather_256_f32(from: *const f32, places: *const u32) -> [__m256; 3] {
    macro_rules! row {
        ($k:expr) => {{
            // SAFETY: the caller promises eight indices, each of four numbers.
            let [a, b] = unsafe {
                [
                    _mm_loadu_ps(from.add(*places.add($k) as usize)),
                    _mm_loadu_ps(from.add(*places.add($k + 4) as usize)),
                ]
            };
            _mm256_insertf128_ps::<1>(_mm256_castps128_ps256(a), b)
        }};
    }
    let rows = [row!(0), row!(1), row!(2), row!(3)];
    columns_f32!(
        rows,
        _mm256_unpacklo_ps,
        _mm256_unpackhi_ps,
        _mm256_unpacklo_pd,
        _mm256_unpackhi_pd,
        _mm256_castps_pd,
        _mm256_castpd_ps
    )
}

#[inline]
#[target_feature(enable = "avx512f,avx512dq")]
unsafe fn gather_512_f64(from: *const f64, places: *const u32) -> [__m512d; 3] {
    macro_rules! row {
        ($k:expr) => {{
            // SAFETY: the caller promises eight indices, each of four numbers.
            let [a, b] = unsafe {
                [
                    _mm256_loadu_pd(from.add(*places.add($k) as usize)),
                    _mm256_loadu_pd(from.add(*places.add($k + 4) as usize)),
                ]
            };
            _mm512_insertf64x4::<1>(_mm512_castpd256_pd512(a), b)
        }};
    }
    let (a, b, c, d) = (row!(0), row!(1), row!(2), row!(3));
    // Pairs of x and z, and of y and w; then the pairs of one kind together.
    let (near, far) = (_mm512_unpacklo_pd(a, b), _mm512_unpacklo_pd(c, d));
    let (near_y, far_y) = (_mm512_unpackhi_pd(a, b), _mm512_unpackhi_pd(c, d));
    [
        _mm512_shuffle_f64x2::<0b10_00_10_00>(near, far),
        _mm512_shuffle_f64x2::<0b10_00_10_00>(near_y, far_y),
        _mm512_shuffle_f64x2::<0b11_01_11_01>(near, far),
    ]
}

#[inline]
#[target_feature(enable = "avx2")]
unsafe fn gather_256_f64(from: *const f64, places: *const u32) -> [__m256d; 3] {
    // SAFETY: the caller promises four indices, each of four numbers.
    let [a, b, c, d] = unsafe {
        [
            _mm256_loadu_pd(from.add(*places as usize)),
            _mm256_loadu_pd(from.add(*places.add(1) as usize)),
            _mm256_loadu_pd(from.add(*places.add(2) as usize)),
            _mm256_loadu_pd(from.add(*places.add(3) as usize)),
        ]
    };
    let (near, far) = (_mm256_unpacklo_pd(a, b), _mm256_unpacklo_pd(c, d));
    let (near_y, far_y) = (_mm256_unpackhi_pd(a, b), _mm256_unpackhi_pd(c, d));
    [
        _mm256_permute2f128_pd::<0x20>(near, far),
        _mm256_permute2f128_pd::<0x20>(near_y, far_y),
        _mm256_permute2f128_pd::<0x31>(near, far),
    ]
}

/// 14 bits from the table, 24 after one step of Newton's method.
#[inline]
#[target_feature(enable = "avx512f")]
fn reciprocal_512_f32(value: __m512) -> __m512 {
    let guess = _mm512_rcp14_ps(value);
    let error = _mm512_fnmadd_ps(value, guess, _mm512_set1_ps(1.0));
    _mm512_fmadd_ps(guess, error, guess)
}

/// 14 bits from the table, 28 and then all of them after two steps.
#[inline]
#[target_feature(enable = "avx512f")]
fn reciprocal_512_f64(value: __m512d) -> __m512d {
    let one = _mm512_set1_pd(1.0);
    let guess = _mm512_rcp14_pd(value);
    let guess = _mm512_fmadd_pd(guess, _mm512_fnmadd_pd(value, guess, one), guess);
    _mm512_fmadd_pd(guess, _mm512_fnmadd_pd(value, guess, one), guess)
}

/// 12 bits from the table, about 23 after one step.
#[inline]
#[target_feature(enable = "avx2,fma")]
fn reciprocal_256_f32(value: __m256) -> __m256 {
    let guess = _mm256_rcp_ps(value);
    let error = _mm256_fnmadd_ps(value, guess, _mm256_set1_ps(1.0));
    _mm256_fmadd_ps(guess, error, guess)
}

#[inline]
#[target_feature(enable = "avx2")]
fn reciprocal_256_f64(value: __m256d) -> __m256d {
    _mm256_div_pd(_mm256_set1_pd(1.0), value)
}

#[inline]
#[target_feature(enable = "avx2,fma")]
fn where_256_f32(a: __m256, b: __m256, c: __m256, mask: __m256) -> __m256 {
    _mm256_fmadd_ps(_mm256_and_ps(a, mask), _mm256_and_ps(b, mask), c)
}

#[inline]
#[target_feature(enable = "avx2,fma")]
fn where_256_f64(a: __m256d, b: __m256d, c: __m256d, mask: __m256d) -> __m256d {
    _mm256_fmadd_pd(_mm256_and_pd(a, mask), _mm256_and_pd(b, mask), c)
}

#[inline]
#[target_feature(enable = "avx2")]
fn sum_256_f64(value: __m256d) -> f64 {
    let half = _mm_add_pd(
        _mm256_castpd256_pd128(value),
        _mm256_extractf128_pd::<1>(value),
    );
    _mm_cvtsd_f64(_mm_add_pd(half, _mm_unpackhi_pd(half, half)))
}

#[inline]
#[target_feature(enable = "avx2")]
fn sum_256_f32(value: __m256) -> f32 {
    let half = _mm_add_ps(
        _mm256_castps256_ps128(value),
        _mm256_extractf128_ps::<1>(value),
    );
    let quarter = _mm_add_ps(half, _mm_movehl_ps(half, half));
    _mm_cvtss_f32(_mm_add_ss(quarter, _mm_movehdup_ps(quarter)))
}

#[inline]
#[target_feature(enable = "avx512f")]
fn bits_16(mask: __mmask16) -> u16 {
    mask
}

#[inline]
#[target_feature(enable = "avx512f")]
fn bits_8(mask: __mmask8) -> u8 {
    mask
}

/// The indices of the set lanes, pressed together in a register.
#[inline]
#[target_feature(enable = "avx512f")]
fn append_512(bits: u32, first: u32, out: &mut [u32]) -> usize {
    let out = &mut out[..WIDEST];
    let lanes = _mm512_setr_epi32(0, 4, 8, 12, 16, 20, 24, 28, 32, 36, 40, 44, 48, 52, 56, 60);
    let places = _mm512_add_epi32(_mm512_set1_epi32(first.cast_signed()), lanes);
    let pressed = _mm512_maskz_compress_epi32(bits as __mmask16, places);
    // SAFETY: the slice has room for sixteen indices; the store takes any alignment.
    unsafe { _mm512_storeu_si512(out.as_mut_ptr().cast(), pressed) };
    bits.count_ones() as usize
}

lanes_in_registers!(
    Avx512F32, f32, __mmask16, 16, splat _mm512_set1_ps, load _mm512_loadu_ps, store _mm512_storeu_ps,
    gather gather_512_f32, add _mm512_add_ps, sub _mm512_sub_ps, mul _mm512_mul_ps, fmadd _mm512_fmadd_ps,
    fnmadd _mm512_fnmadd_ps, where _mm512_mask3_fmadd_ps, nearest _mm512_roundscale_ps, reciprocal reciprocal_512_f32, root _mm512_sqrt_ps,
    less _mm512_cmp_ps_mask, keep _mm512_maskz_mov_ps, sum _mm512_reduce_add_ps, bits bits_16, append append_512
);
lanes_in_registers!(
    Avx512F64, f64, __mmask8, 8, splat _mm512_set1_pd, load _mm512_loadu_pd, store _mm512_storeu_pd,
    gather gather_512_f64, add _mm512_add_pd, sub _mm512_sub_pd, mul _mm512_mul_pd, fmadd _mm512_fmadd_pd,
    fnmadd _mm512_fnmadd_pd, where _mm512_mask3_fmadd_pd, nearest _mm512_roundscale_pd, reciprocal reciprocal_512_f64, root _mm512_sqrt_pd,
    less _mm512_cmp_pd_mask, keep _mm512_maskz_mov_pd, sum _mm512_reduce_add_pd, bits bits_8, append append_512
);
lanes_in_registers!(
    Avx2F32, f32, __m256, 8, splat _mm256_set1_ps, load _mm256_loadu_ps, store _mm256_storeu_ps,
    gather gather_256_f32, add _mm256_add_ps, sub _mm256_sub_ps, mul _mm256_mul_ps, fmadd _mm256_fmadd_ps,
    fnmadd _mm256_fnmadd_ps, where where_256_f32, nearest _mm256_round_ps, reciprocal reciprocal_256_f32, root _mm256_sqrt_ps,
    less _mm256_cmp_ps, keep _mm256_and_ps, sum sum_256_f32, bits _mm256_movemask_ps
);
lanes_in_registers!(
    Avx2F64, f64, __m256d, 4, splat _mm256_set1_pd, load _mm256_loadu_pd, store _mm256_storeu_pd,
    gather gather_256_f64, add _mm256_add_pd, sub _mm256_sub_pd, mul _mm256_mul_pd, fmadd _mm256_fmadd_pd,
    fnmadd _mm256_fnmadd_pd, where where_256_f64, nearest _mm256_round_pd, reciprocal reciprocal_256_f64, root _mm256_sqrt_pd,
    less _mm256_cmp_pd, keep _mm256_and_pd, sum sum_256_f64, bits _mm256_movemask_pd
);
