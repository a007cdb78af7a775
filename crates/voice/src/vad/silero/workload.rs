//! `voice/silero`: the probability of speech in each 32 ms of a ragged batch by Silero's network.
//!
//! The weights are made up, of the true shapes: the trained ones come with a package that this program does not carry.

use warpsmith_core::{Bytes, Flops};
use warpsmith_device::Device;
use warpsmith_workload::{About, ArguedTolerance, Cost, ParameterSpec, Parameters, Workload};

use super::cpu::{BINS, GATES, SileroNetwork, UNITS};
use super::cuda::{CudaSilero, ID, chunks};
use super::detector::{NeuralSettings, NeuralVad, RATE};
use crate::batch::{Batch, CpuFiles, Made, PARAMETERS, about_with, checked, lengths};

/// The network hears 16 kHz only.
static SPECIFICATION: [ParameterSpec; 2] = [PARAMETERS[0], PARAMETERS[1]];

pub(crate) struct SpeechProbabilities;

impl Workload for SpeechProbabilities {
    fn about(&self) -> About {
        about_with(
            ID,
            "the probability of speech in each 32 ms of a ragged batch of signals by Silero's network, \
             with made-up weights",
            &SPECIFICATION,
        )
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
        ArguedTolerance::within(
            1e-4,
            0.0,
            "sums of hundreds of products in another order, and cells that add up the rounding of \
                      hundreds of chunks; no decision looks at the fourth digit of a probability",
        )
    }

    fn prepare(&self, device: &Device, parameters: &Parameters, seed: u64) -> Made {
        let network = checked(ID, SileroNetwork::made_up())?;
        let batch = Batch::voices(parameters, chunks, seed);
        Ok(match device {
            Device::Cpu(cpu) => Box::new(CpuFiles::new(
                ID,
                cpu,
                batch,
                || NeuralVad::new(&network, RATE, NeuralSettings::default()),
                |_, samples| chunks(samples),
                |vad, signal, out| {
                    out.copy_from_slice(&vad.probabilities(signal));
                    Ok(())
                },
            )?),
            Device::Cuda(gpu) => Box::new(CudaSilero::new(gpu, network.layers(), &batch)?),
            Device::Vulkan(_) => return Err(warpsmith_workload::WorkloadError::not_on_vulkan(ID)),
        })
    }
}
