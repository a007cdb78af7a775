//! `voice/constant-q`: constant-Q spectra of a ragged batch.

use warpsmith_core::{Bytes, Flops, Tolerance};
use warpsmith_device::Device;
use warpsmith_workload::{
    About, ArguedTolerance, Cost, ParameterKind, ParameterSpec, Parameters, Prepared, Workload,
    WorkloadError,
};

use super::cpu::{ConstantQ, ConstantQSettings};
use super::cuda::CudaConstantQ;
use crate::batch::{Batch, PARAMETERS, lengths, sample_rate};
use crate::batch::{CpuFiles, failed};

pub(super) const ID: &str = "voice/constant-q";

pub(crate) struct ConstantQWorkload;

const HOP: ParameterSpec = ParameterSpec {
    name: "hop",
    meaning: "samples between frames, or time; where 10 ms are odd, every octave is at the full rate",
    kind: ParameterKind::Choice(&["512", "10ms"]),
};

static SPECIFICATION: [ParameterSpec; 4] = [PARAMETERS[0], PARAMETERS[1], PARAMETERS[2], HOP];

/// Seven octaves of semitones.
fn plan(parameters: &Parameters) -> crate::Result<ConstantQ> {
    let rate = sample_rate(parameters);
    let hop = match parameters.choice("hop") {
        "10ms" => rate as usize / 100,
        _ => 512,
    };
    ConstantQ::new(rate, ConstantQSettings::piano(hop))
}

impl Workload for ConstantQWorkload {
    fn about(&self) -> About {
        About::new(
            ID,
            "constant-Q spectra of a ragged batch of signals, seven octaves of semitones",
            &SPECIFICATION,
        )
        .sizes("seconds", &["2", "4", "15", "60", "240", "600"])
    }

    fn cost(&self, parameters: &Parameters) -> Cost {
        let lengths = lengths(parameters);
        let samples: usize = lengths.iter().sum();
        let Ok(plan) = plan(parameters) else {
            return Cost::default();
        };
        let frames: usize = lengths.iter().map(|length| plan.frames(*length)).sum();
        let (mut converted, mut flops, mut at) = (0, 0, samples);
        for (octave, conversion) in plan.octaves() {
            if let Some((resampler, _)) = conversion {
                at = resampler.output_length(at);
                converted += at;
                flops += 2 * at * resampler.polyphase().2;
            }
            // As a sum over samples, a product and a sum each for the real and the imaginary part.
            flops += 4 * frames * octave.framing.length * octave.filters.len();
        }
        Cost {
            bytes: Bytes(4 * (samples + 2 * converted + 2 * frames * plan.scales().len()) as u64),
            flops: Flops(flops as u64),
            units: frames as u64,
            unit: "frame",
        }
    }

    fn tolerance(&self, parameters: &Parameters) -> ArguedTolerance {
        // A tone of amplitude 0.2 gives half of that times the root of its filter's length; the lowest tones
        // of the input have some 90 Hz, and a filter there 17 periods.
        let longest = 17.0 * f64::from(sample_rate(parameters)) / 90.0;
        ArguedTolerance {
            tolerance: Tolerance {
                abs: 5e-6 * 0.1 * longest.sqrt(),
                rel: 0.0,
                ulp: 0,
            },
            because: "5e-6 of the loudest bin: sums of up to 32,768 products in single precision on one side, \
                      a transform of as many samples on the other, after up to six conversions whose results \
                      differ by 1e-6 of the loudest",
        }
    }

    fn prepare(
        &self,
        device: &Device,
        parameters: &Parameters,
        seed: u64,
    ) -> Result<Box<dyn Prepared>, WorkloadError> {
        let analysis = plan(parameters).map_err(|error| failed(ID, &error))?;
        let batch = Batch::voices(parameters, |samples| analysis.frames(samples), seed);
        Ok(match device {
            Device::Cpu(cpu) => Box::new(CpuFiles::new(
                ID,
                cpu,
                batch,
                || plan(parameters),
                |plan, samples| 2 * plan.frames(samples) * plan.scales().len(),
                |plan, signal, out| {
                    let bins = plan.scales().len();
                    let (spectra, frames) = plan.compute(signal);
                    for (at, slot) in out.chunks_exact_mut(2).enumerate() {
                        slot.copy_from_slice(&spectra[at % bins * frames + at / bins]);
                    }
                    Ok(())
                },
            )?),
            Device::Cuda(gpu) => Box::new(CudaConstantQ::new(gpu, &analysis, &batch)?),
        })
    }
}
