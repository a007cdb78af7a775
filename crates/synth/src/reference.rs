//! The specification: every formula in double precision, a sample at a time, short and obvious.

use std::f64::consts::TAU;

use crate::effects::chain::mix_gains;
use crate::effects::control::Controls;
use crate::effects::filter::Coefficients;
use crate::effects::half_band::TAPS;
use crate::effects::room::{SEND, samples_each};
use crate::effects::{chorus, delay, early, reverb};
use crate::note::{Formulas, Note, Voice};
use crate::params::Params;
use crate::phrase::Phrase;
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

/// A channel at every second sample.
fn halved(line: &[f64]) -> Vec<f64> {
    let at = |n: usize, back: usize| n.checked_sub(back).map_or(0.0, |n| line[n]);
    let middle = 2 * TAPS.len() - 1;
    let sample = |k: usize| {
        let pairs = (1..).step_by(2).zip(TAPS);
        let sum: f64 = pairs
            .map(|(d, tap)| f64::from(tap) * (at(2 * k, middle - d) + at(2 * k, middle + d)))
            .sum();
        sum + 0.5 * at(2 * k, middle)
    };
    (0..line.len() / 2).map(sample).collect()
}

/// The way back.
fn doubled(line: &[f64]) -> Vec<f64> {
    let at = |k: usize, back: usize| k.checked_sub(back).map_or(0.0, |k| line[k]);
    let between = |k: usize| {
        let pairs = TAPS.iter().enumerate();
        let pairs = pairs.map(|(m, tap)| {
            let (earlier, later) = (TAPS.len() + m, TAPS.len() - 1 - m);
            2.0 * f64::from(*tap) * (at(k, earlier) + at(k, later))
        });
        pairs.sum::<f64>()
    };
    (0..line.len())
        .flat_map(|k| [at(k, TAPS.len()), between(k)])
        .collect()
}

/// Filter, chorus and room with parameters that stand still.
fn chain(pads: &Frames, plain: &Frames, params: &Params, sample_rate: u32) -> Frames {
    let controls = Controls::new(params, sample_rate);
    let low = Coefficients::new(controls.cutoff.value, sample_rate);
    let (mut first, mut second) = ([0.0; 2], [0.0; 2]);
    let (chorus_late, chorus_sweeps) = (chorus::late(sample_rate), chorus::sweeps(sample_rate));
    // Whole blocks, as the engine renders them.
    let each = samples_each(sample_rate) as usize;
    let frames = pads.len().next_multiple_of(each);
    let mut filtered = vec![[0.0; 2]; pads.len()];
    let mut dry = plain.clone();
    for n in 0..pads.len() {
        for channel in 0..2 {
            let v3 = pads[n][channel] - second[channel];
            let v1 = low.a1 * first[channel] + low.a2 * v3;
            let v2 = second[channel] + low.a2 * first[channel] + low.a3 * v3;
            first[channel] = 2.0 * v1 - first[channel];
            second[channel] = 2.0 * v2 - second[channel];
            let (whole, share) = chorus_sweeps[channel].at_sample(n);
            let late = |more| {
                let past = n.checked_sub(chorus_late + whole + more);
                past.map_or(0.0, |at| filtered[at][channel])
            };
            let copy = late(0) + share * (late(1) - late(0));
            filtered[n][channel] = v2;
            dry[n][channel] += f64::from(chorus::DRY) * v2 + f64::from(chorus::WET) * copy;
        }
    }
    let mut middle: Vec<f64> = plain
        .iter()
        .map(|frame| 0.5 * (frame[0] + frame[1]))
        .collect();
    let mut sides = [0, 1].map(|side| dry.iter().map(|frame| frame[side]).collect::<Vec<f64>>());
    middle.resize(frames, 0.0);
    sides.iter_mut().for_each(|side| side.resize(frames, 0.0));
    let wet = if each == 2 {
        let sides = sides.map(|side| halved(&side));
        let heard = room(&halved(&middle), &sides, &controls, params, sample_rate / 2);
        heard.map(|side| doubled(&side))
    } else {
        room(&middle, &sides, &controls, params, sample_rate)
    };
    let [dry_gain, ..] = mix_gains(controls.space.value, controls.volume.value).map(f64::from);
    for (n, frame) in dry.iter_mut().enumerate() {
        for side in 0..2 {
            frame[side] = dry_gain * frame[side] + wet[side][n];
        }
    }
    dry
}

/// What comes back of delay and reverb, at the room's own rate.
#[allow(clippy::needless_range_loop)] // a row of the matrix and a line of the reverb are one index
fn room(
    middle: &[f64],
    sides: &[Vec<f64>; 2],
    controls: &Controls,
    params: &Params,
    sample_rate: u32,
) -> [Vec<f64>; 2] {
    let space = controls.space.value;
    let (early_taps, sweeps) = (early::taps(sample_rate), reverb::sweeps(sample_rate));
    let delay_samples = delay::delay_samples(params.bpm, sample_rate);
    let taps = [delay_samples, delay::right_samples(delay_samples)];
    let delay_sweeps = delay::sweeps(sample_rate);
    let (feedback, damping) = (f64::from(delay::FEEDBACK), f64::from(delay::DAMPING));
    let lengths = reverb::lengths(sample_rate);
    let gains = reverb::gains(space, sample_rate).map(f64::from);
    let [_, delay_gain, reverb_gain] = mix_gains(space, controls.volume.value).map(f64::from);
    let (mut line, mut before) = (vec![0.0; middle.len()], 0.0);
    let mut lines = vec![[0.0; reverb::LINES]; middle.len()];
    let mut sent = vec![0.0; middle.len()];
    let mut out = [vec![0.0; middle.len()], vec![0.0; middle.len()]];
    for n in 0..middle.len() {
        let past = |back: usize| n.checked_sub(back);
        let delayed: [f64; 2] = std::array::from_fn(|tap| {
            let (whole, share) = delay_sweeps[tap].at_sample(n);
            let back = |more| past(taps[tap] + whole + more).map_or(0.0, |at| line[at]);
            back(0) + share * (back(1) - back(0))
        });
        line[n] = middle[n] + feedback * ((1.0 - damping) * delayed[0] + damping * before);
        before = delayed[0];
        // The Hadamard matrix: the sign is the parity of the bits that row and column share.
        let heard: [f64; reverb::LINES] = std::array::from_fn(|l| {
            let (whole, share) = sweeps[l].at_sample(n);
            let back = |more| past(lengths[l] + whole + more).map_or(0.0, |at| lines[at][l]);
            back(0) + share * (back(1) - back(0))
        });
        for row in 0..reverb::LINES {
            let fed: f64 = (0..reverb::LINES)
                .map(|column| match (row & column).count_ones() % 2 {
                    0 => gains[column] * heard[column],
                    _ => -gains[column] * heard[column],
                })
                .sum();
            let side = row % 2;
            let input = f64::from(SEND) * (sides[side][n] + delayed[side]);
            lines[n][row] = fed * f64::from(reverb::NORMAL) + input;
            sent[n] += if row < 2 { 0.5 * input } else { 0.0 };
        }
        for side in 0..2 {
            let answer: f64 = (side..reverb::LINES)
                .step_by(2)
                .map(|l| f64::from(reverb::SIGNS[l]) * heard[l])
                .sum();
            let first: f64 = (0..early::TAPS)
                .map(|tap| {
                    let heard = past(early_taps[side][tap]).map_or(0.0, |at| sent[at]);
                    f64::from(early::GAINS[tap]) * heard
                })
                .sum();
            out[side][n] = delay_gain * delayed[side]
                + reverb_gain * (f64::from(reverb::OUT) * answer + first);
        }
    }
    out
}
