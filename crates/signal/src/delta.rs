//! How features move: local polynomial derivatives along the frames.

use super::error::{Result, SignalError};

/// Which derivative.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Derivative {
    /// Slope of a straight line.
    First,
    /// Second derivative of a parabola.
    Second,
}

/// The derivative of each row of `[row, frame]` features over windows of `width` frames, as
/// `librosa.feature.delta` computes it: a least-squares polynomial of the derivative's degree, the
/// first and last full window standing for the frames before and after them.
pub fn delta(features: &[f32], frames: usize, width: usize, order: Derivative) -> Result<Vec<f32>> {
    if width < 3 || width.is_multiple_of(2) || width > frames {
        return Err(SignalError::parameter(
            "delta width",
            width,
            format!("an odd number from 3 to the {frames} frames is needed"),
        ));
    }
    let half = (width / 2) as i64;
    let squares: f64 = (-half..=half).map(|n| (n * n) as f64).sum();
    let mean = squares / width as f64;
    let weights: Vec<f64> = match order {
        Derivative::First => (-half..=half).map(|n| n as f64 / squares).collect(),
        Derivative::Second => {
            let norm: f64 = (-half..=half)
                .map(|n| ((n * n) as f64 - mean).powi(2))
                .sum();
            (-half..=half)
                .map(|n| 2.0 * ((n * n) as f64 - mean) / norm)
                .collect()
        }
    };
    let half = width / 2;
    let mut out = Vec::with_capacity(features.len());
    for row in features.chunks_exact(frames) {
        for frame in 0..frames {
            let centre = frame.clamp(half, frames - 1 - half);
            let window = &row[centre - half..=centre + half];
            let sum: f64 = window
                .iter()
                .zip(&weights)
                .map(|(x, w)| f64::from(*x) * w)
                .sum();
            out.push(sum as f32);
        }
    }
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_has_its_slope_and_a_parabola_its_curvature() {
        let line: Vec<f32> = (0..20).map(|n| 3.0 * n as f32 - 7.0).collect();
        for slope in delta(&line, 20, 9, Derivative::First).unwrap() {
            assert!((slope - 3.0).abs() < 1e-6);
        }
        let parabola: Vec<f32> = (0..20).map(|n| 0.5 * (n * n) as f32).collect();
        for curvature in delta(&parabola, 20, 9, Derivative::Second).unwrap() {
            assert!((curvature - 1.0).abs() < 1e-5);
        }
    }

    #[test]
    fn a_window_wider_than_the_signal_is_an_error() {
        assert!(delta(&[1.0; 5], 5, 9, Derivative::First).is_err());
        assert!(delta(&[1.0; 5], 5, 4, Derivative::First).is_err());
    }
}
