//! `voice/resample`: a ragged batch at another sample rate.

use warpsmith_core::{Bytes, Flops, Tolerance};
use warpsmith_device::Device;
use warpsmith_signal::{Quality, Resampler};
use warpsmith_workload::{
    About, ArguedTolerance, Cost, Parameters, Prepared, Workload, WorkloadError,
};

use super::cuda::CudaResample;
use crate::batch::{Batch, PARAMETERS, lengths, sample_rate};
use crate::batch::{CpuFiles, failed};

pub(crate) struct Resample;

/// From 44.1 kHz to 16, or from 16 to 44.1.
fn resampler(parameters: &Parameters) -> crate::Result<Resampler> {
    let from = sample_rate(parameters);
    let to = if from == 44_100 { 16_000 } else { 44_100 };
    Resampler::new(from, to, Quality::High)
}

impl Workload for Resample {
    fn about(&self) -> About {
        About::new(
            "voice/resample",
            "a ragged batch of signals from 44.1 kHz to 16, or from 16 to 44.1",
            PARAMETERS,
        )
        .sizes("seconds", &["2", "4", "15", "60", "240", "600"])
    }

    fn cost(&self, parameters: &Parameters) -> Cost {
        let lengths = lengths(parameters);
        let samples: usize = lengths.iter().sum();
        let (outputs, taps) = resampler(parameters).map_or((0, 0), |resampler| {
            let outputs: usize = lengths
                .iter()
                .map(|length| resampler.output_length(*length))
                .sum();
            (outputs, resampler.polyphase().2)
        });
        Cost {
            bytes: Bytes(4 * (samples + outputs) as u64),
            flops: Flops(2 * (outputs * taps) as u64),
            units: outputs as u64,
            unit: "sample",
        }
    }

    fn tolerance(&self, _: &Parameters) -> ArguedTolerance {
        ArguedTolerance {
            tolerance: Tolerance {
                abs: 2e-6,
                rel: 0.0,
                ulp: 0,
            },
            because: "sums of up to 460 products of samples below 0.7 with filters whose sizes sum to less \
                      than 4: √460 roundings of 2⁻²⁴ of that, both ways",
        }
    }

    fn prepare(
        &self,
        device: &Device,
        parameters: &Parameters,
        seed: u64,
    ) -> Result<Box<dyn Prepared>, WorkloadError> {
        let batch = Batch::voices(parameters, |_| 0, seed);
        let plan = || resampler(parameters);
        Ok(match device {
            Device::Cpu(cpu) => Box::new(CpuFiles::new(
                self.id(),
                cpu,
                batch,
                plan,
                |resampler, samples| resampler.output_length(samples),
                |resampler, signal, out| {
                    out.copy_from_slice(&resampler.process(signal));
                    Ok(())
                },
            )?),
            Device::Cuda(gpu) => {
                let resampler = plan().map_err(|error| failed(self.id(), &error))?;
                Box::new(CudaResample::new(gpu, &resampler, &batch)?)
            }
        })
    }
}
