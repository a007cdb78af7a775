//! `voice/yin`: the pitch of a ragged batch, one warp to a frame.

use std::sync::Arc;

use warpsmith_core::{Bytes, Flops, KernelImage, Tolerance, kernel};
use warpsmith_device::{CudaDevice, Device, DeviceBuffer, Kernel, LaunchShape, Stream};
use warpsmith_workload::{
    About, ArguedTolerance, Cost, Parameters, Prepared, Workload, WorkloadError, result_on_stream,
};

use super::batch::{Batch, DeviceBatch, PARAMETERS, lengths, sample_rate};
use super::cpu_files::{CpuFiles, failed};
use super::warp_memory::WarpMemory;
use crate::framing::{Framing, Padding};
use crate::pitch::{PitchRange, Yin};

pub(super) struct YinPitch;

// SAFETY: `yin` in `cuda/yin.cu` takes these in this order. Samples are read between a file's two places,
// which are checked against their length; its shared memory is checked against what a warp needs; its
// one store is behind `frame < out_length`.
static KERNEL: KernelImage = unsafe {
    kernel!("voice/yin", yin(
        in f32, in u64, in u64, out f32, u32, u32, u32, u32, u32, u32, f32, f32
    ))
};

const THRESHOLD: f32 = 0.1;
/// Frames that hold two periods of a voice, 10 ms apart.
pub(super) fn framing(parameters: &Parameters) -> Framing {
    let rate = sample_rate(parameters);
    Framing {
        length: if rate > 16_000 { 2048 } else { 1024 },
        hop: rate as usize / 100,
        padding: Padding::CentredZero,
    }
}

impl Workload for YinPitch {
    fn about(&self) -> About {
        About::new(
            "voice/yin",
            "fundamental frequency of a ragged batch of signals by YIN",
            PARAMETERS,
        )
        .sizes("seconds", &["2", "4", "15", "60", "240", "600"])
    }

    fn cost(&self, parameters: &Parameters) -> Cost {
        let framing = framing(parameters);
        let samples: usize = lengths(parameters).iter().sum();
        let frames: usize = lengths(parameters)
            .iter()
            .map(|length| framing.count(*length))
            .sum();
        let lags = f64::from(sample_rate(parameters)) / PitchRange::VOICE.low_hz;
        Cost {
            bytes: Bytes(4 * (samples + frames) as u64),
            // A product and a sum to each lag of each new sample: what a correlation by blocks needs.
            flops: Flops(2 * samples as u64 * lags as u64),
            units: frames as u64,
            unit: "frame",
        }
    }

    fn tolerance(&self, _: &Parameters) -> ArguedTolerance {
        ArguedTolerance {
            tolerance: Tolerance {
                abs: 0.0,
                rel: 2.9e-4,
                ulp: 0,
            },
            because: "half a cent: the correlations differ by rounding, which moves a parabola's \
                      vertex by far less, and every frame of the input has one clear period",
        }
    }

    fn prepare(
        &self,
        device: &Device,
        parameters: &Parameters,
        seed: u64,
    ) -> Result<Box<dyn Prepared>, WorkloadError> {
        let framing = framing(parameters);
        let rate = sample_rate(parameters);
        let batch = Batch::voices(parameters, |samples| framing.count(samples), seed);
        Ok(match device {
            Device::Cpu(cpu) => Box::new(CpuFiles::new(
                self.id(),
                cpu,
                batch,
                || Yin::new(rate, framing, PitchRange::VOICE, THRESHOLD),
                Yin::frames,
                Yin::track_into,
            )?),
            Device::Cuda(gpu) => {
                Box::new(CudaYin::new(gpu, rate, framing, PitchRange::VOICE, &batch)?)
            }
        })
    }
}

pub(super) struct CudaYin {
    kernel: Arc<Kernel>,
    shape: LaunchShape,
    batch: DeviceBatch,
    out: DeviceBuffer<f32>,
    framing: Framing,
    periods: (usize, usize),
    warp_floats: u32,
    rate: u32,
    stream: Stream,
}

impl CudaYin {
    pub(super) fn new(
        gpu: &CudaDevice,
        rate: u32,
        framing: Framing,
        range: PitchRange,
        batch: &Batch,
    ) -> Result<Self, WorkloadError> {
        if framing.padding == Padding::CentredReflect {
            return Err(WorkloadError::Unsupported {
                workload: "voice/yin",
                reason: "beyond a signal's ends the kernel sees zeros".into(),
            });
        }
        let periods = range
            .periods(rate, framing)
            .map_err(|error| failed("voice/yin", &error))?;
        let kernel = gpu.kernel(&KERNEL)?;
        let room = WarpMemory::new(framing.length, periods.1 + 1, 0);
        Ok(Self {
            shape: room.shape(gpu, &kernel, "voice/yin", batch.frames())?,
            kernel,
            warp_floats: room.floats,
            batch: batch.upload(gpu)?,
            out: gpu.alloc(batch.frames())?,
            framing,
            periods,
            rate,
            stream: gpu.stream().clone(),
        })
    }
}

impl Prepared for CudaYin {
    fn run_once(&mut self) -> Result<(), WorkloadError> {
        let arguments = [
            self.batch.samples.read(),
            self.batch.file_samples.read(),
            self.batch.file_frames.read(),
            self.out.write(),
            (self.framing.length as u32).into(),
            (self.framing.hop as u32).into(),
            (self.framing.left() as u32).into(),
            (self.periods.0 as u32).into(),
            (self.periods.1 as u32).into(),
            self.warp_floats.into(),
            THRESHOLD.into(),
            (self.rate as f32).into(),
        ];
        Ok(self.stream.launch(&self.kernel, self.shape, &arguments)?)
    }

    result_on_stream!(out: F32);
}
