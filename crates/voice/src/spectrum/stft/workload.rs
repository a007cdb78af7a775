//! `voice/spectrogram`: short-time spectra of a ragged batch, complex, powers or magnitudes.

use warpsmith_core::{Bytes, Flops, Tolerance};
use warpsmith_device::Device;
use warpsmith_signal::SpectrumSettings;
use warpsmith_workload::{
    About, ArguedTolerance, Cost, ParameterKind, ParameterSpec, Parameters, Prepared, Workload,
    WorkloadError,
};

use super::cpu::{Density, Stft};
use super::cuda::{CudaSpectrogram, Kind};
use crate::batch::{Batch, CpuFiles, PARAMETERS, lengths, sample_rate};
use crate::mel::{Preset, Sizes, Stage};

pub(crate) struct Spectrogram;

const KIND: ParameterSpec = ParameterSpec {
    name: "kind",
    meaning: "what of a bin: both of its numbers, its power or its magnitude",
    kind: ParameterKind::Choice(&["complex", "power", "magnitude"]),
};

static SPECIFICATION: [ParameterSpec; 4] = [PARAMETERS[0], PARAMETERS[1], PARAMETERS[2], KIND];

fn settings(parameters: &Parameters) -> SpectrumSettings {
    let rate = sample_rate(parameters);
    let sizes = Sizes::for_speech(rate);
    Preset::Librosa.feature(rate, sizes, Stage::Mel).spectrum
}

fn kind(parameters: &Parameters) -> Kind {
    match parameters.choice("kind") {
        "power" => Kind::Density(Density::Power),
        "magnitude" => Kind::Density(Density::Magnitude),
        _ => Kind::Complex,
    }
}

/// The spectra of one file, `[frame, bin]`.
fn rows(stft: &mut Stft, kind: Kind, signal: &[f32], out: &mut [f32]) -> crate::Result<()> {
    let (bins, frames) = stft.shape(signal.len());
    match kind {
        Kind::Complex => {
            let mut matrix = vec![[0.0; 2]; bins * frames];
            stft.complex(signal, &mut matrix)?;
            for (at, slot) in out.chunks_exact_mut(2).enumerate() {
                slot.copy_from_slice(&matrix[at % bins * frames + at / bins]);
            }
        }
        Kind::Density(density) => {
            let mut matrix = vec![0.0; bins * frames];
            stft.density(signal, density, &mut matrix)?;
            for (at, slot) in out.iter_mut().enumerate() {
                *slot = matrix[at % bins * frames + at / bins];
            }
        }
    }
    Ok(())
}

impl Workload for Spectrogram {
    fn about(&self) -> About {
        About::new(
            "voice/spectrogram",
            "short-time spectra of a ragged batch of signals",
            &SPECIFICATION,
        )
        .sizes("seconds", &["2", "4", "15", "60", "240", "600"])
    }

    fn cost(&self, parameters: &Parameters) -> Cost {
        let settings = settings(parameters);
        let samples: usize = lengths(parameters).iter().sum();
        let frames: usize = lengths(parameters)
            .iter()
            .map(|length| settings.framing.count(*length))
            .sum();
        let points = settings.transform as u64;
        let values = frames * settings.bins() * kind(parameters).values();
        Cost {
            bytes: Bytes(4 * (samples + values) as u64),
            flops: Flops(frames as u64 * (5 * points * u64::from(points.ilog2()) / 2 + points)),
            units: frames as u64,
            unit: "frame",
        }
    }

    fn tolerance(&self, parameters: &Parameters) -> ArguedTolerance {
        // A voice of amplitude 0.3 under a Hann window: its loudest bin has a quarter of the frame.
        let largest = 0.08 * settings(parameters).transform as f64;
        let abs = match kind(parameters) {
            Kind::Density(Density::Power) => 2e-6 * largest * largest,
            _ => 6e-7 * largest,
        };
        ArguedTolerance {
            tolerance: Tolerance {
                abs,
                rel: 0.0,
                ulp: 0,
            },
            because: "two f32 transforms differ by some 3e-7 of the loudest bin each, and powers by \
                      twice that",
        }
    }

    fn prepare(
        &self,
        device: &Device,
        parameters: &Parameters,
        seed: u64,
    ) -> Result<Box<dyn Prepared>, WorkloadError> {
        let settings = settings(parameters);
        let kind = kind(parameters);
        let batch = Batch::voices(parameters, |samples| settings.framing.count(samples), seed);
        Ok(match device {
            Device::Cpu(cpu) => Box::new(CpuFiles::new(
                self.id(),
                cpu,
                batch,
                || Ok((Stft::new(settings)?, kind)),
                |_, samples| settings.framing.count(samples) * settings.bins() * kind.values(),
                |(stft, kind), signal, out| rows(stft, *kind, signal, out),
            )?),
            Device::Cuda(gpu) => Box::new(CudaSpectrogram::new(gpu, &settings, kind, &batch)?),
        })
    }
}
