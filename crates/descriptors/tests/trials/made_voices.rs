//! Voices that a test makes: pulses of a glottis with some jitter, through three resonances, in syllables with breath
//! between them, in a quiet room. `tests/oracle/egemaps.py --made` makes the same samples.

use std::f64::consts::{PI, TAU};

const RATE: f64 = 16_000.0;

/// Mean pitches and resonances, Hz.
const VOICES: [(f64, [f64; 3]); 4] = [
    (105.0, [620.0, 1180.0, 2480.0]),
    (132.0, [420.0, 1950.0, 2600.0]),
    (196.0, [760.0, 1320.0, 2850.0]),
    (238.0, [350.0, 2300.0, 3050.0]),
];
const WIDTHS: [f64; 3] = [70.0, 110.0, 160.0];

struct Resonance {
    weights: [f64; 3],
    before: [f64; 2],
}

/// Four seconds of each voice at 16 kHz, full scale at 1.
pub(crate) fn made_voices() -> Vec<Vec<f32>> {
    (0..VOICES.len()).map(made_voice).collect()
}

fn made_voice(number: usize) -> Vec<f32> {
    let (hertz, formants) = VOICES[number];
    let mut resonances: Vec<Resonance> = formants
        .iter()
        .zip(WIDTHS)
        .map(|(formant, width)| {
            let radius = (-PI * width / RATE).exp();
            let turn = 2.0 * radius * (TAU * formant / RATE).cos();
            Resonance {
                weights: [turn, radius * radius, 1.0 - radius],
                before: [0.0; 2],
            }
        })
        .collect();
    let mut state = number as u64 + 1;
    let (mut phase, mut factor, mut last) = (0.0, 1.0, 0.0);
    (0..4 * RATE as u32)
        .map(|n| {
            let t = f64::from(n) / RATE;
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            let noise = 2.0 * ((state >> 11) as f64 / (1u64 << 53) as f64) - 1.0;
            phase += hertz * (1.0 + 0.12 * (TAU * 0.6 * t).sin()) * factor / RATE;
            if phase >= 1.0 {
                phase -= 1.0;
                factor = 1.0 + 0.008 * noise;
            }
            let flow = if phase < 0.4 {
                0.5 - 0.5 * (PI * phase / 0.4).cos()
            } else if phase < 0.56 {
                (0.5 * PI * (phase - 0.4) / 0.16).cos()
            } else {
                0.0
            };
            let syllable = (TAU * 1.9 * t + number as f64).sin();
            let (voiced, breath) = (syllable.max(0.0), (-syllable - 0.5).max(0.0));
            let mut x = voiced * (flow - last + 0.004 * noise) + 0.02 * breath * noise;
            last = flow;
            for Resonance { weights, before } in &mut resonances {
                let y = x + weights[0] * before[0] - weights[1] * before[1];
                *before = [y, before[0]];
                x = weights[2] * y;
            }
            let sample = (x * 1.0e8 + 60.0 * noise + 0.5).floor();
            (sample.clamp(-32_768.0, 32_767.0) / 32_768.0) as f32
        })
        .collect()
}
