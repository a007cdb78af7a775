//! Kicks every few bars and swells now and then, both only where there is some intensity.

use warpsmith_workload::random::Random;

use crate::note::{Note, Voice};
use crate::params::{Params, Patch};

/// Counts bars to the next kick.
#[derive(Clone, Debug)]
pub(crate) struct Percussion {
    random: Random,
    bars_to_kick: usize,
}

/// Below this there is neither.
const QUIET: f32 = 0.3;
/// Loudness of a swell that nothing covers, beside one under held chords.
const UNCOVERED: f64 = 0.15;

impl Percussion {
    pub(crate) fn new(random: Random) -> Self {
        Self {
            random,
            bars_to_kick: 0,
        }
    }

    /// Adds what falls into the bar `from..to`, at the section's `level`.
    pub(crate) fn play(
        &mut self,
        (from, to): (f64, f64),
        level: f64,
        params: &Params,
        sample_rate: f64,
        add: &mut dyn FnMut(Note),
    ) {
        let random = &mut self.random;
        if params.intensity < QUIET {
            self.bars_to_kick = 0;
            return;
        }
        let intensity = f64::from(params.intensity);
        if self.bars_to_kick == 0 {
            let skipped = random.unit() < 0.3;
            let velocity = 0.4 + 0.3 * intensity + 0.2 * (random.unit() - 0.5);
            // Chances are drawn whether the kick is heard or not: swells do not depend on it.
            let kick = Note {
                voice: Voice::Kick,
                start: from as u64 + random.below(200) as u64,
                length: (sample_rate / 10.0) as u32,
                pitch: 0.0,
                velocity: (level * velocity.clamp(0.3, 0.8)) as f32,
                pan: 0.0,
                seed: 0,
                patch: Patch::Usual,
            };
            if params.parts.kicks && !skipped {
                add(kick);
            }
            let (fewest, more) = if intensity < 0.7 { (4, 5) } else { (2, 3) };
            self.bars_to_kick = fewest + random.below(more);
        }
        self.bars_to_kick -= 1;
        // Two in eight bars at full intensity.
        if random.unit() < intensity / 4.0 {
            let start = from + (to - from) * random.unit();
            let seconds = 3.0 + 5.0 * random.unit();
            let velocity = 0.5 * intensity + 0.3 * (random.unit() - 0.5);
            // Held chords cover noise; above a piano alone it would be hiss.
            let rings = params.instruments.pads != Patch::Usual;
            let cover = if rings { UNCOVERED } else { 1.0 };
            let note = Note {
                voice: Voice::Swell,
                start: start as u64,
                length: (seconds * sample_rate) as u32,
                pitch: 0.0,
                velocity: (level * cover * velocity.clamp(0.15, 0.6)) as f32,
                pan: (random.unit() * 1.2 - 0.6) as f32,
                seed: random.bits() as u32,
                patch: Patch::Usual,
            };
            if params.parts.swells {
                add(note);
            }
        }
    }
}
