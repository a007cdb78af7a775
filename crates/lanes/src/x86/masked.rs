//! Vectors with masks in AVX2 and AVX-512 registers.

use std::arch::x86_64::*;

use super::{Avx2F32, Avx2F64, Avx512F32, Avx512F64};
use crate::features;
use crate::vector::{Masked, WIDEST};

macro_rules! masked_in_registers {
    (
        $type:ident, $scalar:ty, $mask:ty, gather $gather:ident, where $fmadd_where:ident, nearest $nearest:ident,
        reciprocal $reciprocal:ident, less $less:ident, keep $keep:ident, sum $sum:ident, bits $bits:ident
        $(, append $append:ident)?
    ) => {
        impl Masked for $type {
            type Mask = $mask;

            #[inline(always)]
            unsafe fn gather_vectors(from: *const $scalar, places: *const u32) -> [Self; 3] {
                // SAFETY: the caller promises a vector of indices, each of four numbers.
                unsafe { $gather(from, places) }.map(Self)
            }
            #[inline(always)]
            fn mul_add_where(self, factor: Self, addend: Self, mask: $mask) -> Self {
                // SAFETY: the type exists only where its instructions do.
                Self(unsafe { $fmadd_where(self.0, factor.0, addend.0, mask) })
            }
            #[inline(always)]
            fn nearest(self) -> Self {
                // SAFETY: the type exists only where its instructions do.
                Self(unsafe { $nearest::<{ _MM_FROUND_TO_NEAREST_INT }>(self.0) })
            }
            #[inline(always)]
            fn reciprocal(self) -> Self {
                // SAFETY: the type exists only where its instructions do.
                Self(unsafe { $reciprocal(self.0) })
            }
            #[inline(always)]
            fn where_less(self, other: Self) -> $mask {
                // SAFETY: the type exists only where its instructions do.
                unsafe { $less::<_CMP_LT_OQ>(self.0, other.0) }
            }
            #[inline(always)]
            fn keep(self, mask: $mask) -> Self {
                // SAFETY: the type exists only where its instructions do.
                Self(unsafe { $keep(mask, self.0) })
            }
            #[inline(always)]
            fn sum(self) -> $scalar {
                // SAFETY: the type exists only where its instructions do.
                unsafe { $sum(self.0) }
            }
            #[inline(always)]
            fn bits(mask: $mask) -> u32 {
                // SAFETY: the type exists only where its instructions do.
                unsafe { $bits(mask) as u32 }
            }
            $(
                #[inline(always)]
                fn append(bits: u32, first: u32, out: &mut [u32]) -> usize {
                    // SAFETY: the type exists only where its instructions do.
                    unsafe { $append(bits, first, out) }
                }
            )?
        }
    };
}

/// Columns of four rows of four, in each quarter of a register: x, y and z; w is not requested.
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

features! {Avx512 function
    #[inline]
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
}

features! {Avx2 function
    #[inline]
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
}

features! {Avx512 function
    #[inline]
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
}

features! {Avx2 function
    #[inline]
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
}

features! {Avx512 functions
    /// 14 bits from the table, 24 after one step of Newton's method.
    fn reciprocal_512_f32(value: __m512) -> __m512 {
        let guess = _mm512_rcp14_ps(value);
        let error = _mm512_fnmadd_ps(value, guess, _mm512_set1_ps(1.0));
        _mm512_fmadd_ps(guess, error, guess)
    }

    /// 14 bits from the table, 28 and then all of them after two steps.
    fn reciprocal_512_f64(value: __m512d) -> __m512d {
        let one = _mm512_set1_pd(1.0);
        let guess = _mm512_rcp14_pd(value);
        let guess = _mm512_fmadd_pd(guess, _mm512_fnmadd_pd(value, guess, one), guess);
        _mm512_fmadd_pd(guess, _mm512_fnmadd_pd(value, guess, one), guess)
    }

    fn bits_16(mask: __mmask16) -> u16 {
        mask
    }

    fn bits_8(mask: __mmask8) -> u8 {
        mask
    }

    /// The indices of the set lanes, pressed together in a register.
    fn append_512(bits: u32, first: u32, out: &mut [u32]) -> usize {
        let out = &mut out[..WIDEST];
        let lanes = _mm512_setr_epi32(0, 4, 8, 12, 16, 20, 24, 28, 32, 36, 40, 44, 48, 52, 56, 60);
        let places = _mm512_add_epi32(_mm512_set1_epi32(first.cast_signed()), lanes);
        let pressed = _mm512_maskz_compress_epi32(bits as __mmask16, places);
        // SAFETY: the slice has room for sixteen indices; the store takes any alignment.
        unsafe { _mm512_storeu_si512(out.as_mut_ptr().cast(), pressed) };
        bits.count_ones() as usize
    }
}

features! {Avx2 functions
    /// 12 bits from the table, about 23 after one step.
    fn reciprocal_256_f32(value: __m256) -> __m256 {
        let guess = _mm256_rcp_ps(value);
        let error = _mm256_fnmadd_ps(value, guess, _mm256_set1_ps(1.0));
        _mm256_fmadd_ps(guess, error, guess)
    }

    fn reciprocal_256_f64(value: __m256d) -> __m256d {
        _mm256_div_pd(_mm256_set1_pd(1.0), value)
    }

    fn where_256_f32(a: __m256, b: __m256, c: __m256, mask: __m256) -> __m256 {
        _mm256_fmadd_ps(_mm256_and_ps(a, mask), _mm256_and_ps(b, mask), c)
    }

    fn where_256_f64(a: __m256d, b: __m256d, c: __m256d, mask: __m256d) -> __m256d {
        _mm256_fmadd_pd(_mm256_and_pd(a, mask), _mm256_and_pd(b, mask), c)
    }

    fn sum_256_f64(value: __m256d) -> f64 {
        let half = _mm_add_pd(
            _mm256_castpd256_pd128(value),
            _mm256_extractf128_pd::<1>(value),
        );
        _mm_cvtsd_f64(_mm_add_pd(half, _mm_unpackhi_pd(half, half)))
    }

    fn sum_256_f32(value: __m256) -> f32 {
        let half = _mm_add_ps(
            _mm256_castps256_ps128(value),
            _mm256_extractf128_ps::<1>(value),
        );
        let quarter = _mm_add_ps(half, _mm_movehl_ps(half, half));
        _mm_cvtss_f32(_mm_add_ss(quarter, _mm_movehdup_ps(quarter)))
    }
}

masked_in_registers!(
    Avx512F32, f32, __mmask16, gather gather_512_f32, where _mm512_mask3_fmadd_ps, nearest _mm512_roundscale_ps,
    reciprocal reciprocal_512_f32, less _mm512_cmp_ps_mask, keep _mm512_maskz_mov_ps, sum _mm512_reduce_add_ps,
    bits bits_16, append append_512
);
masked_in_registers!(
    Avx512F64, f64, __mmask8, gather gather_512_f64, where _mm512_mask3_fmadd_pd, nearest _mm512_roundscale_pd,
    reciprocal reciprocal_512_f64, less _mm512_cmp_pd_mask, keep _mm512_maskz_mov_pd, sum _mm512_reduce_add_pd,
    bits bits_8, append append_512
);
masked_in_registers!(
    Avx2F32, f32, __m256, gather gather_256_f32, where where_256_f32, nearest _mm256_round_ps,
    reciprocal reciprocal_256_f32, less _mm256_cmp_ps, keep _mm256_and_ps, sum sum_256_f32,
    bits _mm256_movemask_ps
);
masked_in_registers!(
    Avx2F64, f64, __m256d, gather gather_256_f64, where where_256_f64, nearest _mm256_round_pd,
    reciprocal reciprocal_256_f64, less _mm256_cmp_pd, keep _mm256_and_pd, sum sum_256_f64,
    bits _mm256_movemask_pd
);
