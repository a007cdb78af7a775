//! Where the notes of a chord lie: as near as can be to where those of the chord before lay.
//!
//! Every voicing within two octaves is tried: some hundred sums for a chord.

use super::harmony::Chord;
use super::scale::OCTAVE;

/// Voices of a chord at most.
pub(crate) const MOST_VOICES: usize = 5;
/// Cents on each side of the centre in which voices lie.
const REACH: i32 = 1_300;
/// Two notes below this one and nearer than a fourth are mud: a fourth above C3, so that it holds
/// in the lowest key, too.
const LOW: i32 = 5_300;
const FOURTH: i32 = 500;
/// Pitches of a chord within twice the reach, at most.
const MOST_PITCHES: usize = 12;

/// Pitches in cents, from low to high.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Voicing {
    pitches: [i32; MOST_VOICES],
    count: usize,
}

impl Voicing {
    pub(crate) fn pitches(&self) -> &[i32] {
        &self.pitches[..self.count]
    }

    /// The voicing of `chord` with `voices` notes that costs least after this one.
    pub(crate) fn next(&self, chord: &Chord, voices: usize, centre: i32) -> Self {
        let (pitches, count) = pitches_of(chord, centre);
        let mut best = (f64::INFINITY, None);
        let mut chosen = Self {
            pitches: [0; MOST_VOICES],
            count: voices.min(MOST_VOICES),
        };
        each_choice(&pitches[..count], 0, 0, &mut chosen, &mut |voicing| {
            let cost = voicing.cost(chord, centre, self);
            if cost < best.0 {
                best = (cost, Some(*voicing));
            }
        });
        best.1.unwrap_or_else(|| {
            // Every pitch of an odd scale may break a rule: the nearest are better than none.
            let mut fallback = chosen;
            fallback.count = chosen.count.min(count);
            let first = (count - fallback.count) / 2;
            fallback.pitches[..fallback.count]
                .copy_from_slice(&pitches[first..first + fallback.count]);
            fallback
        })
    }

    /// Semitones moved, with what a listener would mind added; infinite for what is no voicing.
    fn cost(&self, chord: &Chord, centre: i32, before: &Self) -> f64 {
        let pitches = self.pitches();
        let semitones = |cents: i32| f64::from(cents) / 100.0;
        let mut cost = 0.0;
        for pair in pitches.windows(2) {
            let gap = pair[1] - pair[0];
            if !(150..=1_000).contains(&gap) {
                return f64::INFINITY;
            }
            cost += if gap < 300 { 1.5 } else { 0.0 };
            cost += if gap < FOURTH && pair[0] < LOW {
                3.0
            } else {
                0.0
            };
        }
        let sounds = |class: &i32| pitches.iter().any(|p| p.rem_euclid(OCTAVE) == *class);
        // The root may be left to the bass; third, fifth and colour must sound, the fifth last.
        let needed: &[i32] = match (self.count, chord.classes()) {
            (0..=2, all) => &all[2..3],
            (3, [_, third, _, colour]) => &[*third, *colour],
            (_, all) => &all[1..],
        };
        if !needed.iter().all(sounds) {
            return f64::INFINITY;
        }
        let distinct = chord.classes().iter().filter(|class| sounds(class)).count();
        if distinct < self.count.min(3) {
            return f64::INFINITY;
        }
        let mean = pitches.iter().sum::<i32>() / self.count.max(1) as i32;
        cost += 0.12 * semitones(mean - centre).powi(2);
        if before.count != self.count {
            return cost;
        }
        let moves: [i32; MOST_VOICES] =
            std::array::from_fn(|voice| self.pitches[voice] - before.pitches[voice]);
        for voice in 0..self.count {
            let moved = moves[voice].abs();
            cost += semitones(moved);
            cost += if moved > 400 { 2.0 } else { 0.0 };
            cost += if moved > 600 { 8.0 } else { 0.0 };
            for lower in 0..voice {
                let now = (pitches[voice] - pitches[lower]).rem_euclid(OCTAVE);
                let then = (before.pitches[voice] - before.pitches[lower]).rem_euclid(OCTAVE);
                // Octaves and fifths, just ones too.
                let hollow = now == 0 || (695..=705).contains(&now);
                let same_way = moves[voice].signum() * moves[lower].signum() > 0;
                cost += if hollow && now == then && same_way {
                    6.0
                } else {
                    0.0
                };
            }
        }
        cost
    }
}

/// The pitches of `chord` around `centre`, rising, and how many there are.
fn pitches_of(chord: &Chord, centre: i32) -> ([i32; MOST_PITCHES], usize) {
    let (mut pitches, mut count) = ([0; MOST_PITCHES], 0);
    for class in chord.classes() {
        let lowest = centre - REACH + (class - (centre - REACH)).rem_euclid(OCTAVE);
        let mut pitch = lowest;
        while pitch <= centre + REACH && count < MOST_PITCHES {
            pitches[count] = pitch;
            count += 1;
            pitch += OCTAVE;
        }
    }
    pitches[..count].sort_unstable();
    (pitches, count)
}

/// Calls `take` with every rising choice of `chosen.count` pitches.
fn each_choice(
    pitches: &[i32],
    from: usize,
    voice: usize,
    chosen: &mut Voicing,
    take: &mut impl FnMut(&Voicing),
) {
    if voice == chosen.count {
        take(chosen);
        return;
    }
    for index in from..pitches.len() {
        // A gap over ten semitones cannot become smaller with the next pitch.
        if voice > 0 && pitches[index] - chosen.pitches[voice - 1] > 1_000 {
            break;
        }
        chosen.pitches[voice] = pitches[index];
        each_choice(pitches, index + 1, voice + 1, chosen, take);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compose::harmony::{Colour, Tonality};
    use crate::params::Params;

    #[test]
    fn voices_move_little_and_never_cross() {
        let tonality = Tonality::of(&Params::default());
        for voices in 2..=MOST_VOICES {
            let mut voicing = Voicing::default();
            for (index, degree) in [0, 3, 6, 2, 3, 0, 4, 0].into_iter().enumerate() {
                let colour = [Colour::Plain, Colour::Seventh, Colour::Ninth][index % 3];
                let chord = tonality.chord(degree, colour, 0);
                let next = voicing.next(&chord, voices, 5_900);
                assert_eq!(next.pitches().len(), voices);
                assert!(next.pitches().is_sorted());
                assert!(next.pitches().iter().all(|pitch| chord.holds(*pitch)));
                if index > 0 && voices == 4 {
                    let moved = next.pitches().iter().zip(voicing.pitches());
                    assert!(moved.clone().all(|(a, b)| (a - b).abs() <= 500));
                }
                voicing = next;
            }
        }
    }

    #[test]
    fn two_voices_hold_the_fifth_and_four_the_third_and_the_colour() {
        let tonality = Tonality::of(&Params::default());
        let chord = tonality.chord(3, Colour::Seventh, 0);
        let sounds = |voicing: Voicing, class: i32| {
            voicing
                .pitches()
                .iter()
                .any(|p| p.rem_euclid(OCTAVE) == class)
        };
        let two = Voicing::default().next(&chord, 2, 5_900);
        assert!(sounds(two, chord.classes()[2]));
        let four = Voicing::default().next(&chord, 4, 5_900);
        assert!(sounds(four, chord.classes()[1]) && sounds(four, chord.classes()[3]));
    }

    #[test]
    fn a_scale_without_thirds_still_has_a_voicing() {
        let odd = crate::compose::scale::Scale::new(&[0.0, 30.0, 60.0]).unwrap();
        let tonality = Tonality::of(&Params {
            scale: Some(odd),
            ..Params::default()
        });
        for voices in 2..=MOST_VOICES {
            let voicing =
                Voicing::default().next(&tonality.chord(0, Colour::Ninth, 0), voices, 5_900);
            assert!(!voicing.pitches().is_empty());
        }
    }
}
