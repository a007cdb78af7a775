//! The melody: motifs that are stated, repeated and answered, with silence between them.
//!
//! Invariant: a motif begins and ends within its section, so that its notes belong to one key.

use warpsmith_workload::random::Random;

use super::form::Section;
use super::harmony::{Chord, Tonality};
use super::humanise::{Wander, velocity};
use super::motif::{Motif, choose};
use super::progression::Progression;
use crate::fixed_list::FixedList;
use crate::note::{Note, Voice};
use crate::params::Params;

/// Eighths to a bar.
pub(crate) const EIGHTHS: u32 = 8;
/// Notes that have been drawn and are still to come: two motifs and the rest of a third.
const MOST_PENDING: usize = 24;
/// Cents on each side of the centre in which the melody moves freely.
const TESSITURA: i32 = 900;
/// Spread of the timing in seconds.
const LOOSE: f64 = 0.014;

/// A note that has been drawn.
#[derive(Clone, Copy, Debug)]
struct Pending {
    /// Eighths since the beginning of the section, and how many it lasts.
    at: u32,
    eighths: u32,
    /// Cents above the key, in the octave of C4 where the key is C.
    cents: i32,
    /// Loudness before the section's level.
    force: f64,
    /// Share of its length that it is held.
    held: f64,
}

/// What comes next in the telling of a motif.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Turn {
    State,
    Repeat,
    Answer,
}

/// Draws motifs ahead of time and hands out their notes bar by bar.
#[derive(Debug)]
pub(crate) struct Melody {
    random: Random,
    wander: Wander,
    pending: FixedList<Pending>,
    /// Eighths since the beginning of the section that are spoken for.
    cursor: u32,
    turn: Turn,
    motif: Motif,
    /// Step on which the motif was stated.
    stated: i32,
    /// The last note, in cents.
    last: Option<i32>,
    pan: f32,
}

impl Clone for Melody {
    fn clone(&self) -> Self {
        Self {
            random: self.random.clone(),
            wander: self.wander.clone(),
            pending: self.pending.clone(),
            ..*self
        }
    }

    /// Into the memory that is there.
    fn clone_from(&mut self, source: &Self) {
        self.pending.clone_from(&source.pending);
        let pending = std::mem::replace(&mut self.pending, FixedList::new(0));
        *self = Self {
            random: source.random.clone(),
            wander: source.wander.clone(),
            pending,
            ..*source
        };
    }
}

/// What a melody is drawn from in one bar.
pub(crate) struct Ground<'a> {
    pub(crate) section: &'a Section,
    pub(crate) chords: &'a Progression,
    pub(crate) tonality: &'a Tonality,
    pub(crate) params: &'a Params,
}

impl Ground<'_> {
    fn chord(&self, eighth: u32) -> Chord {
        let planned = self.chords.at(eighth / EIGHTHS);
        self.tonality
            .chord(planned.degree, planned.colour, self.section.shift)
    }

    pub(crate) fn cents(&self, step: i32) -> i32 {
        6_000 + self.section.shift + self.tonality.melody.cents(step)
    }

    fn centre(&self) -> i32 {
        6_200 + (2_000.0 * f64::from(self.params.intensity)) as i32 + self.section.register
    }

    /// A long tone gathers in a large room more than chords do: it is played softer there, so that
    /// it stays as far below the chords as in a small one.
    fn presence(&self) -> f64 {
        ((0.9 - f64::from(self.params.space)) / 0.5).clamp(0.2, 1.0)
    }
}

impl Melody {
    pub(crate) fn new(random: Random) -> Self {
        Self {
            random,
            wander: Wander::default(),
            pending: FixedList::new(MOST_PENDING),
            cursor: 0,
            turn: Turn::State,
            motif: Motif::default(),
            stated: 0,
            last: None,
            pan: 0.0,
        }
    }

    /// Begins a section.
    pub(crate) fn begin(&mut self) {
        self.pending.clear();
        self.cursor = 0;
        self.turn = Turn::State;
    }

    /// Forgets what was drawn from another scale and goes on with `bar`.
    pub(crate) fn forget(&mut self, bar: u32) {
        self.begin();
        self.cursor = EIGHTHS * bar;
    }

    /// Adds the notes of a bar of the section, which sounds `from..to`; they are transposed by `key`
    /// cents.
    pub(crate) fn play(
        &mut self,
        bar: u32,
        (from, to): (f64, f64),
        key: i32,
        sample_rate: f64,
        ground: &Ground<'_>,
        add: &mut dyn FnMut(Note),
    ) {
        let (first, end) = (EIGHTHS * bar, EIGHTHS * (bar + 1));
        while self.cursor < end {
            self.go_on(ground);
        }
        let eighth = (to - from) / f64::from(EIGHTHS);
        for index in 0..self.pending.len() {
            let note = self.pending[index];
            if !(first..end).contains(&note.at) {
                continue;
            }
            let late = self.wander.late(LOOSE, &mut self.random) * sample_rate;
            let loudness = note.force * ground.section.level * ground.presence();
            let loudness = velocity(loudness, &mut self.random);
            let pan = self.pan + 0.1 * (self.random.unit() as f32 - 0.5);
            if ground.params.parts.melody {
                add(Note {
                    voice: Voice::Lead,
                    start: (from + eighth * f64::from(note.at - first) + late) as u64,
                    length: (eighth * f64::from(note.eighths) * note.held).max(1.0) as u32,
                    pitch: (note.cents + key) as f32 / 100.0,
                    velocity: loudness,
                    pan,
                    seed: 0,
                    patch: ground.params.instruments.melody,
                });
            }
        }
        self.pending.retain(|note| note.at >= end);
    }

    /// Draws a motif or a rest.
    fn go_on(&mut self, ground: &Ground<'_>) {
        let Section { density, bars, .. } = *ground.section;
        let end = EIGHTHS * bars;
        let random = &mut self.random;
        if self.turn == Turn::State {
            if random.unit() > density + 0.15 {
                self.cursor += EIGHTHS * choose(&[(1, 1.0), (2, 1.0)], random);
                return;
            }
            let [own, variant, stranger] = ground.section.motifs;
            self.motif = choose(&[(own, 5.0), (variant, 2.0), (stranger, 3.0)], random);
            self.pan = 0.7 * (random.unit() as f32 - 0.5);
        } else if random.unit() > 0.45 + 0.5 * density {
            self.rest(density);
            return;
        }
        let answers = self.turn == Turn::Answer;
        let told = match self.turn {
            Turn::Answer if self.random.unit() < 0.5 => self.motif.varied(&mut self.random),
            _ => self.motif,
        };
        if self.cursor + told.eighths() + EIGHTHS / 2 > end {
            // Too late for a motif: silence until the section ends.
            self.cursor = end;
            self.turn = Turn::State;
            return;
        }
        let same = self.turn == Turn::Repeat && self.random.unit() < 0.6;
        let step = if same {
            self.stated
        } else {
            self.place(&told, ground)
        };
        self.tell(&told, step, answers, ground);
        // On to the next half bar.
        self.cursor = (self.cursor + told.eighths()).next_multiple_of(EIGHTHS / 2);
        match self.turn {
            Turn::State => {
                self.stated = step;
                self.turn = Turn::Repeat;
            }
            Turn::Repeat => self.turn = Turn::Answer,
            Turn::Answer => self.rest(density),
        }
    }

    /// Silence after a motif was told, to the next bar at least.
    fn rest(&mut self, density: f64) {
        let waits: &[(u32, f64)] = if density < 0.5 {
            &[(4, 1.0), (8, 2.0), (16, 1.0)]
        } else {
            &[(0, 1.0), (4, 1.0), (8, 1.0)]
        };
        self.cursor = (self.cursor + choose(waits, &mut self.random)).next_multiple_of(EIGHTHS);
        self.turn = Turn::State;
    }

    /// The step to begin on: chord tones on strong beats, near the last note, inside the tessitura.
    fn place(&self, motif: &Motif, ground: &Ground<'_>) -> i32 {
        let degrees = ground.tonality.melody.degrees();
        let centre = ground.centre();
        let middle = degrees * (centre - 6_000) / 1_200;
        // Less of the chord with more complexity.
        let strictness = 3.5 - 2.0 * f64::from(ground.params.complexity);
        let near = self.last.unwrap_or(centre);
        let cost = |start: i32| {
            let (mut at, mut cost) = (self.cursor, 0.0);
            for told in motif.moves() {
                let cents = ground.cents(start + told.step);
                let outside = ((cents - centre).abs() - TESSITURA).max(0);
                cost += 0.03 * f64::from(outside);
                let strong = at.is_multiple_of(4) || told.eighths >= 4;
                if strong && !ground.chord(at).holds(cents) {
                    cost += strictness * f64::from(told.eighths.min(4)) / 2.0;
                }
                at += told.eighths;
            }
            let first = motif.moves().first().map_or(0, |told| told.step);
            cost + 0.0055 * f64::from((ground.cents(start + first) - near).abs())
        };
        let candidates = middle - 2 * degrees..=middle + 2 * degrees;
        let best = candidates.map(|start| (cost(start), start));
        best.min_by(|a, b| a.0.total_cmp(&b.0))
            .map_or(middle, |best| best.1)
    }

    fn tell(&mut self, motif: &Motif, start: i32, answers: bool, ground: &Ground<'_>) {
        let total = f64::from(motif.eighths().max(1));
        let mut at = self.cursor;
        let count = motif.moves().len();
        for (index, told) in motif.moves().iter().enumerate() {
            let mut step = start + told.step;
            let is_last = index + 1 == count;
            if answers && is_last {
                // An answer ends on a note of the chord, at most two steps away.
                let chord = ground.chord(at);
                let ends = [0, -1, 1, -2, 2].map(|by| step + by);
                let good = ends.into_iter().find(|end| chord.holds(ground.cents(*end)));
                step = good.unwrap_or(step);
            }
            let mut cents = ground.cents(step);
            let (weak, short) = (!at.is_multiple_of(4), told.eighths <= 2);
            let complexity = f64::from(ground.params.complexity);
            if let (Some(next), true) = (motif.moves().get(index + 1), weak && short)
                && self.random.unit() < 0.5 * complexity * complexity * complexity
            {
                // Into the next note from a semitone below, outside the scale or not.
                cents = ground.cents(start + next.step) - 100;
            }
            if let Some(last) = self.last
                && (cents - last).abs() > 1_200
            {
                let octaves = (f64::from(last - cents) / 1_200.0).round() as i32;
                cents += 1_200 * octaves;
            }
            let moment = f64::from(at - self.cursor) + 0.5 * f64::from(told.eighths);
            let arc = (std::f64::consts::PI * moment / total).sin();
            let accent = if at.is_multiple_of(EIGHTHS) {
                0.03
            } else {
                0.0
            };
            let intensity = f64::from(ground.params.intensity);
            let pushed = self.pending.push(Pending {
                at,
                eighths: told.eighths,
                cents,
                force: (0.30 + 0.12 * arc + accent) * (0.7 + 0.3 * intensity),
                held: if is_last { 0.8 } else { 0.92 },
            });
            debug_assert!(pushed, "room for two motifs and the rest of a third");
            self.last = Some(cents);
            at += told.eighths;
        }
    }
}
