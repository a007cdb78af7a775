//! What `voice analyze` says of every 10 ms of a file.

use std::path::Path;

use anyhow::{Context, Result, anyhow};
use clap::ValueEnum;
use rayon::prelude::*;
use warpsmith_descriptors::overview::{voice_framing, voice_range};
use warpsmith_device::CudaDevice;
use warpsmith_voice::formants::{Formant, FormantSettings, FormantTracker};
use warpsmith_voice::{
    Audio, FeatureSettings, Layout, Levels, MelFeature, Preset, Pyin, PyinSettings, PyinTrack,
    Sizes, Stage, StatisticalSettings, StatisticalVad, formants_on_cuda, mel_on_cuda, pyin_on_cuda,
};
use warpsmith_workload::WorkloadError;

use super::device::{by_rate, unless_unsupported};
use super::input::Input;
use super::sheet::Sheet;
use warpsmith_console::global::Global;

/// Formants that are written of a frame.
const FORMANTS: usize = 3;
/// The level of silence, dB.
const SILENCE_DB: f64 = -120.0;

/// What can be written of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum Column {
    /// Frequency, voicing and its probability, by pYIN.
    Pitch,
    /// Whether there is speech.
    Speech,
    /// Root mean square, dB below full scale.
    Level,
    /// The first three resonances, Hz.
    Formants,
    /// Log-mel bands.
    Mel,
}

impl Column {
    pub(super) const ALL: [Self; 5] = [
        Self::Pitch,
        Self::Speech,
        Self::Level,
        Self::Formants,
        Self::Mel,
    ];
}

/// What is computed beside pitch.
#[derive(Clone, Copy, Debug)]
pub(super) struct Wanted {
    pub(super) mel: bool,
    pub(super) formants: bool,
}

/// A file with what was heard in it.
pub(super) struct Sound {
    pub(super) audio: Audio,
    signal: Vec<f32>,
    pub(super) pitch: PyinTrack,
    /// `[frame, band]`; empty where it is not wanted.
    mel: Vec<f32>,
    /// Of frames of their own; empty where they are not wanted.
    formants: Vec<Vec<Formant>>,
}

pub(super) fn mel_settings(rate: u32) -> FeatureSettings {
    let sizes = Sizes {
        hop: voice_framing(rate).hop,
        ..Sizes::for_speech(rate)
    };
    FeatureSettings {
        layout: Layout::FramesFirst,
        ..Preset::Librosa.feature(rate, sizes, Stage::LogMel)
    }
}

impl Sound {
    /// Decodes a file; nothing has been heard in it yet.
    pub(super) fn read(input: &Input, path: &Path) -> Result<Self> {
        let audio = input.read(path)?;
        let signal = audio.signal(input.channels)?;
        Ok(Self {
            audio,
            signal,
            pitch: PyinTrack::default(),
            mel: Vec::new(),
            formants: Vec::new(),
        })
    }

    /// Listens, on the CPU.
    pub(super) fn hear(mut self, wanted: Wanted) -> Result<Self> {
        let rate = self.audio.sample_rate;
        self.pitch = pitch_on_cpu(rate, &self.signal)?;
        if wanted.mel {
            self.mel = mel_on_cpu(rate, &self.signal)?;
        }
        if wanted.formants {
            self.formants = formants_on_cpu(rate, &self.signal)?;
        }
        Ok(self)
    }

    /// Listens to all files that could be read, those of a sample rate in one pass over the GPU.
    pub(super) fn hear_all(
        global: &Global,
        gpu: &CudaDevice,
        mut sounds: Vec<Result<Self>>,
        wanted: Wanted,
    ) -> Result<Vec<Result<Self>>> {
        let signals: Vec<(&[f32], u32)> = sounds
            .iter()
            .flatten()
            .map(|sound| (&sound.signal[..], sound.audio.sample_rate))
            .collect();
        let tracks = by_rate(&signals, |rate, same| {
            let settings = PyinSettings::default();
            let said = pyin_on_cuda(
                gpu,
                rate,
                voice_framing(rate),
                voice_range(rate),
                settings,
                same,
            );
            unless_unsupported(global, said, || {
                same.iter()
                    .map(|signal| pitch_on_cpu(rate, signal))
                    .collect()
            })
        })?;
        let mels = if wanted.mel {
            by_rate(&signals, |rate, same| {
                let said = mel_on_cuda(gpu, &mel_settings(rate), same);
                unless_unsupported(global, said, || {
                    same.iter().map(|signal| mel_on_cpu(rate, signal)).collect()
                })
            })?
        } else {
            vec![Vec::new(); signals.len()]
        };
        let formants = if wanted.formants {
            by_rate(&signals, |rate, same| formants_of_all(gpu, rate, same))?
        } else {
            vec![Vec::new(); signals.len()]
        };
        let heard = tracks.into_iter().zip(mels).zip(formants);
        for (sound, heard) in sounds.iter_mut().flatten().zip(heard) {
            ((sound.pitch, sound.mel), sound.formants) = heard;
        }
        Ok(sounds)
    }

    /// Whether there is speech, for every 10 ms.
    pub(super) fn speech(&self) -> Result<Vec<bool>> {
        let settings = StatisticalSettings::default();
        let mut vad = StatisticalVad::new(self.audio.sample_rate, settings)?;
        Ok(vad.decide(&self.signal)?)
    }

    /// The numbers of every frame; `speech` are the decisions of [`Self::speech`].
    pub(super) fn sheet(&self, columns: &[Column], speech: &[bool]) -> Result<Sheet> {
        let rate = self.audio.sample_rate;
        let mut rows = FrameRows::new(columns, rate, self.signal.len())?;
        if rows.wants(Column::Level) {
            rows.levels = Levels::measure(&self.signal, voice_framing(rate))?.rms;
        }
        rows.add_pitch(self.pitch.clone());
        rows.mel.clone_from(&self.mel);
        rows.formants.clone_from(&self.formants);
        let mut values = Vec::new();
        rows.pass_on(speech, true, &mut values)?;
        Ok(Sheet::new(rows.names(), values))
    }
}

/// Rows of frames whose numbers arrive, each kind at its own pace.
pub(super) struct FrameRows {
    columns: Vec<Column>,
    rate: u32,
    bands: usize,
    /// Frames that were passed on; what is below starts with the next one.
    done: usize,
    pitch: PyinTrack,
    /// Root mean squares.
    pub(super) levels: Vec<f32>,
    /// `[frame, band]`.
    pub(super) mel: Vec<f32>,
    /// Of frames of their own, from number `formants_from` on.
    pub(super) formants: Vec<Vec<Formant>>,
    formants_from: usize,
    /// None where formants are not wanted.
    formant_times: Option<FormantTimes>,
}

impl FrameRows {
    /// Of a signal of `samples` samples.
    pub(super) fn new(columns: &[Column], rate: u32, samples: usize) -> Result<Self> {
        let formants = columns.contains(&Column::Formants);
        let times = formants.then(|| FormantTimes::new(rate, samples));
        Ok(Self {
            columns: columns.to_vec(),
            rate,
            bands: mel_settings(rate).rows(),
            done: 0,
            pitch: PyinTrack::default(),
            levels: Vec::new(),
            mel: Vec::new(),
            formants: Vec::new(),
            formants_from: 0,
            formant_times: times.transpose()?,
        })
    }

    pub(super) fn wants(&self, column: Column) -> bool {
        self.columns.contains(&column)
    }

    /// Names of the columns.
    pub(super) fn names(&self) -> Vec<String> {
        let mut names = vec!["seconds".to_owned()];
        for column in Column::ALL {
            if !self.wants(column) {
                continue;
            }
            match column {
                Column::Pitch => {
                    names.extend(["hertz", "voiced", "probability"].map(str::to_owned));
                }
                Column::Speech => names.push("speech".to_owned()),
                Column::Level => names.push("level_db".to_owned()),
                Column::Formants => names.extend((1..=FORMANTS).map(|n| format!("f{n}"))),
                Column::Mel => names.extend((0..self.bands).map(|band| format!("mel{band}"))),
            }
        }
        names
    }

    /// Adds the pitches of the next frames.
    pub(super) fn add_pitch(&mut self, mut track: PyinTrack) {
        self.pitch.voiced.append(&mut track.voiced);
        self.pitch.frequency.append(&mut track.frequency);
        self.pitch.probability.append(&mut track.probability);
    }

    /// Appends the rows of the frames of which all is known; at the end those are all.
    pub(super) fn pass_on(
        &mut self,
        speech: &[bool],
        is_end: bool,
        values: &mut Vec<f64>,
    ) -> Result<()> {
        let mut known = self.pitch.voiced.len();
        if !is_end {
            for (column, there) in [
                (Column::Level, self.levels.len()),
                (Column::Mel, self.mel.len() / self.bands),
            ] {
                if self.wants(column) {
                    known = known.min(there);
                }
            }
        }
        let mut passed = 0;
        while passed < known {
            let seconds = self.seconds(self.done + passed);
            let arrived = self.formants_from + self.formants.len();
            let formant = self.nearest_formants(seconds);
            if !is_end && formant.is_some_and(|frame| frame >= arrived) {
                break;
            }
            self.append(passed, speech, values)?;
            passed += 1;
        }
        self.forget(passed);
        Ok(())
    }

    /// The frame of formants nearest to a time.
    fn nearest_formants(&self, seconds: f64) -> Option<usize> {
        self.formant_times.as_ref()?.nearest(seconds)
    }

    fn seconds(&self, frame: usize) -> f64 {
        (frame * voice_framing(self.rate).hop) as f64 / f64::from(self.rate)
    }

    /// Appends the row of the frame that comes `at` frames after those that were passed on.
    fn append(&self, at: usize, speech: &[bool], values: &mut Vec<f64>) -> Result<()> {
        let seconds = self.seconds(self.done + at);
        let missing = || format!("frame {} is missing", self.done + at);
        values.push(seconds);
        if self.wants(Column::Pitch) {
            let voiced = self.pitch.voiced[at];
            let hertz = f64::from(self.pitch.frequency[at]);
            values.push(if voiced { hertz } else { f64::NAN });
            values.push(f64::from(u8::from(voiced)));
            values.push(f64::from(self.pitch.probability[at]));
        }
        if self.wants(Column::Speech) {
            // A hair more, for a time that rounding put before its frame.
            let here = speech.get((seconds * 100.0 + 1e-6) as usize);
            let speech = here.or(speech.last()).copied().unwrap_or(false);
            values.push(f64::from(u8::from(speech)));
        }
        if self.wants(Column::Level) {
            let rms = f64::from(*self.levels.get(at).with_context(missing)?);
            values.push((20.0 * rms.log10()).max(SILENCE_DB));
        }
        if self.wants(Column::Formants) {
            let frame = self.nearest_formants(seconds);
            let here = frame.and_then(|frame| frame.checked_sub(self.formants_from));
            let formants = here.and_then(|frame| self.formants.get(frame));
            values.extend((0..FORMANTS).map(|n| {
                let formant = formants.and_then(|formants| formants.get(n));
                formant.map_or(f64::NAN, |formant| f64::from(formant.frequency))
            }));
        }
        if self.wants(Column::Mel) {
            let row = self.mel.chunks_exact(self.bands).nth(at);
            let row = row.with_context(missing)?;
            values.extend(row.iter().map(|&value| f64::from(value)));
        }
        Ok(())
    }

    /// Lets go of frames that were passed on.
    fn forget(&mut self, frames: usize) {
        self.done += frames;
        let pitch = &mut self.pitch;
        pitch.voiced.drain(..frames);
        pitch.frequency.drain(..frames);
        pitch.probability.drain(..frames);
        self.levels.drain(..frames.min(self.levels.len()));
        let values = (frames * self.bands).min(self.mel.len());
        self.mel.drain(..values);
        let next = self.nearest_formants(self.seconds(self.done));
        let gone = next.unwrap_or(0).saturating_sub(self.formants_from);
        let gone = gone.min(self.formants.len());
        self.formants.drain(..gone);
        self.formants_from += gone;
    }
}

fn pitch_on_cpu(rate: u32, signal: &[f32]) -> Result<PyinTrack> {
    let settings = PyinSettings::default();
    let mut pyin = Pyin::new(rate, voice_framing(rate), voice_range(rate), settings)?;
    pyin.check_room(signal.len())?;
    Ok(pyin.track(signal))
}

fn mel_on_cpu(rate: u32, signal: &[f32]) -> Result<Vec<f32>> {
    MelFeature::new(mel_settings(rate))?
        .compute(signal)
        .map_err(|error| anyhow!(error))
}

fn formants_on_cpu(rate: u32, signal: &[f32]) -> Result<Vec<Vec<Formant>>> {
    Ok(FormantTracker::new(rate, FormantSettings::default())?.track(signal))
}

/// The formants of signals by a GPU; a rate that its kernel does not take is no reason to refuse the rest of
/// the analysis.
fn formants_of_all(
    gpu: &CudaDevice,
    rate: u32,
    signals: &[&[f32]],
) -> Result<Vec<Vec<Vec<Formant>>>> {
    match formants_on_cuda(gpu, rate, FormantSettings::default(), signals) {
        Err(WorkloadError::Unsupported { .. }) => signals
            .par_iter()
            .map(|signal| formants_on_cpu(rate, signal))
            .collect(),
        other => Ok(other?),
    }
}

/// When formants are.
struct FormantTimes {
    first: f64,
    hop: f64,
    frames: usize,
}

impl FormantTimes {
    fn new(rate: u32, samples: usize) -> Result<Self> {
        let settings = FormantSettings::default();
        let frames = FormantTracker::new(rate, settings)?.frames(samples);
        let span = frames.saturating_sub(1) as f64 * settings.hop_seconds;
        Ok(Self {
            first: (samples as f64 / f64::from(rate) - span) / 2.0,
            hop: settings.hop_seconds,
            frames,
        })
    }

    /// The frame nearest to a time; none beyond the first and the last.
    fn nearest(&self, seconds: f64) -> Option<usize> {
        let nearest = ((seconds - self.first) / self.hop).round();
        let frame = (nearest >= 0.0).then_some(nearest as usize);
        frame.filter(|frame| *frame < self.frames)
    }
}
