//! Scales, chords, and the chain that leads from one chord to the next.

use warpsmith_workload::random::Random;

use crate::params::{Key, Mode};

/// Semitones of a mode's seven degrees.
pub(crate) fn scale(mode: Mode) -> [u8; 7] {
    match mode {
        Mode::Aeolian => [0, 2, 3, 5, 7, 8, 10],
        Mode::Dorian => [0, 2, 3, 5, 7, 9, 10],
        Mode::Lydian => [0, 2, 4, 6, 7, 9, 11],
        Mode::Phrygian => [0, 1, 3, 5, 7, 8, 10],
    }
}

/// The five degrees that chords stand on, tonic first; the diminished ones are left out.
fn roots(mode: Mode) -> [usize; 5] {
    match mode {
        Mode::Aeolian => [0, 3, 4, 5, 2],
        Mode::Dorian => [0, 3, 6, 2, 4],
        Mode::Lydian => [0, 1, 4, 5, 2],
        Mode::Phrygian => [0, 1, 6, 5, 2],
    }
}

/// Rows: from tonic, subdominant, dominant, submediant, mediant; columns: to the same.
const FOLLOWS: [[f64; 5]; 5] = [
    [0.2, 0.3, 0.1, 0.3, 0.1],
    [0.4, 0.1, 0.2, 0.2, 0.1],
    [0.5, 0.1, 0.1, 0.2, 0.1],
    [0.3, 0.2, 0.1, 0.2, 0.2],
    [0.4, 0.2, 0.1, 0.2, 0.1],
];

/// Which of the five comes after `from`: the row, blended with chance by `variety`.
pub(crate) fn next_function(from: usize, variety: f64, random: &mut Random) -> usize {
    let mut left = random.unit();
    for (to, weight) in FOLLOWS[from].iter().enumerate() {
        left -= (1.0 - variety) * weight + variety * 0.2;
        if left < 0.0 {
            return to;
        }
    }
    0
}

/// A chord: pitch classes from its root up in thirds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Chord {
    classes: [u8; 5],
    count: usize,
}

impl Chord {
    /// The chord of one of the five functions with two to five notes, more with more `density`.
    pub(crate) fn new(function: usize, key: Key, mode: Mode, density: f64) -> Self {
        let (scale, root) = (scale(mode), roots(mode)[function]);
        let classes = std::array::from_fn(|third| {
            let degree = (root + 2 * third) % 7;
            (key.semitones() + scale[degree]) % 12
        });
        Self {
            classes,
            count: 2 + (density * 3.0).round() as usize,
        }
    }

    /// Its pitch classes, root first. Two notes are root and fifth.
    pub(crate) fn classes(&self) -> impl Iterator<Item = u8> + '_ {
        let open = self.count == 2;
        let chosen = self.classes.iter().enumerate();
        chosen
            .filter(move |(third, _)| {
                if open {
                    *third % 2 == 0 && *third < 3
                } else {
                    *third < self.count
                }
            })
            .map(|(_, class)| *class)
    }

    /// The root's pitch class.
    pub(crate) fn root(&self) -> u8 {
        self.classes[0]
    }
}

/// The pitch of `class` nearest to `centre`.
pub(crate) fn nearest_pitch(class: u8, centre: f32) -> f32 {
    let class = f32::from(class);
    class + 12.0 * ((centre - class) / 12.0).round()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chords_stay_in_their_scale_and_grow_with_density() {
        for &mode in Mode::ALL {
            for function in 0..5 {
                let mut sizes = Vec::new();
                for density in [0.0, 0.34, 0.67, 1.0] {
                    let chord = Chord::new(function, Key::above_c(2), mode, density);
                    let scale = scale(mode).map(|semitone| (semitone + 2) % 12);
                    assert!(chord.classes().all(|class| scale.contains(&class)));
                    sizes.push(chord.classes().count());
                }
                assert_eq!(sizes, [2, 3, 4, 5], "{mode}");
            }
        }
    }

    #[test]
    fn no_chord_is_diminished() {
        for &mode in Mode::ALL {
            for function in 0..5 {
                let chord = Chord::new(function, Key::above_c(0), mode, 0.34);
                let notes: Vec<u8> = chord.classes().collect();
                assert_eq!((notes[2] + 12 - notes[0]) % 12, 7, "{mode} {function}");
            }
        }
    }

    #[test]
    fn variety_flattens_the_chain() {
        let share = |variety| {
            let mut random = Random::seeded(1);
            let back = (0..20_000).filter(|_| next_function(2, variety, &mut random) == 0);
            back.count() as f64 / 20_000.0
        };
        // The dominant goes home half the time, or a fifth of the time where all is chance.
        assert!((share(0.0) - 0.5).abs() < 0.02 && (share(1.0) - 0.2).abs() < 0.02);
    }

    #[test]
    fn a_pitch_is_placed_within_six_semitones() {
        for class in 0..12 {
            for centre in [40.0, 57.5, 69.0] {
                let pitch = nearest_pitch(class, centre);
                assert!((pitch - centre).abs() <= 6.0);
                assert_eq!(pitch.rem_euclid(12.0), f32::from(class));
            }
        }
    }
}
