//! `warpsmith voice mel|mfcc|spectrogram`: features with the numbers of a named peer.

use std::cell::Cell;
use std::path::Path;

use anyhow::Result;
use clap::Args;
use warpsmith_device::CudaDevice;
use warpsmith_voice::signal::zeros;
use warpsmith_voice::{
    DeltaStream, Density, FeatureSettings, Layout, MelFeature, MelStream, Preset, SignalError,
    Sizes, SpectrumSettings, Stage, Stft, mel_on_cuda, spectrogram_on_cuda,
};
use warpsmith_workload::WorkloadError;

use super::device::Task;
use super::input::Input;
use super::live::{Framewise, Listener, Resampled, hear_at, listen};
use super::sheet::{Destination, Sheet, append_by_frames, by_frames};
use super::spectrum_options::{CepstrumOptions, DeltaOptions, MelOptions, SpectrumOptions};
use warpsmith_console::exit::Outcome;
use warpsmith_console::global::Global;
use warpsmith_console::output::note;

/// Whose numbers, in which sizes.
#[derive(Args)]
pub(super) struct Shape {
    /// Whose numbers to agree with: librosa, torchaudio, kaldi, whisper or htk.
    ///
    /// whisper is defined at 16 kHz: sound of another rate is resampled, which a note and
    /// `resampled_from_hz` in JSON say.
    #[arg(long, default_value_t = Preset::Librosa)]
    preset: Preset,
    /// As `--preset`, with the peer's own sizes where none are given; a note says them.
    ///
    /// librosa: 2048 points, hop 512, 128 filters; torchaudio: 400, 200, 128; kaldi: 25 ms, 10 ms, 23
    /// filters, 13 coefficients; whisper: 400, 160, 80 at 16 kHz. `--preset` alone takes 32 ms every
    /// 10 ms.
    #[arg(long, value_name = "PEER", conflicts_with = "preset")]
    like: Option<Preset>,
    /// Points of the transform; default: the preset's.
    #[arg(long)]
    transform: Option<usize>,
    /// Samples between frames; default: the preset's.
    #[arg(long)]
    hop: Option<usize>,
    /// Mel filters; default: the preset's.
    #[arg(long)]
    filters: Option<usize>,
    #[command(flatten)]
    spectrum: SpectrumOptions,
    /// The rate whose sizes were said last.
    #[arg(skip)]
    said: Cell<Option<u32>>,
}

impl Shape {
    fn sizes(&self, sample_rate: u32) -> Sizes {
        let preset = match self.like {
            Some(peer) => peer.own_sizes(sample_rate),
            None => self.preset.sizes(sample_rate),
        };
        Sizes {
            transform: self.transform.unwrap_or(preset.transform),
            hop: self.hop.unwrap_or(preset.hop),
            filters: self.filters.unwrap_or(preset.filters),
        }
    }

    /// Whose numbers are wanted.
    fn peer(&self) -> Preset {
        self.like.unwrap_or(self.preset)
    }

    /// Says which sizes `--like` chose.
    fn explain(&self, global: &Global, rate: u32) {
        if let Some(peer) = self.like {
            let Sizes {
                transform,
                hop,
                filters,
            } = self.sizes(rate);
            let frames = match peer {
                Preset::Kaldi => "frames of 25 ms".to_owned(),
                _ => format!("{transform} points"),
            };
            let said = format!(
                "note: like {peer}: {frames}, hop {hop} at {rate} Hz, {filters} mel filters"
            );
            // Once for a rate: many files are mostly of one.
            if self.said.replace(Some(rate)) != Some(rate) {
                note(global, &said);
            }
        }
    }

    /// Whether frames are of the kernels' kind.
    fn fits(&self) -> bool {
        let peer = self.peer();
        let plain = matches!(peer, Preset::Librosa | Preset::Torchaudio | Preset::Htk);
        plain && self.spectrum.is_default()
    }

    /// How frames become spectra.
    fn spectrum(&self, rate: u32) -> SpectrumSettings {
        let preset = self.peer().feature(rate, self.sizes(rate), Stage::Mel);
        self.spectrum.over(preset.spectrum)
    }
}

/// A mel feature with all that is set of it.
struct Feature<'a> {
    shape: &'a Shape,
    mel: MelOptions,
    cepstrum: Option<CepstrumOptions>,
    delta: &'a DeltaOptions,
    stage: Stage,
}

impl Feature<'_> {
    /// Writes the feature of every input, on the device that is requested or faster.
    fn write(&self, global: &Global, input: &Input, destination: &Destination) -> Result<Outcome> {
        self.mel.check(self.shape.peer(), self.stage)?;
        let listener = |path: &Path, rate: u32| {
            self.shape.explain(global, rate);
            let settings = self.settings(rate);
            warn_of_empty_filters(global, &MelFeature::new(settings)?);
            LiveMel::listener(input, path, rate, settings, self)
        };
        // A limited dynamic range needs the whole signal, but for a file that can be heard twice.
        let once = self.settings(16_000).dynamic_range.is_none();
        let rate = self.shape.peer().sample_rate();
        if once && let Some(form) = destination.live(global, input) {
            let at_rate =
                |path: &Path, from: u32| Resampled::listener(global, path, from, rate, &listener);
            return listen(input, &at_rate, form);
        }
        Task {
            workload: "voice/mel",
            input,
            destination,
            fits: self.shape.fits() && self.mel.is_default(),
            listener: Some(&listener),
            rate,
        }
        .write_sheets(
            global,
            |signal, rate| self.sheet(global, signal, rate),
            |gpu, rate, signals| self.on_gpu(gpu, rate, signals),
        )
    }

    fn settings(&self, rate: u32) -> FeatureSettings {
        let peer = self.shape.peer();
        let preset = self.mel.over(FeatureSettings {
            layout: Layout::FramesFirst,
            spectrum: self.shape.spectrum(rate),
            ..peer.feature(rate, self.shape.sizes(rate), self.stage)
        });
        match self.cepstrum {
            Some(cepstrum) => cepstrum.over(preset),
            None => preset,
        }
    }

    fn on_gpu(
        &self,
        gpu: &CudaDevice,
        rate: u32,
        signals: &[&[f32]],
    ) -> Result<Vec<Sheet>, WorkloadError> {
        let settings = self.settings(rate);
        let features = mel_on_cuda(gpu, &settings, signals)?;
        let sheets = features.into_iter();
        let sheets = sheets.map(|values| self.sheet_of(&settings, values));
        let sheets = sheets.collect::<Result<_, _>>();
        sheets.map_err(|error| WorkloadError::Failed {
            workload: "voice/mel",
            reason: error.to_string(),
        })
    }

    fn sheet(&self, global: &Global, signal: &[f32], rate: u32) -> Result<Sheet> {
        self.shape.explain(global, rate);
        let settings = self.settings(rate);
        let mut feature = MelFeature::new(settings)?;
        warn_of_empty_filters(global, &feature);
        Ok(self.sheet_of(&settings, feature.compute(signal)?)?)
    }

    fn sheet_of(&self, settings: &FeatureSettings, values: Vec<f32>) -> Result<Sheet, SignalError> {
        let values = self.delta.append(values, settings.rows())?;
        Ok(Sheet::new(
            self.delta.names(names(settings, self.stage)),
            values.into_iter().map(f64::from).collect(),
        ))
    }
}

fn warn_of_empty_filters(global: &Global, feature: &MelFeature) {
    let bank = feature.bank();
    let empty = bank.empty_filters();
    if empty > 0 {
        note(
            global,
            &format!(
                "note: {empty} of {} mel filters hold no bin and are always zero; \
                 use fewer filters or a longer transform",
                bank.filters().len()
            ),
        );
    }
}

/// Mel features piece by piece.
struct LiveMel {
    stream: MelStream,
    columns: Vec<String>,
    delta: Option<DeltaStream>,
    values: Vec<f32>,
    /// The values with their derivatives.
    moved: Vec<f32>,
}

impl LiveMel {
    fn listener(
        input: &Input,
        path: &Path,
        rate: u32,
        settings: FeatureSettings,
        feature: &Feature<'_>,
    ) -> Result<Box<dyn Listener>> {
        let stream = match settings.dynamic_range {
            None => MelStream::in_bulk(settings)?,
            Some(_) => {
                let largest = loudest(input, path, rate, MelStream::first_look(settings)?)?;
                MelStream::second_look(settings, largest)?
            }
        };
        Ok(Box::new(Self {
            stream,
            columns: feature.delta.names(names(&settings, feature.stage)),
            delta: feature.delta.stream(settings.rows())?,
            values: Vec::new(),
            moved: Vec::new(),
        }))
    }

    /// Passes on what is known of the frames.
    fn pass_on(&mut self, rows: &mut Vec<f64>) {
        let known = match &mut self.delta {
            None => &mut self.values,
            Some(delta) => {
                delta.process(&self.values, &mut self.moved);
                self.values.clear();
                &mut self.moved
            }
        };
        rows.extend(known.drain(..).map(f64::from));
    }
}

/// The largest value of a file at a rate, as a stream sees it.
pub(super) fn loudest(input: &Input, path: &Path, rate: u32, mut stream: MelStream) -> Result<f32> {
    let mut values = Vec::new();
    let mut largest = f32::NEG_INFINITY;
    let mut look = |values: &mut Vec<f32>| {
        largest = values.drain(..).fold(largest, f32::max);
    };
    hear_at(input, path, rate, |piece| {
        stream.process(piece, &mut values)?;
        look(&mut values);
        Ok(())
    })?;
    stream.finish(&mut values)?;
    look(&mut values);
    Ok(largest)
}

impl Listener for LiveMel {
    fn columns(&self) -> Vec<String> {
        self.columns.clone()
    }

    fn hear(&mut self, piece: &[f32], rows: &mut Vec<f64>) -> Result<()> {
        self.stream.process(piece, &mut self.values)?;
        self.pass_on(rows);
        Ok(())
    }

    fn finish(self: Box<Self>, rows: &mut Vec<f64>) -> Result<()> {
        let Self {
            stream,
            delta,
            mut values,
            mut moved,
            ..
        } = *self;
        stream.finish(&mut values)?;
        if let Some(mut delta) = delta {
            delta.process(&values, &mut moved);
            delta.finish(&mut moved)?;
            values = moved;
        }
        rows.extend(values.into_iter().map(f64::from));
        Ok(())
    }
}

/// The names of a feature's columns.
fn names(settings: &FeatureSettings, stage: Stage) -> Vec<String> {
    let name = match stage {
        Stage::Cepstrum { .. } => "c",
        Stage::Mel | Stage::LogMel => "mel",
    };
    (0..settings.rows())
        .map(|row| format!("{name}{row}"))
        .collect()
}

/// Compute mel powers or their logarithms.
#[derive(Args)]
#[command(after_long_help = "Examples:
  warpsmith voice mel speech.wav --preset whisper --as npy --output mel.npy
  warpsmith voice mel speech.wav --power
  warpsmith voice mel speech.wav --like librosa --window-shape hamming --low 80 --high 7600 --norm none
  warpsmith voice mel *.wav --device cuda --as npy --output features")]
pub(crate) struct Mel {
    #[command(flatten)]
    input: Input,
    #[command(flatten)]
    destination: Destination,
    #[command(flatten)]
    shape: Shape,
    #[command(flatten)]
    mel: MelOptions,
    #[command(flatten)]
    delta: DeltaOptions,
    /// Powers instead of logarithms.
    #[arg(long)]
    power: bool,
}

impl Mel {
    pub(crate) fn run(&self, global: &Global) -> Result<Outcome> {
        let stage = if self.power {
            Stage::Mel
        } else {
            Stage::LogMel
        };
        Feature {
            shape: &self.shape,
            mel: self.mel,
            cepstrum: None,
            delta: &self.delta,
            stage,
        }
        .write(global, &self.input, &self.destination)
    }
}

/// Compute cepstral coefficients.
#[derive(Args)]
#[command(after_long_help = "Examples:
  warpsmith voice mfcc speech.wav --coefficients 13
  warpsmith voice mfcc speech.wav --coefficients 13 --lifter 22 --delta 1,2 --as npy --output mfcc.npy")]
pub(crate) struct Mfcc {
    #[command(flatten)]
    input: Input,
    #[command(flatten)]
    destination: Destination,
    #[command(flatten)]
    shape: Shape,
    #[command(flatten)]
    mel: MelOptions,
    #[command(flatten)]
    cepstrum: CepstrumOptions,
    #[command(flatten)]
    delta: DeltaOptions,
    /// Coefficients to a frame; default: 20, with `--like` the peer's.
    #[arg(long)]
    coefficients: Option<usize>,
}

impl Mfcc {
    pub(crate) fn run(&self, global: &Global) -> Result<Outcome> {
        let stage = Stage::Cepstrum {
            coefficients: self.coefficients.unwrap_or_else(|| {
                let own = self.shape.like.map(Preset::own_coefficients);
                own.unwrap_or(20)
            }),
        };
        Feature {
            shape: &self.shape,
            mel: self.mel,
            cepstrum: Some(self.cepstrum),
            delta: &self.delta,
            stage,
        }
        .write(global, &self.input, &self.destination)
    }
}

/// Compute the magnitude of short-time spectra.
#[derive(Args)]
#[command(
    after_long_help = "Example:\n  warpsmith voice spectrogram speech.wav --as npy -o spectrum.npy"
)]
pub(crate) struct Spectrogram {
    #[command(flatten)]
    input: Input,
    #[command(flatten)]
    destination: Destination,
    #[command(flatten)]
    shape: Shape,
    /// Powers instead of magnitudes.
    #[arg(long)]
    power: bool,
}

impl Spectrogram {
    pub(crate) fn run(&self, global: &Global) -> Result<Outcome> {
        let density = if self.power {
            Density::Power
        } else {
            Density::Magnitude
        };
        let spectrum = |rate: u32| self.shape.spectrum(rate);
        let listener = |_: &Path, rate: u32| {
            self.shape.explain(global, rate);
            let settings = spectrum(rate);
            Framewise::listener(settings.framing, bin_names(&settings, rate), |framing| {
                let mut stft = Stft::new(SpectrumSettings {
                    framing,
                    ..settings
                })?;
                let mut matrix = Vec::new();
                Ok(move |samples: &[f32], rows: &mut Vec<f64>| {
                    let (bins, frames) = stft.shape(samples.len());
                    matrix.resize(bins * frames, 0.0);
                    stft.density(samples, density, &mut matrix)?;
                    append_by_frames(&matrix, bins, rows);
                    Ok(())
                })
            })
        };
        Task {
            workload: "voice/spectrogram",
            input: &self.input,
            destination: &self.destination,
            fits: self.shape.fits(),
            listener: Some(&listener),
            rate: self.shape.peer().sample_rate(),
        }
        .write_sheets(
            global,
            |signal, rate| {
                self.shape.explain(global, rate);
                let settings = spectrum(rate);
                let mut stft = Stft::new(settings)?;
                // Once as it is computed, once as a sheet of f64.
                stft.check_room(signal.len(), size_of::<f32>() + size_of::<f64>())?;
                let (bins, frames) = stft.shape(signal.len());
                let mut matrix = zeros(bins * frames);
                stft.density(signal, density, &mut matrix)?;
                Ok(spectra(&settings, rate, by_frames(&matrix, bins)))
            },
            |gpu, rate, signals| {
                let settings = spectrum(rate);
                let found = spectrogram_on_cuda(gpu, &settings, density, signals)?;
                Ok(found
                    .into_iter()
                    .map(|values| spectra(&settings, rate, values))
                    .collect())
            },
        )
    }
}

/// Rows of bins, named by their frequencies.
fn spectra(settings: &SpectrumSettings, rate: u32, values: Vec<f32>) -> Sheet {
    Sheet::new(
        bin_names(settings, rate),
        values.into_iter().map(f64::from).collect(),
    )
}

fn bin_names(settings: &SpectrumSettings, rate: u32) -> Vec<String> {
    let hertz = f64::from(rate) / settings.transform as f64;
    (0..settings.bins())
        .map(|bin| format!("{}", bin as f64 * hertz))
        .collect()
}
