//! The norm of a gradient, and the clipping that keeps it from growing.

use crate::strands;
use warpsmith_lanes::{Task, with_widest};

/// The root of the sum of squares, summed in f64.
pub fn gradient_norm(gradient: &[f32]) -> f32 {
    sum_of_squares(gradient).sqrt() as f32
}

/// The sum of squares, for who takes the root of many.
pub(crate) fn sum_of_squares(values: &[f32]) -> f64 {
    let mut sum = 0.0;
    with_widest(Squares {
        values,
        sum: &mut sum,
    });
    sum
}

struct Squares<'a> {
    values: &'a [f32],
    sum: &'a mut f64,
}

impl Task for Squares<'_> {
    #[inline(always)]
    fn run(self) {
        *self.sum = strands::sum(self.values, |x| x * x);
    }
}

/// Scales `gradient` down to `largest_norm` where its norm is larger; returns the norm before.
pub fn clip_gradient(gradient: &mut [f32], largest_norm: f32) -> f32 {
    let norm = gradient_norm(gradient);
    if norm > largest_norm {
        let scale = largest_norm / norm;
        for x in gradient {
            *x *= scale;
        }
    }
    norm
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_gradient_is_shortened_and_a_short_one_left_alone() {
        let mut gradient = [3.0, -4.0, 0.0];
        assert_eq!(clip_gradient(&mut gradient, 10.0), 5.0);
        assert_eq!(gradient, [3.0, -4.0, 0.0]);
        assert_eq!(clip_gradient(&mut gradient, 2.5), 5.0);
        assert_eq!(gradient, [1.5, -2.0, 0.0]);
        assert_eq!(clip_gradient(&mut [], 1.0), 0.0);
    }

    #[test]
    fn ten_million_small_numbers_do_not_vanish() {
        let gradient = vec![1e-3f32; 10_000_000];
        assert!((gradient_norm(&gradient) - 3.162_277_7).abs() < 1e-5);
    }
}
