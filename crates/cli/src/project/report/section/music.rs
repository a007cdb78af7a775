//! Music from a seed that one can hear, and how fast it is made here.

use std::time::Instant;

use anyhow::Result;
use warpsmith_core::Seconds;
use warpsmith_measure::report::plot::{Curve, curves};
use warpsmith_synth::{Params, Preset, Stream, StreamSettings, compose};

use super::wav_sound::wav;
use crate::project::report::document::{Block, Section};
use crate::project::report::job::Job;

const SEED: u64 = 7;
/// Half of what music asks for: the page is to stay small.
const RATE: u32 = 24_000;
const SECONDS: usize = 10;
/// Seconds until the first chord stands; what is heard begins there.
const SKIPPED: usize = 4;

pub(in crate::project::report) fn section(_: &Job) -> Result<Section> {
    let params = Params::preset(Preset::Focus);
    let settings = StreamSettings {
        sample_rate: RATE,
        ..StreamSettings::default()
    };
    let mut stream = Stream::with_settings(SEED, params, settings)?;
    let rate = RATE as usize;
    let mut samples = vec![0f32; 2 * rate];
    let mut heard = Vec::with_capacity(SECONDS * rate);
    let mut taken = Vec::new();
    for second in 0..SKIPPED + SECONDS {
        let begun = Instant::now();
        stream.render_into(&mut samples);
        taken.push(begun.elapsed().as_secs_f64());
        if second >= SKIPPED {
            let frames = samples.chunks_exact(2);
            heard.extend(frames.map(|frame| 0.5 * (frame[0] + frame[1])));
        }
    }
    let worst = taken.iter().copied().fold(0.0, f64::max);
    let total: f64 = taken.iter().sum();
    let notes = compose(SEED, &params, RATE, ((SKIPPED + SECONDS) * rate) as u64).len();
    let loudness = level(&heard, rate / 20);
    let rows = vec![vec![
        "focus".to_owned(),
        notes.to_string(),
        Seconds(total).to_string(),
        Seconds(worst).to_string(),
        format!("{:.0}×", taken.len() as f64 / total),
        taken.len().to_string(),
    ]];
    let headings = [
        "preset",
        ">notes",
        ">to render it all",
        ">slowest second",
        ">faster than it plays",
        ">samples",
    ];
    Ok(Section {
        blocks: vec![
            Block::Sound {
                caption: format!(
                    "{SECONDS} s of ambient music, seed {SEED}, mixed to mono at {} kHz for this \
                     page; `warpsmith synth render --seed {SEED}` makes it in stereo at 48 kHz",
                    RATE / 1000
                ),
                wav: wav(&heard, RATE),
            },
            Block::Plot(curves(
                "level",
                &[Curve {
                    name: "level",
                    points: loudness,
                }],
                false,
                "s",
                "dBFS",
            )),
            Block::linked_table(&headings, rows, vec!["/seconds".to_owned()]),
        ],
        raw: serde_json::json!({
            "seed": SEED, "params": params, "sample_rate": RATE, "seconds": taken, "notes": notes,
        }),
        ..Section::default()
    })
}

/// Root mean squares over windows of `length`, in decibels below full scale, over seconds.
fn level(signal: &[f32], length: usize) -> Vec<(f64, f64)> {
    let windows = signal.chunks_exact(length).enumerate();
    windows
        .map(|(index, window)| {
            let power: f64 = window.iter().map(|x| f64::from(*x).powi(2)).sum();
            let level = 10.0 * (power / length as f64).max(1e-12).log10();
            ((index * length) as f64 / f64::from(RATE), level)
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sample_can_be_heard() {
        let job = Job {
            device: warpsmith_device::Device::open(warpsmith_device::DeviceChoice::Cpu).unwrap(),
            quick: true,
        };
        let section = section(&job).unwrap();
        let Block::Sound { wav, .. } = &section.blocks[0] else {
            panic!("no sound");
        };
        let peak = wav[44..]
            .as_chunks::<2>()
            .0
            .iter()
            .map(|sample| i16::from_le_bytes(*sample).unsigned_abs())
            .max();
        assert!(peak.unwrap() > 1000, "{peak:?}");
    }
}
