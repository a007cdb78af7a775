//! What is struck or plucked and rings: a felt piano, a bell, a string.
//!
//! Each is the sum of its modes, sines that fade at their own pace. A string as a delay line with a
//! loss is the same sum; written as modes it has no state, so that any block of it can be rendered
//! by itself, on the GPU too.

use super::envelope::Envelope;
use super::instrument::Layer;
use crate::note::Note;
use crate::params::Patch;

/// A mode of what rings.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Partial {
    /// Frequency over the note's, before the stretch.
    ratio: f64,
    amplitude: f64,
    /// Seconds to a thousandth of its amplitude, at middle C.
    seconds: f64,
}

/// Something that rings.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Struck {
    partials: &'static [Partial],
    /// Stiffness: mode `n` lies at `n·√(1 + stretch·n²)`.
    stretch: f64,
    /// Seconds from silence to full.
    attack: f64,
    /// Seconds in which a damper ends it; bells have none.
    damper: Option<f64>,
    /// How much darker a soft touch is: the power of the velocity, for each mode above the first.
    touch: f64,
}

const fn partial(ratio: f64, amplitude: f64, seconds: f64) -> Partial {
    Partial {
        ratio,
        amplitude,
        seconds,
    }
}

/// Amplitudes fall with the 1.8th power, and seconds with the number of the mode. The lower two
/// have a second string half a cent away, with which they beat.
const FELT: Struck = Struck {
    partials: &[
        partial(1.0, 0.46, 7.0),
        partial(1.000_3, 0.24, 6.2),
        partial(2.0, 0.17, 3.6),
        partial(2.000_6, 0.08, 3.2),
        partial(3.0, 0.11, 2.3),
        partial(4.0, 0.065, 1.7),
        partial(5.0, 0.043, 1.3),
        partial(6.0, 0.031, 1.1),
        partial(7.0, 0.023, 0.9),
        partial(8.0, 0.018, 0.8),
    ],
    stretch: 0.000_4,
    attack: 0.008,
    damper: Some(0.45),
    touch: 0.12,
};

/// Hum, prime, tierce, quint, nominal and what is above them.
const BELL: Struck = Struck {
    partials: &[
        partial(0.5, 0.16, 6.0),
        partial(1.0, 0.38, 4.5),
        partial(1.2, 0.15, 3.0),
        partial(1.5, 0.08, 2.2),
        partial(2.0, 0.22, 2.0),
        partial(2.67, 0.07, 1.1),
        partial(3.01, 0.05, 0.8),
        partial(4.17, 0.03, 0.5),
    ],
    stretch: 0.0,
    attack: 0.004,
    damper: None,
    touch: 0.1,
};

/// Plucked at 0.18 of its length: `sin(0.18·π·n)/n`, of which the losses of a bend in a delay line
/// leave the high modes the least.
const STRING: Struck = Struck {
    partials: &[
        partial(1.0, 0.374, 3.4),
        partial(2.0, 0.316, 2.7),
        partial(3.0, 0.231, 2.0),
        partial(4.0, 0.134, 1.5),
        partial(5.0, 0.043, 1.1),
        partial(6.0, -0.029, 0.85),
        partial(7.0, -0.073, 0.67),
        partial(8.0, -0.086, 0.54),
        partial(9.0, -0.073, 0.44),
    ],
    stretch: 0.000_1,
    attack: 0.003,
    damper: Some(0.3),
    touch: 0.15,
};

/// Middle C in Hz.
const MIDDLE_C: f64 = 261.625_565_300_598_6;
/// Modes above this share of the rate are left out.
const HIGHEST: f64 = 0.45;

/// What rings for a patch; nothing for a part's own instrument.
pub(crate) fn struck(patch: Patch) -> Option<&'static Struck> {
    match patch {
        Patch::Usual => None,
        Patch::Felt => Some(&FELT),
        Patch::Bell => Some(&BELL),
        Patch::String => Some(&STRING),
    }
}

impl Struck {
    /// The modes of `note` that the rate has room for.
    pub(crate) fn layers(
        &'static self,
        note: Note,
        sample_rate: u32,
    ) -> impl Iterator<Item = Layer> {
        let base = note.frequency();
        // High strings and small bells ring for less time.
        let pace = (MIDDLE_C / base).sqrt();
        let softness = f64::from(note.velocity).max(0.01).powf(self.touch);
        self.partials.iter().filter_map(move |partial| {
            let stiff = (1.0 + self.stretch * partial.ratio * partial.ratio).sqrt();
            let frequency = base * partial.ratio * stiff;
            let dark = softness.powf((partial.ratio - 1.0).max(0.0));
            (frequency < HIGHEST * f64::from(sample_rate)).then(|| Layer {
                frequency,
                saw_frequency: frequency,
                sine: partial.amplitude * dark,
                saw: 0.0,
                tremolo: 0.0,
                tremolo_hz: 0.0,
                envelope: Envelope::struck(
                    self.attack,
                    partial.seconds * pace,
                    self.damper,
                    note.length,
                    sample_rate,
                ),
            })
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::note::Voice;

    fn note(pitch: f32, length: u32) -> Note {
        Note {
            voice: Voice::Lead,
            start: 0,
            length,
            pitch,
            velocity: 0.8,
            pan: 0.0,
            seed: 0,
            patch: Patch::Felt,
        }
    }

    #[test]
    fn together_the_modes_never_exceed_full_scale() {
        for patch in [Patch::Felt, Patch::Bell, Patch::String] {
            let sum: f64 = struck(patch)
                .unwrap()
                .partials
                .iter()
                .map(|partial| partial.amplitude.abs())
                .sum();
            assert!((0.8..=1.4).contains(&sum), "{patch}: {sum}");
        }
    }

    #[test]
    fn high_modes_are_left_out_and_end_first() {
        let lowest: Vec<Layer> = FELT.layers(note(36.0, 480_000), 48_000).collect();
        assert_eq!(lowest.len(), FELT.partials.len());
        let lengths: Vec<u32> = lowest.iter().map(|layer| layer.envelope.length()).collect();
        assert!(
            lengths.windows(2).all(|pair| pair[0] >= pair[1]),
            "{lengths:?}"
        );
        let highest: Vec<Layer> = FELT.layers(note(120.0, 48_000), 48_000).collect();
        assert!(highest.iter().all(|layer| layer.frequency < 21_600.0));
        assert!(highest.len() < FELT.partials.len());
    }

    #[test]
    fn a_damper_ends_a_string_and_no_bell() {
        let short = |struck: &'static Struck| {
            let lengths = struck.layers(note(60.0, 4_800), 48_000);
            lengths.map(|layer| layer.envelope.length()).max().unwrap()
        };
        assert_eq!(short(&FELT), 4_800 + 21_600);
        assert!(short(&BELL) > 5 * 48_000);
    }
}
