//! Chords of a scale, and which of them follow each other.

use warpsmith_workload::random::Random;

use super::scale::{OCTAVE, Scale, chord_scale, melody_scale};
use crate::params::{Mode, Params};

/// Rows: from a degree; columns: weight of the next. The diminished triad is left out, and the
/// chord that holds the mode's own note is favoured.
type Follows = [[u8; 7]; 7];

const IONIAN: Follows = [
    [0, 1, 1, 4, 2, 3, 0],
    [0, 0, 0, 2, 4, 1, 0],
    [0, 0, 0, 3, 0, 3, 0],
    [3, 2, 0, 0, 3, 1, 0],
    [4, 0, 0, 1, 0, 2, 0],
    [0, 2, 1, 4, 1, 0, 0],
    [0; 7],
];
const DORIAN: Follows = [
    [0, 1, 2, 4, 1, 0, 3],
    [3, 0, 0, 2, 1, 0, 0],
    [2, 0, 0, 3, 0, 0, 1],
    [4, 1, 0, 0, 0, 0, 2],
    [3, 0, 0, 2, 0, 0, 1],
    [0; 7],
    [3, 0, 1, 3, 0, 0, 0],
];
const PHRYGIAN: Follows = [
    [0, 4, 2, 0, 0, 2, 2],
    [5, 0, 2, 0, 0, 0, 1],
    [2, 3, 0, 0, 0, 2, 0],
    [0; 7],
    [0; 7],
    [2, 3, 1, 0, 0, 0, 0],
    [4, 1, 0, 0, 0, 2, 0],
];
const LYDIAN: Follows = [
    [0, 4, 1, 0, 2, 2, 1],
    [5, 0, 0, 0, 0, 2, 1],
    [1, 2, 0, 0, 0, 2, 0],
    [0; 7],
    [3, 3, 0, 0, 0, 0, 0],
    [2, 3, 1, 0, 0, 0, 0],
    [2, 2, 1, 0, 0, 0, 0],
];
const MIXOLYDIAN: Follows = [
    [0, 1, 0, 3, 2, 0, 4],
    [2, 0, 0, 2, 1, 0, 0],
    [0; 7],
    [4, 1, 0, 0, 0, 0, 3],
    [3, 0, 0, 2, 0, 0, 1],
    [0; 7],
    [4, 0, 0, 4, 0, 0, 0],
];
const AEOLIAN: Follows = [
    [0, 0, 2, 3, 0, 4, 2],
    [0; 7],
    [0, 0, 0, 1, 0, 3, 2],
    [3, 0, 0, 0, 1, 2, 2],
    [3, 0, 0, 0, 0, 2, 0],
    [1, 0, 3, 2, 0, 0, 3],
    [4, 0, 2, 0, 0, 1, 0],
];
const HARMONIC_MINOR: Follows = [
    [0, 0, 0, 3, 3, 3, 0],
    [0; 7],
    [0; 7],
    [2, 0, 0, 0, 4, 1, 0],
    [5, 0, 0, 0, 0, 2, 0],
    [1, 0, 0, 3, 3, 0, 0],
    [0; 7],
];

/// What chords and melody are drawn from.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Tonality {
    pub(crate) chords: Scale,
    pub(crate) melody: Scale,
    /// The mode whose table leads from chord to chord; none for a user's scale.
    mode: Option<Mode>,
}

impl Tonality {
    pub(crate) fn of(params: &Params) -> Self {
        match params.scale {
            Some(scale) => Self {
                chords: scale,
                melody: scale,
                mode: None,
            },
            None => Self {
                chords: chord_scale(params.mode),
                melody: melody_scale(params.mode),
                mode: Some(params.mode),
            },
        }
    }

    /// Whether a chord may stand on `degree`: in a user's scale, whose two lowest intervals are
    /// about thirds or fourths.
    fn stands(&self, degree: i32) -> bool {
        let third = |from: i32| self.chords.cents(from + 2) - self.chords.cents(from);
        let usual = 250..=500;
        usual.contains(&third(degree)) && usual.contains(&third(degree + 2))
    }

    /// Weight of a chord on `to` after one on `from`.
    fn weight(&self, from: i32, to: i32) -> f64 {
        let table = match self.mode {
            None => return f64::from(u8::from(to != from && (to == 0 || self.stands(to)))),
            Some(Mode::Ionian | Mode::MajorPentatonic) => &IONIAN,
            Some(Mode::Dorian) => &DORIAN,
            Some(Mode::Phrygian) => &PHRYGIAN,
            Some(Mode::Lydian) => &LYDIAN,
            Some(Mode::Mixolydian) => &MIXOLYDIAN,
            Some(Mode::Aeolian | Mode::MinorPentatonic) => &AEOLIAN,
            Some(Mode::HarmonicMinor) => &HARMONIC_MINOR,
        };
        f64::from(table[from as usize % 7][to as usize % 7])
    }

    /// Whether a chord on `degree` is ever reached.
    pub(crate) fn leads(&self, degree: i32) -> bool {
        (0..self.chords.degrees()).any(|from| self.weight(from, degree) > 0.0)
    }

    /// The degrees that lead home, the usual one first.
    pub(crate) fn cadences(&self) -> [i32; 2] {
        match self.mode {
            Some(Mode::Ionian | Mode::MajorPentatonic) => [3, 4],
            Some(Mode::Dorian) => [3, 6],
            Some(Mode::Phrygian | Mode::Lydian) => [1, 1],
            Some(Mode::Mixolydian) => [6, 6],
            Some(Mode::Aeolian | Mode::MinorPentatonic) => [6, 3],
            Some(Mode::HarmonicMinor) => [4, 4],
            None => {
                let stands = |degree: &i32| self.stands(*degree);
                let first = (1..self.chords.degrees()).find(stands);
                let last = (1..self.chords.degrees()).rev().find(stands);
                [first.unwrap_or(0), last.unwrap_or(0)]
            }
        }
    }

    /// The degree after `from`: by the table, blended by `variety` with any that stands.
    pub(crate) fn next_degree(&self, from: i32, variety: f64, random: &mut Random) -> i32 {
        let count = self.chords.degrees();
        let known = |to: i32| f64::from(u8::from(self.leads(to)));
        let usual: f64 = (0..count).map(|to| self.weight(from, to)).sum();
        let any: f64 = (0..count).filter(|to| *to != from).map(known).sum();
        if usual == 0.0 || any == 0.0 {
            return 0;
        }
        // Even the freest chain keeps some of its sense.
        let free = 0.7 * variety;
        let mut left = random.unit();
        for to in (0..count).filter(|to| *to != from) {
            left -= (1.0 - free) * self.weight(from, to) / usual + free * known(to) / any;
            if left < 0.0 {
                return to;
            }
        }
        0
    }

    /// The chord on `degree` with a seventh, a ninth or neither, `shift` cents above the key.
    pub(crate) fn chord(&self, degree: i32, colour: Colour, shift: i32) -> Chord {
        let class = |step: i32| (self.chords.cents(degree + step) + shift).rem_euclid(OCTAVE);
        let (added, count) = match colour {
            Colour::Plain => (0, 3),
            Colour::Seventh => (class(6), 4),
            Colour::Ninth => (class(8), 4),
        };
        Chord {
            classes: [class(0), class(2), class(4), added],
            count,
        }
    }

    /// Whether the chord on `degree` belongs also to the same scale `shift` cents higher.
    pub(crate) fn is_pivot(&self, degree: i32, shift: i32) -> bool {
        [0, 2, 4]
            .into_iter()
            .all(|step| self.chords.holds(self.chords.cents(degree + step) - shift))
    }
}

/// What is added to a triad.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Colour {
    #[default]
    Plain,
    Seventh,
    Ninth,
}

/// Pitch classes in cents, root first.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Chord {
    classes: [i32; 4],
    count: usize,
}

impl Chord {
    pub(crate) fn classes(&self) -> &[i32] {
        &self.classes[..self.count]
    }

    pub(crate) fn root(&self) -> i32 {
        self.classes[0]
    }

    /// Whether a pitch in cents is one of its notes in some octave.
    pub(crate) fn holds(&self, cents: i32) -> bool {
        self.classes().contains(&cents.rem_euclid(OCTAVE))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tonality(mode: Mode) -> Tonality {
        Tonality::of(&Params {
            mode,
            ..Params::default()
        })
    }

    #[test]
    fn no_chord_that_is_reached_is_diminished_and_each_leads_on() {
        for &mode in Mode::ALL {
            let tonality = tonality(mode);
            for from in 0..7 {
                for to in (0..7).filter(|to| tonality.weight(from, *to) > 0.0) {
                    let chord = tonality.chord(to, Colour::Plain, 0);
                    let fifth = (chord.classes()[2] - chord.root()).rem_euclid(OCTAVE);
                    assert_eq!(fifth, 700, "{mode} {from} {to}");
                    assert!((0..7).any(|next| tonality.weight(to, next) > 0.0));
                    assert!(chord.classes().iter().all(|c| tonality.chords.holds(*c)));
                }
            }
            for cadence in tonality.cadences() {
                assert!(tonality.weight(cadence, 0) > 0.0, "{mode} {cadence}");
            }
        }
    }

    #[test]
    fn variety_flattens_the_chain() {
        let share = |variety| {
            let mut random = Random::seeded(1);
            let tonality = tonality(Mode::Phrygian);
            let home = (0..20_000).filter(|_| tonality.next_degree(1, variety, &mut random) == 0);
            home.count() as f64 / 20_000.0
        };
        // Five of eight by the table; fully free, 0.3 of that and 0.7 of a quarter.
        assert!((share(0.0) - 0.625).abs() < 0.02 && (share(1.0) - 0.3625).abs() < 0.02);
    }

    #[test]
    fn a_users_scale_has_chords_and_a_way_home() {
        let scale = Scale::new(&[0.0, 204.0, 386.0, 498.0, 702.0, 884.0, 1_088.0]).unwrap();
        let odd = Scale::new(&[0.0, 30.0, 60.0]).unwrap();
        for scale in [scale, odd] {
            let tonality = Tonality::of(&Params {
                scale: Some(scale),
                ..Params::default()
            });
            let mut random = Random::seeded(2);
            let mut degree = 0;
            for _ in 0..100 {
                degree = tonality.next_degree(degree, 0.5, &mut random);
                assert!((0..scale.degrees()).contains(&degree));
            }
            assert!(
                tonality
                    .cadences()
                    .iter()
                    .all(|d| (0..scale.degrees()).contains(d))
            );
        }
    }

    #[test]
    fn a_pivot_belongs_to_both_keys() {
        let ionian = tonality(Mode::Ionian);
        // C and G share C, E minor, G and A minor; C and D share E minor and G.
        let pivots =
            |shift| -> Vec<i32> { (0..7).filter(|d| ionian.is_pivot(*d, shift)).collect() };
        assert_eq!(pivots(700), [0, 2, 4, 5]);
        assert_eq!(pivots(200), [2, 4]);
    }
}
