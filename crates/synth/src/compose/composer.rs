//! The composer: bar after bar from one seed.
//!
//! Invariants: the notes of a bar depend on the seed, on the bars before and on the parameters at
//! its start; bars follow each other without a gap or drift, whatever the tempo does; another key is
//! the same music, transposed; each part draws its own chances, so that silencing one leaves the
//! others as they are; composing allocates nothing.

use warpsmith_workload::random::Random;

use super::bells::Bells;
use super::form::{Form, Section};
use super::harmony::Tonality;
use super::humanise::{Wander, velocity};
use super::melody::{Ground, Melody};
use super::percussion::Percussion;
use super::progression::Progression;
use super::pulse::Pulse;
use super::scale::OCTAVE;
use super::texture::Texture;
use super::voicing::{MOST_VOICES, Voicing};
use crate::note::{Note, Voice};
use crate::params::{Params, Patch};
use crate::stream::StreamSettings;

/// What changed since the first music: a seed of another version is another piece.
pub const COMPOSITION_VERSION: u32 = 3;

/// Notes that a bar has at most: five pads, a bass, two motifs, eight of the pulse, four bells, a kick
/// and two swells.
pub const MOST_NOTES_A_BAR: usize = 48;

/// Bars that a pad or a bass is held at most. A new key or tempo is heard when the next one begins.
const LONGEST_HELD: u32 = 2;
/// The same for what fades by itself.
const LONGEST_RUNG: u32 = 1;
/// Seconds from one note of a rolled chord to the next, and by how much they vary.
const ROLL: f64 = 0.028;
const ROLL_SPREAD: f64 = 0.008;
/// Where chords lie, and the bass, in cents.
const CHORDS_CENTRE: i32 = 5_900;
const BASS_CENTRE: i32 = 4_000;
const BASS_RANGE: std::ops::RangeInclusive<i32> = 3_300..=4_900;

/// Composes for one listener.
#[derive(Debug)]
pub struct Composer {
    sample_rate: f64,
    /// Where the next bar begins; fractions of a sample are kept, so that tempo does not drift.
    next_bar: f64,
    form: Form,
    section: Section,
    /// The next bar's place in its section.
    bar: u32,
    harmony: Random,
    chords: Progression,
    tonality: Option<Tonality>,
    wander: Wander,
    voicing: Voicing,
    bass: i32,
    melody: Melody,
    pulse: Pulse,
    bells: Bells,
    percussion: Percussion,
    texture: Texture,
}

impl Clone for Composer {
    fn clone(&self) -> Self {
        Self {
            form: self.form.clone(),
            harmony: self.harmony.clone(),
            chords: self.chords.clone(),
            wander: self.wander.clone(),
            melody: self.melody.clone(),
            pulse: self.pulse.clone(),
            bells: self.bells.clone(),
            percussion: self.percussion.clone(),
            texture: self.texture.clone(),
            ..*self
        }
    }

    /// Into the memory that is there.
    fn clone_from(&mut self, source: &Self) {
        self.sample_rate = source.sample_rate;
        self.next_bar = source.next_bar;
        self.form.clone_from(&source.form);
        self.section = source.section;
        self.bar = source.bar;
        self.harmony.clone_from(&source.harmony);
        self.chords.clone_from(&source.chords);
        self.tonality = source.tonality;
        self.wander.clone_from(&source.wander);
        self.voicing = source.voicing;
        self.bass = source.bass;
        self.melody.clone_from(&source.melody);
        self.pulse.clone_from(&source.pulse);
        self.bells.clone_from(&source.bells);
        self.percussion.clone_from(&source.percussion);
        self.texture.clone_from(&source.texture);
    }
}

impl Composer {
    /// A composer that begins at position 0 and never ends.
    pub fn new(seed: u64, sample_rate: u32) -> Self {
        Self::with_form(seed, sample_rate, None)
    }

    /// A composer whose music arrives, stays and lets go within so many seconds; then there is silence.
    pub fn with_form(seed: u64, sample_rate: u32, seconds: Option<f64>) -> Self {
        let part = |number: u64| Random::seeded(seed ^ number.wrapping_mul(0xd6e8_feb8_6659_fd93));
        Self {
            sample_rate: f64::from(sample_rate),
            next_bar: 0.0,
            form: Form::new(part(1), seconds),
            section: Section::default(),
            bar: 0,
            harmony: part(2),
            chords: Progression::default(),
            tonality: None,
            wander: Wander::default(),
            voicing: Voicing::default(),
            bass: BASS_CENTRE,
            melody: Melody::new(part(3)),
            percussion: Percussion::new(part(4)),
            pulse: Pulse::new(part(5)),
            bells: Bells::new(part(6), f64::from(sample_rate)),
            texture: Texture::new(part(7)),
        }
    }

    /// Position of the first sample of the next bar.
    pub fn next_bar(&self) -> u64 {
        self.next_bar as u64
    }

    /// Composes the next bar; notes are handed to `add` in no particular order.
    pub fn compose_bar(&mut self, params: &Params, add: &mut dyn FnMut(Note)) {
        let from = self.next_bar;
        let span = (
            from,
            from + 240.0 / f64::from(params.bpm) * self.sample_rate,
        );
        if self.bar >= self.section.bars && self.form.is_over() {
            self.next_bar = span.1;
            return;
        }
        let tonality = Tonality::of(params);
        let variety = f64::from(params.variety);
        if self.bar >= self.section.bars {
            self.section = self.form.next(params);
            self.bar = 0;
            self.melody.begin();
            let random = &mut self.harmony;
            self.chords
                .plan(0, &self.section, &tonality, variety, random);
        } else if self.tonality != Some(tonality) {
            self.melody.forget(self.bar);
            let random = &mut self.harmony;
            self.chords
                .plan(self.bar, &self.section, &tonality, variety, random);
        }
        self.tonality = Some(tonality);
        // Up to F sharp, down to G: no key lies far from another.
        let key = 100 * i32::from(params.key.semitones());
        let key = if key > OCTAVE / 2 { key - OCTAVE } else { key };
        self.accompany(span, key, &tonality, params, add);
        let ground = Ground {
            section: &self.section,
            chords: &self.chords,
            tonality: &tonality,
            params,
        };
        let (rate, level) = (self.sample_rate, self.section.level);
        self.melody.play(self.bar, span, key, rate, &ground, add);
        self.bells.play(span, key, rate, &ground, add);
        let chord = (&self.section, &self.voicing);
        self.pulse.play(span, key, rate, chord, params, add);
        self.percussion.play(span, level, params, rate, add);
        self.texture.play(span, level, params, rate, add);
        self.next_bar = span.1;
        self.bar += 1;
    }

    /// Pads and bass, where a chord begins or has been held long enough.
    fn accompany(
        &mut self,
        (from, to): (f64, f64),
        key: i32,
        tonality: &Tonality,
        params: &Params,
        add: &mut dyn FnMut(Note),
    ) {
        let planned = self.chords.at(self.bar);
        let rings = params.instruments.pads != Patch::Usual;
        let longest = if rings { LONGEST_RUNG } else { LONGEST_HELD };
        if !planned.since.is_multiple_of(longest) {
            return;
        }
        let chord = tonality.chord(planned.degree, planned.colour, self.section.shift);
        let voices = 2 + (3.0 * params.density).round() as usize;
        if planned.since == 0 || self.voicing.pitches().len() != voices {
            let centre = CHORDS_CENTRE + self.section.register / 2;
            self.voicing = self.voicing.next(&chord, voices.min(MOST_VOICES), centre);
            self.bass = nearest(chord.root(), self.bass);
        }
        let bars = planned.left.clamp(1, longest);
        let length = ((to - from) * f64::from(bars)) as u32;
        let loudness = f64::from(0.6 + 0.4 * params.intensity) * self.section.level;
        let count = self.voicing.pitches().len();
        // More notes, each softer: the power of three.
        let share = (3.0 / count as f64).sqrt().min(1.0);
        let random = &mut self.harmony;
        for (index, pitch) in self.voicing.pitches().iter().enumerate() {
            let across = index as f32 / (count - 1).max(1) as f32;
            let mut late = self.wander.late(0.005, random) * self.sample_rate;
            if rings {
                // A hand rolls a wide chord from below.
                late += self.wander.late(ROLL_SPREAD / 2.5, random) * self.sample_rate;
                late += ROLL * index as f64 * self.sample_rate;
            }
            let base = (0.45 + 0.03 * index.min(3) as f64) * loudness * share;
            let note = Note {
                voice: Voice::Pad,
                start: (from + late) as u64,
                length,
                pitch: (pitch + key) as f32 / 100.0,
                velocity: velocity(base, random),
                pan: 1.6 * (across - 0.5),
                seed: 0,
                patch: params.instruments.pads,
            };
            if params.parts.pads {
                add(note);
            }
        }
        let late = self.wander.late(0.008, random) * self.sample_rate;
        let note = Note {
            voice: Voice::Bass,
            start: (from + late) as u64,
            length,
            pitch: (self.bass + key) as f32 / 100.0,
            velocity: velocity(0.4 * loudness, random),
            pan: 0.0,
            seed: 0,
            patch: params.instruments.bass,
        };
        if params.parts.bass {
            add(note);
        }
    }
}

/// The pitch of `class` nearest to `last` in the range of the bass.
fn nearest(class: i32, last: i32) -> i32 {
    let lowest = BASS_RANGE.start() + (class - BASS_RANGE.start()).rem_euclid(OCTAVE);
    let higher = lowest + OCTAVE;
    if BASS_RANGE.contains(&higher) && (higher - last).abs() < (lowest - last).abs() {
        higher
    } else {
        lowest
    }
}

/// All notes that begin in the first `frames` samples, in order of their start.
pub fn compose(seed: u64, params: &Params, sample_rate: u32, frames: u64) -> Vec<Note> {
    let settings = StreamSettings {
        sample_rate,
        ..StreamSettings::default()
    };
    compose_with(seed, params, &settings, frames)
}

/// The same for a stream with other settings.
pub fn compose_with(
    seed: u64,
    params: &Params,
    settings: &StreamSettings,
    frames: u64,
) -> Vec<Note> {
    let mut composer = Composer::with_form(seed, settings.sample_rate, settings.form_seconds);
    let mut notes = Vec::new();
    while composer.next_bar() < frames {
        composer.compose_bar(params, &mut |note| notes.push(note));
    }
    notes.retain(|note| note.start < frames);
    notes.sort_by_key(|note| note.start);
    notes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bass_stays_in_its_range() {
        for class in (0..OCTAVE).step_by(50) {
            for last in [3_300, 4_000, 4_900] {
                let pitch = nearest(class, last);
                assert!(BASS_RANGE.contains(&pitch));
                assert_eq!(pitch.rem_euclid(OCTAVE), class);
            }
        }
    }
}
