//! Sound that one can hear, and what the analysis says about it.
//!
//! The signal is made from a formula, so the truth is known: pitch errors are errors of the
//! tracker and not of a label.

use std::f64::consts::TAU;

use anyhow::Result;
use warpsmith_measure::report::plot::{Curve, curves};
use warpsmith_measure::statistics::order::median_of;
use warpsmith_voice::{Framing, Padding, PitchRange, Pyin, PyinSettings, Yin};

use super::wav_sound::wav;
use crate::project::report::document::{Block, Section};
use crate::project::report::job::Job;

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

pub(in crate::project::report) fn section(_: &Job) -> Result<Section> {
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
            Block::linked_table(&headings, rows, vec!["/yin".into(), "/pyin".into()]),
        ],
        raw: serde_json::json!({ "truth": truth, "yin": yin, "pyin": pyin.frequency }),
        ..Section::default()
    })
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
}
