//! Formants of 20 ms: poles of a linear prediction at 11 kHz.
//!
//! openSMILE takes the samples from the spectrum of the frame, up to where the samples themselves would end, with
//! half of the zeros before them; and the roots of the polynomial whose signs are turned. Both make formants that are
//! wide. Numbers are compared with openSMILE's, so that both are repeated here.

use std::f64::consts::{PI, TAU};

use warpsmith_signal::polynomial_roots;

use super::spectral::POINTS;

/// The rate of the prediction, Hz, and samples of a frame and of its transform at that rate.
const RATE: f64 = 11_000.0;
const SAMPLES: usize = 220;
const PERIOD: f64 = 352.0;
/// Coefficients of the prediction.
const ORDER: usize = 11;
/// Formants that are looked for, and those that are described.
const MOST: usize = 5;
pub(super) const FORMANTS: usize = 3;
/// Frequencies of a formant, Hz.
const RANGE: std::ops::RangeInclusive<f64> = 50.0..=5450.0;

/// Frequency and bandwidth, Hz; zeros where there is none.
pub(super) type Formant = [f64; 2];

/// A planned search.
pub(super) struct Formants {
    /// `[sample, bin]`: cosine and sine, from the first bin above 0 Hz on.
    turns: Vec<[f64; 2]>,
}

/// Bins that are used, without the one at 0 Hz.
const BINS: usize = SAMPLES / 2 - 1;

impl Formants {
    pub(super) fn new() -> Self {
        let turn = |at: usize| {
            let (sample, bin) = (at / BINS, at % BINS + 1);
            let (sin, cos) = (TAU * (sample * bin) as f64 / PERIOD).sin_cos();
            [cos, sin]
        };
        Self {
            turns: (0..SAMPLES * BINS).map(turn).collect(),
        }
    }

    /// The lowest formants of a packed spectrum of [`POINTS`] samples.
    pub(super) fn of(&self, spectrum: &[f64]) -> [Formant; FORMANTS] {
        let bins = &spectrum[2..2 + 2 * BINS];
        let samples: Vec<f64> = self
            .turns
            .chunks_exact(BINS)
            .map(|turns| {
                let pairs = turns.iter().zip(bins.chunks_exact(2));
                let sum: f64 = pairs
                    .map(|([cos, sin], bin)| cos * bin[0] - sin * bin[1])
                    .sum();
                (spectrum[0] + sum) / (POINTS / 2) as f64
            })
            .collect();
        let filter = predictor(&samples);
        if filter.iter().all(|a| *a == 0.0) {
            return [[0.0; 2]; FORMANTS];
        }
        let turned: Vec<f64> = filter.iter().map(|a| -a).collect();
        let roots = polynomial_roots(&[turned]);
        let mut found: Vec<Formant> = roots[0]
            .iter()
            .filter(|(_, im)| *im >= 0.0)
            .map(|(re, im)| {
                let length = re.hypot(*im);
                // What is outside the unit circle is mirrored at it.
                let inside = if length > 1.0 { 1.0 / length } else { length };
                [im.atan2(*re) * RATE / TAU, -inside.ln() * RATE / PI]
            })
            .filter(|[hertz, width]| RANGE.contains(hertz) && width.is_finite())
            .take(MOST)
            .collect();
        found.sort_by(|a, b| a[0].total_cmp(&b[0]));
        found.resize(FORMANTS.max(found.len()), [0.0; 2]);
        [found[0], found[1], found[2]]
    }
}

/// The coefficients a₁ … of the filter 1 + Σ aₖz⁻ᵏ whitens with (Levinson and Durbin); zeros for silence.
fn predictor(samples: &[f64]) -> [f64; ORDER] {
    let correlation: Vec<f64> = (0..=ORDER)
        .map(|lag| {
            let pairs = samples[lag..].iter().zip(samples);
            pairs.map(|(a, b)| a * b).sum()
        })
        .collect();
    let mut filter = [0.0f64; ORDER];
    let mut left = correlation[0];
    for order in 0..ORDER {
        if left <= 0.0 {
            break;
        }
        let known = filter[..order]
            .iter()
            .zip(correlation[1..=order].iter().rev());
        let sum = correlation[order + 1] + known.map(|(a, r)| a * r).sum::<f64>();
        let reflection = -sum / left;
        let before = filter;
        for n in 0..order {
            filter[n] += reflection * before[order - 1 - n];
        }
        filter[order] = reflection;
        left *= 1.0 - reflection * reflection;
    }
    filter
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_predictor_knows_the_filter_that_made_a_sound() {
        let (a, b) = (-1.2, 0.8);
        let mut samples = vec![1.0, 1.2];
        for n in 2..400 {
            samples.push(-a * samples[n - 1] - b * samples[n - 2]);
        }
        let found = predictor(&samples);
        assert!((found[0] - a).abs() < 0.01 && (found[1] - b).abs() < 0.01);
        assert!(found[2..].iter().all(|a| a.abs() < 0.01), "{found:?}");
        assert_eq!(predictor(&[0.0; 300]), [0.0; ORDER]);
    }

    #[test]
    fn silence_has_no_formants_and_others_ascend() {
        let formants = Formants::new();
        assert_eq!(formants.of(&[0.0; POINTS]), [[0.0; 2]; FORMANTS]);
        let mut spectrum = vec![0.0; POINTS];
        for (bin, value) in [(16, 9.0), (17, 5.0), (60, 3.0), (90, 2.0)] {
            spectrum[2 * bin] = value;
        }
        let [first, second, third] = formants.of(&spectrum);
        assert!(50.0 < first[0] && first[0] < second[0] && second[0] < third[0]);
    }
}
