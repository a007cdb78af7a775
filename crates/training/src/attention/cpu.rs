//! Scaled dot-product attention: every query takes the mean of the values, weighted by the softmax of
//! its products with the keys.

use crate::error::{ArgumentError, Result};
use crate::matmul::Bf16;
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

/// The same over bf16: computed as from the numbers in f32, and rounded once at the end.
pub fn attend_bf16(
    shape: Attention,
    query: &[Bf16],
    key: &[Bf16],
    value: &[Bf16],
    out: &mut [Bf16],
) -> Result<()> {
    let wide = |numbers: &[Bf16]| numbers.iter().map(|&x| f32::from(x)).collect::<Vec<f32>>();
    let mut result = vec![0.0; out.len()];
    attend(shape, &wide(query), &wide(key), &wide(value), &mut result)?;
    for (slot, number) in out.iter_mut().zip(result) {
        *slot = number.into();
    }
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
    use warpsmith_workload::random::Random;

    use super::*;
    use crate::operation::normal_numbers;

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

    /// The definition in f64, straight from the numbers, for one head.
    fn by_definition(shape: Attention, inputs: [&[f64]; 3]) -> Vec<f64> {
        let Attention { tokens, width, .. } = shape;
        let [query, key, value] = inputs.map(|input| input.chunks_exact(width));
        let (key, value): (Vec<_>, Vec<_>) = (key.collect(), value.collect());
        let mut out = Vec::new();
        for (token, query) in query.enumerate() {
            let seen = if shape.causal { token + 1 } else { tokens };
            let weigh = |key: &&[f64]| {
                let product: f64 = query.iter().zip(*key).map(|(q, k)| q * k).sum();
                (product / (width as f64).sqrt()).exp()
            };
            let weights: Vec<f64> = key[..seen].iter().map(weigh).collect();
            let total: f64 = weights.iter().sum();
            out.extend((0..width).map(|column| {
                let terms = weights.iter().zip(&value).map(|(w, v)| w * v[column]);
                terms.sum::<f64>() / total
            }));
        }
        out
    }

    #[test]
    fn results_are_those_of_the_definition_in_f64() {
        let mut random = Random::seeded(7);
        for (tokens, width, causal) in [(1, 64, false), (75, 64, true), (33, 128, false)] {
            let shape = Attention {
                heads: 1,
                tokens,
                width,
                causal,
            };
            let inputs: [Vec<Bf16>; 3] = std::array::from_fn(|_| {
                let numbers = normal_numbers(&mut random, tokens * width);
                numbers.into_iter().map(Bf16::from).collect()
            });
            let as_f32 = inputs
                .each_ref()
                .map(|input| input.iter().map(|&x| f32::from(x)).collect::<Vec<_>>());
            let as_f64 = as_f32
                .each_ref()
                .map(|input| input.iter().map(|&x| f64::from(x)).collect::<Vec<_>>());
            let expected = by_definition(shape, as_f64.each_ref().map(Vec::as_slice));
            let mut single = vec![f32::NAN; tokens * width];
            attend(shape, &as_f32[0], &as_f32[1], &as_f32[2], &mut single).unwrap();
            let mut half = vec![Bf16::from(f32::NAN); tokens * width];
            attend_bf16(shape, &inputs[0], &inputs[1], &inputs[2], &mut half).unwrap();
            for ((single, half), expected) in single.iter().zip(&half).zip(expected) {
                assert!((f64::from(*single) - expected).abs() < 1e-6);
                // Half a unit in the last place of eight bits, and what the f32 is off.
                let error = (f64::from(f32::from(*half)) - expected).abs();
                assert!(
                    error <= expected.abs() / 256.0 + 1e-6,
                    "{error} of {expected}"
                );
            }
        }
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
