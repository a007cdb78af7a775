//! `voice/spectrogram`: short-time spectra of a ragged batch, complex, powers or magnitudes.

use warpsmith_signal::{Result, SpectrumSettings};
use warpsmith_workload::{ArguedTolerance, ParameterKind, ParameterSpec, Parameters};

use super::cpu::{Density, Stft};
use super::cuda::{CudaSpectrogram, ID, Kind};
use crate::batch::{BatchWorkload, PARAMETERS, about_with, frames_cost};
use crate::frame::feature::spectrum;

const KIND: ParameterSpec = ParameterSpec {
    name: "kind",
    meaning: "what of a bin: both of its numbers, its power or its magnitude",
    kind: ParameterKind::Choice(&["complex", "power", "magnitude"]),
};

static SPECIFICATION: [ParameterSpec; 4] = [PARAMETERS[0], PARAMETERS[1], PARAMETERS[2], KIND];

fn kind(parameters: &Parameters) -> Kind {
    match parameters.choice("kind") {
        "power" => Kind::Density(Density::Power),
        "magnitude" => Kind::Density(Density::Magnitude),
        _ => Kind::Complex,
    }
}

/// The spectra of one file, `[frame, bin]`.
fn rows((stft, kind): &mut (Stft, Kind), signal: &[f32], out: &mut [f32]) -> Result<()> {
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
            stft.density(signal, *density, &mut matrix)?;
            for (at, slot) in out.iter_mut().enumerate() {
                *slot = matrix[at % bins * frames + at / bins];
            }
        }
    }
    Ok(())
}

pub(crate) const SPECTROGRAM: BatchWorkload<(SpectrumSettings, Kind), (Stft, Kind)> =
    BatchWorkload {
        about: about_with(
            ID,
            "short-time spectra of a ragged batch of signals",
            &SPECIFICATION,
        ),
        tolerance: |parameters| {
            // A voice of amplitude 0.3 under a Hann window: its loudest bin has a quarter of the frame.
            let largest = 0.08 * spectrum(parameters).transform as f64;
            let abs = match kind(parameters) {
                Kind::Density(Density::Power) => 2e-6 * largest * largest,
                _ => 6e-7 * largest,
            };
            ArguedTolerance::within(
                abs,
                0.0,
                "two f32 transforms differ by some 3e-7 of the loudest bin each, and powers by \
                 twice that",
            )
        },
        plan: |parameters| Ok((spectrum(parameters), kind(parameters))),
        cost: |(settings, kind), lengths| {
            let counts = lengths.iter().map(|length| settings.framing.count(*length));
            let frames: usize = counts.sum();
            let points = settings.transform as u64;
            let flops = frames as u64 * (5 * points * u64::from(points.ilog2()) / 2 + points);
            let values = settings.bins() * kind.values();
            frames_cost(lengths.iter().sum(), frames, values, flops)
        },
        frames: |(settings, _), samples| settings.framing.count(samples),
        values: |(settings, kind), samples| {
            settings.framing.count(samples) * settings.bins() * kind.values()
        },
        engine: |parameters| Ok((Stft::new(spectrum(parameters))?, kind(parameters))),
        analyse: rows,
        on_cuda: |gpu, (settings, kind), batch| {
            let spectra = CudaSpectrogram::new(gpu, &settings, kind, batch)?;
            Ok(Box::new(spectra))
        },
    };
