//! How each voice is built from oscillators and envelopes, for both sets of formulas.
//!
//! A note is one or more layers, each a wave under an envelope of its own. Everything that rings is
//! a sum of sines that fade: no layer depends on a sample before, so any block can be rendered by
//! itself on any engine.

use super::envelope::{Adsr, Envelope};
use super::struck::{Struck, struck};
use crate::note::{Formulas, Note, Voice};
use crate::params::Patch;

/// A voice with a pitch that is held.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Instrument {
    /// Amplitude of the sine.
    pub sine: f64,
    /// Amplitude of the saw; zero where there is none.
    pub saw: f64,
    /// The saw's frequency over the sine's.
    pub detune: f64,
    /// Depth of the tremolo.
    pub tremolo: f64,
    /// Rate of the tremolo in Hz.
    pub tremolo_hz: f64,
    /// Its envelope.
    pub adsr: Adsr,
}

/// Five cents.
const FIVE_CENTS: f64 = 1.002_892_290_048_946;

/// What the first engine multiplies kicks by in its mix.
pub(crate) const KICK_GAIN: f64 = 2.0;

const PAD: Instrument = Instrument {
    sine: 0.5,
    saw: 0.5,
    detune: FIVE_CENTS,
    tremolo: 0.2,
    tremolo_hz: 0.5,
    adsr: Adsr {
        attack: 2.5,
        decay: 3.0,
        sustain: 0.75,
        release: 3.0,
    },
};

const LEAD: Instrument = Instrument {
    sine: 1.0,
    saw: 0.0,
    detune: 1.0,
    tremolo: 0.0,
    tremolo_hz: 0.0,
    adsr: Adsr {
        attack: 0.3,
        decay: 0.5,
        sustain: 0.8,
        release: 0.8,
    },
};

/// Slower than the lead, faster than the pad, with a little edge so that small speakers show it.
const BASS: Instrument = Instrument {
    sine: 0.85,
    saw: 0.15,
    detune: 1.0,
    tremolo: 0.0,
    tremolo_hz: 0.0,
    adsr: Adsr {
        attack: 0.6,
        decay: 1.5,
        sustain: 0.8,
        release: 1.5,
    },
};

/// What plays a note with a pitch.
enum Player {
    Held(&'static Instrument),
    Struck(&'static Struck),
}

/// What plays `note`; nothing that has a pitch plays a kick or a swell. The first engine knows the
/// pad and the lead alone, and plays its bass on the pad.
fn player(note: &Note, formulas: Formulas) -> Option<Player> {
    let own = match (note.voice, formulas) {
        (Voice::Kick | Voice::Swell, _) => return None,
        (Voice::Pad, _) | (Voice::Bass, Formulas::Original) => Player::Held(&PAD),
        (_, Formulas::Original) | (Voice::Lead, _) => Player::Held(&LEAD),
        (Voice::Bass, _) => Player::Held(&BASS),
        (Voice::Pulse, _) => Player::Struck(struck(Patch::String)?),
        (Voice::Bell, _) => Player::Struck(struck(Patch::Bell)?),
    };
    match struck(note.patch) {
        Some(other) if formulas == Formulas::ClickFree => Some(Player::Struck(other)),
        _ => Some(own),
    }
}

/// A wave under an envelope.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Layer {
    /// Hz of the sine.
    pub frequency: f64,
    /// Hz of the saw.
    pub saw_frequency: f64,
    /// Amplitude of the sine.
    pub sine: f64,
    /// Amplitude of the saw; zero where there is none.
    pub saw: f64,
    /// Depth of the tremolo.
    pub tremolo: f64,
    /// Rate of the tremolo in Hz.
    pub tremolo_hz: f64,
    /// Its envelope.
    pub envelope: Envelope,
}

/// The layers of a note with a pitch; none for a kick or a swell.
pub fn layers(
    note: &Note,
    sample_rate: u32,
    formulas: Formulas,
) -> impl Iterator<Item = Layer> + use<> {
    let (held, rung) = match player(note, formulas) {
        Some(Player::Held(instrument)) => (Some(instrument), None),
        Some(Player::Struck(struck)) => (None, Some(struck)),
        None => (None, None),
    };
    let (frequency, length) = (note.frequency(), note.length);
    let held = held.map(|tone| Layer {
        frequency,
        saw_frequency: frequency * tone.detune,
        sine: tone.sine,
        saw: tone.saw,
        tremolo: tone.tremolo,
        tremolo_hz: tone.tremolo_hz,
        envelope: Envelope::adsr(tone.adsr, length, sample_rate, formulas),
    });
    let note = *note;
    let rung = rung
        .into_iter()
        .flat_map(move |struck| struck.layers(note, sample_rate));
    held.into_iter().chain(rung)
}

/// Gains of the left and the right speaker: equal power, one in the middle; the first engine is
/// mono.
pub fn pan_gains(pan: f32, formulas: Formulas) -> [f64; 2] {
    match formulas {
        Formulas::Original => [1.0, 1.0],
        Formulas::ClickFree => {
            let angle = (f64::from(pan.clamp(-1.0, 1.0)) + 1.0) * std::f64::consts::FRAC_PI_4;
            let (right, left) = angle.sin_cos();
            [
                left * std::f64::consts::SQRT_2,
                right * std::f64::consts::SQRT_2,
            ]
        }
    }
}
