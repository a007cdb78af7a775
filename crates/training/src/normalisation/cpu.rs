//! Layer norm: every row to mean 0 and variance 1, then scaled and shifted by column.

use crate::error::{ArgumentError, Result, check_rows};
use crate::gelu::Gelu;
use crate::strands;
use warpsmith_lanes::{Task, with_widest};

/// The parameters of a layer norm.
#[derive(Clone, Debug, PartialEq)]
pub struct LayerNorm {
    /// What each column is multiplied with.
    pub scale: Vec<f32>,
    /// What is added to each column.
    pub shift: Vec<f32>,
    /// Added to the variance (PyTorch: 1e-5).
    pub epsilon: f32,
    /// An activation that follows, fused.
    pub activation: Option<Gelu>,
}

impl LayerNorm {
    /// Normalises the rows of `x` into `out`.
    pub fn rows_into(&self, x: &[f32], out: &mut [f32]) -> Result<()> {
        let width = self.scale.len();
        ArgumentError::expect_size("the shift", self.shift.len(), width)?;
        check_rows(x, width, out)?;
        with_widest(Rows { norm: self, x, out });
        Ok(())
    }
}

/// Whole rows.
struct Rows<'a> {
    norm: &'a LayerNorm,
    x: &'a [f32],
    out: &'a mut [f32],
}

impl Task for Rows<'_> {
    #[inline(always)]
    fn run(self) {
        let LayerNorm { scale, shift, .. } = self.norm;
        let width = scale.len();
        let (count, epsilon) = (width as f64, f64::from(self.norm.epsilon));
        let rows = self.x.chunks_exact(width);
        for (row, out) in rows.zip(self.out.chunks_exact_mut(width)) {
            let mean = strands::sum(row, |x| x) / count;
            let squares = strands::sum(row, |x| (x - mean) * (x - mean));
            let deviation = (squares / count + epsilon).sqrt();
            let columns = scale.iter().zip(shift);
            for ((slot, x), (scale, shift)) in out.iter_mut().zip(row).zip(columns) {
                let normal = ((f64::from(*x) - mean) / deviation) as f32;
                *slot = normal.mul_add(*scale, *shift);
            }
            if let Some(activation) = self.norm.activation {
                activation.apply(out);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_of_known_moments_is_normalised_exactly() {
        let norm = LayerNorm {
            scale: vec![1.0, 2.0],
            shift: vec![0.0, 10.0],
            epsilon: 0.0,
            activation: None,
        };
        let mut out = [f32::NAN; 4];
        norm.rows_into(&[1.0, 3.0, 1e6, 1e6 + 2.0], &mut out)
            .unwrap();
        assert_eq!(out, [-1.0, 12.0, -1.0, 12.0]);
        let fused = LayerNorm {
            activation: Some(Gelu::Exact),
            ..norm.clone()
        };
        let mut activated = [f32::NAN; 4];
        fused
            .rows_into(&[1.0, 3.0, 1e6, 1e6 + 2.0], &mut activated)
            .unwrap();
        assert_eq!(
            activated.map(f32::to_bits),
            out.map(|x| Gelu::Exact.of(x).to_bits())
        );
        assert!(norm.rows_into(&[1.0], &mut [0.0]).is_err());
    }

    #[test]
    fn a_constant_row_is_its_shift() {
        let norm = LayerNorm {
            scale: vec![3.0; 5],
            shift: vec![0.25; 5],
            epsilon: 1e-5,
            activation: None,
        };
        let mut out = [f32::NAN; 5];
        norm.rows_into(&[7.0; 5], &mut out).unwrap();
        assert_eq!(out, [0.25; 5]);
    }
}
