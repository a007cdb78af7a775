//! `voice/crepe-path`: the most likely path through probabilities as CREPE gives them.

use warpsmith_core::{Bytes, Flops};
use warpsmith_device::Device;
use warpsmith_workload::random::Random;
use warpsmith_workload::{About, ArguedTolerance, Cost, ParameterSpec, Parameters, Workload};

use super::cpu::CrepePlan;
use super::network::BINS;
use super::path_cuda::CudaCrepePath;
use super::workload::{HOP, ONE_RATE, RATE};
use crate::batch::{Batch, CpuFiles, Made, PARAMETERS, checked, lengths};
use crate::pitch::range::PitchRange;

pub(crate) struct CrepePath;

const ID: &str = "voice/crepe-path";

static SETTINGS: [ParameterSpec; 3] = [PARAMETERS[0], PARAMETERS[1], ONE_RATE];

/// Frames of each file.
fn frames(parameters: &Parameters) -> impl Iterator<Item = usize> {
    let samples = lengths(parameters).into_iter();
    samples.map(|samples| 1 + samples / HOP)
}

impl Workload for CrepePath {
    fn about(&self) -> About {
        About::new(
            ID,
            "the most likely path through the probabilities of 360 pitches, of a ragged batch",
            &SETTINGS,
        )
        .sizes("seconds", &["2", "4", "15", "60", "240"])
    }

    fn cost(&self, parameters: &Parameters) -> Cost {
        let frames = frames(parameters).sum::<usize>() as u64;
        Cost {
            bytes: Bytes(frames * (4 * BINS as u64 + 12)),
            // A sum and a comparison to each of 23 moves to a step.
            flops: Flops(frames * BINS as u64 * 46),
            units: frames,
            unit: "frame",
        }
    }

    fn tolerance(&self, _: &Parameters) -> ArguedTolerance {
        ArguedTolerance::within(
            0.0,
            3e-7,
            "both add the same numbers in double precision in the same order, so that the paths are the \
                      same; the powers of two that make hertz of them round in their last bits",
        )
    }

    fn prepare(&self, device: &Device, parameters: &Parameters, seed: u64) -> Made {
        let plan = || CrepePlan::new(RATE, HOP, PitchRange::VOICE);
        let mut random = Random::seeded(seed);
        let files: Vec<Vec<f32>> = frames(parameters)
            .map(|frames| {
                // Most pitches are unlikely.
                let values = (0..frames * BINS).map(|_| random.unit().powi(8) as f32);
                values.collect()
            })
            .collect();
        let files: Vec<&[f32]> = files.iter().map(Vec::as_slice).collect();
        let batch = Batch::of(&files, |values| values / BINS);
        Ok(match device {
            Device::Cpu(cpu) => Box::new(CpuFiles::new(
                ID,
                cpu,
                batch,
                plan,
                |_, values| 2 * (values / BINS),
                |plan, rows, out| {
                    let track = plan.track(rows);
                    let frames = track.frequency.iter().zip(&track.periodicity);
                    for (pair, (hertz, sure)) in out.chunks_exact_mut(2).zip(frames) {
                        pair.copy_from_slice(&[*hertz, *sure]);
                    }
                    Ok(())
                },
            )?),
            Device::Vulkan(_) => return Err(warpsmith_workload::WorkloadError::not_on_vulkan(ID)),
            Device::Cuda(gpu) => {
                let plan = checked(ID, plan())?;
                let rows = files.concat();
                Box::new(CudaCrepePath::new(gpu, &plan, &rows, &batch.file_frames)?)
            }
        })
    }
}
