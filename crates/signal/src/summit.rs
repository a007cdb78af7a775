//! The top of a sampled, even function between its samples in double precision: by windowed sincs over as
//! many samples as lie on both sides, and Brent's search for the highest place (Brent 1973, chapter 5).

use std::f64::consts::PI;

/// Place and height of the top of a parabola through a local maximum and its neighbours.
pub fn parabola([before, here, after]: [f64; 3], lag: usize) -> (f64, f64) {
    let curvature = (2.0 * here - before - after).max(f64::MIN_POSITIVE);
    let place = lag as f64 + 0.5 * (after - before) / curvature;
    let height = here + 0.125 * (after - before).powi(2) / curvature;
    (place, height)
}

/// Place and height of the top within a sample of the one nearest to `near`; `known` are the values from 0 on, of
/// which `depth` on either side are taken, or as many as there are.
pub fn summit(known: &[f64], near: f64, depth: usize) -> (f64, f64) {
    let last = known.len() - 1;
    let middle = (near + 0.5).floor();
    if middle as usize >= last {
        return (last as f64, known[last]);
    }
    highest((middle - 1.0, middle + 1.0), |place| {
        between(known, place, depth)
    })
}

/// The value at `place`.
fn between(known: &[f64], place: f64, depth: usize) -> f64 {
    let floor = place.floor();
    let fraction = place - floor;
    let low = floor as i64;
    let value = |n: i64| known[(n.unsigned_abs() as usize).min(known.len() - 1)];
    if fraction == 0.0 {
        return value(low);
    }
    let [before, here, after, beyond] = [low - 1, low, low + 1, low + 2].map(value);
    match depth.min((known.len() as i64 - 1 - low).max(0) as usize) {
        0 => value((place + 0.5).floor() as i64),
        1 => here + fraction * (after - here),
        2 => {
            // A cubic with the slopes of the neighbours' differences.
            let (left, right) = (0.5 * (after - before), 0.5 * (beyond - here));
            let rise = after - here;
            let (square, cube) = (3.0 * rise - 2.0 * left - right, left + right - 2.0 * rise);
            here + fraction * (left + fraction * (square + fraction * cube))
        }
        depth => {
            let sine = (PI * fraction).sin() / PI;
            let mut sum = 0.0;
            for (nearest, first, step) in [(fraction, low, -1), (1.0 - fraction, low + 1, 1)] {
                let (turn_sin, turn_cos) = (PI / (nearest + depth as f64)).sin_cos();
                let (mut sin, mut cos) = (PI * nearest / (nearest + depth as f64)).sin_cos();
                let mut sign = 1.0;
                for n in 0..depth as i64 {
                    let weight = sign * (0.5 + 0.5 * cos) / (nearest + n as f64);
                    sum += weight * value(first + step * n);
                    (sin, cos) = (
                        sin * turn_cos + cos * turn_sin,
                        cos * turn_cos - sin * turn_sin,
                    );
                    sign = -sign;
                }
            }
            sine * sum
        }
    }
}

/// Brent's search for a maximum: parabolas where they converge, golden sections elsewhere.
fn highest((mut low, mut high): (f64, f64), function: impl Fn(f64) -> f64) -> (f64, f64) {
    const GOLDEN: f64 = 0.381_966_011_250_105;
    const STEPS: usize = 100;
    let mut best = low + GOLDEN * (high - low);
    let mut best_value = function(best);
    let (mut second, mut second_value) = (best, best_value);
    let (mut third, mut third_value) = (best, best_value);
    let (mut step, mut step_before) = (0.0f64, 0.0f64);
    for _ in 0..STEPS {
        let middle = f64::midpoint(low, high);
        let least = 1.5e-8 * best.abs() + 1e-10;
        if (best - middle).abs() <= 2.0 * least - 0.5 * (high - low) {
            break;
        }
        let mut parabola = None;
        if step_before.abs() > least {
            // Values are turned round: the text is about a minimum.
            let r = (best - second) * (third_value - best_value);
            let q = (best - third) * (second_value - best_value);
            let (p, q) = ((best - third) * q - (best - second) * r, 2.0 * (q - r));
            let (p, q) = if q > 0.0 { (-p, q) } else { (p, -q) };
            let inside = p > q * (low - best) && p < q * (high - best);
            if inside && p.abs() < (0.5 * q * step_before).abs() {
                parabola = Some(p / q);
            }
        }
        step_before = step;
        match parabola {
            Some(shift) => {
                step = shift;
                let place = best + step;
                if place - low < 2.0 * least || high - place < 2.0 * least {
                    step = if best < middle { least } else { -least };
                }
            }
            None => {
                step_before = if best < middle {
                    high - best
                } else {
                    low - best
                };
                step = GOLDEN * step_before;
            }
        }
        let place = best + step.abs().max(least).copysign(step);
        let value = function(place);
        if value >= best_value {
            if place < best {
                high = best
            } else {
                low = best
            }
            (third, third_value) = (second, second_value);
            (second, second_value) = (best, best_value);
            (best, best_value) = (place, value);
        } else {
            if place < best {
                low = place
            } else {
                high = place
            }
            if value >= second_value || second == best {
                (third, third_value) = (second, second_value);
                (second, second_value) = (place, value);
            } else if value >= third_value || third == best || third == second {
                (third, third_value) = (place, value);
            }
        }
    }
    (best, best_value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_top_of_a_sum_of_cosines_is_found_between_samples() {
        for period in [17.3f64, 40.77, 123.456] {
            let samples: Vec<f64> = (0..400)
                .map(|n| {
                    (1..5)
                        .map(|k| 0.25 * (2.0 * PI * f64::from(k * n) / period).cos())
                        .sum::<f64>()
                })
                .collect();
            let (place, height) = summit(&samples, period.round(), 70);
            assert!((place - period).abs() < 2e-5, "{period}: {place}");
            assert!((height - 1.0).abs() < 1e-5, "{period}: {height}");
        }
    }

    #[test]
    fn next_to_the_last_value_fewer_neighbours_decide() {
        let samples: Vec<f64> = (0..20).map(|n| (0.3 * f64::from(n)).cos()).collect();
        assert_eq!(summit(&samples, 19.2, 70), (19.0, samples[19]));
        for near in [16.0, 17.0, 18.0] {
            let (place, height) = summit(&samples, near, 70);
            assert!(
                (place - near).abs() <= 1.0 && height.abs() <= 1.2,
                "{near}: {place}"
            );
        }
    }
}
