//! The voices that sound at a moment, and the notes that wait for theirs.
//!
//! Invariant: capacities are fixed when it is made; a note for which there is no room is dropped
//! and counted, because making room would allocate or cut a sounding note short, which clicks.

use std::sync::Arc;

use crate::fixed_list::FixedList;
use crate::note::{Formulas, Note, Voice};
use crate::sound::instrument::layers;
use crate::sound::kick::{Kick, kick_table};
use crate::sound::oscillator::Saw;
use crate::sound::swell::{AddSwells, Swell};
use crate::sound::technique::Techniques;
use crate::sound::tone::{AddTones, Tone};
use crate::sound::{Lane, QUANTUM};
use warpsmith_lanes::InstructionSet;

/// How voices are rendered.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Style {
    pub(crate) sample_rate: u32,
    pub(crate) formulas: Formulas,
    pub(crate) saw: Saw,
    pub(crate) simd: InstructionSet,
    pub(crate) techniques: Techniques,
}

/// Sounding voices and waiting notes.
#[derive(Debug)]
pub(crate) struct Voices {
    style: Style,
    kick_table: Arc<[f32]>,
    waiting: FixedList<Note>,
    /// Start of the earliest waiting note.
    next_start: u64,
    tones: FixedList<Tone>,
    kicks: FixedList<Kick>,
    swells: FixedList<Swell>,
    dropped: u64,
}

impl Clone for Voices {
    fn clone(&self) -> Self {
        Self {
            style: self.style,
            kick_table: Arc::clone(&self.kick_table),
            waiting: self.waiting.clone(),
            next_start: self.next_start,
            tones: self.tones.clone(),
            kicks: self.kicks.clone(),
            swells: self.swells.clone(),
            dropped: self.dropped,
        }
    }

    fn clone_from(&mut self, source: &Self) {
        self.style = source.style;
        self.kick_table.clone_from(&source.kick_table);
        self.waiting.clone_from(&source.waiting);
        self.next_start = source.next_start;
        self.tones.clone_from(&source.tones);
        self.kicks.clone_from(&source.kicks);
        self.swells.clone_from(&source.swells);
        self.dropped = source.dropped;
    }
}

/// How many layers a note has.
pub(crate) fn layers_of(note: &Note, sample_rate: u32, formulas: Formulas) -> usize {
    layers(note, sample_rate, formulas).count()
}

impl Voices {
    /// Room for `waiting` notes, `tones` layers of pitched voices, and so many kicks and swells.
    pub(crate) fn new(style: Style, waiting: usize, tones: usize, others: usize) -> Self {
        Self {
            kick_table: kick_table(style.sample_rate, style.formulas),
            waiting: FixedList::new(waiting),
            next_start: u64::MAX,
            tones: FixedList::new(tones),
            kicks: FixedList::new(others),
            swells: FixedList::new(others),
            dropped: 0,
            style,
        }
    }

    /// Notes for which there was no room.
    pub(crate) fn dropped(&self) -> u64 {
        self.dropped
    }

    /// Voices that sound.
    pub(crate) fn sounding(&self) -> usize {
        self.tones.len() + self.kicks.len() + self.swells.len()
    }

    /// Lets a note wait for its start.
    pub(crate) fn add(&mut self, note: Note) {
        if self.waiting.push(note) {
            self.next_start = self.next_start.min(note.start);
        } else {
            self.dropped += 1;
        }
    }

    /// Forgets everything.
    pub(crate) fn clear(&mut self) {
        self.waiting.clear();
        self.tones.clear();
        self.kicks.clear();
        self.swells.clear();
        self.next_start = u64::MAX;
    }

    /// Lets a note sound, or go on sounding.
    pub(crate) fn begin(&mut self, note: &Note) {
        let Style {
            sample_rate,
            formulas,
            ..
        } = self.style;
        let began = match note.voice {
            Voice::Kick => self.kicks.push(Kick::new(note, formulas)),
            Voice::Swell => self.swells.push(Swell::new(note, sample_rate, formulas)),
            _ => layers(note, sample_rate, formulas).all(|layer| {
                self.tones
                    .push(Tone::new(&layer, note, sample_rate, formulas))
            }),
        };
        self.dropped += u64::from(!began);
    }

    /// Begins what starts before `end`.
    fn begin_until(&mut self, end: u64) {
        if self.next_start >= end {
            return;
        }
        let mut index = 0;
        self.next_start = u64::MAX;
        while index < self.waiting.len() {
            let note = self.waiting[index];
            if note.start < end {
                // Keeps the order, so that sums are made in the same order every time.
                self.waiting.remove(index);
                self.begin(&note);
            } else {
                self.next_start = self.next_start.min(note.start);
                index += 1;
            }
        }
    }

    /// Renders the quantum at `position`: pads, and everything else. Mono formulas leave the right
    /// channels alone.
    pub(crate) fn render(&mut self, position: u64, pads: &mut [Lane; 2], plain: &mut [Lane; 2]) {
        self.begin_until(position + QUANTUM as u64);
        let Style {
            saw,
            simd,
            techniques,
            ..
        } = self.style;
        let stereo = self.style.formulas == Formulas::ClickFree;
        let own = Techniques::default();
        if (techniques.arithmetic, techniques.envelope) == (own.arithmetic, own.envelope) {
            simd.run(AddTones {
                tones: &mut self.tones,
                position,
                saw,
                stereo,
                filtered: pads,
                plain,
            });
        } else {
            for tone in self.tones.iter_mut() {
                let [left, right] = if tone.filtered {
                    &mut *pads
                } else {
                    &mut *plain
                };
                tone.add_by(techniques, saw, position, left, right);
            }
        }
        for kick in self.kicks.iter() {
            kick.add(&self.kick_table, position, plain);
        }
        simd.run(AddSwells {
            swells: &mut self.swells,
            average: techniques.average,
            position,
            plain,
        });
        let next = position + QUANTUM as u64;
        self.tones.retain(|tone| tone.end() > next);
        self.kicks.retain(|kick| kick.end(&self.kick_table) > next);
        self.swells.retain(|swell| swell.end() > next);
    }
}
