//! `voice/silero`: the probability of speech in each 32 ms of a ragged batch by Silero's network.
//!
//! The weights are made up, of the true shapes: the trained ones come with a package that this program does not carry.

use rayon::prelude::*;
use warpsmith_core::{Bytes, Flops, Tolerance};
use warpsmith_device::{CudaDevice, Device};
use warpsmith_workload::{
    About, ArguedTolerance, Cost, ParameterSpec, Parameters, Prepared, Workload, WorkloadError,
};

use super::batch::{Batch, PARAMETERS, lengths};
use super::cpu_files::{CpuFiles, failed};
use super::signals::{cut, resample_on_cuda};
use super::silero_cuda::CudaSilero;
use crate::signal::Quality;
use crate::vad::{
    BINS, CHUNK, GATES, NeuralSettings, NeuralVad, SILERO_RATE, SileroNetwork, UNITS,
};

pub(super) const ID: &str = "voice/silero";

/// The network hears 16 kHz only.
static SPECIFICATION: [ParameterSpec; 2] = [PARAMETERS[0], PARAMETERS[1]];

/// Chunks of so many samples.
fn chunks(samples: usize) -> usize {
    samples.div_ceil(CHUNK)
}

pub(super) struct SpeechProbabilities;

impl Workload for SpeechProbabilities {
    fn about(&self) -> About {
        About::new(ID, "the probability of speech in each 32 ms of a ragged batch of signals by Silero's network, with made-up weights", &SPECIFICATION).sizes("seconds", &["2", "4", "15", "60", "240", "600"])
    }

    fn cost(&self, parameters: &Parameters) -> Cost {
        let lengths = lengths(parameters);
        let samples: usize = lengths.iter().sum();
        let chunks: usize = lengths.iter().map(|length| chunks(*length)).sum();
        // Taps that reach a value, of all positions; then the gates from input and memory, and the head.
        let convolutions = 10 * BINS * 128 + 5 * 128 * 64 + 2 * 64 * 64 + 64 * UNITS;
        let products = convolutions + 2 * UNITS * GATES + UNITS;
        // Four real transforms of 256.
        let transforms = 4 * 5 * 128 * 8;
        Cost {
            bytes: Bytes(4 * (samples + chunks) as u64),
            flops: Flops((chunks * (2 * products + transforms)) as u64),
            units: chunks as u64,
            unit: "chunk",
        }
    }

    fn tolerance(&self, _: &Parameters) -> ArguedTolerance {
        ArguedTolerance {
            tolerance: Tolerance {
                abs: 1e-4,
                rel: 0.0,
                ulp: 0,
            },
            because: "sums of hundreds of products in another order, and cells that add up the rounding of \
                      hundreds of chunks; no decision looks at the fourth digit of a probability",
        }
    }

    fn prepare(
        &self,
        device: &Device,
        parameters: &Parameters,
        seed: u64,
    ) -> Result<Box<dyn Prepared>, WorkloadError> {
        let network = SileroNetwork::made_up().map_err(|error| failed(ID, &error))?;
        let batch = Batch::voices(parameters, chunks, seed);
        Ok(match device {
            Device::Cpu(cpu) => Box::new(CpuFiles::new(
                ID,
                cpu,
                batch,
                || NeuralVad::new(&network, SILERO_RATE, NeuralSettings::default()),
                |_, samples| chunks(samples),
                |vad, signal, out| {
                    out.copy_from_slice(&vad.probabilities(signal));
                    Ok(())
                },
            )?),
            Device::Cuda(gpu) => Box::new(CudaSilero::new(gpu, network.layers(), &batch)?),
        })
    }
}

/// The probability of speech in each 32 ms of each signal at 16 kHz, the network's own number.
pub fn speech_probabilities_on_cuda(
    gpu: &CudaDevice,
    network: &SileroNetwork,
    signals: &[&[f32]],
) -> Result<Vec<Vec<f32>>, WorkloadError> {
    let batch = Batch::of(signals, chunks);
    if batch.frames() == 0 {
        return Ok(vec![Vec::new(); signals.len()]);
    }
    let mut prepared = CudaSilero::new(gpu, network.layers(), &batch)?;
    cut(&mut prepared, signals, chunks, 1)
}

/// Voice activity of each signal by Silero's network, one decision to 10 ms. What follows from the probabilities looks
/// at few numbers, on the host, files side by side.
pub fn neural_vad_on_cuda(
    gpu: &CudaDevice,
    network: &SileroNetwork,
    sample_rate: u32,
    settings: NeuralSettings,
    signals: &[&[f32]],
) -> Result<Vec<Vec<bool>>, WorkloadError> {
    if sample_rate != SILERO_RATE {
        let heard = resample_on_cuda(gpu, sample_rate, SILERO_RATE, Quality::High, signals)?;
        let heard: Vec<&[f32]> = heard.iter().map(|signal| &signal[..]).collect();
        return neural_vad_on_cuda(gpu, network, SILERO_RATE, settings, &heard);
    }
    let probabilities = speech_probabilities_on_cuda(gpu, network, signals)?;
    let files = signals.par_iter().zip(&probabilities);
    Ok(files
        .map(|(signal, probabilities)| NeuralVad::judge(settings, signal, probabilities))
        .collect())
}
