//! Memory fetched before it is needed. Rows of a `[bin, frame]` matrix lie pages apart, which no processor
//! foresees; fetched while a transform is going on, they arrive in its shadow.

/// Asks for what lies in `place` of a share of the rows, which have `frames` values each: of number
/// `share.0` of `share.1` equal shares.
#[inline(always)]
pub(crate) fn prefetch_rows<T>(
    matrix: &[T],
    frames: usize,
    place: std::ops::Range<usize>,
    share: (usize, usize),
) {
    let rows = matrix.len() / frames;
    for row in rows * share.0 / share.1..rows * (share.0 + 1) / share.1 {
        prefetch(&matrix[row * frames..][place.clone()]);
    }
}

/// Asks for all lines of `values`.
#[inline(always)]
fn prefetch<T>(values: &[T]) {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::{_MM_HINT_T1, _mm_prefetch};
        const LINE: usize = 64;
        for at in (0..size_of_val(values)).step_by(LINE) {
            // SAFETY: the address lies inside the slice, and a prefetch reads nothing.
            unsafe { _mm_prefetch::<_MM_HINT_T1>(values.as_ptr().cast::<i8>().add(at)) };
        }
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = values;
}
