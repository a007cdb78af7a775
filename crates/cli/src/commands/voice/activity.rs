//! `warpsmith voice vad` and `segments`: which frames hold speech, and where it starts and ends.

use anyhow::Result;
use clap::{Args, ValueEnum};
use warpsmith_voice::{
    EnergyVad, FrameMillis, PeriodicityVad, StatisticalSettings, StatisticalVad, WebrtcMode,
    WebrtcVad, segments,
};

use super::input::Input;
use super::sheet::{Destination, Sheet};
use crate::arguments::Global;
use crate::exit::Outcome;

/// Seconds between decisions.
const HOP_SECONDS: f64 = 0.01;

/// How speech is told from the rest.
#[derive(Args)]
pub(super) struct Detector {
    /// `statistical` compares the bands of the whole signal with its noise; `periodicity` asks for
    /// the pitch of a voice, which loud noises do not have; `energy` decides as the sound arrives;
    /// `webrtc` decides bit for bit as libfvad and webrtcvad do.
    #[arg(long, value_enum, default_value_t = Method::Statistical)]
    method: Method,
    /// How much `webrtc` must be convinced: 0 misses the least speech, 3 passes the least noise.
    #[arg(long, default_value_t = 2, value_parser = clap::value_parser!(u8).range(0..=3))]
    mode: u8,
    /// Decibels above the noise that make speech, for `energy`.
    #[arg(long, default_value_t = 6.0)]
    margin: f32,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Method {
    Statistical,
    Periodicity,
    Energy,
    Webrtc,
}

impl Detector {
    fn decide(&self, signal: &[f32], sample_rate: u32) -> Result<Vec<bool>> {
        Ok(match self.method {
            Method::Energy => {
                EnergyVad::new(self.margin).decide(signal, (sample_rate as usize / 100).max(1))
            }
            Method::Webrtc => {
                let mode = match self.mode {
                    0 => WebrtcMode::Quality,
                    1 => WebrtcMode::LowBitrate,
                    2 => WebrtcMode::Aggressive,
                    _ => WebrtcMode::VeryAggressive,
                };
                WebrtcVad::decide(signal, sample_rate, mode, FrameMillis::Ten)?
            }
            Method::Periodicity => PeriodicityVad::new(sample_rate)?.decide(signal),
            Method::Statistical => {
                StatisticalVad::new(sample_rate, StatisticalSettings::default())?.decide(signal)?
            }
        })
    }
}

/// Decide for every 10 ms whether there is speech.
#[derive(Args)]
#[command(after_help = "Examples:\n  warpsmith voice vad talk.wav\n  \
                        warpsmith voice vad call.wav --method webrtc --mode 3\n  \
                        ffmpeg -i in.mkv -f wav - | warpsmith voice vad - --method energy")]
pub(crate) struct Vad {
    #[command(flatten)]
    input: Input,
    #[command(flatten)]
    destination: Destination,
    #[command(flatten)]
    detector: Detector,
}

impl Vad {
    pub(crate) fn run(&self, global: &Global) -> Result<Outcome> {
        self.destination.each(global, &self.input, |path| {
            let (signal, rate) = self.input.signal(path)?;
            let decisions = self.detector.decide(&signal, rate)?;
            let values = decisions
                .iter()
                .enumerate()
                .flat_map(|(frame, speech)| {
                    [frame as f64 * HOP_SECONDS, f64::from(u8::from(*speech))]
                })
                .collect();
            Ok(Sheet {
                columns: vec!["seconds".into(), "speech".into()],
                values,
            })
        })?;
        Ok(Outcome::Fine)
    }
}

/// List where speech starts and ends.
#[derive(Args)]
#[command(after_help = "Example:\n  warpsmith voice segments talk.wav --as csv")]
pub(crate) struct Segments {
    #[command(flatten)]
    input: Input,
    #[command(flatten)]
    destination: Destination,
    #[command(flatten)]
    detector: Detector,
}

impl Segments {
    pub(crate) fn run(&self, global: &Global) -> Result<Outcome> {
        self.destination.each(global, &self.input, |path| {
            let (signal, rate) = self.input.signal(path)?;
            let decisions = self.detector.decide(&signal, rate)?;
            let values = segments(&decisions, HOP_SECONDS)
                .iter()
                .flat_map(|segment| [segment.start, segment.end])
                .collect();
            Ok(Sheet {
                columns: vec!["start".into(), "end".into()],
                values,
            })
        })?;
        Ok(Outcome::Fine)
    }
}
