//! How much listeners expect each pitch class in a key.

use warpsmith_voice::PITCH_CLASSES;

use super::Mode;

/// Whose expectations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Profile {
    /// Ratings of probe tones (Krumhansl and Kessler, 1982).
    Krumhansl,
    /// Frequencies in a corpus of popular and classical pieces (Temperley, 1999).
    Temperley,
}

impl Profile {
    /// Weights from the tonic upwards.
    pub fn weights(self, mode: Mode) -> [f64; PITCH_CLASSES] {
        match (self, mode) {
            (Self::Krumhansl, Mode::Major) => [
                6.35, 2.23, 3.48, 2.33, 4.38, 4.09, 2.52, 5.19, 2.39, 3.66, 2.29, 2.88,
            ],
            (Self::Krumhansl, Mode::Minor) => [
                6.33, 2.68, 3.52, 5.38, 2.60, 3.53, 2.54, 4.75, 3.98, 2.69, 3.34, 3.17,
            ],
            (Self::Temperley, Mode::Major) => {
                [5.0, 2.0, 3.5, 2.0, 4.5, 4.0, 2.0, 4.5, 2.0, 3.5, 1.5, 4.0]
            }
            (Self::Temperley, Mode::Minor) => {
                [5.0, 2.0, 3.5, 4.5, 2.0, 4.0, 2.0, 4.5, 3.5, 2.0, 1.5, 4.0]
            }
        }
    }
}
