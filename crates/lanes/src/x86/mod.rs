//! Vectors in AVX2 and AVX-512 registers.
//!
//! The types have no name outside of this crate, which uses them only where it holds the token of their
//! instruction set ([`HasAvx2`](crate::HasAvx2), [`HasAvx512`](crate::HasAvx512)): that is the obligation
//! behind every `unsafe` block here. One type is part of another's choice: a single fused lane has eight
//! points in AVX2 registers, and is chosen only by a token as well.

mod frames;
mod masked;

use std::arch::x86_64::*;

use crate::vector::Vector;
use crate::vector::sealed::Sealed;

/// Eight lanes of `f32`.
#[derive(Clone, Copy, Debug)]
#[repr(transparent)]
pub struct Avx2F32(__m256);
/// Four lanes of `f64`.
#[derive(Clone, Copy, Debug)]
#[repr(transparent)]
pub(crate) struct Avx2F64(__m256d);
/// Sixteen lanes of `f32`.
#[derive(Clone, Copy, Debug)]
#[repr(transparent)]
pub struct Avx512F32(__m512);
/// Eight lanes of `f64`.
#[derive(Clone, Copy, Debug)]
#[repr(transparent)]
pub(crate) struct Avx512F64(__m512d);

macro_rules! vector_in_registers {
    (
        $type:ident, $scalar:ty, $width:literal, splat $splat:ident, load $load:ident, store $store:ident,
        add $add:ident, sub $sub:ident, mul $mul:ident, sqrt $sqrt:ident, fmadd $fmadd:ident, fnmadd $fnmadd:ident
    ) => {
        impl Sealed for $type {}

        impl Vector for $type {
            type Scalar = $scalar;
            const WIDTH: usize = $width;

            #[inline(always)]
            fn splat(value: $scalar) -> Self {
                // SAFETY: the type exists only where its instructions do.
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
            fn add(self, other: Self) -> Self {
                // SAFETY: the type exists only where its instructions do.
                Self(unsafe { $add(self.0, other.0) })
            }
            #[inline(always)]
            fn sub(self, other: Self) -> Self {
                // SAFETY: the type exists only where its instructions do.
                Self(unsafe { $sub(self.0, other.0) })
            }
            #[inline(always)]
            fn mul(self, other: Self) -> Self {
                // SAFETY: the type exists only where its instructions do.
                Self(unsafe { $mul(self.0, other.0) })
            }
            #[inline(always)]
            fn sqrt(self) -> Self {
                // SAFETY: the type exists only where its instructions do.
                Self(unsafe { $sqrt(self.0) })
            }
            #[inline(always)]
            fn mul_add(self, factor: Self, addend: Self) -> Self {
                // SAFETY: the type exists only where its instructions do.
                Self(unsafe { $fmadd(self.0, factor.0, addend.0) })
            }
            #[inline(always)]
            fn neg_mul_add(self, factor: Self, addend: Self) -> Self {
                // SAFETY: the type exists only where its instructions do.
                Self(unsafe { $fnmadd(self.0, factor.0, addend.0) })
            }
        }
    };
}
vector_in_registers!(
    Avx2F32, f32, 8, splat _mm256_set1_ps, load _mm256_loadu_ps, store _mm256_storeu_ps,
    add _mm256_add_ps, sub _mm256_sub_ps, mul _mm256_mul_ps, sqrt _mm256_sqrt_ps, fmadd _mm256_fmadd_ps, fnmadd _mm256_fnmadd_ps
);
vector_in_registers!(
    Avx2F64, f64, 4, splat _mm256_set1_pd, load _mm256_loadu_pd, store _mm256_storeu_pd,
    add _mm256_add_pd, sub _mm256_sub_pd, mul _mm256_mul_pd, sqrt _mm256_sqrt_pd, fmadd _mm256_fmadd_pd, fnmadd _mm256_fnmadd_pd
);
vector_in_registers!(
    Avx512F32, f32, 16, splat _mm512_set1_ps, load _mm512_loadu_ps, store _mm512_storeu_ps,
    add _mm512_add_ps, sub _mm512_sub_ps, mul _mm512_mul_ps, sqrt _mm512_sqrt_ps, fmadd _mm512_fmadd_ps, fnmadd _mm512_fnmadd_ps
);
vector_in_registers!(
    Avx512F64, f64, 8, splat _mm512_set1_pd, load _mm512_loadu_pd, store _mm512_storeu_pd,
    add _mm512_add_pd, sub _mm512_sub_pd, mul _mm512_mul_pd, sqrt _mm512_sqrt_pd, fmadd _mm512_fmadd_pd, fnmadd _mm512_fnmadd_pd
);
