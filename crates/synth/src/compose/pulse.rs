//! The pulse: the notes of the chord in eighths, a figure that changes a little every few bars.

use warpsmith_workload::random::Random;

use super::form::Section;
use super::humanise::{Wander, velocity};
use super::melody::EIGHTHS;
use super::scale::OCTAVE;
use super::voicing::Voicing;
use crate::note::{Note, Voice};
use crate::params::Params;

/// Bars after which a step of the figure changes.
const BARS_A_CHANGE: u32 = 4;
/// Spread of the timing in seconds.
const LOOSE: f64 = 0.004;

/// A step of the figure.
#[derive(Clone, Copy, Debug, Default)]
struct Step {
    /// Which voice of the chord, from low to high and on in the octave above.
    voice: u8,
    /// How dense the music must be for it to sound, 0 to 1.
    rarity: f64,
}

/// A figure over a bar.
#[derive(Clone, Debug)]
pub(crate) struct Pulse {
    random: Random,
    wander: Wander,
    steps: [Step; EIGHTHS as usize],
    bars: u32,
}

fn drawn(random: &mut Random) -> Step {
    Step {
        voice: random.below(6) as u8,
        rarity: random.unit(),
    }
}

impl Pulse {
    pub(crate) fn new(mut random: Random) -> Self {
        let mut steps = [Step::default(); EIGHTHS as usize];
        for (index, step) in steps.iter_mut().enumerate() {
            // Up and down again, with chances for neighbours; the first beat always sounds.
            let climb = [0, 2, 4, 1, 3, 5, 3, 1][index];
            *step = drawn(&mut random);
            step.voice = climb;
            step.rarity *= if index == 0 { 0.0 } else { 1.0 };
        }
        Self {
            random,
            wander: Wander::default(),
            steps,
            bars: 0,
        }
    }

    /// Adds the bar `from..to` over `voicing`, transposed by `key` cents.
    pub(crate) fn play(
        &mut self,
        (from, to): (f64, f64),
        key: i32,
        sample_rate: f64,
        (section, voicing): (&Section, &Voicing),
        params: &Params,
        add: &mut dyn FnMut(Note),
    ) {
        let random = &mut self.random;
        self.bars += 1;
        if self.bars.is_multiple_of(BARS_A_CHANGE) {
            // The first beat keeps its note: a listener knows by it where the bar is.
            let index = 1 + random.below(EIGHTHS as usize - 1);
            self.steps[index] = drawn(random);
        }
        let eighth = (to - from) / f64::from(EIGHTHS);
        let pitches = voicing.pitches();
        let dense = 0.25 + 0.75 * section.density;
        let loudness = f64::from(0.6 + 0.4 * params.intensity) * section.level;
        for (index, step) in self.steps.iter().enumerate() {
            let late = self.wander.late(LOOSE, random) * sample_rate;
            let accent = if index % 4 == 0 { 0.06 } else { 0.0 };
            let velocity = velocity((0.26 + accent) * loudness, random);
            let voice = usize::from(step.voice);
            if !params.parts.pulse || step.rarity >= dense || pitches.is_empty() {
                continue;
            }
            let octave = (voice / pitches.len()) as i32;
            add(Note {
                voice: Voice::Pulse,
                start: (from + eighth * index as f64 + late) as u64,
                length: (1.8 * eighth).max(1.0) as u32,
                pitch: (pitches[voice % pitches.len()] + OCTAVE * octave + key) as f32 / 100.0,
                velocity,
                pan: if index % 2 == 0 { -0.35 } else { 0.35 },
                seed: 0,
                patch: params.instruments.pulse,
            });
        }
    }
}
