//! The `hq` tracker on voices whose pitch is known, among them resynthesised recordings; see
//! `oracle/known_pitch.py`. Ignored where `oracle/set_up.sh` has not made them.
//!
//! The tracker's constants were ranked on `speech_tuned`; the scores of `speech_held_out` were seen, not
//! used.
//! `cargo test --test pitch_accuracy -- --nocapture` prints the scores.

#![allow(
    clippy::print_stdout,
    reason = "the scores are what a reader of this test wants"
)]

use std::path::Path;

use libtest_mimic::{Arguments, Failed, Trial};
use warpsmith_voice::{HqPitch, PitchRange};

#[path = "support/npy.rs"]
mod npy;

const RATE: u32 = 16_000;
const HOP: usize = 160;
/// Frames this near to where a voice begins or ends do not count, samples.
const EDGE: usize = 480;

/// A signal, and its bounds: least share within 50 cents, largest mean distance of those, cents, and
/// largest share of wrong frames.
const SIGNALS: [(&str, [f64; 3]); 7] = [
    ("tones", [1.0, 0.5, 0.0]),
    ("tones_0_db", [0.95, 15.0, 0.01]),
    ("sweep", [1.0, 0.5, 0.0]),
    ("vibrato", [0.995, 0.5, 0.005]),
    ("no_fundamental", [1.0, 0.5, 0.0]),
    // The best of the classical trackers here but for Harvest, whose pitch is the truth, reach 0.88
    // and 0.07.
    ("speech_tuned", [0.92, 15.0, 0.04]),
    ("speech_held_out", [0.87, 15.0, 0.06]),
];

/// Share of the voiced frames within 50 cents, their mean distance, and the share of all frames whose
/// voicing is wrong or whose pitch is off by more than a fifth.
fn score(signal: &[f32], truth: &[f32]) -> Result<[f64; 3], Failed> {
    let track = HqPitch::new(RATE, HOP, PitchRange::VOICE)?.track(signal);
    let (mut hits, mut voiced, mut cents, mut wrong, mut all) = (0.0, 0.0, 0.0, 0.0, 0.0);
    for (seconds, hertz) in track.seconds.iter().zip(&track.frequency) {
        let at = (seconds * f64::from(RATE)).round() as usize;
        let Some(near) = truth.get(at.saturating_sub(EDGE)..at + EDGE) else {
            continue;
        };
        let inside = near.iter().filter(|hertz| **hertz > 0.0).count();
        if inside != 0 && inside != near.len() {
            continue;
        }
        all += 1.0;
        let (found, known) = (f64::from(*hertz), f64::from(truth[at]));
        if known == 0.0 {
            wrong += f64::from(u8::from(found > 0.0));
            continue;
        }
        voiced += 1.0;
        let ratio = found / known;
        wrong += f64::from(u8::from((ratio - 1.0).abs() > 0.2));
        let distance = 1200.0 * ratio.max(1e-9).log2().abs();
        if distance < 50.0 {
            hits += 1.0;
            cents += distance;
        }
    }
    Ok([hits / voiced, cents / f64::max(hits, 1.0), wrong / all])
}

fn main() {
    let arguments = Arguments::from_args();
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/voice-data/known-pitch");
    let trials = SIGNALS
        .into_iter()
        .map(|(name, [least, farthest, most])| {
            let (signal, truth) = (
                root.join(format!("{name}.npy")),
                root.join(format!("{name}.truth.npy")),
            );
            let missing = !truth.exists();
            Trial::test(name, move || {
                let [hits, cents, wrong] = score(&npy::read(&signal).0, &npy::read(&truth).0)?;
                println!(
                    "{name}: {:.1} % within 50 cents, {cents:.2} cents, {:.1} % wrong",
                    100.0 * hits,
                    100.0 * wrong
                );
                if hits < least || cents > farthest || wrong > most {
                    return Err(format!(
                        "{hits:.3}, {cents:.2} cents, {wrong:.3}; {least}, {farthest}, {most} were \
                         reached before"
                    )
                    .into());
                }
                Ok(())
            })
            .with_ignored_flag(missing)
        })
        .collect();
    libtest_mimic::run(&arguments, trials).exit();
}
