//! `voice/periodicity`: how periodic a ragged batch is around each frame, from which voice activity follows.

use std::sync::Arc;

use warpsmith_core::{Bytes, Flops, KernelImage, Tolerance, kernel};
use warpsmith_device::{CudaDevice, Device, DeviceBuffer, Kernel, LaunchShape, Stream};
use warpsmith_workload::{
    About, ArguedTolerance, Cost, Parameters, Prepared, Workload, WorkloadError, result_on_stream,
};

use super::batch::{Batch, PARAMETERS, lengths, sample_rate};
use super::cpu_files::{CpuFiles, failed};
use super::warp_memory::WarpMemory;
use super::windowed_frames::WindowedFrames;
use crate::pitch::{Periodicity, Placement};
use crate::vad::PeriodicityVad;

const ID: &str = "voice/periodicity";

// SAFETY: `periodicity` in `cuda/periodicity.cu` takes these in this order. Window, tables, shared memory and
// results are checked before the first frame, a frame's samples before it is read.
static KERNEL: KernelImage = unsafe {
    kernel!("voice/periodicity", periodicity(
        in f32, in u64, in f32, in f32, out f32, u32, u32, u32, u32, u32, u32
    ))
};

pub(super) struct PeriodicityTops;

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

pub(super) struct CudaPeriodicity {
    kernel: Arc<Kernel>,
    shape: LaunchShape,
    room: WarpMemory,
    placement: Placement,
    lags: (usize, usize),
    samples: DeviceBuffer<f32>,
    windowed: WindowedFrames,
    tops: DeviceBuffer<f32>,
    stream: Stream,
}

impl CudaPeriodicity {
    pub(super) fn new(
        gpu: &CudaDevice,
        periodicity: &Periodicity,
        batch: &Batch,
    ) -> Result<Self, WorkloadError> {
        let (placement, lags) = (periodicity.placement(), periodicity.lags());
        let kernel = gpu.kernel(&KERNEL)?;
        let room = WarpMemory::new(2 * placement.half, lags.1, 0);
        Ok(Self {
            shape: room.shape(gpu, &kernel, ID, batch.frames())?,
            kernel,
            room,
            placement,
            lags,
            samples: gpu.upload(&batch.samples)?,
            windowed: WindowedFrames::upload(gpu, &placement, batch)?,
            tops: gpu.alloc(batch.frames())?,
            stream: gpu.stream().clone(),
        })
    }
}

impl Prepared for CudaPeriodicity {
    fn run_once(&mut self) -> Result<(), WorkloadError> {
        let arguments = [
            self.samples.read(),
            self.windowed.starts.read(),
            self.windowed.window.read(),
            self.windowed.unwindow.read(),
            self.tops.write(),
            (self.placement.half as u32).into(),
            (self.placement.period as u32).into(),
            (self.lags.0 as u32).into(),
            (self.lags.1 as u32).into(),
            self.room.lag_at.into(),
            self.room.floats.into(),
        ];
        Ok(self.stream.launch(&self.kernel, self.shape, &arguments)?)
    }

    result_on_stream!(tops: F32);
}
