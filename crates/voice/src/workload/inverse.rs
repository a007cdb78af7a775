//! `voice/istft` and `voice/griffin-lim`: signals of a ragged batch from their spectra, and from magnitudes
//! alone.

use rayon::prelude::*;
use warpsmith_core::{Bytes, Flops, Tolerance};
use warpsmith_device::{CpuDevice, CudaDevice, Device};
use warpsmith_workload::{
    About, ArguedTolerance, Cost, Output, ParameterKind, ParameterSpec, Parameters, Prepared,
    Workload, WorkloadError,
};

use super::batch::{Batch, PARAMETERS, lengths, sample_rate};
use super::cpu_files::failed;
use super::griffin_lim_cuda::CudaGriffinLim;
use super::istft_cuda::CudaIstft;
use crate::effect::GriffinLim;
use crate::error::Result;
use crate::frame_spectrum::SpectrumSettings;
use crate::inverse_spectrum::Istft;
use crate::preset::{self, Preset, Stage};
use crate::spectrum::Stft;

/// Signals from complex spectra.
pub(super) struct IstftWorkload;

/// Signals from magnitudes.
pub(super) struct GriffinLimWorkload;

const ROUNDS: ParameterSpec = ParameterSpec {
    name: "rounds",
    meaning: "rounds of the alternation",
    kind: ParameterKind::Integer {
        default: 4,
        min: 0,
        max: 8,
    },
};

static GRIFFIN_LIM: [ParameterSpec; 4] = [PARAMETERS[0], PARAMETERS[1], PARAMETERS[2], ROUNDS];

fn settings(parameters: &Parameters) -> SpectrumSettings {
    let rate = sample_rate(parameters);
    let sizes = preset::Sizes::for_speech(rate);
    Preset::Librosa.feature(rate, sizes, Stage::Mel).spectrum
}

fn frames(parameters: &Parameters) -> usize {
    let framing = settings(parameters).framing;
    let counts = lengths(parameters).into_iter();
    counts.map(|length| framing.count(length)).sum()
}

fn cost(parameters: &Parameters, transforms: u64, values: u64) -> Cost {
    let settings = settings(parameters);
    let frames = frames(parameters) as u64;
    let samples: usize = lengths(parameters).iter().sum();
    let points = settings.transform as u64;
    Cost {
        bytes: Bytes(4 * (samples as u64 + frames * settings.bins() as u64 * values)),
        flops: Flops(
            transforms * frames * (5 * points * u64::from(points.ilog2()) / 2 + 2 * points),
        ),
        units: samples as u64,
        unit: "sample",
    }
}

/// The `[bin, frame]` spectra of a batch of voices, file by file.
fn spectra(settings: SpectrumSettings, batch: &Batch) -> Result<Vec<Vec<[f32; 2]>>> {
    let mut stft = Stft::new(settings)?;
    batch
        .signals()
        .map(|signal| {
            let (bins, frames) = stft.shape(signal.len());
            let mut matrix = vec![[0.0; 2]; bins * frames];
            stft.complex(signal, &mut matrix)?;
            Ok(matrix)
        })
        .collect()
}

/// `[bin, frame]` to `[frame, bin]`.
pub(super) fn frames_first<T: Copy>(matrix: &[T], bins: usize) -> impl Iterator<Item = T> + '_ {
    let frames = matrix.len() / bins;
    (0..frames).flat_map(move |frame| (0..bins).map(move |bin| matrix[bin * frames + frame]))
}

/// A spectrum to invert, or magnitudes to find phases for.
enum Source {
    Spectrum(Istft, Vec<[f32; 2]>),
    Magnitudes(GriffinLim, Vec<f32>),
}

/// The CPU's side: files side by side.
struct CpuInverse {
    workload: &'static str,
    cpu: CpuDevice,
    settings: SpectrumSettings,
    files: Vec<(Source, Vec<f32>)>,
}

impl Prepared for CpuInverse {
    fn run_once(&mut self) -> std::result::Result<(), WorkloadError> {
        let (settings, files) = (self.settings, &mut self.files);
        let invert = |(source, out): &mut (Source, Vec<f32>)| match source {
            Source::Spectrum(istft, spectrum) => istft.reconstruct(spectrum, out),
            Source::Magnitudes(choices, magnitudes) => {
                *out = choices.reconstruct(magnitudes, settings, out.len())?;
                Ok(())
            }
        };
        self.cpu
            .run(|| files.par_iter_mut().try_for_each(invert))
            .map_err(|error| failed(self.workload, &error))
    }

    fn poison(&mut self) -> std::result::Result<(), WorkloadError> {
        for (_, out) in &mut self.files {
            out.fill(f32::NAN);
        }
        Ok(())
    }

    fn output(&mut self) -> std::result::Result<Output, WorkloadError> {
        let signals = self.files.iter().map(|(_, out)| &out[..]);
        Ok(Output::F32(signals.collect::<Vec<_>>().concat()))
    }
}

/// Inverts complex spectra where there are no choices, finds phases by them where there are.
fn prepare(
    workload: &'static str,
    device: &Device,
    parameters: &Parameters,
    seed: u64,
    choices: Option<GriffinLim>,
) -> std::result::Result<Box<dyn Prepared>, WorkloadError> {
    let error = |error| failed(workload, &error);
    let settings = settings(parameters);
    let batch = Batch::voices(parameters, |samples| settings.framing.count(samples), seed);
    let spectra = spectra(settings, &batch).map_err(error)?;
    let magnitude = |[re, im]: [f32; 2]| re.hypot(im);
    Ok(match device {
        Device::Cpu(cpu) => {
            let mut files = Vec::new();
            for (spectrum, signal) in spectra.into_iter().zip(batch.signals()) {
                let source = match choices {
                    None => Source::Spectrum(Istft::new(settings).map_err(error)?, spectrum),
                    Some(choices) => {
                        let magnitudes = spectrum.into_iter().map(magnitude).collect();
                        Source::Magnitudes(choices, magnitudes)
                    }
                };
                files.push((source, vec![0.0; signal.len()]));
            }
            Box::new(CpuInverse {
                workload,
                cpu: cpu.clone(),
                settings,
                files,
            })
        }
        Device::Cuda(gpu) => {
            let matrices = spectra.iter().map(|matrix| &matrix[..]);
            let flat = matrices.flat_map(|matrix| frames_first(matrix, settings.bins()));
            match choices {
                None => Box::new(istft(gpu, settings, &batch, flat)?),
                Some(choices) => {
                    let magnitudes: Vec<f32> = flat.map(magnitude).collect();
                    let gpu = CudaGriffinLim::new(gpu, choices, &settings, &batch, &magnitudes)?;
                    Box::new(gpu)
                }
            }
        }
    })
}

/// The GPU's inverse of spectra, `[frame, bin]`.
pub(super) fn istft(
    gpu: &CudaDevice,
    settings: SpectrumSettings,
    batch: &Batch,
    spectra: impl Iterator<Item = [f32; 2]>,
) -> std::result::Result<CudaIstft, WorkloadError> {
    let spectrum = gpu.upload(&spectra.flatten().collect::<Vec<f32>>())?;
    CudaIstft::new(gpu, &settings, batch, spectrum)
}

impl Workload for IstftWorkload {
    fn about(&self) -> About {
        About::new(
            "voice/istft",
            "signals of a ragged batch from their short-time spectra",
            PARAMETERS,
        )
        .sizes("seconds", &["2", "4", "15", "60", "240", "600"])
    }

    fn cost(&self, parameters: &Parameters) -> Cost {
        cost(parameters, 1, 2)
    }

    fn tolerance(&self, _: &Parameters) -> ArguedTolerance {
        ArguedTolerance {
            tolerance: Tolerance {
                abs: 1e-6,
                rel: 0.0,
                ulp: 0,
            },
            because: "two f32 inverses of a signal below 0.7 are each off by 5e-7 at most",
        }
    }

    fn prepare(
        &self,
        device: &Device,
        parameters: &Parameters,
        seed: u64,
    ) -> std::result::Result<Box<dyn Prepared>, WorkloadError> {
        prepare(self.id(), device, parameters, seed, None)
    }
}

impl Workload for GriffinLimWorkload {
    fn about(&self) -> About {
        About::new(
            "voice/griffin-lim",
            "signals of a ragged batch from magnitudes, by the alternation of Griffin and Lim",
            &GRIFFIN_LIM,
        )
        .sizes("seconds", &["2", "4", "15", "60", "240", "600"])
    }

    fn cost(&self, parameters: &Parameters) -> Cost {
        cost(parameters, 1 + 2 * parameters.size("rounds") as u64, 1)
    }

    fn tolerance(&self, parameters: &Parameters) -> ArguedTolerance {
        // One bin in 10⁶ has a thousandth of its magnitude before its phase is taken.
        let growth = 30f64.powi(parameters.size("rounds").min(3) as i32);
        ArguedTolerance {
            tolerance: Tolerance {
                abs: 1e-6 * growth,
                rel: 0.0,
                ulp: 0,
            },
            because: "a round divides each bin by what it is before its phase is taken, so that bins near zero \
                      turn rounding into phase: few bins, of which a sample sees a share",
        }
    }

    fn prepare(
        &self,
        device: &Device,
        parameters: &Parameters,
        seed: u64,
    ) -> std::result::Result<Box<dyn Prepared>, WorkloadError> {
        let choices = GriffinLim {
            iterations: parameters.size("rounds"),
            seed,
            ..GriffinLim::default()
        };
        prepare(self.id(), device, parameters, seed, Some(choices))
    }
}
