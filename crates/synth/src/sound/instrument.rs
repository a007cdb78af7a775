//! How each voice is built from oscillators and an envelope, for both sets of formulas.

use super::envelope::Adsr;
use crate::note::{Formulas, Voice};

/// A voice with a pitch.
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

/// The instrument of a pitched voice; the first engine plays its bass on the pad.
pub fn instrument(voice: Voice, formulas: Formulas) -> Option<&'static Instrument> {
    match (voice, formulas) {
        (Voice::Pad, _) | (Voice::Bass, Formulas::Original) => Some(&PAD),
        (Voice::Bass, Formulas::ClickFree) => Some(&BASS),
        (Voice::Lead, _) => Some(&LEAD),
        (Voice::Kick | Voice::Swell, _) => None,
    }
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
