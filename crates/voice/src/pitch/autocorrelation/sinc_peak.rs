//! The top of a sampled, even, band-limited function between its samples, by windowed sinc
//! interpolation.

use std::f64::consts::PI;

/// Samples on either side that an interpolation takes.
const DEPTH: usize = 30;

/// The value of `samples` (even around entry 0) at `place`.
fn interpolate(samples: &[f32], place: f64) -> f64 {
    let floor = place.floor();
    let fraction = place - floor;
    let low = floor as i64;
    let sample = |n: i64| {
        let index = n.unsigned_abs() as usize;
        f64::from(samples.get(index).copied().unwrap_or(0.0))
    };
    if fraction < 1e-9 {
        return sample(low);
    }
    // sin(π(x−n)) alternates in sign; the window's cosines follow by turning.
    let sine = (PI * fraction).sin() / PI;
    let span = DEPTH as f64 + 0.5;
    let (turn_sin, turn_cos) = (PI / span).sin_cos();
    let mut sum = 0.0;
    for (mut distance, step, mut n) in [(fraction, -1i64, low), (1.0 - fraction, 1, low + 1)] {
        let (mut sin, mut cos) = (PI * distance / span).sin_cos();
        let mut sign = 1.0;
        for _ in 0..DEPTH {
            sum += sign * sample(n) * (0.5 + 0.5 * cos) / distance;
            (sin, cos) = (
                sin * turn_cos + cos * turn_sin,
                cos * turn_cos - sin * turn_sin,
            );
            distance += 1.0;
            sign = -sign;
            n += step;
        }
    }
    sine * sum
}

/// Place and height of the top near `near`, which is within half a sample of it.
pub(crate) fn sinc_peak(samples: &[f32], near: f64) -> (f64, f64) {
    let mut place = near;
    let mut height = interpolate(samples, place);
    // Parabolas through three ever closer points.
    for width in [0.25, 0.05, 0.01] {
        let (before, after) = (
            interpolate(samples, place - width),
            interpolate(samples, place + width),
        );
        let curvature = before + after - 2.0 * height;
        if curvature >= 0.0 {
            break;
        }
        let shift = (0.5 * (before - after) / curvature).clamp(-2.0, 2.0) * width;
        place += shift;
        height = interpolate(samples, place);
    }
    (place, height)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_top_of_a_sum_of_cosines_is_found_between_samples() {
        for period in [17.3f64, 40.77, 123.456] {
            let samples: Vec<f32> = (0..400)
                .map(|n| {
                    (1..5)
                        .map(|k| 0.25 * (2.0 * PI * f64::from(k * n) / period).cos())
                        .sum::<f64>() as f32
                })
                .collect();
            let (place, height) = sinc_peak(&samples, period.round());
            assert!((place - period).abs() < 2e-4, "{period}: {place}");
            assert!((height - 1.0).abs() < 1e-4, "{period}: {height}");
        }
    }
}
