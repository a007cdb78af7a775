//! `voice/constant-q`: constant-Q spectra of a ragged batch.

use warpsmith_core::{Bytes, Flops};
use warpsmith_signal::Result;
use warpsmith_workload::{ArguedTolerance, Cost, ParameterKind, ParameterSpec, Parameters};

use super::cpu::{ConstantQ, ConstantQSettings};
use super::cuda::CudaConstantQ;
use crate::batch::{BatchWorkload, PARAMETERS, about_with, sample_rate};

pub(super) const ID: &str = "voice/constant-q";

const HOP: ParameterSpec = ParameterSpec {
    name: "hop",
    meaning: "samples between frames, or time; where 10 ms are odd, every octave is at the full rate",
    kind: ParameterKind::Choice(&["512", "10ms"]),
};

static SPECIFICATION: [ParameterSpec; 4] = [PARAMETERS[0], PARAMETERS[1], PARAMETERS[2], HOP];

/// Seven octaves of semitones.
fn plan(parameters: &Parameters) -> Result<ConstantQ> {
    let rate = sample_rate(parameters);
    let hop = match parameters.choice("hop") {
        "10ms" => rate as usize / 100,
        _ => 512,
    };
    ConstantQ::new(rate, ConstantQSettings::piano(hop))
}

pub(crate) const CONSTANT_Q: BatchWorkload<ConstantQ, ConstantQ> = BatchWorkload {
    about: about_with(
        ID,
        "constant-Q spectra of a ragged batch of signals, seven octaves of semitones",
        &SPECIFICATION,
    ),
    tolerance: |parameters| {
        // A tone of amplitude 0.2 gives half of that times the root of its filter's length; the lowest tones
        // of the input have some 90 Hz, and a filter there 17 periods.
        let longest = 17.0 * f64::from(sample_rate(parameters)) / 90.0;
        ArguedTolerance::within(
            5e-6 * 0.1 * longest.sqrt(),
            0.0,
            "5e-6 of the loudest bin: sums of up to 32,768 products in single precision on one side, \
             a transform of as many samples on the other, after up to six conversions whose results \
             differ by 1e-6 of the loudest",
        )
    },
    plan,
    cost: |plan, lengths| {
        let samples: usize = lengths.iter().sum();
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
    },
    frames: ConstantQ::frames,
    values: |plan, samples| 2 * plan.frames(samples) * plan.scales().len(),
    engine: plan,
    analyse: |plan, signal, out| {
        let bins = plan.scales().len();
        let (spectra, frames) = plan.compute(signal);
        for (at, slot) in out.chunks_exact_mut(2).enumerate() {
            slot.copy_from_slice(&spectra[at % bins * frames + at / bins]);
        }
        Ok(())
    },
    on_cuda: |gpu, plan, batch| Ok(Box::new(CudaConstantQ::new(gpu, &plan, batch)?)),
};
