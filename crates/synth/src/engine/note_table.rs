//! Notes as the kernels read them: 32 words of 64 bits to each layer of a note.
//!
//! Invariant: the words stand in the order of `struct Note` in `voices.cu`.

use std::f64::consts::TAU;

use crate::note::{Formulas, Note, Voice};
use crate::sound::envelope::{Envelope, PIECES};
use crate::sound::instrument::{layers, pan_gains};
use crate::sound::oscillator::phase_step;
use crate::sound::swell::TREMOLO_HZ;

/// Words to a layer.
pub(crate) const NOTE_WORDS: usize = 32;

/// Kinds of voices that the kernels tell apart.
const SINE: u32 = 0;
const SAW: u32 = 1;
const KICK: u32 = 2;
const SWELL: u32 = 3;

fn halves(low: u32, high: u32) -> u64 {
    u64::from(low) | u64::from(high) << 32
}

/// The words of each layer of a note; a kick or a swell is one.
pub(crate) fn note_words(
    note: &Note,
    sample_rate: u32,
    formulas: Formulas,
) -> impl Iterator<Item = [u64; NOTE_WORDS]> + use<> {
    let rate = f64::from(sample_rate);
    let [left, right] = pan_gains(note.pan, formulas).map(|gain| (gain as f32).to_bits());
    let mut common = [0; NOTE_WORDS];
    common[0] = note.start;
    common[6] = halves(left, right);
    common[7] = f64::from(note.velocity).to_bits();
    let pitched = layers(note, sample_rate, formulas).map(move |layer| {
        let mut words = common;
        words[1] = phase_step(layer.frequency, sample_rate);
        words[2] = phase_step(layer.saw_frequency, sample_rate);
        words[4] = halves((layer.sine as f32).to_bits(), (layer.saw as f32).to_bits());
        words[5] = halves(((rate / layer.saw_frequency) as f32).to_bits(), 0);
        let kind = if layer.saw == 0.0 { SINE } else { SAW };
        let tremolo = [1.0, layer.tremolo, TAU * layer.tremolo_hz / rate];
        words[3] = halves(layer.envelope.length(), kind);
        shape(&mut words, tremolo, &layer.envelope);
        words
    });
    let kick = (note.voice == Voice::Kick).then(|| {
        let mut words = common;
        words[3] = halves(sample_rate / 10, KICK);
        words
    });
    let swell = (note.voice == Voice::Swell).then(|| {
        let mut words = common;
        words[3] = halves(note.length, SWELL);
        words[5] = halves(0, note.seed);
        let tremolo = [0.5, 0.5, TAU * TREMOLO_HZ / rate];
        let envelope = Envelope::swell(note.length, formulas);
        shape(&mut words, tremolo, &envelope);
        words
    });
    pitched.chain(kick).chain(swell)
}

/// Writes tremolo and envelope.
fn shape(words: &mut [u64; NOTE_WORDS], tremolo: [f64; 3], envelope: &Envelope) {
    for (word, value) in words[8..11].iter_mut().zip(tremolo) {
        *word = value.to_bits();
    }
    let pieces = envelope.pieces();
    words[11] = pieces.len() as u64;
    for (place, piece) in words[12..12 + 4 * PIECES].chunks_exact_mut(4).zip(pieces) {
        place.copy_from_slice(&[
            u64::from(piece.start),
            piece.level.to_bits(),
            piece.scale.to_bits(),
            piece.rate.to_bits(),
        ]);
    }
}

/// First and one past the last frame that a layer sounds in.
pub(crate) fn note_span(words: &[u64; NOTE_WORDS]) -> (u64, u64) {
    (words[0], words[0] + (words[3] & 0xffff_ffff))
}

/// One past the last frame that a note sounds in.
pub(crate) fn note_end(note: &Note, sample_rate: u32, formulas: Formulas) -> u64 {
    note_words(note, sample_rate, formulas)
        .map(|words| note_span(&words).1)
        .max()
        .unwrap_or(note.start)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pad_fills_every_word_that_the_kernel_reads() {
        let note = Note {
            voice: Voice::Pad,
            start: 77,
            length: 300_000,
            pitch: 69.0,
            velocity: 0.5,
            pan: -0.5,
            seed: 0,
            patch: crate::params::Patch::Usual,
        };
        let words = note_words(&note, 44_100, Formulas::ClickFree)
            .next()
            .unwrap();
        assert_eq!((words[0], words[11]), (77, 4));
        assert_eq!(note_span(&words), (77, 77 + 300_000 + 132_300));
        assert_eq!(f64::from_bits(words[7]), 0.5);
        let (left, right) = (words[6] as u32, (words[6] >> 32) as u32);
        assert!(f32::from_bits(left) > f32::from_bits(right));
        // 440 Hz at 44.1 kHz is a hundredth of a turn, less a little.
        assert!((words[1] as f64 / 2f64.powi(64) - 440.0 / 44_100.0).abs() < 1e-15);
    }
}
