//! Sound that one can hear, and what the analysis says about it.
//!
//! The signal is made from a formula, so the truth is known: pitch errors are errors of the
//! tracker and not of a label.

use std::f64::consts::TAU;

use anyhow::Result;
use warpsmith_measure::statistics::order::median_of;
use warpsmith_report::document::Sound;
use warpsmith_voice::{Framing, Padding, PitchRange, Pyin, PyinSettings, Yin};

use super::wav_sound::wav;

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

/// The glide, with what the trackers say about it.
pub(super) fn sound() -> Result<Sound> {
    let signal = glide();
    let words: Vec<String> = tracked(&signal)?
        .into_iter()
        .map(|tracked| {
            format!(
                "{} errs by {:.2} cent (median), {:.1} % of {} frames within 50 cents",
                tracked.name,
                tracked.median_cents,
                100.0 * tracked.near,
                tracked.frames
            )
        })
        .collect();
    Ok(Sound {
        caption: format!("A glide with vibrato, {SECONDS} s: {}", words.join("; ")),
        wav: wav(&signal, RATE),
    })
}

/// How a tracker followed the glide.
struct Tracked {
    name: &'static str,
    median_cents: f64,
    /// Share of the frames within 50 cents.
    near: f64,
    frames: usize,
}

fn tracked(signal: &[f32]) -> Result<Vec<Tracked>> {
    let framing = Framing {
        length: 1024,
        hop: 160,
        padding: Padding::CentredZero,
    };
    let range = PitchRange::VOICE;
    let yin = Yin::new(RATE, framing, range, 0.1)?.track(signal)?;
    let pyin = Pyin::new(RATE, framing, range, PyinSettings::default())?.track(signal);
    let time = |frame: usize| (frame * framing.hop) as f64 / f64::from(RATE);
    let follow = |name: &'static str, track: &[f32]| {
        let errors: Vec<f64> = track
            .iter()
            .enumerate()
            .filter(|(_, hz)| hz.is_finite() && **hz > 0.0)
            .map(|(frame, hz)| 1200.0 * (f64::from(*hz) / pitch_at(time(frame))).log2().abs())
            .collect();
        let near = errors.iter().filter(|error| **error <= 50.0).count();
        Tracked {
            name,
            median_cents: median_of(&errors),
            near: near as f64 / track.len() as f64,
            frames: track.len(),
        }
    };
    Ok(vec![follow("YIN", &yin), follow("pYIN", &pyin.frequency)])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_trackers_follow_the_glide() {
        for tracked in tracked(&glide()).unwrap() {
            assert!(tracked.near > 0.97, "{}: {}", tracked.name, tracked.near);
        }
    }
}
