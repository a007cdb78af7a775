//! `voice/crepe`: the probabilities of pitches by CREPE's networks, with weights that nobody trained.

use warpsmith_device::Device;
use warpsmith_neural::Weights;
use warpsmith_workload::random::Random;
use warpsmith_workload::{
    About, ArguedTolerance, Cost, ParameterKind, ParameterSpec, Parameters, Workload,
};

use super::cpu::{CrepeNetwork, CrepePitch, CrepePlan};
use super::cuda::{CudaCrepe, FrameStarts, ID};
use super::network::{BINS, CrepeLayers};
use crate::batch::{Batch, CpuFiles, Made, PARAMETERS, failed, frames_cost, lengths};
use crate::pitch::range::PitchRange;

pub(crate) struct CrepeProbabilities;

/// What the networks were trained at.
pub(super) const ONE_RATE: ParameterSpec = ParameterSpec {
    name: "rate",
    meaning: "samples per second",
    kind: ParameterKind::Choice(&["16000"]),
};
pub(super) const RATE: u32 = 16_000;
pub(super) const HOP: usize = 160;

static SETTINGS: [ParameterSpec; 5] = [
    PARAMETERS[0],
    PARAMETERS[1],
    ONE_RATE,
    ParameterSpec {
        name: "network",
        meaning: "how many channels the layers have",
        kind: ParameterKind::Choice(&["tiny", "full"]),
    },
    ParameterSpec {
        name: "kernel",
        meaning: "the newest that the GPU can run, or that for older ones",
        kind: ParameterKind::Choice(&["newest", "sm80"]),
    },
];

/// Outputs, inputs, taps and positions of a network's convolutions.
fn convolutions(parameters: &Parameters) -> Vec<[usize; 4]> {
    let wider = if parameters.choice("network") == "full" {
        8
    } else {
        1
    };
    let channels = [128, 16, 16, 16, 32, 64].map(|outputs| wider * outputs);
    (0..channels.len())
        .map(|n| {
            let (inputs, taps) = if n == 0 {
                (1, 512)
            } else {
                (channels[n - 1], 64)
            };
            [channels[n], inputs, taps, 256 >> n]
        })
        .collect()
}

/// Weights under which numbers stay near one from layer to layer.
fn weights(parameters: &Parameters, random: &mut Random) -> Weights {
    let mut tensors = Vec::new();
    let mut tensor = |name: String, shape: &[usize], middle: f64, width: f64| {
        let count = shape.iter().product::<usize>();
        let values = (0..count).map(|_| (middle + width * random.normal()) as f32);
        tensors.push((name, shape.to_vec(), values.collect()));
    };
    let convolutions = convolutions(parameters);
    for (n, [outputs, inputs, taps, _]) in convolutions.iter().enumerate() {
        let name = |part: &str| format!("conv{}{part}", n + 1);
        let width = (2.0 / (inputs * taps) as f64).sqrt();
        let shape = [*outputs, *inputs, *taps, 1];
        tensor(name(".weight"), &shape, 0.0, width);
        for (part, middle, width) in [
            (".bias", 0.0, 0.1),
            ("_BN.weight", 0.7, 0.2),
            ("_BN.bias", 0.0, 0.2),
            ("_BN.running_mean", 0.3, 0.1),
            ("_BN.running_var", 1.0, 0.1),
        ] {
            tensor(name(part), &[*outputs], middle, width);
        }
    }
    let [channels, _, _, positions] = convolutions[convolutions.len() - 1];
    let features = channels * positions / 2;
    let width = (1.0 / features as f64).sqrt();
    tensor("classifier.weight".into(), &[BINS, features], 0.0, width);
    tensor("classifier.bias".into(), &[BINS], 0.0, 0.1);
    Weights::made_of(tensors)
}

impl Workload for CrepeProbabilities {
    fn about(&self) -> About {
        About::new(ID, "how likely each of 360 pitches is in the frames of a ragged batch, by the networks of CREPE", &SETTINGS).sizes("seconds", &["2", "4", "15", "60"])
    }

    fn cost(&self, parameters: &Parameters) -> Cost {
        let samples: usize = lengths(parameters).iter().sum();
        let frames = samples / HOP + parameters.size("files");
        let of_a_frame = convolutions(parameters)
            .iter()
            .map(|sizes| 2 * sizes.iter().product::<usize>() as u64)
            .sum::<u64>();
        frames_cost(samples, frames, BINS, frames as u64 * of_a_frame)
    }

    fn tolerance(&self, _: &Parameters) -> ArguedTolerance {
        ArguedTolerance::within(
            5e-4,
            0.0,
            "tensor cores take weights and results of layers in half precision, off by up to 2⁻¹¹ of \
                      themselves: sums of hundreds of them are off by less, and after seven layers what the last \
                      one adds up, some 0.3, by 1e-4 in the mean; a probability by a quarter of that, and by \
                      twenty times as much never",
        )
    }

    fn prepare(&self, device: &Device, parameters: &Parameters, seed: u64) -> Made {
        let wrong = |error| failed(ID, &error);
        let plan = CrepePlan::new(RATE, HOP, PitchRange::VOICE).map_err(wrong)?;
        let batch = Batch::voices(parameters, |samples| plan.frames(samples), seed);
        let weights = weights(parameters, &mut Random::seeded(!seed));
        Ok(match device {
            Device::Cpu(cpu) => {
                let network = CrepeNetwork::new(&weights).map_err(wrong)?;
                Box::new(CpuFiles::new(
                    ID,
                    cpu,
                    batch,
                    || CrepePitch::new(&network, RATE, HOP, PitchRange::VOICE),
                    |_, samples| BINS * plan.frames(samples),
                    |crepe, signal, out| {
                        out.copy_from_slice(&crepe.probabilities(signal));
                        Ok(())
                    },
                )?)
            }
            Device::Vulkan(_) => return Err(warpsmith_workload::WorkloadError::not_on_vulkan(ID)),
            Device::Cuda(gpu) => {
                let layers = CrepeLayers::new(&weights).map_err(wrong)?;
                let newest = match parameters.choice("kernel") {
                    "sm80" => 80,
                    _ => u32::MAX,
                };
                let frames = FrameStarts::of(&plan, batch.signals());
                Box::new(CudaCrepe::new(gpu, &layers, &frames, newest)?)
            }
        })
    }
}
