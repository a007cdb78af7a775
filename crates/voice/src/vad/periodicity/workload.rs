//! `voice/periodicity`: how periodic a ragged batch is around each frame, from which voice activity follows.

use warpsmith_core::{Bytes, Flops, Tolerance};
use warpsmith_device::Device;
use warpsmith_workload::{
    About, ArguedTolerance, Cost, Parameters, Prepared, Workload, WorkloadError,
};

use super::cpu::PeriodicityVad;
use super::cuda::{CudaPeriodicity, ID};
use crate::batch::{Batch, CpuFiles, PARAMETERS, failed, lengths, sample_rate};

pub(crate) struct PeriodicityTops;

fn detector(parameters: &Parameters) -> crate::Result<PeriodicityVad> {
    PeriodicityVad::new(sample_rate(parameters))
}

impl Workload for PeriodicityTops {
    fn about(&self) -> About {
        About::new(
            ID,
            "how periodic a ragged batch of signals is around each frame, for voice activity",
            PARAMETERS,
        )
        .sizes("seconds", &["2", "4", "15", "60", "240", "600"])
    }

    fn cost(&self, parameters: &Parameters) -> Cost {
        let lengths = lengths(parameters);
        let samples: usize = lengths.iter().sum();
        let Ok(mut detector) = detector(parameters) else {
            return Cost::default();
        };
        let placement = detector.periodicity().placement();
        let frames: usize = lengths.iter().map(|length| placement.frames(*length)).sum();
        // Two real transforms of a window with half as many zeros behind it.
        let points = 3 * placement.half as u64;
        let transforms = 5 * points * u64::from(points.max(2).ilog2());
        Cost {
            bytes: Bytes(4 * (samples + frames) as u64),
            flops: Flops(frames as u64 * transforms),
            units: frames as u64,
            unit: "frame",
        }
    }

    fn tolerance(&self, _: &Parameters) -> ArguedTolerance {
        ArguedTolerance {
            tolerance: Tolerance {
                abs: 2e-5,
                rel: 0.0,
                ulp: 0,
            },
            because: "a correlation of thousands of products in another order, over that of the window, \
                      at most 1.5 times what is summed",
        }
    }

    fn prepare(
        &self,
        device: &Device,
        parameters: &Parameters,
        seed: u64,
    ) -> Result<Box<dyn Prepared>, WorkloadError> {
        let plan = || detector(parameters);
        let mut detector = plan().map_err(|error| failed(ID, &error))?;
        let periodicity = detector.periodicity();
        let placement = periodicity.placement();
        let batch = Batch::voices(parameters, |samples| placement.frames(samples), seed);
        Ok(match device {
            Device::Cpu(cpu) => Box::new(CpuFiles::new(
                ID,
                cpu,
                batch,
                plan,
                |_, samples| placement.frames(samples),
                |detector, signal, out| {
                    out.copy_from_slice(&detector.periodicity().of(signal).1);
                    Ok(())
                },
            )?),
            Device::Cuda(gpu) => Box::new(CudaPeriodicity::new(gpu, periodicity, &batch)?),
        })
    }
}
