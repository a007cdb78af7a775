//! The specification.

use warpsmith_lanes::for_each_set;

for_each_set! {
    /// The specification, compiled to the instruction where there is one instead of a call of the C
    /// library's `fmaf`.
    pub(super) fn saxpy = saxpy_in(a: f32, x: &[f32], y: &[f32], out: &mut [f32])
}

/// `mul_add` rounds once.
#[inline(always)]
fn saxpy_in(a: f32, x: &[f32], y: &[f32], out: &mut [f32]) {
    for ((out, x), y) in out.iter_mut().zip(x).zip(y) {
        *out = a.mul_add(*x, *y);
    }
}

#[cfg(test)]
mod tests {
    use warpsmith_lanes::InstructionSet;
    use warpsmith_workload::random::Random;

    use super::*;

    #[test]
    fn one_rounding_not_two() {
        // a·x needs 25 bits; rounding the product first would lose the last one.
        let (a, x, y) = (1.0 + f32::EPSILON, 1.0 - f32::EPSILON, -1.0);
        for set in InstructionSet::present() {
            let mut out = [0.0];
            saxpy(set, a, &[x], &[y], &mut out);
            assert_eq!(out[0], -f32::EPSILON * f32::EPSILON, "{set}");
            assert_ne!(out[0], a * x + y, "{set}");
        }
    }

    #[test]
    fn the_fast_form_equals_the_specification_at_every_tail_length() {
        let mut random = Random::seeded(5);
        for n in 0..70 {
            let mut vector = || (0..n).map(|_| random.unit() as f32).collect::<Vec<_>>();
            let (x, y) = (vector(), vector());
            let mut plain = vec![f32::NAN; n];
            saxpy_in(1.618_034, &x, &y, &mut plain);
            for set in InstructionSet::present() {
                let mut fast = vec![f32::NAN; n];
                saxpy(set, 1.618_034, &x, &y, &mut fast);
                assert_eq!(fast, plain, "{set}");
            }
        }
    }
}
