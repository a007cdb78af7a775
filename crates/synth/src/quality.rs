//! How good the sound is, in decibels: noise against the reference, aliases of the saw, steps of
//! the envelopes.

use std::f64::consts::TAU;

use crate::note::{Formulas, Note, Voice};
use crate::phrase::Phrase;
use crate::sound::envelope::Envelope;
use crate::sound::instrument::layers;
use crate::sound::oscillator::{Saw, phase_step, saw};
use crate::sound::technique::EnvelopeRate;

/// Power of `expected` over the power of the difference, in dB; infinite where there is none.
pub fn snr_db(expected: &[f64], actual: impl IntoIterator<Item = f64>) -> f64 {
    let (mut signal, mut noise) = (0.0, 0.0);
    for (expected, actual) in expected.iter().zip(actual) {
        signal += expected * expected;
        noise += (expected - actual) * (expected - actual);
    }
    10.0 * (signal / noise).log10()
}

/// Power of everything in a saw that is not one of its harmonics, over the power of those, in dB.
/// `frequency` is a whole number, so that a second holds whole periods and harmonics are orthogonal.
pub fn alias_db(kind: Saw, frequency: u32, sample_rate: u32) -> f64 {
    let step = (phase_step(f64::from(frequency), sample_rate) >> 32) as u32;
    let samples_a_turn = sample_rate as f32 / frequency as f32;
    let wave: Vec<f64> = (0..sample_rate)
        .map(|k| {
            let phase = step.wrapping_mul(k);
            f64::from(match kind {
                Saw::Naive => saw::<{ Saw::Naive as u8 }>(phase, samples_a_turn),
                Saw::PolyBlep => saw::<{ Saw::PolyBlep as u8 }>(phase, samples_a_turn),
                Saw::Spline => saw::<{ Saw::Spline as u8 }>(phase, samples_a_turn),
            })
        })
        .collect();
    let count = f64::from(sample_rate);
    let mean = wave.iter().sum::<f64>() / count;
    let total = wave.iter().map(|value| value * value).sum::<f64>() / count - mean * mean;
    let highest = (sample_rate - 1) / 2 / frequency;
    let harmonics: f64 = (1..=highest)
        .map(|harmonic| {
            let turn = TAU * f64::from(harmonic) * f64::from(step) / 4_294_967_296.0;
            let (mut sine, mut cosine) = (0.0, 0.0);
            for (k, value) in wave.iter().enumerate() {
                let (s, c) = (turn * k as f64).sin_cos();
                sine += value * s;
                cosine += value * c;
            }
            2.0 * (sine * sine + cosine * cosine) / (count * count)
        })
        .sum();
    10.0 * ((total - harmonics).max(1e-30) / harmonics).log10()
}

/// The largest jump between two neighbouring samples of any envelope of the phrase, its start and
/// its end included, in dB of full level; envelopes are followed as closely as `rate` does.
pub fn largest_step_db(phrase: &Phrase, formulas: Formulas, rate: EnvelopeRate) -> f64 {
    let held = match rate {
        EnvelopeRate::Cubic | EnvelopeRate::Sample => 1,
        EnvelopeRate::Hold16 => 16,
        EnvelopeRate::Hold64 => 64,
    };
    let envelopes = |note: &Note| {
        let swell = (note.voice == Voice::Swell).then(|| Envelope::swell(note.length, formulas));
        layers(note, phrase.sample_rate, formulas)
            .map(|layer| layer.envelope)
            .chain(swell)
    };
    let largest = phrase.notes.iter().flat_map(envelopes).map(|envelope| {
        let (mut before, mut largest) = (0.0, 0.0f64);
        for k in 0..envelope.length() {
            let now = envelope.at(k - k % held);
            largest = largest.max((now - before).abs());
            before = now;
        }
        largest.max(before)
    });
    20.0 * largest.fold(0.0, f64::max).max(1e-12).log10()
}
