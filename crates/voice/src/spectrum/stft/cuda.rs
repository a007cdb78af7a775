//! Short-time spectra on a GPU, for any power-of-two transform.

use std::sync::Arc;

use warpsmith_core::{KernelImage, kernel};
use warpsmith_device::{CudaDevice, DeviceBuffer, Kernel, Stream};
use warpsmith_signal::{Conditioning, SpectrumSettings};
use warpsmith_workload::{Prepared, WorkloadError, result_on_stream};

use super::cpu::Density;
use crate::batch::{Batch, DeviceResult, DeviceSignals, checked, each_on_cuda, in_place};
use crate::frame::source::FrameSource;

// SAFETY: `spectrogram` in `spectrogram.cu` takes these in this order. Samples are read between
// a file's two places, which are checked against their length; window, roots and the result against what the kernel
// touches of them before the first frame.
static KERNEL: KernelImage = unsafe {
    kernel!("voice/spectrogram", spectrogram(
        in f32, in u64, in u64, in f32, in f32, out f32, u32, u32, u32, u32, u32
    ))
};

pub(super) const ID: &str = "voice/spectrogram";

/// Complex points that a block transforms.
const POINTS: usize = 1024;

/// What of a bin is wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Both of its numbers.
    Complex,
    Density(Density),
}

impl Kind {
    /// Numbers to a bin.
    pub(super) fn values(self) -> usize {
        match self {
            Self::Complex => 2,
            Self::Density(_) => 1,
        }
    }

    /// As the kernel names it.
    fn number(self) -> u32 {
        match self {
            Self::Complex => 0,
            Self::Density(Density::Power) => 1,
            Self::Density(Density::Magnitude) => 2,
        }
    }
}

pub(super) struct CudaSpectrogram {
    kernel: Arc<Kernel>,
    source: FrameSource,
    kind: Kind,
    out: DeviceBuffer<f32>,
    stream: Stream,
}

impl CudaSpectrogram {
    pub(super) fn new(
        gpu: &CudaDevice,
        settings: &SpectrumSettings,
        kind: Kind,
        batch: &Batch,
    ) -> Result<Self, WorkloadError> {
        let points = settings.transform / 2;
        let whole = settings.framing.length == settings.transform;
        if !points.is_power_of_two()
            || !(4..=POINTS).contains(&points)
            || !whole
            || settings.conditioning != Conditioning::default()
        {
            return Err(WorkloadError::Unsupported {
                workload: ID,
                reason: format!(
                    "frames of {} samples in a transform of {}: the kernel takes whole frames as \
                     they are, powers of two up to 2048, so presets librosa, torchaudio and htk",
                    settings.framing.length, settings.transform
                ),
            });
        }
        Ok(Self {
            kernel: gpu.kernel(&KERNEL)?,
            source: FrameSource::unlimited(gpu, settings, batch)?,
            kind,
            out: gpu.alloc(batch.frames() * settings.bins() * kind.values())?,
            stream: gpu.stream().clone(),
        })
    }
}

impl DeviceResult for CudaSpectrogram {
    fn into_values(self: Box<Self>) -> DeviceBuffer<f32> {
        self.out
    }
}

impl Prepared for CudaSpectrogram {
    fn run_once(&mut self) -> Result<(), WorkloadError> {
        let shape = self.source.shape(self.source.together());
        let (buffers, values) = ([self.out.write()], [self.kind.number().into()]);
        self.source
            .launch(&self.stream, &self.kernel, shape, &buffers, &values)
    }

    result_on_stream!(out: F32);
}

/// Powers or magnitudes of each signal, `[frame, bin]`.
pub fn spectrogram_on_cuda(
    gpu: &CudaDevice,
    settings: &SpectrumSettings,
    density: Density,
    signals: &[&[f32]],
) -> Result<Vec<Vec<f32>>, WorkloadError> {
    let settings = checked(ID, settings.checked())?;
    let count = |samples| settings.framing.count(samples);
    each_on_cuda(signals, count, settings.bins(), |batch| {
        CudaSpectrogram::new(gpu, &settings, Kind::Density(density), batch)
    })
}

/// Powers or magnitudes, or without a density both numbers of every bin, `[signal, frame, bin]`, of signals on the
/// GPU.
pub fn spectrogram_in_place(
    gpu: &CudaDevice,
    settings: &SpectrumSettings,
    density: Option<Density>,
    signals: DeviceSignals,
) -> Result<DeviceBuffer<f32>, WorkloadError> {
    let settings = checked(ID, settings.checked())?;
    let count = |samples| settings.framing.count(samples);
    let kind = density.map_or(Kind::Complex, Kind::Density);
    in_place(gpu, signals, count, |batch| {
        Ok(Box::new(CudaSpectrogram::new(gpu, &settings, kind, batch)?))
    })
}
