//! Frames in AVX2 and AVX-512 registers.

use std::arch::x86_64::*;

use super::{Avx2F32, Avx512F32};
use crate::features;
use crate::frames::{EightLanes, Lanes};
use crate::instruction_set::{Task, in_avx2, in_avx512};
use crate::inverse_sqrt::MAGIC;

macro_rules! lanes_in_registers {
    (
        $type:ident, $vectorize:ident, div $div:ident, max $max:ident, min $min:ident, less $less:ident,
        less_or_equal $less_or_equal:ident, split $split:ident, guess $guess:ident, running $running:ident
    ) => {
        impl Lanes for $type {
            type Points = Avx2F32;

            #[inline(always)]
            fn div(self, other: Self) -> Self {
                // SAFETY: the type exists only where its instructions do.
                Self(unsafe { $div(self.0, other.0) })
            }
            #[inline(always)]
            fn max(self, other: Self) -> Self {
                // SAFETY: the type exists only where its instructions do.
                Self(unsafe { $max(self.0, other.0) })
            }
            #[inline(always)]
            fn min(self, other: Self) -> Self {
                // SAFETY: the type exists only where its instructions do.
                Self(unsafe { $min(self.0, other.0) })
            }
            #[inline(always)]
            fn less(self, other: Self) -> u32 {
                // SAFETY: the type exists only where its instructions do.
                unsafe { $less(self.0, other.0) }
            }
            #[inline(always)]
            fn less_or_equal(self, other: Self) -> u32 {
                // SAFETY: the type exists only where its instructions do.
                unsafe { $less_or_equal(self.0, other.0) }
            }
            #[inline(always)]
            fn split_exponent(self) -> (Self, Self) {
                // SAFETY: the type exists only where its instructions do.
                let (mantissa, exponent) = unsafe { $split(self.0) };
                (Self(mantissa), Self(exponent))
            }
            #[inline(always)]
            fn inverse_sqrt_guess(self) -> Self {
                // SAFETY: the type exists only where its instructions do.
                Self(unsafe { $guess(self.0) })
            }
            #[inline(always)]
            fn running_sums(self) -> Self {
                // SAFETY: the type exists only where its instructions do.
                Self(unsafe { $running(self.0) })
            }
            #[inline(always)]
            fn vectorize(task: impl Task) {
                // SAFETY: the type exists only where its instructions do.
                unsafe { $vectorize(task) }
            }
        }
    };
}

/// Bits of the largest f32 below √½, where the exponent's fold is moved to.
const SQRT_HALF: i32 = 0x3f35_04f3;

features! {Avx2 functions
    fn split_avx2(value: __m256) -> (__m256, __m256) {
        let fold = _mm256_set1_epi32(SQRT_HALF);
        let shifted = _mm256_sub_epi32(_mm256_castps_si256(value), fold);
        let exponent = _mm256_cvtepi32_ps(_mm256_srai_epi32::<23>(shifted));
        let mantissa = _mm256_add_epi32(
            _mm256_and_si256(shifted, _mm256_set1_epi32(0x007f_ffff)),
            fold,
        );
        (_mm256_castsi256_ps(mantissa), exponent)
    }

    fn guess_avx2(value: __m256) -> __m256 {
        let halves = _mm256_srli_epi32::<1>(_mm256_castps_si256(value));
        _mm256_castsi256_ps(_mm256_sub_epi32(_mm256_set1_epi32(MAGIC as i32), halves))
    }

    fn running_avx2(value: __m256) -> __m256 {
        let up = |value: __m256| _mm256_castps_si256(value);
        let ones = _mm256_add_ps(
            value,
            _mm256_castsi256_ps(_mm256_slli_si256::<4>(up(value))),
        );
        let twos = _mm256_add_ps(ones, _mm256_castsi256_ps(_mm256_slli_si256::<8>(up(ones))));
        // The lower half's last lane, in all lanes of the upper half.
        let last = _mm256_shuffle_ps::<0b11_11_11_11>(twos, twos);
        _mm256_add_ps(twos, _mm256_permute2f128_ps::<0x08>(last, last))
    }

    fn less_avx2(a: __m256, b: __m256) -> u32 {
        _mm256_movemask_ps(_mm256_cmp_ps::<_CMP_LT_OQ>(a, b)) as u32
    }

    fn less_or_equal_avx2(a: __m256, b: __m256) -> u32 {
        _mm256_movemask_ps(_mm256_cmp_ps::<_CMP_LE_OQ>(a, b)) as u32
    }

    fn transpose_avx2(r: [__m256; 8]) -> [__m256; 8] {
        // Neighbouring rows to pairs, pairs to fours, and the halves of the fours to rows.
        let pairs = |i: usize| {
            let (a, b) = (r[2 * i], r[2 * i + 1]);
            [_mm256_unpacklo_ps(a, b), _mm256_unpackhi_ps(a, b)]
        };
        let fours = |low: [__m256; 2], high: [__m256; 2]| {
            [
                _mm256_shuffle_ps::<0b01_00_01_00>(low[0], high[0]),
                _mm256_shuffle_ps::<0b11_10_11_10>(low[0], high[0]),
                _mm256_shuffle_ps::<0b01_00_01_00>(low[1], high[1]),
                _mm256_shuffle_ps::<0b11_10_11_10>(low[1], high[1]),
            ]
        };
        let (upper, lower) = (fours(pairs(0), pairs(1)), fours(pairs(2), pairs(3)));
        let first = |i: usize| _mm256_permute2f128_ps::<0x20>(upper[i], lower[i]);
        let last = |i: usize| _mm256_permute2f128_ps::<0x31>(upper[i], lower[i]);
        [
            first(0),
            first(1),
            first(2),
            first(3),
            last(0),
            last(1),
            last(2),
            last(3),
        ]
    }

    fn reverse_avx2(a: __m256) -> __m256 {
        _mm256_permutevar8x32_ps(a, _mm256_setr_epi32(7, 6, 5, 4, 3, 2, 1, 0))
    }

    fn interleave_avx2(a: __m256, b: __m256) -> [__m256; 2] {
        let (low, high) = (_mm256_unpacklo_ps(a, b), _mm256_unpackhi_ps(a, b));
        [
            _mm256_permute2f128_ps::<0x20>(low, high),
            _mm256_permute2f128_ps::<0x31>(low, high),
        ]
    }

    fn deinterleave_avx2([a, b]: [__m256; 2]) -> [__m256; 2] {
        // Halves that belong together first, then even and odd lanes.
        let low = _mm256_permute2f128_ps::<0x20>(a, b);
        let high = _mm256_permute2f128_ps::<0x31>(a, b);
        [
            _mm256_shuffle_ps::<0b10_00_10_00>(low, high),
            _mm256_shuffle_ps::<0b11_01_11_01>(low, high),
        ]
    }
}

features! {Avx512 functions
    fn split_avx512(value: __m512) -> (__m512, __m512) {
        let fold = _mm512_set1_epi32(SQRT_HALF);
        let shifted = _mm512_sub_epi32(_mm512_castps_si512(value), fold);
        let exponent = _mm512_cvtepi32_ps(_mm512_srai_epi32::<23>(shifted));
        let mantissa = _mm512_add_epi32(
            _mm512_and_si512(shifted, _mm512_set1_epi32(0x007f_ffff)),
            fold,
        );
        (_mm512_castsi512_ps(mantissa), exponent)
    }

    fn guess_avx512(value: __m512) -> __m512 {
        let halves = _mm512_srli_epi32::<1>(_mm512_castps_si512(value));
        _mm512_castsi512_ps(_mm512_sub_epi32(_mm512_set1_epi32(MAGIC as i32), halves))
    }

    fn running_avx512(value: __m512) -> __m512 {
        let zero = _mm512_setzero_si512();
        let mut sums = value;
        macro_rules! add_lanes_below {
            ($($distance:literal),*) => {$(
                let lower = _mm512_alignr_epi32::<{ 16 - $distance }>(_mm512_castps_si512(sums), zero);
                sums = _mm512_add_ps(sums, _mm512_castsi512_ps(lower));
            )*};
        }
        add_lanes_below!(1, 2, 4, 8);
        sums
    }

    fn less_avx512(a: __m512, b: __m512) -> u32 {
        u32::from(_mm512_cmp_ps_mask::<_CMP_LT_OQ>(a, b))
    }

    fn less_or_equal_avx512(a: __m512, b: __m512) -> u32 {
        u32::from(_mm512_cmp_ps_mask::<_CMP_LE_OQ>(a, b))
    }
}

impl EightLanes for Avx2F32 {
    #[inline(always)]
    fn transpose(rows: [Self; 8]) -> [Self; 8] {
        let [a, b, c, d, e, f, g, h] = rows;
        // SAFETY: the type exists only where its instructions do.
        let [a, b, c, d, e, f, g, h] =
            unsafe { transpose_avx2([a.0, b.0, c.0, d.0, e.0, f.0, g.0, h.0]) };
        [
            Self(a),
            Self(b),
            Self(c),
            Self(d),
            Self(e),
            Self(f),
            Self(g),
            Self(h),
        ]
    }
    #[inline(always)]
    fn reverse(self) -> Self {
        // SAFETY: the type exists only where its instructions do.
        Self(unsafe { reverse_avx2(self.0) })
    }
    #[inline(always)]
    fn interleave(a: Self, b: Self) -> [Self; 2] {
        // SAFETY: the type exists only where its instructions do.
        let [first, last] = unsafe { interleave_avx2(a.0, b.0) };
        [Self(first), Self(last)]
    }
    #[inline(always)]
    fn deinterleave(pairs: [Self; 2]) -> [Self; 2] {
        // SAFETY: the type exists only where its instructions do.
        let [even, odd] = unsafe { deinterleave_avx2([pairs[0].0, pairs[1].0]) };
        [Self(even), Self(odd)]
    }
}

lanes_in_registers!(
    Avx2F32, in_avx2, div _mm256_div_ps, max _mm256_max_ps, min _mm256_min_ps, less less_avx2,
    less_or_equal less_or_equal_avx2, split split_avx2, guess guess_avx2, running running_avx2
);
lanes_in_registers!(
    Avx512F32, in_avx512, div _mm512_div_ps, max _mm512_max_ps, min _mm512_min_ps, less less_avx512,
    less_or_equal less_or_equal_avx512, split split_avx512, guess guess_avx512, running running_avx512
);
