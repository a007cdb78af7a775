//! The composer: bar after bar from one seed.
//!
//! Invariants: the notes of a bar depend on the seed, on the bars before and on the parameters at
//! its start; bars follow each other without a gap or drift, whatever the tempo does; composing
//! allocates nothing.

use warpsmith_workload::random::Random;

use super::harmony::{Chord, nearest_pitch, next_function};
use super::melody::Melody;
use super::percussion::Percussion;
use crate::note::{Note, Voice};
use crate::params::Params;

/// Notes that a bar has at most: five pads, a bass, a note to each sixteenth, a kick, a swell.
pub const MOST_NOTES_A_BAR: usize = 24;

/// Composes for one listener.
#[derive(Clone, Debug)]
pub struct Composer {
    random: Random,
    sample_rate: f64,
    /// Where the next bar begins; fractions of a sample are kept, so that tempo does not drift.
    next_bar: f64,
    bars: u64,
    function: usize,
    melody: Melody,
    percussion: Percussion,
}

impl Composer {
    /// A composer that begins at position 0.
    pub fn new(seed: u64, sample_rate: u32) -> Self {
        Self {
            random: Random::seeded(seed),
            sample_rate: f64::from(sample_rate),
            next_bar: 0.0,
            bars: 0,
            function: 0,
            melody: Melody::default(),
            percussion: Percussion::default(),
        }
    }

    /// Position of the first sample of the next bar.
    pub fn next_bar(&self) -> u64 {
        self.next_bar as u64
    }

    /// Composes the next bar; notes are handed to `add` in no particular order.
    pub fn compose_bar(&mut self, params: &Params, add: &mut dyn FnMut(Note)) {
        let from = self.next_bar;
        let to = from + 240.0 / f64::from(params.bpm) * self.sample_rate;
        let variety = f64::from(params.variety);
        if self.bars > 0 {
            self.function = next_function(self.function, variety, &mut self.random);
        }
        let density = f64::from(params.density);
        let chord = Chord::new(self.function, params.key, params.mode, density);
        self.harmony((from, to), &chord, params, add);
        let span = (from, to);
        let (rate, random) = (self.sample_rate, &mut self.random);
        self.melody.play(span, &chord, params, rate, random, add);
        self.percussion.play(span, params, rate, random, add);
        self.next_bar = to;
        self.bars += 1;
    }

    fn harmony(
        &mut self,
        (from, to): (f64, f64),
        chord: &Chord,
        params: &Params,
        add: &mut dyn FnMut(Note),
    ) {
        let start = from as u64;
        let length = (to as u64 - start) as u32;
        let loudness = 0.6 + 0.4 * params.intensity;
        let count = chord.classes().count();
        // More notes, each softer: the power of three.
        let share = (3.0 / count as f32).sqrt().min(1.0);
        for (index, class) in chord.classes().enumerate() {
            if params.parts.pads {
                // Close voicing around E4, the upper thirds a little higher.
                let centre = 59.0 + 2.0 * index as f32;
                let across = index as f32 / (count - 1).max(1) as f32;
                add(Note {
                    voice: Voice::Pad,
                    start,
                    length,
                    pitch: nearest_pitch(class, centre),
                    velocity: (0.45 + 0.05 * index.min(2) as f32) * loudness * share,
                    pan: 0.8 * (across - 0.5),
                    seed: 0,
                });
            }
        }
        if params.parts.bass {
            add(Note {
                voice: Voice::Bass,
                start,
                length,
                pitch: nearest_pitch(chord.root(), 40.0),
                velocity: 0.4 * loudness,
                pan: 0.0,
                seed: 0,
            });
        }
    }
}

/// All notes that begin in the first `frames` samples, in order of their start.
pub fn compose(seed: u64, params: &Params, sample_rate: u32, frames: u64) -> Vec<Note> {
    let mut composer = Composer::new(seed, sample_rate);
    let mut notes = Vec::new();
    while composer.next_bar() < frames {
        composer.compose_bar(params, &mut |note| notes.push(note));
    }
    notes.retain(|note| note.start < frames);
    notes.sort_by_key(|note| note.start);
    notes
}
