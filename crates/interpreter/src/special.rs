//! Functions that the standard library lacks: inverse error functions and the random generator.

/// One step of O'Neill's permuted congruential generator with 32 bits of state, used as a hash.
#[inline(always)]
pub(super) fn pcg(state: u32) -> u32 {
    let word = state.wrapping_mul(747_796_405).wrapping_add(2_891_336_453);
    let mixed = ((word >> ((word >> 28) + 4)) ^ word).wrapping_mul(277_803_737);
    (mixed >> 22) ^ mixed
}

/// 2 / sqrt(pi).
const SLOPE: f64 = std::f64::consts::FRAC_2_SQRT_PI;

/// The inverse of the complementary error function: Newton's method on the complement, which keeps its
/// accuracy in the tails, from Hastings' rational approximation of the normal quantile.
pub(super) fn erfcinv(q: f64) -> f64 {
    if !(0.0..=2.0).contains(&q) {
        return f64::NAN;
    }
    if q == 0.0 {
        return f64::INFINITY;
    }
    if q > 1.0 {
        return -erfcinv(2.0 - q);
    }
    let t = (-2.0 * (0.5 * q).ln()).sqrt();
    let numerator = 2.515_517 + t * (0.802_853 + t * 0.010_328);
    let denominator = 1.0 + t * (1.432_788 + t * (0.189_269 + t * 0.001_308));
    let mut x = std::f64::consts::FRAC_1_SQRT_2 * (t - numerator / denominator);
    for _ in 0..6 {
        let next = x + (libm::erfc(x) - q) / (SLOPE * (-x * x).exp());
        // A fixed point: further steps would stay there.
        if next == x {
            break;
        }
        x = next;
    }
    x
}

/// The inverse of the error function.
pub(super) fn erfinv(p: f64) -> f64 {
    if p.abs() > 0.5 {
        return erfcinv(1.0 - p);
    }
    let mut x = p / SLOPE;
    for _ in 0..8 {
        let next = x - (libm::erf(x) - p) / (SLOPE * (-x * x).exp());
        if next == x {
            break;
        }
        x = next;
    }
    x
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn inverse_error_functions_undo_error_functions() {
        for step in -30..=30 {
            let x = f64::from(step) * 0.1;
            assert!(
                (erfinv(libm::erf(x)) - x).abs() < 1e-9 * (1.0 + (x * x).exp() * 1e-6),
                "{x}"
            );
            assert!((erfcinv(libm::erfc(x)) - x).abs() < 1e-9, "{x}");
        }
    }
}
