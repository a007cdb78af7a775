//! Scaled dot-product attention: every query takes the mean of the values, weighted by the softmax of
//! its products with the keys.

use crate::error::{ArgumentError, Result};
use crate::strands;
use warpsmith_lanes::{Task, exp, with_widest};

/// The shape of an attention over `[head, token, width]`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Attention {
    /// Heads.
    pub heads: usize,
    /// Tokens of each head: queries, keys and values.
    pub tokens: usize,
    /// Numbers of a query.
    pub width: usize,
    /// Whether a query is kept from later keys.
    pub causal: bool,
}

impl Attention {
    /// What products are multiplied with: `1/√width`.
    pub fn scale(&self) -> f32 {
        (1.0 / (self.width as f64).sqrt()) as f32
    }
}

/// Attention of every head, into `out`.
pub fn attend(
    shape: Attention,
    query: &[f32],
    key: &[f32],
    value: &[f32],
    out: &mut [f32],
) -> Result<()> {
    let Attention {
        heads,
        tokens,
        width,
        ..
    } = shape;
    let expected = heads * tokens * width;
    for (what, found) in [
        ("the queries", query.len()),
        ("the keys", key.len()),
        ("the values", value.len()),
        ("the result", out.len()),
    ] {
        ArgumentError::expect_size(what, found, expected)?;
    }
    if tokens * width == 0 {
        return Ok(());
    }
    with_widest(Heads {
        shape,
        inputs: [query, key, value],
        out,
    });
    Ok(())
}

/// Whole heads.
struct Heads<'a> {
    shape: Attention,
    inputs: [&'a [f32]; 3],
    out: &'a mut [f32],
}

impl Task for Heads<'_> {
    #[inline(always)]
    fn run(self) {
        let Attention {
            tokens,
            width,
            causal,
            ..
        } = self.shape;
        let scale = f64::from(self.shape.scale());
        let mut scores = vec![0.0f32; tokens];
        let mut sums = vec![0.0f64; width];
        let head = tokens * width;
        let [query, key, value] = self.inputs.map(|input| input.chunks_exact(head));
        for (((query, key), value), out) in query
            .zip(key)
            .zip(value)
            .zip(self.out.chunks_exact_mut(head))
        {
            let rows = query.chunks_exact(width).zip(out.chunks_exact_mut(width));
            for (token, (query, out)) in rows.enumerate() {
                let seen = if causal { token + 1 } else { tokens };
                let scores = &mut scores[..seen];
                for (score, key) in scores.iter_mut().zip(key.chunks_exact(width)) {
                    *score = (strands::dot(query, key) * scale) as f32;
                }
                let largest = strands::largest(scores);
                for score in &mut *scores {
                    *score = exp(*score - largest);
                }
                sums.fill(0.0);
                for (share, value) in scores.iter().zip(value.chunks_exact(width)) {
                    let share = f64::from(*share);
                    for (sum, value) in sums.iter_mut().zip(value) {
                        *sum += share * f64::from(*value);
                    }
                }
                let total = strands::sum(scores, |share| share);
                for (slot, sum) in out.iter_mut().zip(&sums) {
                    *slot = (sum / total) as f32;
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_keys_give_the_mean_and_the_first_causal_query_its_own_value() {
        let shape = Attention {
            heads: 1,
            tokens: 3,
            width: 2,
            causal: false,
        };
        let query = [0.3, -0.2, 5.0, 1.0, 0.0, 0.0];
        let key = [1.0; 6];
        let value = [3.0, 0.0, 6.0, 3.0, 0.0, 3.0];
        let mut out = [f32::NAN; 6];
        attend(shape, &query, &key, &value, &mut out).unwrap();
        assert_eq!(out, [3.0, 2.0, 3.0, 2.0, 3.0, 2.0]);
        let causal = Attention {
            causal: true,
            ..shape
        };
        attend(causal, &query, &key, &value, &mut out).unwrap();
        assert_eq!(out, [3.0, 0.0, 4.5, 1.5, 3.0, 2.0]);
    }

    #[test]
    fn a_score_weighs_by_its_exponential_over_the_root_of_the_width() {
        let shape = Attention {
            heads: 1,
            tokens: 2,
            width: 4,
            causal: false,
        };
        // Products 2·ln 3 and 0 over √4: weights 3 and 1.
        let ln3 = 3f32.ln();
        let query = [2.0, 0.0, 0.0, 0.0, 2.0, 0.0, 0.0, 0.0];
        let key = [ln3, 0.0, 0.0, 0.0, 0.0, 1.0, 1.0, 1.0];
        let value = [4.0, 0.0, 0.0, 8.0, 0.0, 4.0, 0.0, 8.0];
        let mut out = [f32::NAN; 8];
        attend(shape, &query, &key, &value, &mut out).unwrap();
        for (value, expected) in out.iter().zip([3.0, 1.0, 0.0, 8.0, 3.0, 1.0, 0.0, 8.0]) {
            assert!((value - expected).abs() < 1e-6, "{out:?}");
        }
    }
}
