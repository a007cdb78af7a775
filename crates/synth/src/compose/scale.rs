//! Scales in cents: those of the modes, and those that users write.

use serde::{Deserialize, Serialize};

use crate::error::ParamError;
use crate::params::Mode;

/// Degrees of a scale at most.
pub const MOST_DEGREES: usize = 12;
/// An octave in cents.
pub(crate) const OCTAVE: i32 = 1_200;
/// Two degrees are at least this far apart, in cents: nearer ones are one note that beats.
const CLOSEST: u16 = 20;

/// Degrees within an octave, in whole cents above the root.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Vec<f64>", into = "Vec<f64>")]
pub struct Scale {
    cents: [u16; MOST_DEGREES],
    count: u8,
}

impl Scale {
    const fn of(semitones: &[u16]) -> Self {
        let mut cents = [0; MOST_DEGREES];
        let mut index = 0;
        while index < semitones.len() {
            cents[index] = 100 * semitones[index];
            index += 1;
        }
        Self {
            cents,
            count: semitones.len() as u8,
        }
    }

    /// A user's scale: degrees in cents above the root, rising from 0 and below the octave, rounded
    /// to whole cents. An octave at the end is allowed and means nothing.
    ///
    /// ```
    /// use warpsmith_synth::compose::scale::Scale;
    /// assert!(Scale::new(&[0.0, 231.0, 498.0, 702.0, 966.0]).is_ok());
    /// assert!(Scale::new(&[0.0, 700.0, 500.0]).is_err());
    /// ```
    pub fn new(cents: &[f64]) -> Result<Self, ParamError> {
        let wrong = |problem: String| ParamError::Scale { problem };
        let degrees = match cents {
            [rest @ .., last] if *last == f64::from(OCTAVE) => rest,
            all => all,
        };
        if !(3..=MOST_DEGREES).contains(&degrees.len()) {
            return Err(wrong(format!(
                "it has {} degrees, outside 3 to {MOST_DEGREES}",
                degrees.len()
            )));
        }
        if degrees[0] != 0.0 {
            return Err(wrong(format!(
                "its first degree is {} cents, not 0: the root",
                degrees[0]
            )));
        }
        let mut scale = Self {
            cents: [0; MOST_DEGREES],
            count: degrees.len() as u8,
        };
        for (index, value) in degrees.iter().enumerate() {
            // A NaN is outside every range.
            if !(0.0..f64::from(OCTAVE)).contains(&value.round()) {
                return Err(wrong(format!(
                    "degree {} is {value} cents, outside 0 to 1199",
                    index + 1
                )));
            }
            scale.cents[index] = value.round() as u16;
            if index > 0 && scale.cents[index] < scale.cents[index - 1] + CLOSEST {
                return Err(wrong(format!(
                    "degree {} is {value} cents, less than {CLOSEST} above the one before",
                    index + 1
                )));
            }
        }
        Ok(scale)
    }

    /// How many degrees an octave has.
    pub(crate) fn degrees(&self) -> i32 {
        i32::from(self.count)
    }

    /// Cents of a step above the root; steps go on over octaves in both directions.
    pub(crate) fn cents(&self, step: i32) -> i32 {
        let count = self.degrees();
        let degree = step.rem_euclid(count) as usize;
        OCTAVE * step.div_euclid(count) + i32::from(self.cents[degree])
    }

    /// Whether a pitch, in cents above the root, is one of its notes in some octave.
    pub(crate) fn holds(&self, cents: i32) -> bool {
        let class = cents.rem_euclid(OCTAVE);
        self.cents[..usize::from(self.count)]
            .iter()
            .any(|degree| i32::from(*degree) == class)
    }
}

impl TryFrom<Vec<f64>> for Scale {
    type Error = ParamError;

    fn try_from(cents: Vec<f64>) -> Result<Self, ParamError> {
        Self::new(&cents)
    }
}

impl From<Scale> for Vec<f64> {
    fn from(scale: Scale) -> Self {
        scale.cents[..usize::from(scale.count)]
            .iter()
            .map(|cents| f64::from(*cents))
            .collect()
    }
}

const IONIAN: Scale = Scale::of(&[0, 2, 4, 5, 7, 9, 11]);
const AEOLIAN: Scale = Scale::of(&[0, 2, 3, 5, 7, 8, 10]);

/// The scale that the chords of a mode are built from; pentatonics borrow their parent's.
pub(crate) fn chord_scale(mode: Mode) -> Scale {
    match mode {
        Mode::Ionian | Mode::MajorPentatonic => IONIAN,
        Mode::Dorian => const { Scale::of(&[0, 2, 3, 5, 7, 9, 10]) },
        Mode::Phrygian => const { Scale::of(&[0, 1, 3, 5, 7, 8, 10]) },
        Mode::Lydian => const { Scale::of(&[0, 2, 4, 6, 7, 9, 11]) },
        Mode::Mixolydian => const { Scale::of(&[0, 2, 4, 5, 7, 9, 10]) },
        Mode::Aeolian | Mode::MinorPentatonic => AEOLIAN,
        Mode::HarmonicMinor => const { Scale::of(&[0, 2, 3, 5, 7, 8, 11]) },
    }
}

/// The scale that the melody of a mode steps on.
pub(crate) fn melody_scale(mode: Mode) -> Scale {
    match mode {
        Mode::MajorPentatonic => const { Scale::of(&[0, 2, 4, 7, 9]) },
        Mode::MinorPentatonic => const { Scale::of(&[0, 3, 5, 7, 10]) },
        _ => chord_scale(mode),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_go_on_over_octaves() {
        let scale = chord_scale(Mode::Dorian);
        assert_eq!(
            [-8, -7, -1, 0, 2, 7, 9].map(|step| scale.cents(step)),
            [-1_400, -1_200, -200, 0, 300, 1_200, 1_500]
        );
        assert!(scale.holds(-200) && scale.holds(900) && !scale.holds(800));
    }

    #[test]
    fn a_melody_scale_lies_in_its_chord_scale() {
        for &mode in Mode::ALL {
            let (melody, chords) = (melody_scale(mode), chord_scale(mode));
            assert!((0..melody.degrees()).all(|step| chords.holds(melody.cents(step))));
        }
    }

    #[test]
    fn a_wrong_scale_is_refused_with_what_is_wrong() {
        for (cents, problem) in [
            (&[0.0, 500.0][..], "2 degrees"),
            (&[1.0, 300.0, 700.0], "not 0"),
            (&[0.0, 700.0, 500.0], "degree 3"),
            (&[0.0, 10.0, 500.0], "less than 20"),
            (&[0.0, f64::NAN, 500.0], "degree 2"),
            (&[0.0, 500.0, 1_200.0, 1_300.0], "degree 3"),
            (&[0.0; 13], "13 degrees"),
        ] {
            let message = Scale::new(cents).unwrap_err().to_string();
            assert!(message.contains(problem), "{message}");
        }
        let just = Scale::new(&[0.0, 203.91, 386.31, 701.955, 884.36, 1_200.0]).unwrap();
        assert_eq!(just.degrees(), 5);
        assert_eq!(just.cents(3), 702);
        let json = serde_json::to_string(&just).unwrap();
        assert_eq!(serde_json::from_str::<Scale>(&json).unwrap(), just);
    }
}
