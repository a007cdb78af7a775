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

fn mel_settings(rate: u32) -> FeatureSettings {
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
        let framing = voice_framing(rate);
        let frames = self.pitch.voiced.len();
        let wants = |column: Column| columns.contains(&column);
        let bands = mel_settings(rate).rows();
        let mut names = vec!["seconds".to_owned()];
        let mut name = |column: Column, more: &[String]| {
            if wants(column) {
                names.extend_from_slice(more);
            }
        };
        let owned = |names: &[&str]| {
            names
                .iter()
                .map(|&name| name.to_owned())
                .collect::<Vec<_>>()
        };
        name(Column::Pitch, &owned(&["hertz", "voiced", "probability"]));
        name(Column::Speech, &owned(&["speech"]));
        name(Column::Level, &owned(&["level_db"]));
        let formant_names: Vec<String> = (1..=FORMANTS).map(|n| format!("f{n}")).collect();
        name(Column::Formants, &formant_names);
        let mel_names: Vec<String> = (0..bands).map(|band| format!("mel{band}")).collect();
        name(Column::Mel, &mel_names);
        let levels = wants(Column::Level)
            .then(|| Levels::measure(&self.signal, framing))
            .transpose()?;
        let formants = wants(Column::Formants).then(|| FormantFrames::of(self));
        let mut values = Vec::with_capacity(frames * names.len());
        for frame in 0..frames {
            let seconds = (frame * framing.hop) as f64 / f64::from(rate);
            values.push(seconds);
            if wants(Column::Pitch) {
                let voiced = self.pitch.voiced[frame];
                let hertz = f64::from(self.pitch.frequency[frame]);
                values.push(if voiced { hertz } else { f64::NAN });
                values.push(f64::from(u8::from(voiced)));
                values.push(f64::from(self.pitch.probability[frame]));
            }
            if wants(Column::Speech) {
                // A hair more, for a time that rounding put before its frame.
                let here = speech.get((seconds * 100.0 + 1e-6) as usize);
                let speech = here.or(speech.last()).copied().unwrap_or(false);
                values.push(f64::from(u8::from(speech)));
            }
            if let Some(levels) = &levels {
                let rms = f64::from(levels.rms[frame]);
                values.push((20.0 * rms.log10()).max(SILENCE_DB));
            }
            if let Some(formants) = &formants {
                values.extend(formants.at(seconds));
            }
            if wants(Column::Mel) {
                let row = self.mel.chunks_exact(bands).nth(frame);
                let row = row.with_context(|| format!("frame {frame} has no mel bands"))?;
                values.extend(row.iter().map(|&value| f64::from(value)));
            }
        }
        Ok(Sheet::new(names, values))
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

/// Formants with their times.
struct FormantFrames<'a> {
    first: f64,
    hop: f64,
    frames: &'a [Vec<Formant>],
}

impl<'a> FormantFrames<'a> {
    fn of(sound: &'a Sound) -> Self {
        let rate = f64::from(sound.audio.sample_rate);
        let hop = FormantSettings::default().hop_seconds;
        let frames = &sound.formants[..];
        let span = frames.len().saturating_sub(1) as f64 * hop;
        Self {
            first: (sound.signal.len() as f64 / rate - span) / 2.0,
            hop,
            frames,
        }
    }

    /// Of the frame nearest to a time; absent beyond the first and the last.
    fn at(&self, seconds: f64) -> [f64; FORMANTS] {
        let nearest = ((seconds - self.first) / self.hop).round();
        let frame = (nearest >= 0.0).then(|| self.frames.get(nearest as usize));
        let formants = frame.flatten().map_or(&[][..], Vec::as_slice);
        std::array::from_fn(|n| {
            let formant = formants.get(n);
            formant.map_or(f64::NAN, |formant| f64::from(formant.frequency))
        })
    }
}
