//! A note: everything that a voice needs to know, as plain data.
//!
//! Invariant: a dry sample is a function of the note and of the sample's position alone, so any
//! block of any stream can be rendered by itself, in any order, on any engine.

use serde::{Deserialize, Serialize};

use crate::params::Patch;

/// Which voice plays a note.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Voice {
    /// Sine and detuned saw with a slow tremolo: the chords.
    Pad,
    /// Sine with a soft edge, an octave or two below the chords.
    Bass,
    /// Sine: the melody.
    Lead,
    /// A plucked string: the notes of the chord in eighths.
    Pulse,
    /// A bell: single notes in loops of their own length.
    Bell,
    /// A falling sine, a tenth of a second long.
    Kick,
    /// Noise that comes and goes over seconds.
    Swell,
}

/// One note.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Note {
    /// Who plays it.
    pub voice: Voice,
    /// Position of its first sample in the stream.
    pub start: u64,
    /// Samples until the key is let go; click-free voices ring on from there.
    pub length: u32,
    /// MIDI pitch; 69 is 440 Hz. Kicks and swells have none.
    pub pitch: f32,
    /// Loudness, 0 to 1.
    pub velocity: f32,
    /// Place between the speakers, −1 left to 1 right.
    pub pan: f32,
    /// Decides the noise of a swell.
    pub seed: u32,
    /// What it is played on, where that is not the voice's own instrument.
    #[serde(default)]
    pub patch: Patch,
}

impl Note {
    /// The frequency of its pitch in Hz.
    pub fn frequency(&self) -> f64 {
        440.0 * ((f64::from(self.pitch) - 69.0) / 12.0).exp2()
    }
}

/// The formulas that voices follow.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Formulas {
    /// Envelopes without steps, panned voices, band-limited saw, filter, delay and reverb.
    #[default]
    ClickFree,
    /// Those of the first ambient engine, steps included: mono, naive saw, no effects.
    Original,
}
