//! The chords of a section, bar by bar, known before its first bar sounds: a melody that begins now
//! must end on a chord that is still to come.

use warpsmith_workload::random::Random;

use super::form::{MOST_BARS, Section};
use super::harmony::{Colour, Tonality};

/// A chord that lasts so many bars.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Planned {
    pub(crate) degree: i32,
    pub(crate) colour: Colour,
    /// Bars since it began, and bars until it ends, this one counted.
    pub(crate) since: u32,
    pub(crate) left: u32,
}

/// The same as it is kept: every listener has two hundred of them.
#[derive(Clone, Copy, Debug, Default)]
struct Kept {
    degree: i16,
    colour: Colour,
    since: u8,
    left: u8,
}

/// The chord of every bar of a section.
#[derive(Clone, Debug)]
pub(crate) struct Progression {
    bars: [Kept; MOST_BARS as usize],
}

/// Bars to a period, which ends with a cadence.
const PERIOD: u32 = 16;
/// How many chords are more than triads.
const COLOURED: f64 = 0.55;

impl Default for Progression {
    fn default() -> Self {
        Self {
            bars: [Kept::default(); MOST_BARS as usize],
        }
    }
}

impl Progression {
    /// The chord of a bar; past the end of the section, its last.
    pub(crate) fn at(&self, bar: u32) -> Planned {
        let kept = self.bars[(bar as usize).min(self.bars.len() - 1)];
        Planned {
            degree: kept.degree.into(),
            colour: kept.colour,
            since: kept.since.into(),
            left: kept.left.into(),
        }
    }

    /// Plans the bars from `from` to the end of the section.
    pub(crate) fn plan(
        &mut self,
        from: u32,
        section: &Section,
        tonality: &Tonality,
        variety: f64,
        random: &mut Random,
    ) {
        let (mut bar, mut degree, mut before) = (from, 0, None);
        while bar < section.bars {
            let length = section.pace.min(section.bars - bar);
            let ends = bar + length >= section.bars;
            let cadence = ends || bar % PERIOD + length >= PERIOD;
            if ends && section.last {
                // The end of the music is at home.
                degree = 0;
            } else if ends && section.next_shift != section.shift {
                degree = pivot(section.next_shift - section.shift, tonality, before, random);
            } else if cadence {
                degree = leading_home(tonality, before, random);
            }
            let colour = match random.unit() / COLOURED {
                share if share < 0.5 => Colour::Seventh,
                share if share < 1.0 => Colour::Ninth,
                _ => Colour::Plain,
            };
            for since in 0..length {
                self.bars[(bar + since) as usize] = Kept {
                    degree: degree as i16,
                    colour,
                    since: since as u8,
                    left: (length - since) as u8,
                };
            }
            before = Some(degree);
            bar += length;
            degree = if cadence {
                0
            } else {
                tonality.next_degree(degree, variety, random)
            };
        }
        for rest in &mut self.bars[section.bars as usize..] {
            *rest = Kept {
                degree: degree as i16,
                ..Kept::default()
            };
        }
    }
}

/// One of the degrees that lead home, not the one that sounds already.
fn leading_home(tonality: &Tonality, before: Option<i32>, random: &mut Random) -> i32 {
    let [usual, other] = tonality.cadences();
    let (first, second) = match random.unit() < 0.5 {
        true => (usual, other),
        false => (other, usual),
    };
    if before == Some(first) { second } else { first }
}

/// A chord of both keys; where they share none, one that leads home.
fn pivot(shift: i32, tonality: &Tonality, before: Option<i32>, random: &mut Random) -> i32 {
    let shared = |degree: &i32| {
        Some(*degree) != before && tonality.leads(*degree) && tonality.is_pivot(*degree, shift)
    };
    let cadence = tonality
        .cadences()
        .into_iter()
        .find(|degree| shared(degree));
    let any = (0..tonality.chords.degrees()).find(shared);
    cadence
        .or(any)
        .unwrap_or_else(|| leading_home(tonality, before, random))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compose::form::Form;
    use crate::params::Params;

    #[test]
    fn every_bar_has_a_chord_periods_close_and_keys_are_joined() {
        let params = Params::default();
        let tonality = Tonality::of(&params);
        for seed in 0..40 {
            let mut random = Random::seeded(seed);
            let mut form = Form::new(Random::seeded(seed), None);
            let mut progression = Progression::default();
            for _ in 0..6 {
                let section = form.next(&params);
                progression.plan(0, &section, &tonality, 0.5, &mut random);
                assert_eq!(progression.at(0).degree, 0);
                let mut bar = 0;
                while bar < section.bars {
                    let chord = progression.at(bar);
                    assert_eq!(chord.since, 0);
                    assert!((1..=section.pace).contains(&chord.left));
                    bar += chord.left;
                }
                assert_eq!(bar, section.bars);
                let last = progression.at(section.bars - 1).degree;
                let moved = section.next_shift - section.shift;
                let shared = (0..7).any(|d| tonality.leads(d) && tonality.is_pivot(d, moved));
                assert!(
                    tonality.is_pivot(last, moved)
                        || !shared
                        || tonality.cadences().contains(&last)
                );
            }
        }
    }
}
