//! The melody: single notes that go on across bars, most of them from the chord.

use warpsmith_workload::random::Random;

use super::harmony::{Chord, scale};
use crate::note::{Note, Voice};
use crate::params::Params;

/// Lets the next note come when its time has come; the time outlives the bar.
#[derive(Clone, Debug, Default)]
pub(crate) struct Melody {
    /// Position of the next note in samples.
    next: f64,
}

/// Least time between two notes.
const CLOSEST_SECONDS: f64 = 0.2;

impl Melody {
    /// Adds the notes of the bar `from..to`.
    pub(crate) fn play(
        &mut self,
        (from, to): (f64, f64),
        chord: &Chord,
        params: &Params,
        sample_rate: f64,
        random: &mut Random,
        add: &mut dyn FnMut(Note),
    ) {
        let sixteenth = (to - from) / 16.0;
        self.next = self.next.max(from);
        while self.next < to {
            let slot = ((self.next - from) / sixteenth).floor();
            let start = from + slot * sixteenth;
            if params.parts.melody {
                add(self.note(start, chord, params, sample_rate, random));
            }
            self.next = start + self.wait(params, sixteenth, sample_rate, random);
        }
    }

    fn wait(&self, params: &Params, sixteenth: f64, sample_rate: f64, random: &mut Random) -> f64 {
        let intensity = f64::from(params.intensity);
        // Notes a second at 70 BPM; a faster bar has as many notes.
        let density = (0.5 + 2.0 * intensity) * f64::from(params.bpm) / 70.0;
        let mut seconds = (0.5 + 2.0 * random.unit()) / density;
        if random.unit() < 0.2 {
            seconds *= 1.5 + 1.5 * random.unit();
        }
        let samples = (seconds.max(CLOSEST_SECONDS) * sample_rate / sixteenth).round();
        samples.max(1.0) * sixteenth
    }

    fn note(
        &self,
        start: f64,
        chord: &Chord,
        params: &Params,
        sample_rate: f64,
        random: &mut Random,
    ) -> Note {
        let intensity = f64::from(params.intensity);
        let (shortest, longest) = match intensity {
            i if i < 0.3 => (2.0, 5.0),
            i if i < 0.6 => (1.0, 3.0),
            _ => (0.5, 2.0),
        };
        let seconds = shortest + (longest - shortest) * random.unit();
        let octaves = 2 + (2.0 * intensity) as usize;
        let class = pitch_class(chord, params, random);
        let above = (class + 12 - params.key.semitones()) % 12;
        let pitch = 57 + (params.key.semitones() + 3) % 12 + above;
        Note {
            voice: Voice::Lead,
            start: start as u64,
            length: (seconds * sample_rate) as u32,
            pitch: f32::from(pitch) + 12.0 * random.below(octaves) as f32,
            velocity: ((0.25 + 0.25 * random.unit()) * (0.7 + 0.3 * intensity)) as f32,
            pan: (random.unit() - 0.5) as f32,
            seed: 0,
        }
    }
}

/// A note of the chord, of the scale, or of all twelve: less of the first with more complexity.
fn pitch_class(chord: &Chord, params: &Params, random: &mut Random) -> u8 {
    let complexity = f64::from(params.complexity);
    let weights = [
        0.7 - 0.4 * complexity,
        0.25 + 0.2 * complexity,
        0.05 + 0.2 * complexity,
    ];
    let draw = random.unit() * weights.iter().sum::<f64>();
    if draw < weights[0] {
        let chosen = random.below(chord.classes().count());
        chord.classes().nth(chosen).unwrap_or(chord.root())
    } else if draw < weights[0] + weights[1] {
        (params.key.semitones() + scale(params.mode)[random.below(7)]) % 12
    } else {
        random.below(12) as u8
    }
}
