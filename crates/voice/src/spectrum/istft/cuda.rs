//! Short-time spectra back to signals on a GPU: inverse transforms, then sums over the frames that cover a
//! sample.

use std::sync::Arc;

use warpsmith_core::{KernelImage, kernel, ptx};
use warpsmith_device::{CudaDevice, DeviceBuffer, Kernel, LaunchShape, Stream};
use warpsmith_signal::{Conditioning, SignalError, SpectrumSettings, transform_roots};
use warpsmith_workload::{Output, Prepared, WorkloadError};

use crate::batch::{Batch, DeviceBatch, failed};

const PTX: &[u8] = ptx!("voice/griffin_lim");

// SAFETY: `inverse_frames` in `effect/griffin_lim/griffin_lim.cu` takes these in this order; frames are those that both
// spectrum and result have, window and roots are checked against the transform.
static INVERSE: KernelImage = unsafe {
    kernel!("voice/griffin_lim", PTX, inverse_frames(in f32, in f32, in f32, out f32, u32))
};

// SAFETY: `overlap_add` takes these in this order; the last file's frames and samples, which are the
// furthest, are checked against theirs, the window against the frame.
static OVERLAP: KernelImage = unsafe {
    kernel!("voice/griffin_lim", PTX, overlap_add(
        in f32, in f32, in u64, in u64, out f32, u32, u32, u32
    ))
};

/// Threads of a block, as the kernels insist, and complex points that a block transforms.
pub(super) const THREADS: u32 = 256;
const POINTS: usize = 1024;

/// Blocks enough for a thread to each of `count` things, or for a GPU to be full of them.
pub(crate) fn blocks(count: usize) -> LaunchShape {
    LaunchShape::linear(count.min(1 << 22), THREADS)
}

/// Blocks for the transforms of `frames` frames: a quarter of the points' threads to a frame.
pub(crate) fn transform_blocks(transform: usize, frames: usize) -> LaunchShape {
    let frames_per_block = THREADS as usize / (transform / 8);
    LaunchShape::linear(
        frames.div_ceil(frames_per_block) * THREADS as usize,
        THREADS,
    )
}

/// Signals of spectra, `[frame, bin]`, of all files.
pub(crate) struct CudaIstft {
    pub(crate) settings: SpectrumSettings,
    inverse: (Arc<Kernel>, LaunchShape),
    overlap: (Arc<Kernel>, LaunchShape),
    pub(crate) batch: DeviceBatch,
    /// Where each file's samples begin and end, in pairs.
    file_samples: Vec<u64>,
    pub(crate) spectrum: DeviceBuffer<f32>,
    frames: DeviceBuffer<f32>,
    pub(crate) window: DeviceBuffer<f32>,
    scaled_window: DeviceBuffer<f32>,
    pub(crate) roots: DeviceBuffer<f32>,
    pub(crate) stream: Stream,
}

impl CudaIstft {
    /// For files with the places of `batch`, whose frames have `spectrum`.
    pub(crate) fn new(
        gpu: &CudaDevice,
        settings: &SpectrumSettings,
        batch: &Batch,
        spectrum: DeviceBuffer<f32>,
    ) -> Result<Self, WorkloadError> {
        let transform = settings.transform;
        let points = transform / 2;
        if !points.is_power_of_two()
            || !(4..=POINTS).contains(&points)
            || settings.framing.length != transform
            || settings.conditioning != Conditioning::default()
        {
            return Err(WorkloadError::Unsupported {
                workload: "voice/istft",
                reason: format!(
                    "frames of {} samples in a transform of {transform}: the kernels take whole frames as \
                     they are, powers of two up to 2048",
                    settings.framing.length
                ),
            });
        }
        let window = settings
            .window
            .centred(settings.window_length, transform, settings.symmetry);
        let scaled: Vec<f32> = window.iter().map(|w| w / transform as f32).collect();
        let frames = batch.frames();
        Ok(Self {
            settings: *settings,
            inverse: (gpu.kernel(&INVERSE)?, transform_blocks(transform, frames)),
            overlap: (gpu.kernel(&OVERLAP)?, blocks(batch.samples.len())),
            batch: batch.upload(gpu)?,
            file_samples: batch.file_samples.clone(),
            spectrum,
            frames: gpu.alloc(frames * transform)?,
            window: gpu.upload(&window)?,
            scaled_window: gpu.upload(&scaled)?,
            roots: gpu.upload(&transform_roots(transform))?,
            stream: gpu.stream().clone(),
        })
    }

    /// The signals, file by file.
    pub(crate) fn signals(&mut self) -> Result<Vec<Vec<f32>>, WorkloadError> {
        let samples = self.batch.samples.download(&self.stream)?;
        let files = self.file_samples.chunks_exact(2);
        Ok(files
            .map(|ends| samples[ends[0] as usize..ends[1] as usize].to_vec())
            .collect())
    }
}

impl Prepared for CudaIstft {
    fn run_once(&mut self) -> Result<(), WorkloadError> {
        let framing = self.settings.framing;
        let arguments = [
            self.spectrum.read(),
            self.scaled_window.read(),
            self.roots.read(),
            self.frames.write(),
            (self.settings.transform as u32).into(),
        ];
        self.stream
            .launch(&self.inverse.0, self.inverse.1, &arguments)?;
        let arguments = [
            self.frames.read(),
            self.window.read(),
            self.batch.file_samples.read(),
            self.batch.file_frames.read(),
            self.batch.samples.write(),
            (framing.length as u32).into(),
            (framing.hop as u32).into(),
            (framing.left() as u32).into(),
        ];
        Ok(self
            .stream
            .launch(&self.overlap.0, self.overlap.1, &arguments)?)
    }

    fn stream(&self) -> Option<&Stream> {
        Some(&self.stream)
    }

    fn poison(&mut self) -> Result<(), WorkloadError> {
        self.frames.fill_bytes(&self.stream, 0xFF)?;
        Ok(self.batch.samples.fill_bytes(&self.stream, 0xFF)?)
    }

    fn output(&mut self) -> Result<Output, WorkloadError> {
        Ok(Output::F32(self.signals()?.concat()))
    }
}

/// `[bin, frame]` to `[frame, bin]`.
pub(crate) fn frames_first<T: Copy>(matrix: &[T], bins: usize) -> impl Iterator<Item = T> + '_ {
    let frames = matrix.len() / bins;
    (0..frames).flat_map(move |frame| (0..bins).map(move |bin| matrix[bin * frames + frame]))
}

/// The GPU's inverse of spectra, `[frame, bin]`.
pub(crate) fn istft(
    gpu: &CudaDevice,
    settings: SpectrumSettings,
    batch: &Batch,
    spectra: impl Iterator<Item = [f32; 2]>,
) -> std::result::Result<CudaIstft, WorkloadError> {
    let spectrum = gpu.upload(&spectra.flatten().collect::<Vec<f32>>())?;
    CudaIstft::new(gpu, &settings, batch, spectrum)
}

/// The signals whose short-time spectra are `[bin, frame]` matrices, each with its number of samples.
pub fn istft_on_cuda(
    gpu: &CudaDevice,
    settings: &SpectrumSettings,
    spectra: &[(&[[f32; 2]], usize)],
) -> Result<Vec<Vec<f32>>, WorkloadError> {
    let settings = settings
        .checked()
        .map_err(|error| failed("voice/istft", &error))?;
    let sizes = spectra
        .iter()
        .map(|(matrix, samples)| (matrix.len(), *samples));
    let Some(batch) = places("voice/istft", &settings, sizes)? else {
        return Ok(silences(spectra.iter().map(|(_, samples)| *samples)));
    };
    let matrices = spectra.iter().map(|(matrix, _)| *matrix);
    let flat = matrices.flat_map(|matrix| frames_first(matrix, settings.bins()));
    let mut prepared = istft(gpu, settings, &batch, flat)?;
    prepared.run_once()?;
    prepared.signals()
}

/// Where signals of so many samples go whose matrices have so many values; `None` where there are no frames.
pub(crate) fn places(
    workload: &'static str,
    settings: &SpectrumSettings,
    sizes: impl Iterator<Item = (usize, usize)>,
) -> Result<Option<Batch>, WorkloadError> {
    let count = |samples: usize| settings.framing.count(samples);
    let mut lengths = Vec::new();
    for (values, samples) in sizes {
        let expected = settings.bins() * count(samples);
        SignalError::expect_size("the spectrogram", values, expected)
            .map_err(|error| failed(workload, &error))?;
        lengths.push(samples);
    }
    let batch = Batch::empty(&lengths, count);
    Ok((batch.frames() > 0).then_some(batch))
}

/// What signals without a frame are.
pub(crate) fn silences(lengths: impl Iterator<Item = usize>) -> Vec<Vec<f32>> {
    lengths.map(|samples| vec![0.0; samples]).collect()
}
