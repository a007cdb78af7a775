//! Softmax over rows: exponentials of what lies below the row's largest, as shares of their sum.

use crate::error::{Result, check_rows};
use crate::strands;
use warpsmith_lanes::{Task, exp, with_widest};

/// The softmax of every row of `width` numbers of `x`, into `out`.
pub fn softmax_rows(x: &[f32], width: usize, out: &mut [f32]) -> Result<()> {
    check_rows(x, width, out)?;
    with_widest(Rows { x, width, out });
    Ok(())
}

/// Whole rows.
struct Rows<'a> {
    x: &'a [f32],
    width: usize,
    out: &'a mut [f32],
}

impl Task for Rows<'_> {
    #[inline(always)]
    fn run(self) {
        let rows = self.x.chunks_exact(self.width);
        for (row, out) in rows.zip(self.out.chunks_exact_mut(self.width)) {
            let largest = strands::largest(row);
            for (slot, x) in out.iter_mut().zip(row) {
                *slot = exp(x - largest);
            }
            let sum = strands::sum(out, |share| share);
            for slot in out {
                *slot = (f64::from(*slot) / sum) as f32;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_sum_to_one_and_large_numbers_do_not_overflow() {
        let mut out = [f32::NAN; 6];
        softmax_rows(
            &[0.0, 2f32.ln(), 5f32.ln(), 1000.0, 1000.0, -1000.0],
            3,
            &mut out,
        )
        .unwrap();
        for (value, expected) in out.iter().zip([0.125, 0.25, 0.625, 0.5, 0.5, 0.0]) {
            assert!((value - expected).abs() < 1e-7);
        }
        assert!(softmax_rows(&[1.0; 5], 2, &mut [0.0; 5]).is_err());
    }
}
