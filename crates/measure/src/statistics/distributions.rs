//! The distributions that intervals and tests are made of: normal, Student, binomial, Poisson.
//!
//! Each is exact to about 1e-12 over the range that statistics of samples need; the references in
//! the tests are standard table values.

use std::f64::consts::{PI, SQRT_2};

/// ln Γ(x) for x > 0 (Lanczos, g = 7, nine terms).
pub fn ln_gamma(x: f64) -> f64 {
    const TERMS: [f64; 9] = [
        0.999_999_999_999_809_9,
        676.520_368_121_885_1,
        -1_259.139_216_722_402_8,
        771.323_428_777_653_1,
        -176.615_029_162_140_6,
        12.507_343_278_686_905,
        -0.138_571_095_265_720_12,
        9.984_369_578_019_572e-6,
        1.505_632_735_149_311_6e-7,
    ];
    if x < 0.5 {
        return (PI / (PI * x).sin()).ln() - ln_gamma(1.0 - x);
    }
    let x = x - 1.0;
    let t = x + 7.5;
    let series: f64 = TERMS[0]
        + TERMS[1..]
            .iter()
            .enumerate()
            .map(|(i, term)| term / (x + i as f64 + 1.0))
            .sum::<f64>();
    0.5 * (2.0 * PI).ln() + (x + 0.5) * t.ln() - t + series.ln()
}

/// The complementary error function.
fn erfc(x: f64) -> f64 {
    if x < 0.0 {
        return 2.0 - erfc(-x);
    }
    if x < 2.5 {
        // Every term is positive, so nothing cancels.
        let mut term = x;
        let mut sum = x;
        let mut n = 0.0;
        while term > sum * 1e-17 {
            n += 1.0;
            term *= 2.0 * x * x / (2.0 * n + 1.0);
            sum += term;
        }
        return 1.0 - 2.0 / PI.sqrt() * (-x * x).exp() * sum;
    }
    // Continued fraction, evaluated from the tail.
    let mut fraction = 0.0;
    for k in (1..=60).rev() {
        fraction = 0.5 * f64::from(k) / (x + fraction);
    }
    (-x * x).exp() / PI.sqrt() / (x + fraction)
}

/// P(Z ≤ z) for a standard normal Z.
pub fn normal_cdf(z: f64) -> f64 {
    0.5 * erfc(-z / SQRT_2)
}

/// The z below which a standard normal falls with probability `p`; infinite at 0 and 1.
pub fn normal_quantile(p: f64) -> f64 {
    if p <= 0.0 {
        return f64::NEG_INFINITY;
    }
    if p >= 1.0 {
        return f64::INFINITY;
    }
    if p > 0.5 {
        return -normal_quantile(1.0 - p);
    }
    // Abramowitz & Stegun 26.2.23 as a start (error 4.5e-4), then Halley's method.
    let t = (-2.0 * p.ln()).sqrt();
    let mut z = -(t
        - (2.515_517 + 0.802_853 * t + 0.010_328 * t * t)
            / (1.0 + 1.432_788 * t + 0.189_269 * t * t + 0.001_308 * t * t * t));
    for _ in 0..3 {
        let error = (normal_cdf(z) - p) * (2.0 * PI).sqrt() * (0.5 * z * z).exp();
        z -= error / (1.0 + 0.5 * z * error);
    }
    z
}

/// The regularised incomplete beta function I_x(a, b).
pub fn incomplete_beta(a: f64, b: f64, x: f64) -> f64 {
    if x <= 0.0 {
        return 0.0;
    }
    if x >= 1.0 {
        return 1.0;
    }
    if x > (a + 1.0) / (a + b + 2.0) {
        return 1.0 - incomplete_beta(b, a, 1.0 - x);
    }
    let front =
        (ln_gamma(a + b) - ln_gamma(a) - ln_gamma(b) + a * x.ln() + b * (-x).ln_1p()).exp() / a;
    // Lentz's method; about sqrt(max(a, b)) terms are needed.
    const TINY: f64 = 1e-300;
    let limit = 200 + (10.0 * a.max(b).sqrt()) as usize;
    let (mut c, mut d) = (1.0, 1.0 / guard(1.0 - (a + b) * x / (a + 1.0)));
    let mut fraction = d;
    fn guard(value: f64) -> f64 {
        if value.abs() < TINY { TINY } else { value }
    }
    for m in 1..limit {
        let m = m as f64;
        for numerator in [
            m * (b - m) * x / ((a + 2.0 * m - 1.0) * (a + 2.0 * m)),
            -(a + m) * (a + b + m) * x / ((a + 2.0 * m) * (a + 2.0 * m + 1.0)),
        ] {
            d = 1.0 / guard(1.0 + numerator * d);
            c = guard(1.0 + numerator / c);
            fraction *= c * d;
        }
        if (c * d - 1.0).abs() < 1e-15 {
            break;
        }
    }
    front * fraction
}

/// P(T ≤ t) for Student's T with `freedom` degrees of freedom (not necessarily whole).
pub fn student_cdf(t: f64, freedom: f64) -> f64 {
    if t.is_infinite() {
        return if t > 0.0 { 1.0 } else { 0.0 };
    }
    let tail = 0.5 * incomplete_beta(0.5 * freedom, 0.5, freedom / (freedom + t * t));
    if t > 0.0 { 1.0 - tail } else { tail }
}

/// The t below which Student's T falls with probability `p`.
pub fn student_quantile(p: f64, freedom: f64) -> f64 {
    if p == 0.5 {
        return 0.0;
    }
    if p < 0.5 {
        return -student_quantile(1.0 - p, freedom);
    }
    // The tail probability is what stays exact far out, so bisection works on it.
    let tail = 1.0 - p;
    let (mut low, mut high) = (0.0, 2.0);
    while student_cdf(-high, freedom) > tail && high < 1e12 {
        low = high;
        high *= 2.0;
    }
    for _ in 0..100 {
        let middle = 0.5 * (low + high);
        if student_cdf(-middle, freedom) > tail {
            low = middle;
        } else {
            high = middle;
        }
        if high - low <= 1e-13 * high {
            break;
        }
    }
    0.5 * (low + high)
}

/// P(X ≤ k) for X binomial with `n` trials of probability `p`.
pub fn binomial_cdf(k: i64, n: u64, p: f64) -> f64 {
    if k < 0 {
        return 0.0;
    }
    if k as u64 >= n {
        return 1.0;
    }
    incomplete_beta((n as f64) - k as f64, k as f64 + 1.0, 1.0 - p)
}

/// The smallest k with P(X ≤ k) ≥ `q`.
pub fn binomial_quantile(q: f64, n: u64, p: f64) -> u64 {
    let (mut low, mut high) = (-1i64, n as i64);
    // The normal approximation brackets the answer; the bracket is checked before it is used.
    let centre = n as f64 * p + normal_quantile(q) * (n as f64 * p * (1.0 - p)).sqrt();
    if centre.is_finite() {
        let reach = 3.0 + 0.05 * (n as f64 * p * (1.0 - p)).sqrt();
        let (guess_low, guess_high) = ((centre - reach) as i64, (centre + reach) as i64);
        if guess_low > low && guess_low < high && binomial_cdf(guess_low, n, p) < q {
            low = guess_low;
        }
        if guess_high > low && guess_high < high && binomial_cdf(guess_high, n, p) >= q {
            high = guess_high;
        }
    }
    while high - low > 1 {
        let middle = low + (high - low) / 2;
        if binomial_cdf(middle, n, p) >= q {
            high = middle;
        } else {
            low = middle;
        }
    }
    high as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn close(actual: f64, expected: f64, relative: f64) {
        assert!(
            (actual - expected).abs() <= relative * expected.abs(),
            "{actual} is not {expected}"
        );
    }

    #[test]
    fn the_normal_matches_its_tables_far_into_the_tails() {
        close(normal_cdf(1.959_963_984_540_054), 0.975, 1e-12);
        close(normal_cdf(-6.0), 9.865_876_450_376_98e-10, 1e-11);
        close(normal_quantile(0.975), 1.959_963_984_540_054, 1e-12);
        close(normal_quantile(1e-9), -5.997_807_015_007_687, 1e-11);
        close(normal_quantile(0.3), -0.524_400_512_708_040_7, 1e-11);
    }

    #[test]
    fn student_matches_its_tables() {
        close(student_quantile(0.975, 1.0), 12.706_204_736_174_7, 1e-9);
        close(student_quantile(0.975, 9.0), 2.262_157_162_740_992, 1e-10);
        close(student_quantile(0.995, 30.0), 2.749_995_653_567_223, 1e-10);
        close(student_cdf(2.0, 5.0), 0.949_030_260_585_071, 1e-11);
        close(student_quantile(0.01, 4.0), -3.746_947_387_979_197, 1e-10);
    }

    #[test]
    fn the_binomial_matches_its_sum() {
        // Σ_{k≤3} C(10,k)/1024 = 176/1024
        close(binomial_cdf(3, 10, 0.5), 0.171_875, 1e-12);
        assert_eq!(binomial_quantile(0.025, 100, 0.5), 40);
        assert_eq!(binomial_quantile(0.975, 100, 0.5), 60);
        assert_eq!(binomial_quantile(0.5, 1, 0.3), 0);
    }

    #[test]
    fn the_binomial_quantile_is_the_smallest_k_that_reaches() {
        for n in [1u64, 7, 60, 999, 100_000, 1_000_000] {
            for p in [0.01, 0.3, 0.5, 0.99, 0.999] {
                for q in [0.025, 0.5, 0.975] {
                    let k = binomial_quantile(q, n, p) as i64;
                    assert!(binomial_cdf(k, n, p) >= q, "n {n} p {p} q {q}");
                    assert!(binomial_cdf(k - 1, n, p) < q, "n {n} p {p} q {q}");
                }
            }
        }
    }
}
