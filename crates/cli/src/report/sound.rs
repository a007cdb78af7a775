//! Sound that one can hear, and what the analysis says about it.
//!
//! The signal is made from a formula, so the truth is known: pitch errors are errors of the
//! tracker and not of a label.

use std::f64::consts::TAU;

use anyhow::Result;
use warpsmith_measure::report::plot::{Curve, curves};
use warpsmith_measure::statistics::order::median_of;
use warpsmith_voice::{Framing, Padding, PitchRange, Pyin, PyinSettings, Yin};

use super::{Block, Job, Section};

const RATE: u32 = 16_000;
const SECONDS: f64 = 4.0;

/// An octave up and back with a vibrato of 5 Hz and half a semitone: what a voice does.
fn pitch_at(seconds: f64) -> f64 {
    let octaves = 0.5 - 0.5 * (TAU * seconds / SECONDS).cos();
    let vibrato = 0.5 / 12.0 * (TAU * 5.0 * seconds).sin();
    147.0 * (octaves + vibrato).exp2()
}

/// Twelve harmonics that fall as a glottal pulse's do, with a soft start and end.
fn glide() -> Vec<f32> {
    let mut phase = 0.0;
    (0..(SECONDS * f64::from(RATE)) as usize)
        .map(|index| {
            let time = index as f64 / f64::from(RATE);
            phase = (phase + pitch_at(time) / f64::from(RATE)).fract();
            let harmonic = |k: i32| (TAU * f64::from(k) * phase).sin() / f64::from(k).powf(1.5);
            let edge = (time / 0.05).min((SECONDS - time) / 0.05).clamp(0.0, 1.0);
            (0.25 * edge * (1..=12).map(harmonic).sum::<f64>()) as f32
        })
        .collect()
}

pub(super) fn section(_: &Job) -> Result<Section> {
    let signal = glide();
    let framing = Framing {
        length: 1024,
        hop: 160,
        padding: Padding::CentredZero,
    };
    let range = PitchRange::VOICE;
    let yin = Yin::new(RATE, framing, range, 0.1)?.track(&signal)?;
    let pyin = Pyin::new(RATE, framing, range, PyinSettings::default())?.track(&signal);
    let time = |frame: usize| (frame * framing.hop) as f64 / f64::from(RATE);
    let truth: Vec<(f64, f64)> = (0..yin.len())
        .map(|i| (time(i), pitch_at(time(i))))
        .collect();
    let cents = |track: &[f32]| -> Vec<f64> {
        track
            .iter()
            .zip(&truth)
            .filter(|(hz, _)| hz.is_finite() && **hz > 0.0)
            .map(|(hz, (_, truth))| 1200.0 * (f64::from(*hz) / truth).log2().abs())
            .collect()
    };
    let mut rows = Vec::new();
    for (name, track) in [("YIN", &yin), ("pYIN", &pyin.frequency)] {
        let errors = cents(track);
        let near = errors.iter().filter(|error| **error <= 50.0).count();
        rows.push(vec![
            name.to_owned(),
            format!("{:.2} cent", median_of(&errors)),
            format!("{:.1} %", 100.0 * near as f64 / truth.len() as f64),
            truth.len().to_string(),
        ]);
    }
    let seen = yin.iter().enumerate();
    let tracks = [
        Curve {
            name: "YIN",
            points: seen.map(|(i, hz)| (time(i), f64::from(*hz))).collect(),
        },
        Curve {
            name: "truth",
            points: truth.clone(),
        },
    ];
    let headings = [
        "tracker",
        ">median error",
        ">frames within 50 cents",
        ">frames",
    ];
    Ok(Section {
        blocks: vec![
            Block::Sound {
                caption: format!("A glide with vibrato, {SECONDS} s"),
                wav: wav(&signal, RATE),
            },
            Block::Plot(curves("pitch", &tracks, false, "s", "Hz")),
            Block::table(&headings, rows),
        ],
        raw: serde_json::json!({ "truth": truth, "yin": yin, "pyin": pyin.frequency }),
        ..Section::default()
    })
}

/// 16-bit mono samples as a WAV file.
fn wav(signal: &[f32], rate: u32) -> Vec<u8> {
    let bytes = 2 * signal.len() as u32;
    let mut file = Vec::with_capacity(44 + bytes as usize);
    file.extend(b"RIFF");
    file.extend((36 + bytes).to_le_bytes());
    file.extend(b"WAVEfmt ");
    file.extend(16_u32.to_le_bytes());
    for field in [1_u16, 1] {
        file.extend(field.to_le_bytes());
    }
    file.extend(rate.to_le_bytes());
    file.extend((2 * rate).to_le_bytes());
    for field in [2_u16, 16] {
        file.extend(field.to_le_bytes());
    }
    file.extend(b"data");
    file.extend(bytes.to_le_bytes());
    for sample in signal {
        file.extend(((sample.clamp(-1.0, 1.0) * 32767.0).round() as i16).to_le_bytes());
    }
    file
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_trackers_follow_the_glide() {
        let section = section(&Job {
            device: warpsmith_device::Device::open(warpsmith_device::DeviceChoice::Cpu).unwrap(),
            quick: true,
        })
        .unwrap();
        let Some(Block::Table { rows, .. }) = section.blocks.last() else {
            panic!("no table");
        };
        for row in rows {
            let near: f64 = row[2].trim_end_matches(" %").parse().unwrap();
            assert!(near > 97.0, "{row:?}");
        }
    }

    #[test]
    fn a_wav_file_says_how_long_it_is() {
        let file = wav(&[0.0, 1.0, -1.0], 8000);
        assert_eq!(file.len(), 50);
        assert_eq!(file[4..8], 42_u32.to_le_bytes());
        assert_eq!(file[46..50], [0xff, 0x7f, 0x01, 0x80]);
    }
}
