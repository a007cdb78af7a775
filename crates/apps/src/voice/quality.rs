//! `warpsmith voice formants` and `quality`: the resonances of a voice, and how regular it is.

use std::path::Path;

use anyhow::Result;
use clap::{Args, ValueEnum};
use warpsmith_descriptors::quality::quality_figures_of;
use warpsmith_voice::formants::{Formant, FormantSettings, FormantStream, FormantTracker};
use warpsmith_voice::{PitchRange, formants_on_cuda};

use super::device::Task;
use super::input::Input;
use super::live::{Listener, count_samples};
use super::recording::analyse;
use super::sheet::{Destination, Sheet};
use warpsmith_console::exit::Outcome;
use warpsmith_console::global::Global;
use warpsmith_console::output::note;

/// Track the resonances of the vocal tract (Burg's linear prediction).
#[derive(Args)]
#[command(after_long_help = "Examples:
  warpsmith voice formants vowel.wav
  warpsmith voice formants vowel.wav --ceiling 5000 --count 5 --as npy --output formants.npy
  warpsmith voice formants vowel.wav --like praat
  warpsmith voice formants *.wav --output formants --device cuda")]
pub(crate) struct Formants {
    #[command(flatten)]
    input: Input,
    #[command(flatten)]
    destination: Destination,
    /// Formants looked for.
    #[arg(long, default_value_t = FormantSettings::default().count)]
    count: usize,
    /// Highest frequency of a formant, Hz: 5000 for men, 5500 for women.
    #[arg(long, default_value_t = FormantSettings::default().ceiling_hz)]
    ceiling: f64,
    /// Effective length of the window, seconds.
    #[arg(long, value_name = "SECONDS", default_value_t = FormantSettings::default().window_seconds)]
    window: f64,
    /// Seconds between frames; default: 0.01, with `--like praat` a quarter of the window.
    #[arg(long, value_name = "SECONDS")]
    step: Option<f64>,
    /// From where on pre-emphasis raises by 6 dB to an octave, Hz.
    #[arg(long, value_name = "HZ", default_value_t = FormantSettings::default().emphasis_hz)]
    emphasis: f64,
    /// Take the defaults of a peer where nothing else is given; a note says them.
    #[arg(long, value_enum, value_name = "PEER")]
    like: Option<Peer>,
}

/// Whose defaults are taken.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Peer {
    /// Praat's `To Formant (burg)`.
    Praat,
}

impl Formants {
    pub(crate) fn run(&self, global: &Global) -> Result<Outcome> {
        let standard = match self.like {
            Some(Peer::Praat) => self.window / 4.0,
            None => FormantSettings::default().hop_seconds,
        };
        let settings = FormantSettings {
            count: self.count,
            ceiling_hz: self.ceiling,
            window_seconds: self.window,
            hop_seconds: self.step.unwrap_or(standard),
            emphasis_hz: self.emphasis,
        };
        if self.like == Some(Peer::Praat) {
            note(
                global,
                &format!(
                    "note: like praat: {} formants below {} Hz, windows of {} s every {} s, \
                     pre-emphasis from {} Hz",
                    settings.count,
                    settings.ceiling_hz,
                    settings.window_seconds,
                    settings.hop_seconds,
                    settings.emphasis_hz
                ),
            );
        }
        let listener = |path: &Path, rate: u32| -> Result<Box<dyn Listener>> {
            let samples = count_samples(&self.input, path)?;
            let tracker = FormantTracker::new(rate, settings)?;
            let frames = tracker.frames(samples);
            Ok(Box::new(LiveFormants {
                times: Times::new(&settings, frames, samples as f64 / f64::from(rate)),
                stream: FormantStream::new(tracker, samples),
                count: self.count,
                written: 0,
                track: Vec::new(),
            }))
        };
        Task {
            workload: "voice/formants",
            input: &self.input,
            destination: &self.destination,
            fits: true,
            listener: Some(&listener),
            rate: None,
        }
        .write_sheets(
            global,
            |signal, rate| {
                let track = FormantTracker::new(rate, settings)?.track(signal);
                Ok(self.sheet(&settings, &track, signal.len() as f64 / f64::from(rate)))
            },
            |gpu, rate, signals| {
                let tracks = formants_on_cuda(gpu, rate, settings, signals)?;
                let seconds = signals
                    .iter()
                    .map(|signal| signal.len() as f64 / f64::from(rate));
                let sheets = tracks.iter().zip(seconds);
                Ok(sheets
                    .map(|(track, seconds)| self.sheet(&settings, track, seconds))
                    .collect())
            },
        )
    }

    fn sheet(&self, settings: &FormantSettings, track: &[Vec<Formant>], seconds: f64) -> Sheet {
        let times = Times::new(settings, track.len(), seconds);
        let mut values = Vec::new();
        append_rows(track, times, 0, self.count, &mut values);
        Sheet::new(names(self.count), values)
    }
}

/// The times of frames that lie in the middle of a sound.
#[derive(Clone, Copy)]
struct Times {
    first: f64,
    hop: f64,
}

impl Times {
    fn new(settings: &FormantSettings, frames: usize, seconds: f64) -> Self {
        let hop = settings.hop_seconds;
        let span = frames.saturating_sub(1) as f64 * hop;
        Self {
            first: (seconds - span) / 2.0,
            hop,
        }
    }

    fn of(self, frame: usize) -> f64 {
        self.first + frame as f64 * self.hop
    }
}

fn names(count: usize) -> Vec<String> {
    let formants = (1..=count).flat_map(|n| [format!("f{n}"), format!("b{n}")]);
    std::iter::once("seconds".to_owned())
        .chain(formants)
        .collect()
}

/// Appends frames, of which the first is number `written`.
fn append_rows(
    track: &[Vec<Formant>],
    times: Times,
    written: usize,
    count: usize,
    rows: &mut Vec<f64>,
) {
    for (frame, formants) in track.iter().enumerate() {
        rows.push(times.of(written + frame));
        for n in 0..count {
            let formant = formants.get(n);
            rows.push(formant.map_or(f64::NAN, |f| f64::from(f.frequency)));
            rows.push(formant.map_or(f64::NAN, |f| f64::from(f.bandwidth)));
        }
    }
}

/// Formants of a long file, piece by piece.
struct LiveFormants {
    stream: FormantStream,
    times: Times,
    count: usize,
    written: usize,
    track: Vec<Vec<Formant>>,
}

impl Listener for LiveFormants {
    fn columns(&self) -> Vec<String> {
        names(self.count)
    }

    fn hear(&mut self, piece: &[f32], rows: &mut Vec<f64>) -> Result<()> {
        self.stream.process(piece, &mut self.track);
        append_rows(&self.track, self.times, self.written, self.count, rows);
        self.written += self.track.len();
        self.track.clear();
        Ok(())
    }

    fn finish(self: Box<Self>, rows: &mut Vec<f64>) -> Result<()> {
        let mut track = Vec::new();
        self.stream.finish(&mut track);
        append_rows(&track, self.times, self.written, self.count, rows);
        Ok(())
    }
}

/// Measure jitter, shimmer, harmonics-to-noise ratio, cepstral peak prominence and vibrato of a voice.
///
/// Jitter and shimmer are shares, not per cent. All are Praat's with its standard settings: `hnr_db` is the
/// mean of `To Harmonicity (cc)`, `hnr_ac_db` that of `(ac)`, `cpps_db` that of `Get CPPS`.
#[derive(Args)]
#[command(after_long_help = "Example:\n  warpsmith voice quality vowel.wav --format json")]
pub(crate) struct QualityOf {
    #[command(flatten)]
    input: Input,
    #[command(flatten)]
    destination: Destination,
    /// Lowest frequency looked for, Hz.
    #[arg(long, default_value_t = 75.0)]
    low: f64,
    /// Highest frequency looked for, Hz.
    #[arg(long, default_value_t = 600.0)]
    high: f64,
}

impl QualityOf {
    pub(crate) fn run(&self, global: &Global) -> Result<Outcome> {
        let range = PitchRange {
            low_hz: self.low,
            high_hz: self.high,
        };
        self.destination.each(global, &self.input, |path| {
            let figures = analyse(&self.input, path, |recording| {
                quality_figures_of(recording, range)
            })?;
            let names = figures.iter().map(|(name, _)| (*name).to_owned());
            let values = figures.iter().map(|(_, value)| value.unwrap_or(f64::NAN));
            Ok(Sheet::new(names.collect(), values.collect()))
        })
    }
}
