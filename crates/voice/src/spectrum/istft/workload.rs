//! `voice/istft`: signals of a ragged batch from their spectra; what `voice/griffin-lim` shares with it.

use rayon::prelude::*;
use warpsmith_core::{Bytes, Flops};
use warpsmith_device::{CpuDevice, Device};
use warpsmith_signal::{Result, SpectrumSettings};
use warpsmith_workload::{
    About, ArguedTolerance, Cost, Output, Parameters, Prepared, Workload, WorkloadError,
};

use super::cpu::Istft;
use super::cuda::{frames_first, istft};
use crate::batch::{Batch, Made, about, failed, lengths};
use crate::effect::{CudaGriffinLim, GriffinLim};
use crate::frame::feature::spectrum;
use crate::spectrum::stft::Stft;

/// Signals from complex spectra.
pub(crate) struct IstftWorkload;

pub(crate) fn cost(parameters: &Parameters, transforms: u64, values: u64) -> Cost {
    let settings = spectrum(parameters);
    let lengths = lengths(parameters);
    let counts = lengths.iter().map(|length| settings.framing.count(*length));
    let (samples, frames) = (lengths.iter().sum::<usize>(), counts.sum::<usize>() as u64);
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
pub(crate) fn prepare(
    workload: &'static str,
    device: &Device,
    parameters: &Parameters,
    seed: u64,
    choices: Option<GriffinLim>,
) -> Made {
    let error = |error| failed(workload, &error);
    let settings = spectrum(parameters);
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
        Device::Vulkan(_) => return Err(WorkloadError::not_on_vulkan(workload)),
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

impl Workload for IstftWorkload {
    fn about(&self) -> About {
        about(
            "voice/istft",
            "signals of a ragged batch from their short-time spectra",
        )
    }

    fn cost(&self, parameters: &Parameters) -> Cost {
        cost(parameters, 1, 2)
    }

    fn tolerance(&self, _: &Parameters) -> ArguedTolerance {
        ArguedTolerance::within(
            1e-6,
            0.0,
            "two f32 inverses of a signal below 0.7 are each off by 5e-7 at most",
        )
    }

    fn prepare(&self, device: &Device, parameters: &Parameters, seed: u64) -> Made {
        prepare(self.id(), device, parameters, seed, None)
    }
}
