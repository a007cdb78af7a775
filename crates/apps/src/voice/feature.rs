//! `warpsmith voice mel|mfcc|spectrogram`: features with the numbers of a named peer.

use anyhow::Result;
use clap::Args;
use warpsmith_device::CudaDevice;
use warpsmith_voice::{
    Density, FeatureSettings, Layout, MelFeature, MelStream, Padding, Preset, Sizes,
    SpectrumSettings, Stage, Stft, mel_on_cuda, spectrogram_on_cuda,
};
use warpsmith_workload::WorkloadError;

use super::device::write_sheets;
use super::input::Input;
use super::live::{Listener, Listening, listen};
use super::sheet::{Destination, Sheet};
use warpsmith_console::exit::Outcome;
use warpsmith_console::global::Global;
use warpsmith_console::output::note;

/// Whose numbers, in which sizes.
#[derive(Args)]
pub(super) struct Shape {
    /// Whose numbers to agree with: librosa, torchaudio, kaldi, whisper or htk.
    #[arg(long, default_value_t = Preset::Librosa)]
    preset: Preset,
    /// Points of the transform; default: the preset's.
    #[arg(long)]
    transform: Option<usize>,
    /// Samples between frames; default: the preset's.
    #[arg(long)]
    hop: Option<usize>,
    /// Mel filters; default: the preset's.
    #[arg(long)]
    filters: Option<usize>,
}

impl Shape {
    fn sizes(&self, sample_rate: u32) -> Sizes {
        let preset = self.preset.sizes(sample_rate);
        Sizes {
            transform: self.transform.unwrap_or(preset.transform),
            hop: self.hop.unwrap_or(preset.hop),
            filters: self.filters.unwrap_or(preset.filters),
        }
    }

    /// Whether frames are of the kernels' kind.
    fn fits(&self) -> bool {
        matches!(
            self.preset,
            Preset::Librosa | Preset::Torchaudio | Preset::Htk
        )
    }

    /// Writes the feature of every input, on the device that is requested or faster.
    fn write(
        &self,
        global: &Global,
        input: &Input,
        destination: &Destination,
        stage: Stage,
    ) -> Result<Outcome> {
        let listener = |rate: u32| LiveMel::listener(&self.settings(rate, stage), stage);
        // A limited dynamic range, a mirrored start and a dropped end need the whole signal; none of them
        // depends on the sample rate.
        let settings = self.settings(16_000, stage);
        let in_pieces = settings.dynamic_range.is_none()
            && !settings.drop_last_frame
            && settings.spectrum.framing.padding != Padding::CentredReflect;
        let listener: Option<Listening<'_>> = in_pieces.then_some(&listener);
        if let Some(listener) = listener
            && destination.is_live(global, input)
        {
            return listen(input, listener);
        }
        write_sheets(
            global,
            "voice/mel",
            (input, destination),
            self.fits(),
            listener,
            |signal, rate| self.sheet(global, signal, rate, stage),
            |gpu, rate, signals| self.on_gpu(gpu, rate, signals, stage),
        )
    }

    fn settings(&self, rate: u32, stage: Stage) -> FeatureSettings {
        FeatureSettings {
            layout: Layout::FramesFirst,
            ..self.preset.feature(rate, self.sizes(rate), stage)
        }
    }

    fn on_gpu(
        &self,
        gpu: &CudaDevice,
        rate: u32,
        signals: &[&[f32]],
        stage: Stage,
    ) -> Result<Vec<Sheet>, WorkloadError> {
        let settings = self.settings(rate, stage);
        let features = mel_on_cuda(gpu, &settings, signals)?;
        Ok(features
            .into_iter()
            .map(|values| sheet_of(&settings, stage, values))
            .collect())
    }

    fn sheet(&self, global: &Global, signal: &[f32], rate: u32, stage: Stage) -> Result<Sheet> {
        let settings = self.settings(rate, stage);
        let mut feature = MelFeature::new(settings)?;
        let empty = feature.bank().empty_filters();
        if empty > 0 {
            note(
                global,
                &format!(
                    "note: {empty} of {} mel filters hold no bin and are always zero; \
                     use fewer filters or a longer transform",
                    settings.mel.filters
                ),
            );
        }
        Ok(sheet_of(&settings, stage, feature.compute(signal)?))
    }
}

/// Mel features piece by piece.
struct LiveMel {
    stream: MelStream,
    columns: Vec<String>,
    values: Vec<f32>,
}

impl LiveMel {
    fn listener(settings: &FeatureSettings, stage: Stage) -> Result<Box<dyn Listener>> {
        Ok(Box::new(Self {
            stream: MelStream::in_bulk(*settings)?,
            columns: names(settings, stage),
            values: Vec::new(),
        }))
    }
}

impl Listener for LiveMel {
    fn columns(&self) -> Vec<String> {
        self.columns.clone()
    }

    fn hear(&mut self, piece: &[f32], rows: &mut Vec<f64>) -> Result<()> {
        self.stream.process(piece, &mut self.values)?;
        rows.extend(self.values.drain(..).map(f64::from));
        Ok(())
    }

    fn finish(self: Box<Self>, rows: &mut Vec<f64>) -> Result<()> {
        let Self {
            stream, mut values, ..
        } = *self;
        stream.finish(&mut values)?;
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

fn sheet_of(settings: &FeatureSettings, stage: Stage, values: Vec<f32>) -> Sheet {
    Sheet {
        columns: names(settings, stage),
        values: values.into_iter().map(f64::from).collect(),
    }
}

/// Compute mel powers or their logarithms.
#[derive(Args)]
#[command(after_long_help = "Examples:
  warpsmith voice mel speech.wav --preset whisper --as npy --output mel.npy
  warpsmith voice mel speech.wav --power
  warpsmith voice mel *.wav --device cuda --as npy --output features")]
pub(crate) struct Mel {
    #[command(flatten)]
    input: Input,
    #[command(flatten)]
    destination: Destination,
    #[command(flatten)]
    shape: Shape,
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
        self.shape
            .write(global, &self.input, &self.destination, stage)
    }
}

/// Compute cepstral coefficients.
#[derive(Args)]
#[command(after_long_help = "Example:\n  warpsmith voice mfcc speech.wav --coefficients 13")]
pub(crate) struct Mfcc {
    #[command(flatten)]
    input: Input,
    #[command(flatten)]
    destination: Destination,
    #[command(flatten)]
    shape: Shape,
    /// Coefficients to a frame.
    #[arg(long, default_value_t = 20)]
    coefficients: usize,
}

impl Mfcc {
    pub(crate) fn run(&self, global: &Global) -> Result<Outcome> {
        let stage = Stage::Cepstrum {
            coefficients: self.coefficients,
        };
        self.shape
            .write(global, &self.input, &self.destination, stage)
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
        let spectrum = |rate: u32| {
            let sizes = self.shape.sizes(rate);
            self.shape.preset.feature(rate, sizes, Stage::Mel).spectrum
        };
        write_sheets(
            global,
            "voice/spectrogram",
            (&self.input, &self.destination),
            self.shape.fits(),
            None,
            |signal, rate| {
                let settings = spectrum(rate);
                let mut stft = Stft::new(settings)?;
                let (bins, frames) = stft.shape(signal.len());
                let mut matrix = vec![0.0; bins * frames];
                stft.density(signal, density, &mut matrix)?;
                let values = (0..frames)
                    .flat_map(|frame| (0..bins).map(move |bin| (bin, frame)))
                    .map(|(bin, frame)| matrix[bin * frames + frame])
                    .collect();
                Ok(spectra(&settings, rate, values))
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
    let hertz = f64::from(rate) / settings.transform as f64;
    Sheet {
        columns: (0..settings.bins())
            .map(|bin| format!("{}", bin as f64 * hertz))
            .collect(),
        values: values.into_iter().map(f64::from).collect(),
    }
}
