//! The specification: every formula in double precision, a sample at a time, short and obvious.

use std::f64::consts::TAU;

use crate::effects::chain::{SEND, mix_gains};
use crate::effects::control::Controls;
use crate::effects::filter::Coefficients;
use crate::effects::sweep::Sweep;
use crate::effects::{chorus, delay, early, reverb};
use crate::note::{Formulas, Note, Voice};
use crate::params::Params;
use crate::phrase::Phrase;
use crate::sound::QUANTUM;
use crate::sound::envelope::Envelope;
use crate::sound::instrument::{layers, pan_gains};
use crate::sound::kick::kick_wave;
use crate::sound::master::MASTER_GAIN;
use crate::sound::oscillator::Saw;
use crate::sound::swell::{BEFORE, SPAN, TREMOLO_HZ, noise};

/// Stereo frames in double precision.
pub type Frames = Vec<[f64; 2]>;

/// A saw whose jump is at whole `turns`.
fn saw(turns: f64, turns_per_sample: f64, kind: Saw) -> f64 {
    let phase = turns.rem_euclid(1.0);
    let naive = 2.0 * phase - 1.0;
    // Signed distance from the nearest jump, in samples.
    let distance = if phase < 0.5 { phase } else { phase - 1.0 } / turns_per_sample;
    let x = distance.abs();
    let rounded = match kind {
        Saw::Naive => 0.0,
        Saw::PolyBlep => (1.0 - x).max(0.0).powi(2),
        Saw::Spline => ((2.0 - x).max(0.0).powi(4) - 4.0 * (1.0 - x).max(0.0).powi(4)) / 12.0,
    };
    naive + rounded * if distance < 0.0 { -1.0 } else { 1.0 }
}

/// The samples of one note, before panning.
pub fn note(note: &Note, sample_rate: u32, formulas: Formulas, kind: Saw) -> Vec<f64> {
    let rate = f64::from(sample_rate);
    let velocity = f64::from(note.velocity);
    if !matches!(note.voice, Voice::Kick | Voice::Swell) {
        let mut samples = Vec::new();
        for layer in layers(note, sample_rate, formulas) {
            let (turns, saw_turns) = (layer.frequency / rate, layer.saw_frequency / rate);
            let length = layer.envelope.length();
            samples.resize(samples.len().max(length as usize), 0.0);
            for (k, sample) in (0..length).zip(&mut samples) {
                let t = f64::from(k);
                let wave = layer.sine * (TAU * turns * t).sin()
                    + layer.saw * saw(saw_turns * t, saw_turns, kind);
                let tremolo = layer.tremolo * (TAU * layer.tremolo_hz * t / rate).sin();
                *sample += wave * (1.0 + tremolo) * layer.envelope.at(k) * velocity;
            }
        }
        return samples;
    }
    if note.voice == Voice::Kick {
        let wave = kick_wave(sample_rate, formulas);
        return wave.into_iter().map(|value| value * velocity).collect();
    }
    let envelope = Envelope::swell(note.length, formulas);
    let loud: Vec<f64> = (0..note.length)
        .map(|k| {
            let tremolo = 0.5 + 0.5 * (TAU * TREMOLO_HZ * f64::from(k) / rate).sin();
            f64::from(noise(note.seed, k)) * tremolo * envelope.at(k) * velocity
        })
        .collect();
    (0..loud.len())
        .map(|k| {
            let from = k.saturating_sub(BEFORE);
            let to = (k + SPAN - BEFORE).min(loud.len());
            loud[from..to].iter().sum::<f64>() / SPAN as f64
        })
        .collect()
}

/// Pads, and everything else, before effects and limit.
pub fn buses(phrase: &Phrase, formulas: Formulas, kind: Saw) -> [Frames; 2] {
    let mut buses = [vec![[0.0; 2]; phrase.frames], vec![[0.0; 2]; phrase.frames]];
    for written in &phrase.notes {
        let gains = pan_gains(written.pan, formulas);
        let bus = usize::from(written.voice != Voice::Pad);
        let samples = note(written, phrase.sample_rate, formulas, kind);
        let start = usize::try_from(written.start).unwrap_or(usize::MAX);
        for (frame, sample) in buses[bus].iter_mut().skip(start).zip(samples) {
            frame[0] += gains[0] * sample;
            frame[1] += gains[1] * sample;
        }
    }
    buses
}

/// The phrase as the engines render it: dry, or with the effects of `effects`.
pub fn phrase(phrase: &Phrase, formulas: Formulas, kind: Saw, effects: Option<&Params>) -> Frames {
    let [pads, plain] = buses(phrase, formulas, kind);
    let mut mixed = match effects {
        Some(params) => chain(&pads, &plain, params, phrase.sample_rate),
        None => pads
            .iter()
            .zip(&plain)
            .map(|(a, b)| [a[0] + b[0], a[1] + b[1]])
            .collect(),
    };
    for value in mixed.as_flattened_mut() {
        *value = (f64::from(MASTER_GAIN) * *value).tanh();
    }
    mixed
}

/// Where a wandering delay reads at sample `n`: whole samples, and the share of the next one.
fn wandered(sweep: &Sweep, n: usize) -> (usize, f64) {
    let (whole, share, slope) = sweep.over((n / QUANTUM) as u64);
    let share = f64::from(share) + f64::from(slope) * (n % QUANTUM) as f64;
    (whole, share)
}

/// Filter, chorus, delay and reverb with parameters that stand still.
#[allow(clippy::needless_range_loop)] // a row of the matrix and a line of the reverb are one index
fn chain(pads: &Frames, plain: &Frames, params: &Params, sample_rate: u32) -> Frames {
    let controls = Controls::new(params, sample_rate);
    let space = controls.space.value;
    let low = Coefficients::new(controls.cutoff.value, sample_rate);
    let (mut first, mut second) = ([0.0; 2], [0.0; 2]);
    let (chorus_late, chorus_sweeps) = (chorus::late(sample_rate), chorus::sweeps(sample_rate));
    let mut filtered = vec![[0.0; 2]; pads.len()];
    let (early_taps, sweeps) = (early::taps(sample_rate), reverb::sweeps(sample_rate));
    let mut middle = vec![0.0; pads.len()];
    let delay_samples = delay::delay_samples(params.bpm, sample_rate);
    let taps = [delay_samples, delay::right_samples(delay_samples)];
    let (feedback, delay_damping) = (f64::from(delay::FEEDBACK), f64::from(delay::DAMPING));
    let mut line = vec![0.0; pads.len()];
    let lengths = reverb::lengths(sample_rate);
    let gains = reverb::gains(space, sample_rate).map(f64::from);
    let damping = f64::from(reverb::DAMPING);
    let mut lines = vec![[0.0; reverb::LINES]; pads.len()];
    let [dry_gain, delay_gain, reverb_gain] =
        mix_gains(space, controls.volume.value).map(f64::from);
    let mut out = vec![[0.0; 2]; pads.len()];
    for n in 0..pads.len() {
        let past = |back: usize| n.checked_sub(back);
        let mut dry = plain[n];
        for channel in 0..2 {
            let v3 = pads[n][channel] - second[channel];
            let v1 = low.a1 * first[channel] + low.a2 * v3;
            let v2 = second[channel] + low.a2 * first[channel] + low.a3 * v3;
            first[channel] = 2.0 * v1 - first[channel];
            second[channel] = 2.0 * v2 - second[channel];
            let (whole, share) = wandered(&chorus_sweeps[channel], n);
            let late =
                |more| past(chorus_late + whole + more).map_or(0.0, |at| filtered[at][channel]);
            let copy = late(0) + share * (late(1) - late(0));
            filtered[n][channel] = v2;
            dry[channel] += f64::from(chorus::DRY) * v2 + f64::from(chorus::WET) * copy;
        }
        let delayed = taps.map(|tap| past(tap).map_or(0.0, |at| line[at]));
        let before = past(delay_samples + 1).map_or(0.0, |at| line[at]);
        line[n] = 0.5 * (plain[n][0] + plain[n][1])
            + feedback * ((1.0 - delay_damping) * delayed[0] + delay_damping * before);
        // The Hadamard matrix: the sign is the parity of the bits that row and column share.
        let heard: [f64; reverb::LINES] = std::array::from_fn(|l| {
            let (whole, share) = wandered(&sweeps[l], n);
            let back = |more| past(lengths[l] + whole + more).map_or(0.0, |at| lines[at][l]);
            let damped = |more| (1.0 - damping) * back(more) + damping * back(more + 1);
            damped(0) + share * (damped(1) - damped(0))
        });
        let damped: [f64; reverb::LINES] = std::array::from_fn(|l| gains[l] * heard[l]);
        for row in 0..reverb::LINES {
            let fed: f64 = (0..reverb::LINES)
                .map(|column| match (row & column).count_ones() % 2 {
                    0 => damped[column],
                    _ => -damped[column],
                })
                .sum();
            let channel = row % 2;
            let input = f64::from(SEND) * (dry[channel] + delayed[channel]);
            lines[n][row] = fed * f64::from(reverb::NORMAL) + input;
            middle[n] += if row < 2 { 0.5 * input } else { 0.0 };
        }
        for channel in 0..2 {
            let answer: f64 = (channel..reverb::LINES)
                .step_by(2)
                .map(|l| f64::from(reverb::SIGNS[l]) * heard[l])
                .sum();
            let first: f64 = (0..early::TAPS)
                .map(|tap| {
                    let heard = past(early_taps[channel][tap]).map_or(0.0, |at| middle[at]);
                    f64::from(early::GAINS[tap]) * heard
                })
                .sum();
            out[n][channel] = dry_gain * dry[channel]
                + delay_gain * delayed[channel]
                + reverb_gain * (f64::from(reverb::OUT) * answer + first);
        }
    }
    out
}
