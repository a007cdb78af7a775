//! `warpsmith voice analyze`: what is in many files, one row to a file, on all cores.

use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};

use anyhow::Result;
use clap::Args;
use rayon::prelude::*;
use serde::Serialize;
use warpsmith_voice::{
    PitchRange, Pyin, PyinSettings, Segment, StatisticalSettings, StatisticalVad,
    integrated_loudness, segments,
};

use super::input::Input;
use super::pitch::default_framing;
use crate::arguments::Global;
use crate::exit::Outcome;
use crate::output::{print, progress, report};
use crate::table::Table;

/// Summarise files: length, level, loudness, speech and pitch.
#[derive(Args)]
#[command(after_help = "Examples:\n  warpsmith voice analyze *.wav\n  \
                        warpsmith voice analyze talk.mp3 --format json")]
pub(crate) struct Analyze {
    #[command(flatten)]
    input: Input,
}

/// What is said of all files.
#[derive(Serialize)]
struct Body {
    files: Vec<Row>,
}

/// One file, analysed or not.
#[derive(Serialize)]
struct Row {
    file: String,
    #[serde(flatten)]
    result: Analysis,
}

#[derive(Serialize)]
#[serde(rename_all = "snake_case")]
enum Analysis {
    #[serde(untagged)]
    Done(Summary),
    #[serde(untagged)]
    Failed { error: String },
}

#[derive(Serialize)]
struct Summary {
    seconds: f64,
    sample_rate: u32,
    channels: usize,
    /// Largest magnitude, full scale at 1.
    peak: f32,
    /// Samples at or beyond full scale.
    clipped: usize,
    /// Absent where the file is shorter than 0.4 s.
    loudness_lufs: Option<f64>,
    speech: Vec<Segment>,
    speech_seconds: f64,
    /// Share of the frames that are voiced.
    voiced_share: f64,
    /// Median frequency of the voiced frames, Hz.
    pitch_median_hz: Option<f32>,
    pitch_low_hz: Option<f32>,
    pitch_high_hz: Option<f32>,
}

impl Analyze {
    pub(crate) fn run(&self, global: &Global) -> Result<Outcome> {
        let done = AtomicUsize::new(0);
        let count = self.input.files.len();
        let files: Vec<Row> = self
            .input
            .files
            .par_iter()
            .map(|path| {
                let result = match self.summarise(path) {
                    Ok(summary) => Analysis::Done(summary),
                    Err(error) => Analysis::Failed {
                        error: format!("{error:#}"),
                    },
                };
                let done = done.fetch_add(1, Ordering::Relaxed) + 1;
                progress(global, &format!("{done}/{count} files"));
                Row {
                    file: path.display().to_string(),
                    result,
                }
            })
            .collect();
        progress(global, "");
        let failed = files
            .iter()
            .any(|row| matches!(row.result, Analysis::Failed { .. }));
        print(global, &report("voice analyze", Body { files }), human)?;
        Ok(if failed {
            Outcome::NotFine
        } else {
            Outcome::Fine
        })
    }

    fn summarise(&self, path: &Path) -> Result<Summary> {
        let audio = self.input.read(path)?;
        let rate = audio.sample_rate;
        let signal = audio.signal(self.input.channels)?;
        let samples = || audio.channels.iter().flatten();
        let mut vad = StatisticalVad::new(rate, StatisticalSettings::default())?;
        let speech = segments(&vad.decide(&signal)?, 0.01);
        let range = PitchRange {
            high_hz: PitchRange::VOICE.high_hz.min(f64::from(rate) / 2.0),
            ..PitchRange::VOICE
        };
        let framing = default_framing(rate, range);
        let track = Pyin::new(rate, framing, range, PyinSettings::default())?.track(&signal);
        let mut voiced: Vec<f32> = track
            .frequency
            .iter()
            .zip(&track.voiced)
            .filter_map(|(hz, voiced)| voiced.then_some(*hz))
            .collect();
        voiced.sort_unstable_by(f32::total_cmp);
        Ok(Summary {
            seconds: audio.seconds(),
            sample_rate: rate,
            channels: audio.channels.len(),
            peak: samples().fold(0.0f32, |peak, x| peak.max(x.abs())),
            clipped: samples().filter(|x| x.abs() >= 1.0).count(),
            loudness_lufs: integrated_loudness(&audio).ok(),
            speech_seconds: speech
                .iter()
                .map(|segment| segment.end - segment.start)
                .sum(),
            speech,
            voiced_share: voiced.len() as f64 / track.voiced.len().max(1) as f64,
            pitch_median_hz: voiced.get(voiced.len() / 2).copied(),
            pitch_low_hz: voiced.first().copied(),
            pitch_high_hz: voiced.last().copied(),
        })
    }
}

fn human(body: &Body) -> String {
    let mut table = Table::new(&[
        "file",
        ">seconds",
        ">Hz",
        ">channels",
        ">peak",
        ">LUFS",
        ">speech s",
        ">voiced",
        ">pitch Hz",
    ]);
    let mut errors = String::new();
    for row in &body.files {
        match &row.result {
            Analysis::Done(summary) => table.row([
                row.file.clone(),
                format!("{:.2}", summary.seconds),
                summary.sample_rate.to_string(),
                summary.channels.to_string(),
                format!("{:.3}", summary.peak),
                summary
                    .loudness_lufs
                    .map_or("-".into(), |lufs| format!("{lufs:.1}")),
                format!("{:.2}", summary.speech_seconds),
                format!("{:.0} %", 100.0 * summary.voiced_share),
                summary
                    .pitch_median_hz
                    .map_or("-".into(), |hz| format!("{hz:.1}")),
            ]),
            Analysis::Failed { error } => {
                errors.push_str(&format!("not analysed: {error}\n"));
            }
        }
    }
    format!("{table}{errors}")
}
