//! Tempo, beats and the two parts of a piece beside librosa 0.11, on pieces whose tempo is known.
//!
//! With `--nocapture` the last trial prints how often each of the two found the true tempo.

use std::path::{Path, PathBuf};
use std::process::Command;

use libtest_mimic::{Failed, Trial};
use warpsmith_descriptors::rhythm::{
    Over, RhythmSettings, Tempogram, beats_at, envelope, find_beats, find_tempo,
};
use warpsmith_descriptors::separation::{SplitSettings, split};

use crate::npy;

/// A piece with what librosa said of it.
struct Piece {
    folder: PathBuf,
    rate: u32,
    transform: usize,
    hop: usize,
    stride: usize,
    signal: Vec<f32>,
}

impl Piece {
    fn open(folder: &Path, sizes: [usize; 4]) -> Result<Self, Failed> {
        let [rate, transform, hop, stride] = sizes;
        let samples = npy::read(&folder.join("signal.npy"))?;
        Ok(Self {
            folder: folder.to_owned(),
            rate: rate as u32,
            transform,
            hop,
            stride,
            signal: samples.iter().map(|x| x / 32_768.0).collect(),
        })
    }

    fn peer(&self, name: &str) -> Result<Vec<f32>, Failed> {
        npy::read(&self.folder.join(format!("{name}.npy")))
    }

    fn settings(&self) -> RhythmSettings {
        RhythmSettings {
            transform: self.transform,
            hop: self.hop,
            ..RhythmSettings::default()
        }
    }

    fn check(&self) -> Result<(), Failed> {
        let settings = self.settings();
        let median = envelope(&self.signal, self.rate, &settings, Over::Median)?;
        // Differences of decibels, each good to 1e-4.
        self.close("median_onset", &median, 5e-4)?;
        let mean = envelope(&self.signal, self.rate, &settings, Over::Mean)?;
        let lags = 384;
        let tempogram = Tempogram::new(lags)?.compute(&mean)?;
        let kept: Vec<f32> = tempogram
            .chunks_exact(lags)
            .step_by(self.stride)
            .flatten()
            .copied()
            .collect();
        self.close("tempogram", &kept, 2e-4)?;
        let tempo = find_tempo(&self.signal, self.rate, &settings)?;
        self.close("tempo", &[tempo.unwrap_or(0.0) as f32], 1e-3)?;
        let beats = find_beats(&self.signal, self.rate, &settings, None)?;
        self.close("beat_tempo", &[beats.bpm.unwrap_or(0.0) as f32], 1e-3)?;
        self.close("beats", &numbers(&beats.frames), 0.0)?;
        let known = f64::from(self.peer("true_bpm")?[0]);
        let untrimmed = RhythmSettings {
            trim: false,
            ..settings
        };
        let beats = beats_at(&median, known, self.rate, &untrimmed)?;
        self.close("true_beats", &numbers(&beats), 0.0)?;
        for (name, margins) in [("", [1.0, 1.0]), ("margin_", [2.0, 3.0])] {
            let parts = split(
                &self.signal,
                self.rate,
                &SplitSettings {
                    transform: self.transform,
                    hop: self.hop,
                    harmonic_margin: margins[0],
                    percussive_margin: margins[1],
                    ..SplitSettings::default()
                },
            )?;
            for (part, samples) in [
                ("harmonic", &parts.harmonic),
                ("percussive", &parts.percussive),
            ] {
                let kept: Vec<f32> = samples.iter().copied().step_by(self.stride).collect();
                // Magnitudes are good to 3e-7 of the largest, and masks are ratios of faint ones.
                self.close(&format!("{name}{part}"), &kept, 2e-5)?;
            }
        }
        Ok(())
    }

    fn close(&self, name: &str, ours: &[f32], bound: f32) -> Result<(), Failed> {
        let peer = self.peer(name)?;
        if ours.len() != peer.len() {
            return Err(
                format!("{name}: {} values, librosa has {}", ours.len(), peer.len()).into(),
            );
        }
        for (at, (a, b)) in ours.iter().zip(&peer).enumerate() {
            let error = (a - b).abs();
            if error.is_nan() || error > bound {
                return Err(format!("{name} at {at}: {a}, librosa says {b}").into());
            }
        }
        Ok(())
    }
}

fn numbers(frames: &[usize]) -> Vec<f32> {
    frames.iter().map(|frame| *frame as f32).collect()
}

const SEEDS: std::ops::Range<u32> = 100..112;

/// Whether a tempo is the true one within 4 %, as tempo estimation is judged.
fn is_right(bpm: f64, truth: f64) -> bool {
    (bpm / truth - 1.0).abs() <= 0.04
}

pub(crate) fn trials() -> Vec<Trial> {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let golden = here.join("tests/golden/music");
    let mut trials = vec![Trial::test("music::golden", move || {
        Piece::open(&golden, [8_000, 512, 128, 16])?.check()
    })];
    let oracle = here.join("../../target/voice-oracle");
    let missing = !oracle.join("bin/python").exists()
        || std::env::var_os("WARPSMITH_FULL").is_none_or(|value| value != "1");
    let fresh = move || {
        let (mut ours, mut theirs) = (0, 0);
        for seed in SEEDS {
            let folder = oracle.join(format!("music-{seed}"));
            if !folder.join("margin_percussive.npy").exists() {
                let script = here.join("tests/oracle/music.py");
                let run = Command::new(oracle.join("bin/python"))
                    .args([&script, &folder])
                    .args(["22050", "12", &seed.to_string(), "2048", "512", "1"])
                    .status()?;
                if !run.success() {
                    return Err(format!("{} failed", script.display()).into());
                }
            }
            let piece = Piece::open(&folder, [22_050, 2048, 512, 1])?;
            piece.check().map_err(|failed| {
                format!("seed {seed}: {}", failed.message().unwrap_or_default())
            })?;
            let truth = f64::from(piece.peer("true_bpm")?[0]);
            let found = find_beats(&piece.signal, 22_050, &piece.settings(), None)?;
            let line = found.line_bpm(22_050, 512).unwrap_or(0.0);
            ours += usize::from(is_right(line, truth));
            theirs += usize::from(is_right(f64::from(piece.peer("beat_tempo")?[0]), truth));
        }
        let count = SEEDS.len();
        #[expect(clippy::print_stdout, reason = "figures for the documentation")]
        {
            println!("true tempo within 4 %: {ours} of {count}, librosa {theirs}");
        }
        // A line through the same beats is not worse than the period that they keep.
        if ours < theirs {
            return Err(format!("{ours} of {count}, librosa {theirs}").into());
        }
        Ok(())
    };
    trials.push(Trial::test("music::fresh", fresh).with_ignored_flag(missing));
    trials
}
