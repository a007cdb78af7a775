//! How loud tones of equal level are to the ear: the curves A, B and C of IEC 61672 and its
//! predecessors, in dB over 1 kHz.

use serde::{Deserialize, Serialize};

/// A frequency weighting.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Weighting {
    /// Quiet sounds; the usual one.
    A,
    /// Sounds of middle level (withdrawn from the standard).
    B,
    /// Loud sounds.
    C,
}

/// The corner frequencies of the standard's annex E, Hz.
const LOW: f64 = 20.598_997;
const MIDDLE_LOW: f64 = 107.652_65;
const MIDDLE_B: f64 = 158.489_32;
const MIDDLE_HIGH: f64 = 737.862_23;
const HIGH: f64 = 12_194.217;

impl Weighting {
    /// Decibels over a tone of 1 kHz; −∞ at 0 Hz.
    pub fn decibels(self, hertz: f64) -> f64 {
        20.0 * (self.magnitude(hertz) / self.magnitude(1000.0)).log10()
    }

    /// The curve up to a constant.
    fn magnitude(self, hertz: f64) -> f64 {
        let f = hertz * hertz;
        let shared = f * HIGH * HIGH / ((f + LOW * LOW) * (f + HIGH * HIGH));
        match self {
            Self::C => shared,
            Self::B => shared * hertz / (f + MIDDLE_B * MIDDLE_B).sqrt(),
            Self::A => {
                let corners = (f + MIDDLE_LOW * MIDDLE_LOW) * (f + MIDDLE_HIGH * MIDDLE_HIGH);
                shared * f / corners.sqrt()
            }
        }
    }

    /// The weights of the bins of a transform of `transform` points, in dB but not below `floor_db`.
    pub fn bins(self, sample_rate: u32, transform: usize, floor_db: f64) -> Vec<f32> {
        let step = f64::from(sample_rate) / transform.max(1) as f64;
        (0..=transform / 2)
            .map(|bin| self.decibels(bin as f64 * step).max(floor_db) as f32)
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_curves_pass_through_the_standards_table() {
        // IEC 61672-1, table 3: nominal frequency (exact: 1000·10^(n/10)) → A, C.
        for (step, a, c) in [
            (-17, -50.5, -6.2),
            (-10, -19.1, -0.2),
            (-5, -6.6, 0.0),
            (0, 0.0, 0.0),
            (4, 1.3, -0.3),
            (8, -0.1, -2.0),
            (13, -9.3, -11.2),
        ] {
            let hertz = 1000.0 * 10f64.powf(f64::from(step) / 10.0);
            if step > -17 {
                assert!(
                    (Weighting::A.decibels(hertz) - a).abs() < 0.1,
                    "A at {hertz}"
                );
                assert!(
                    (Weighting::C.decibels(hertz) - c).abs() < 0.1,
                    "C at {hertz}"
                );
            } else {
                assert!(
                    (Weighting::A.decibels(hertz) - a).abs() < 0.15,
                    "A at {hertz}"
                );
                assert!(
                    (Weighting::C.decibels(hertz) - c).abs() < 0.1,
                    "C at {hertz}"
                );
            }
        }
        assert!((Weighting::B.decibels(100.0) + 5.6).abs() < 0.1);
        assert_eq!(Weighting::A.bins(16_000, 512, -80.0)[0], -80.0);
    }
}
