//! Linear prediction: the all-pole filter that best predicts a frame from its own past (Burg 1967),
//! and the roots of its polynomial.

/// Coefficients `a₁…a_order` of `x[n] ≈ −Σ a_k·x[n−k]` by Burg's method, which is always stable.
/// All zero for a silent frame.
#[inline(always)]
pub fn burg(frame: &[f64], order: usize) -> Vec<f64> {
    by_correlations(frame, order).unwrap_or_else(|| by_errors(frame, order))
}

/// The highest order that goes by correlations.
const MOST: usize = 30;

/// The same coefficients from the frame's correlations and its ends alone, an order in as many steps as it has
/// coefficients (Vos 2013). `None` where the errors become so small beside the frame that what rounding left
/// in the correlations would show.
#[inline(always)]
fn by_correlations(frame: &[f64], order: usize) -> Option<Vec<f64>> {
    if order > MOST || order == 0 || frame.len() < 2 * (order + 4) {
        return None;
    }
    let x = |n: usize| frame[n];
    let from_end = |n: usize| frame[frame.len() - 1 - n];
    let mut c = [0.0f64; MOST + 2];
    correlations(frame, &mut c[..=order]);
    // With R the correlations of the samples and their predecessors, from both ends, `g` is R·(a, 0) and `r`
    // is R's last row.
    let (mut a, mut g, mut r) = ([0.0f64; MOST + 2], [0.0; MOST + 2], [0.0; MOST + 2]);
    a[0] = 1.0;
    (g[0], g[1]) = (
        2.0 * c[0] - x(0) * x(0) - from_end(0) * from_end(0),
        2.0 * c[1],
    );
    r[0] = 2.0 * c[1];
    let whole = g[0];
    for m in 0..order {
        let energy: f64 = (0..=m).map(|i| a[i] * g[i]).sum();
        if energy.is_nan() || energy <= 1e-8 * whole || energy <= f64::MIN_POSITIVE {
            return None;
        }
        let cross: f64 = (0..=m).map(|i| a[i] * g[m + 1 - i]).sum();
        let reflection = -cross / energy;
        let before = a;
        for i in 1..=m + 1 {
            a[i] += reflection * before[m + 1 - i];
        }
        if m + 1 == order {
            break;
        }
        let (old_g, old_r) = (g, r);
        let (mut start, mut end) = (0.0, 0.0);
        for (i, a) in a[..=m + 1].iter().enumerate() {
            start += x(m + 1 - i) * a;
            end += from_end(m + 1 - i) * a;
        }
        for i in 0..=m + 1 {
            g[i] +=
                reflection * old_g[m + 1 - i] - x(m + 1 - i) * start - from_end(m + 1 - i) * end;
        }
        r[0] = 2.0 * c[m + 2];
        for i in 1..=m + 1 {
            r[i] = old_r[i - 1] - x(i - 1) * x(m + 1) - from_end(i - 1) * from_end(m + 1);
        }
        g[m + 2] = (0..=m + 1).map(|i| r[i] * a[i]).sum();
    }
    Some(a[1..=order].to_vec())
}

/// `Σ x[n]·x[n+lag]` for every lag from 0 on, four lags together, each in eight partial sums.
#[inline(always)]
fn correlations(frame: &[f64], lags: &mut [f64]) {
    for (group, lags) in lags.chunks_mut(4).enumerate() {
        let from = |lag: usize| frame[4 * group + lag..].as_chunks::<8>().0;
        let [mut a, mut b, mut c, mut d] = [[0.0f64; 8]; 4];
        let there = from(0).iter().zip(from(1)).zip(from(2)).zip(from(3));
        let here = frame.as_chunks::<8>().0;
        for (here, (((at, bt), ct), dt)) in here.iter().zip(there) {
            for lane in 0..8 {
                a[lane] += here[lane] * at[lane];
                b[lane] += here[lane] * bt[lane];
                c[lane] += here[lane] * ct[lane];
                d[lane] += here[lane] * dt[lane];
            }
        }
        let done = 8 * from(3).len();
        for (lag, (slot, sums)) in lags.iter_mut().zip([a, b, c, d]).enumerate() {
            let pairs = frame.iter().zip(&frame[4 * group + lag..]);
            let rest: f64 = pairs.skip(done).map(|(a, b)| a * b).sum();
            *slot = sums.iter().sum::<f64>() + rest;
        }
    }
}

/// The same coefficients from the errors of every order.
#[inline(always)]
fn by_errors(frame: &[f64], order: usize) -> Vec<f64> {
    let mut a = vec![0.0; order];
    let (mut forward, mut backward) = (frame.to_vec(), frame.to_vec());
    let mut previous = vec![0.0; order];
    // Entry n of these is the error of predicting sample m+1+n forward and sample m+n backward: an
    // order further, the first of the one and the last of the other have no partner.
    let (mut forward, mut backward) = (&mut forward[..], &mut backward[..]);
    for m in 0..order.min(frame.len().saturating_sub(1)) {
        forward = &mut forward[1..];
        let last = backward.len() - 1;
        backward = &mut backward[..last];
        let [cross, energy] = products(forward, backward);
        if energy <= f64::MIN_POSITIVE {
            break;
        }
        let reflection = -2.0 * cross / energy;
        previous[..m].copy_from_slice(&a[..m]);
        let mirrored = previous[..m].iter().zip(previous[..m].iter().rev());
        for (slot, (here, there)) in a.iter_mut().zip(mirrored) {
            *slot = here + reflection * there;
        }
        a[m] = reflection;
        for (f, b) in forward.iter_mut().zip(backward.iter_mut()) {
            (*f, *b) = (*f + reflection * *b, *b + reflection * *f);
        }
    }
    a
}

/// `Σ f·b` and `Σ (f² + b²)`, in eight partial sums that a machine adds side by side.
#[inline(always)]
fn products(forward: &[f64], backward: &[f64]) -> [f64; 2] {
    let (mut cross, mut energy) = ([0.0f64; 8], [0.0f64; 8]);
    let ((f, f_rest), (b, b_rest)) = (forward.as_chunks::<8>(), backward.as_chunks::<8>());
    for (f, b) in f.iter().zip(b) {
        for lane in 0..8 {
            cross[lane] += f[lane] * b[lane];
            energy[lane] += f[lane] * f[lane] + b[lane] * b[lane];
        }
    }
    for (lane, (f, b)) in f_rest.iter().zip(b_rest).enumerate() {
        cross[lane] += f * b;
        energy[lane] += f * f + b * b;
    }
    [cross.iter().sum(), energy.iter().sum()]
}

/// Polynomials whose roots are looked for side by side.
pub const ROOTS_TOGETHER: usize = 16;

/// A complex number to each polynomial.
type Numbers = [[f64; ROOTS_TOGETHER]; 2];

/// The roots `(re, im)` of every `zⁿ + a₁zⁿ⁻¹ + … + a_n`, all of one order, by the simultaneous iteration of
/// Aberth and Ehrlich.
#[inline(always)]
pub fn polynomial_roots(polynomials: &[Vec<f64>]) -> Vec<Vec<(f64, f64)>> {
    let mut found = Vec::with_capacity(polynomials.len());
    for polynomials in polynomials.chunks(ROOTS_TOGETHER) {
        let order = polynomials[0].len();
        let mut a = vec![[0.0; ROOTS_TOGETHER]; order];
        for (k, a) in a.iter_mut().enumerate() {
            for (lane, slot) in a.iter_mut().enumerate() {
                // Lanes that are left go with the first polynomial, and are done when it is.
                *slot = polynomials.get(lane).unwrap_or(&polynomials[0])[k];
            }
        }
        // A circle inside the unit circle, off the real axis, where a stable filter has its roots.
        let mut z: Vec<Numbers> = (0..order)
            .map(|k| {
                let angle = std::f64::consts::TAU * (k as f64 + 0.25) / order as f64 + 0.1;
                [
                    [0.9 * angle.cos(); ROOTS_TOGETHER],
                    [0.9 * angle.sin(); ROOTS_TOGETHER],
                ]
            })
            .collect();
        for _ in 0..100 {
            // The error goes by its cube from step to step: what is left after such a step is below
            // rounding.
            if sweep(&a, &mut z) < 1e-14 {
                break;
            }
        }
        let of_lane = |lane: usize| z.iter().map(|z| (z[0][lane], z[1][lane])).collect();
        found.extend((0..polynomials.len()).map(of_lane));
    }
    found
}

/// Moves every root once; returns the square of the longest step.
#[inline(always)]
fn sweep(a: &[[f64; ROOTS_TOGETHER]], z: &mut [Numbers]) -> f64 {
    let mut moved = [0.0f64; ROOTS_TOGETHER];
    for k in 0..z.len() {
        let here = z[k];
        let [mut p, mut slope, mut others] = [[[0.0f64; ROOTS_TOGETHER]; 2]; 3];
        p[0] = [1.0; ROOTS_TOGETHER];
        for a in a {
            for lane in 0..ROOTS_TOGETHER {
                let z = (here[0][lane], here[1][lane]);
                let (value, rise) = ((p[0][lane], p[1][lane]), (slope[0][lane], slope[1][lane]));
                (slope[0][lane], slope[1][lane]) = plus(times(rise, z), value);
                (p[0][lane], p[1][lane]) = plus(times(value, z), (a[lane], 0.0));
            }
        }
        for (j, other) in z.iter().enumerate() {
            if j == k {
                continue;
            }
            for lane in 0..ROOTS_TOGETHER {
                let distance = (
                    here[0][lane] - other[0][lane],
                    here[1][lane] - other[1][lane],
                );
                let inverse = over((1.0, 0.0), distance);
                others[0][lane] += inverse.0;
                others[1][lane] += inverse.1;
            }
        }
        let z = &mut z[k];
        for lane in 0..ROOTS_TOGETHER {
            let newton = over((p[0][lane], p[1][lane]), (slope[0][lane], slope[1][lane]));
            let denominator = minus(
                (1.0, 0.0),
                times(newton, (others[0][lane], others[1][lane])),
            );
            let step = over(newton, denominator);
            let square = step.0 * step.0 + step.1 * step.1;
            // On a root already, or where two meet, there is no step.
            let finite = square < f64::INFINITY;
            z[0][lane] -= if finite { step.0 } else { 0.0 };
            z[1][lane] -= if finite { step.1 } else { 0.0 };
            let square = if finite { square } else { 0.0 };
            moved[lane] = if square > moved[lane] {
                square
            } else {
                moved[lane]
            };
        }
    }
    moved.iter().fold(0.0, |longest, step| step.max(longest))
}

#[inline(always)]
fn plus(a: (f64, f64), b: (f64, f64)) -> (f64, f64) {
    (a.0 + b.0, a.1 + b.1)
}

#[inline(always)]
fn minus(a: (f64, f64), b: (f64, f64)) -> (f64, f64) {
    (a.0 - b.0, a.1 - b.1)
}

#[inline(always)]
fn times(a: (f64, f64), b: (f64, f64)) -> (f64, f64) {
    (a.0 * b.0 - a.1 * b.1, a.0 * b.1 + a.1 * b.0)
}

#[inline(always)]
fn over(a: (f64, f64), b: (f64, f64)) -> (f64, f64) {
    let scale = 1.0 / (b.0 * b.0 + b.1 * b.1);
    (
        (a.0 * b.0 + a.1 * b.1) * scale,
        (a.1 * b.0 - a.0 * b.1) * scale,
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn burg_recovers_a_resonators_coefficients() {
        let (a1, a2) = (-1.8, 0.95);
        let mut state = 5u64;
        let mut x = vec![0.0f64; 4000];
        for n in 2..x.len() {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            let noise = (state >> 11) as f64 / (1u64 << 53) as f64 - 0.5;
            x[n] = noise - a1 * x[n - 1] - a2 * x[n - 2];
        }
        let a = burg(&x, 2);
        assert!(
            (a[0] - a1).abs() < 0.02 && (a[1] - a2).abs() < 0.02,
            "{a:?}"
        );
        assert_eq!(burg(&[0.0; 50], 4), [0.0; 4]);
    }

    #[test]
    fn correlations_give_the_coefficients_of_the_errors() {
        let mut state = 9u64;
        for (samples, order) in [(550, 10), (63, 12), (40, 2), (200, 1)] {
            let frame: Vec<f64> = (0..samples)
                .map(|n| {
                    state = state
                        .wrapping_mul(6_364_136_223_846_793_005)
                        .wrapping_add(1);
                    let noise = (state >> 11) as f64 / (1u64 << 53) as f64 - 0.5;
                    let t = n as f64;
                    let window = (std::f64::consts::PI * t / samples as f64).sin();
                    window * ((0.3 * t).sin() + 0.4 * (1.7 * t).cos() + 0.02 * noise)
                })
                .collect();
            let found = by_correlations(&frame, order).unwrap();
            for (found, expected) in found.iter().zip(by_errors(&frame, order)) {
                assert!(
                    (found - expected).abs() < 1e-8,
                    "{samples} {order}: {found} {expected}"
                );
            }
        }
        // Silence, next to nothing left to predict, and what is not a number go by the errors.
        let tone: Vec<f64> = (0..550).map(|n| (0.3 * n as f64).sin()).collect();
        assert!(by_correlations(&tone, 10).is_none());
        assert!(by_correlations(&[0.0; 550], 10).is_none());
        assert!(by_correlations(&[f64::NAN; 550], 10).is_none());
        assert_eq!(burg(&tone, 10), by_errors(&tone, 10));
    }

    #[test]
    fn roots_multiply_back_to_the_polynomial() {
        // (z² − 2·0.9·cos(1)z + 0.81)(z² − 2·0.5·cos(2)z + 0.25)(z − 0.3)
        let (b, c) = (-1.8 * 1f64.cos(), -(2f64.cos()));
        let quartic = [b + c, 0.81 + 0.25 + b * c, 0.25 * b + 0.81 * c, 0.81 * 0.25];
        let mut a = vec![quartic[0] - 0.3];
        for k in 1..4 {
            a.push(quartic[k] - 0.3 * quartic[k - 1]);
        }
        a.push(-0.3 * quartic[3]);
        // Among others of its order, more than go together.
        let others = (0..40).map(|n| (0..5).map(|k| 0.1 * ((n * 7 + k) as f64).sin()).collect());
        let mut polynomials: Vec<Vec<f64>> = others.collect();
        polynomials.push(a);
        let mut found: Vec<(f64, f64)> = polynomial_roots(&polynomials)[40]
            .iter()
            .map(|(re, im)| (re.hypot(*im), im.atan2(*re).abs()))
            .collect();
        found.sort_by(|a, b| a.0.total_cmp(&b.0));
        for (found, expected) in
            found
                .iter()
                .zip([(0.3, 0.0), (0.5, 2.0), (0.5, 2.0), (0.9, 1.0), (0.9, 1.0)])
        {
            assert!((found.0 - expected.0).abs() < 1e-9 && (found.1 - expected.1).abs() < 1e-7);
        }
    }
}
