//! A fixed list of notes, rendered as a whole: what engines are compared with.

use std::ops::Range;

use serde::{Deserialize, Serialize};

use crate::effects::chain::{Chain, Mix};
use crate::error::ParamError;
use crate::note::{Formulas, Note, Voice};
use crate::params::{Params, Patch};
use crate::sound::master::Limit;
use crate::sound::{Aligned, QUANTUM};
use crate::stream::{Interleave, StreamSettings};
use crate::voices::{Voices, layers_of};
use warpsmith_lanes::{InstructionSet, Task};

/// Notes over so many frames.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Phrase {
    /// Frames a second.
    pub sample_rate: u32,
    /// Frames in all; what rings on is cut off.
    pub frames: usize,
    /// The notes, by start.
    pub notes: Vec<Note>,
}

/// The reference phrase as the first engine composed it.
#[derive(Deserialize)]
struct Recorded {
    dur: f64,
    chords: Vec<(u64, u8, String)>,
    melody: Vec<(u64, u8, f64, f64)>,
    kicks: Vec<(u64, f64)>,
    swells: Vec<(u64, f64, f64)>,
}

impl Phrase {
    /// Eight bars at 70 BPM, 27.4 s: 32 pads, 22 melody notes, 2 kicks and a swell, composed by the
    /// first engine from fixed seeds.
    pub fn reference() -> Self {
        let recorded: Recorded =
            serde_json::from_str(include_str!("../data/reference_phrase.json"))
                .unwrap_or_else(|error| unreachable!("the embedded phrase is valid JSON: {error}"));
        let rate = 44_100.0;
        let frames = (recorded.dur * rate).round() as usize;
        let note = |voice, start: u64, seconds: f64, pitch: f32, velocity: f64| Note {
            voice,
            start,
            length: ((seconds * rate) as u64).min((frames as u64).saturating_sub(start)) as u32,
            pitch,
            velocity: velocity as f32,
            pan: 0.0,
            seed: 1,
            patch: Patch::Usual,
        };
        let mut notes = Vec::new();
        let starts: Vec<u64> = recorded.chords.iter().map(|chord| chord.0).collect();
        for (index, (start, root, name)) in recorded.chords.iter().enumerate() {
            let end = starts.get(index + 1).copied().unwrap_or(frames as u64);
            let intervals: [u8; 3] = match name.as_str() {
                "i" => [0, 3, 7],
                "iv" => [5, 8, 0],
                "V" => [7, 11, 2],
                "VI" => [8, 0, 3],
                _ => [3, 7, 10],
            };
            let root = f32::from(*root);
            // The bass sounds at 0.8 of velocity 0.5.
            let voicing = [(root - 12.0, 0.4)].into_iter().chain(
                intervals
                    .into_iter()
                    .zip([0.45, 0.5, 0.55])
                    .map(|(interval, velocity)| (root + f32::from(interval), velocity)),
            );
            for (pitch, velocity) in voicing {
                let mut pad = note(Voice::Pad, *start, 0.0, pitch, velocity);
                pad.length = (end - start) as u32;
                notes.push(pad);
            }
        }
        for (start, pitch, velocity, seconds) in &recorded.melody {
            let pitch = f32::from(*pitch);
            notes.push(note(Voice::Lead, *start, *seconds, pitch, *velocity));
        }
        for (start, velocity) in &recorded.kicks {
            notes.push(note(Voice::Kick, *start, 0.1, 0.0, *velocity));
        }
        for (start, seconds, velocity) in &recorded.swells {
            notes.push(note(Voice::Swell, *start, *seconds, 0.0, *velocity));
        }
        notes.sort_by_key(|note| note.start);
        Self {
            sample_rate: 44_100,
            frames,
            notes,
        }
    }

    /// Whether every note can be played.
    pub fn validate(&self) -> Result<(), ParamError> {
        for (index, note) in self.notes.iter().enumerate() {
            let problem = if !(0.0..=127.0).contains(&note.pitch) {
                format!("pitch {} is outside 0 to 127", note.pitch)
            } else if !(0.0..=1.0).contains(&note.velocity) {
                format!("velocity {} is outside 0 to 1", note.velocity)
            } else if note.length == 0 {
                "it lasts no sample".to_owned()
            } else if !(-1.0..=1.0).contains(&note.pan) {
                format!("pan {} is outside -1 to 1", note.pan)
            } else {
                continue;
            };
            return Err(ParamError::Note { index, problem });
        }
        Ok(())
    }

    /// Length in seconds.
    pub fn seconds(&self) -> f64 {
        self.frames as f64 / f64::from(self.sample_rate)
    }
}

/// Renders one phrase as often as one likes, without allocating.
#[derive(Clone, Debug)]
pub struct PhraseRenderer {
    phrase: Phrase,
    formulas: Formulas,
    simd: InstructionSet,
    voices: Voices,
    /// The effects as they are before the first frame, and as they are now.
    chain: Option<(Params, Chain, Chain)>,
}

impl PhraseRenderer {
    /// A dry renderer, or one with the effects of `params`. The phrase's rate counts, not the
    /// settings'.
    pub fn new(
        phrase: Phrase,
        settings: StreamSettings,
        effects: Option<Params>,
    ) -> Result<Self, ParamError> {
        phrase.validate()?;
        let style = StreamSettings {
            sample_rate: phrase.sample_rate,
            ..settings
        }
        .style()?;
        let count = phrase.notes.len();
        let layers = phrase.notes.iter();
        let layers = layers.map(|note| layers_of(note, style.sample_rate, style.formulas));
        Ok(Self {
            voices: Voices::new(style, count, layers.sum(), count),
            chain: effects.map(|params| {
                let chain = Chain::new(&params, phrase.sample_rate);
                (params, chain.clone(), chain)
            }),
            formulas: style.formulas,
            simd: style.simd,
            phrase,
        })
    }

    /// The phrase.
    pub fn phrase(&self) -> &Phrase {
        &self.phrase
    }

    fn restart(&mut self) {
        self.voices.clear();
        for note in &self.phrase.notes {
            self.voices.add(*note);
        }
        if let Some((_, fresh, chain)) = &mut self.chain {
            chain.clone_from(fresh);
        }
    }

    /// Renders the quanta that begin in `range` and hands both channels of each to `take`.
    fn render(&mut self, range: Range<usize>, mut take: impl FnMut(usize, &[[f32; QUANTUM]; 2])) {
        self.restart();
        let mono = self.formulas == Formulas::Original && self.chain.is_none();
        let first_quantum = range.start.next_multiple_of(QUANTUM);
        for first in (first_quantum..range.end).step_by(QUANTUM) {
            let mut lanes = Aligned([[[0.0; QUANTUM]; 2]; 2]);
            let [pads, plain] = &mut lanes.0;
            self.voices.render(first as u64, pads, plain);
            if self.formulas == Formulas::Original {
                pads[1] = pads[0];
                plain[1] = plain[0];
            }
            match &mut self.chain {
                Some((params, _, chain)) => self.simd.run(Mix {
                    chain,
                    params,
                    pads,
                    plain,
                }),
                None => self.simd.run(AddPads(pads, plain)),
            }
            self.simd.run(Limit(&mut plain[0]));
            if mono {
                plain[1] = plain[0];
            } else {
                self.simd.run(Limit(&mut plain[1]));
            }
            take(first, plain);
        }
    }

    /// The whole phrase as interleaved 16-bit samples; as much of it as fits.
    pub fn render_pcm16(&mut self, out: &mut [i16]) {
        let (simd, formulas) = (self.simd, self.formulas);
        self.render(0..self.phrase.frames, |first, plain| {
            let rest = out.len().saturating_sub(2 * first).min(2 * QUANTUM);
            if let Some(out) = out.get_mut(2 * first..2 * first + rest) {
                simd.run(Interleave {
                    channels: [&plain[0], &plain[1]],
                    formulas,
                    dither: None,
                    out,
                });
            }
        });
    }

    /// A part of a dry phrase that begins at frame `first`, a multiple of [`QUANTUM`], as interleaved
    /// 16-bit samples. What sounds does not depend on what was rendered before.
    pub fn render_part_pcm16(&mut self, first: usize, out: &mut [i16]) {
        let (simd, formulas) = (self.simd, self.formulas);
        let end = (first + out.len() / 2).min(self.phrase.frames);
        self.render(first..end, |at, plain| {
            let from = 2 * (at - first);
            let to = (from + 2 * QUANTUM).min(out.len());
            simd.run(Interleave {
                channels: [&plain[0], &plain[1]],
                formulas,
                dither: None,
                out: &mut out[from..to],
            });
        });
    }

    /// The whole phrase as frames in [−1, 1]; as much of it as fits.
    pub fn render_f32(&mut self, out: &mut [[f32; 2]]) {
        self.render(0..self.phrase.frames, |first, plain| {
            for (j, frame) in out.iter_mut().skip(first).take(QUANTUM).enumerate() {
                *frame = [plain[0][j], plain[1][j]];
            }
        });
    }
}

/// Adds pads to the rest.
struct AddPads<'a>(&'a [[f32; QUANTUM]; 2], &'a mut [[f32; QUANTUM]; 2]);

impl Task for AddPads<'_> {
    #[inline(always)]
    fn run(self) {
        for (plain, pads) in self.1.iter_mut().zip(self.0) {
            for (plain, pad) in plain.iter_mut().zip(pads) {
                *plain += pad;
            }
        }
    }
}
