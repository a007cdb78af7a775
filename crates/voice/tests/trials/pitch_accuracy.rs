//! The `hq` tracker and SWIPE' on voices whose pitch is known, among them resynthesised recordings; see
//! `oracle/known_pitch.py`. Ignored where `oracle/set_up.sh` has not made them.
//!
//! The constants of `hq` were ranked on `speech_tuned`; how its parts work was decided with the scores
//! of both halves in view, so that `speech_held_out` is held out from the constants alone.
//! `cargo test --test trials pitch_accuracy -- --nocapture` prints the scores.

#![allow(
    clippy::print_stdout,
    reason = "the scores are what a reader of this test wants"
)]

use std::path::Path;

use crate::npy;
use libtest_mimic::Trial;
use warpsmith_voice::{HqPitch, PitchRange, Swipe};

const RATE: u32 = 16_000;
const HOP: usize = 160;
/// Frames this near to where a voice begins or ends do not count, samples.
const EDGE: usize = 480;

/// Signals taken as one, and their bounds: least share within 50 cents, largest mean distance of those,
/// cents, and largest share of wrong frames.
type Bounds = (&'static [&'static str], [f64; 3]);

const HQ: &[Bounds] = &[
    (&["tones"], [1.0, 0.5, 0.0]),
    (&["tones_0_db"], [0.95, 15.0, 0.01]),
    (&["sweep"], [1.0, 0.5, 0.0]),
    (&["vibrato"], [0.995, 0.5, 0.005]),
    (&["no_fundamental"], [1.0, 0.5, 0.0]),
    (&["speech_tuned"], [0.95, 15.0, 0.02]),
    (&["speech_held_out"], [0.905, 15.0, 0.06]),
    // Harvest, whose pitch is the truth, reaches 0.935 and 0.042 here, the other classical trackers 0.88
    // and 0.07.
    (&["speech_tuned", "speech_held_out"], [0.937, 15.0, 0.04]),
];

/// What SPTK's `swipe` reaches on the same samples, as integers. It looks for the fundamental and hears nothing
/// without it.
const SWIPE: &[Bounds] = &[
    (&["tones"], [1.0, 1.7, 0.0]),
    (&["tones_0_db"], [0.56, 8.0, 0.31]),
    (&["sweep"], [0.999, 2.1, 0.001]),
    (&["vibrato"], [0.99, 4.0, 0.006]),
    (&["speech_tuned", "speech_held_out"], [0.79, 12.6, 0.11]),
];

/// The times and frequencies of a signal's frames.
type Track = fn(&[f32]) -> warpsmith_voice::Result<(Vec<f64>, Vec<f32>)>;

fn hq(signal: &[f32]) -> warpsmith_voice::Result<(Vec<f64>, Vec<f32>)> {
    let track = HqPitch::new(RATE, HOP, PitchRange::VOICE)?.track(signal);
    Ok((track.seconds, track.frequency))
}

fn swipe(signal: &[f32]) -> warpsmith_voice::Result<(Vec<f64>, Vec<f32>)> {
    let track = Swipe::new(RATE, HOP, PitchRange::VOICE, Swipe::THRESHOLD)?.track(signal);
    Ok((track.seconds, track.frequency))
}

/// What was counted over the frames of signals.
#[derive(Default)]
struct Count {
    hits: f64,
    voiced: f64,
    cents: f64,
    wrong: f64,
    all: f64,
}

impl Count {
    /// Share of the voiced frames within 50 cents, their mean distance, and the share of all frames
    /// whose voicing is wrong or whose pitch is off by more than a fifth.
    fn scores(&self) -> [f64; 3] {
        [
            self.hits / self.voiced,
            self.cents / f64::max(self.hits, 1.0),
            self.wrong / self.all,
        ]
    }

    fn add(&mut self, (seconds, frequency): (Vec<f64>, Vec<f32>), truth: &[f32]) {
        for (seconds, hertz) in seconds.iter().zip(&frequency) {
            let at = (seconds * f64::from(RATE)).round() as usize;
            let Some(near) = truth.get(at.saturating_sub(EDGE)..at + EDGE) else {
                continue;
            };
            let inside = near.iter().filter(|hertz| **hertz > 0.0).count();
            if inside != 0 && inside != near.len() {
                continue;
            }
            self.all += 1.0;
            let (found, known) = (f64::from(*hertz), f64::from(truth[at]));
            if known == 0.0 {
                self.wrong += f64::from(u8::from(found > 0.0));
                continue;
            }
            self.voiced += 1.0;
            let ratio = found / known;
            self.wrong += f64::from(u8::from((ratio - 1.0).abs() > 0.2));
            let distance = 1200.0 * ratio.max(1e-9).log2().abs();
            if distance < 50.0 {
                self.hits += 1.0;
                self.cents += distance;
            }
        }
    }
}

pub(crate) fn trials() -> Vec<Trial> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/voice-data/known-pitch");
    let mut trials = Vec::new();
    for (kind, track, signals) in [("hq", hq as Track, HQ), ("swipe", swipe, SWIPE)] {
        let each = |(names, bounds): &Bounds| trial(kind, track, &root, names, *bounds);
        trials.extend(signals.iter().map(each));
    }
    trials
}

fn trial(
    kind: &'static str,
    track: Track,
    root: &Path,
    names: &[&str],
    [least, farthest, most]: [f64; 3],
) -> Trial {
    let files: Vec<_> = names
        .iter()
        .map(|name| {
            let file = |end: &str| root.join(format!("{name}{end}"));
            (file(".npy"), file(".truth.npy"))
        })
        .collect();
    let missing = files.iter().any(|(_, truth)| !truth.exists());
    let name = names.join(" and ");
    Trial::test(format!("{kind}::{name}"), move || {
        let mut count = Count::default();
        for (signal, truth) in &files {
            count.add(track(&npy::read(signal).0)?, &npy::read(truth).0);
        }
        let [hits, cents, wrong] = count.scores();
        println!(
            "{kind} {name}: {:.1} % within 50 cents, {cents:.2} cents, {:.1} % wrong",
            100.0 * hits,
            100.0 * wrong
        );
        if hits < least || cents > farthest || wrong > most {
            return Err(format!(
                "{hits:.3}, {cents:.2} cents, {wrong:.3}; {least}, {farthest}, {most} were reached before"
            )
            .into());
        }
        Ok(())
    })
    .with_ignored_flag(missing)
}
