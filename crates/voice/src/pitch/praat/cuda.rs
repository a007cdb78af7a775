//! Praat's pitch on a GPU: candidates, a warp to a frame; `path_cuda` finds the path.

use std::sync::Arc;

use warpsmith_core::{KernelImage, kernel};
use warpsmith_device::{CudaDevice, DeviceBuffer, Kernel, LaunchShape, Stream};
use warpsmith_workload::{Output, Prepared, WorkloadError};

use super::cpu::{PraatSettings, PraatTrack};
use super::levels_cuda::CudaLevels;
use super::path_cuda::{CudaPraatPath, Found, PathTable};
use crate::batch::{Batch, DeviceBatch, checked};
use crate::pitch::autocorrelation::{Placement, WarpMemory, WindowedFrames};
use crate::pitch::range::PitchRange;

// SAFETY: `praat` in `praat.cu` takes these in this order. A frame's samples are checked against
// theirs before it is read; window, tables, shared memory and results before the first frame.
static CANDIDATES: KernelImage = unsafe {
    kernel!("voice/praat", praat(
        in f32, in u64, in f32, in f32, out f32, out u32, out f64, u32, u32, u32, u32, u32,
        u32, f32, f64, f64, f64, f64
    ))
};

pub(super) const ID: &str = "voice/praat";

/// Candidates of a frame that have room.
const MOST: usize = 16;
/// Lags beyond the longest period that the interpolation of a top reaches.
const BEYOND: usize = 34;

pub(super) struct CudaPraat {
    placement: Placement,
    range: PitchRange,
    settings: PraatSettings,
    candidates_kernel: (Arc<Kernel>, LaunchShape, WarpMemory),
    levels: CudaLevels,
    path: CudaPraatPath,
    batch: DeviceBatch,
    windowed: WindowedFrames,
    peaks: DeviceBuffer<f32>,
    counts: DeviceBuffer<u32>,
    candidates: DeviceBuffer<f64>,
    stream: Stream,
}

impl CudaPraat {
    pub(super) fn new(
        gpu: &CudaDevice,
        placement: Placement,
        range: PitchRange,
        settings: PraatSettings,
        batch: &Batch,
    ) -> Result<Self, WorkloadError> {
        if settings.candidates > MOST + 1 || placement.half < placement.period {
            return Err(WorkloadError::Unsupported {
                workload: ID,
                reason: format!(
                    "{} candidates in {} periods: at most {} in at least two",
                    settings.candidates,
                    settings.periods,
                    MOST + 1
                ),
            });
        }
        let frames = batch.frames();
        let lags = (placement.lags + BEYOND).min(placement.reach());
        let lists = 2 * placement.lags + 8 + 2 * MOST;
        let room = WarpMemory::new(2 * placement.half, lags, lists);
        let kernel = gpu.kernel(&CANDIDATES)?;
        let shape = room.shape(gpu, &kernel, ID, frames)?;
        let table = PathTable {
            costs: settings.costs(placement, range),
            unvoiced: settings.voicing,
            silent: 2.0,
            silence: settings.silence / (1.0 + settings.voicing),
            from_mean: true,
        };
        Ok(Self {
            placement,
            range,
            settings,
            candidates_kernel: (kernel, shape, room),
            levels: CudaLevels::new(gpu, batch)?,
            path: CudaPraatPath::new(gpu, &batch.file_frames, &table, MOST)?,
            batch: batch.upload(gpu)?,
            windowed: WindowedFrames::upload(gpu, &placement, batch)?,
            peaks: gpu.alloc(frames)?,
            counts: gpu.alloc(frames)?,
            candidates: gpu.alloc(2 * MOST * frames)?,
            stream: gpu.stream().clone(),
        })
    }

    /// Frequency and strength of the frames of all files, in pairs, 0 where they are unvoiced.
    pub(super) fn track(&mut self) -> Result<Vec<f32>, WorkloadError> {
        self.path.track(&self.stream)
    }
}

impl Prepared for CudaPraat {
    fn run_once(&mut self) -> Result<(), WorkloadError> {
        self.levels.launch(&self.stream, &self.batch.samples)?;
        let (kernel, shape, room) = &self.candidates_kernel;
        let arguments = [
            self.batch.samples.read(),
            self.windowed.starts.read(),
            self.windowed.window.read(),
            self.windowed.unwindow.read(),
            self.peaks.write(),
            self.counts.write(),
            self.candidates.write(),
            (self.placement.half as u32).into(),
            (self.placement.period as u32).into(),
            (self.placement.lags as u32).into(),
            room.lag_at.into(),
            room.floats.into(),
            (self.settings.candidates.saturating_sub(1) as u32).into(),
            (0.5 * self.settings.voicing as f32).into(),
            self.settings.octave.into(),
            self.placement.rate.into(),
            self.range.low_hz.into(),
            self.range.high_hz.into(),
        ];
        self.stream.launch(kernel, *shape, &arguments)?;
        let found = Found {
            peaks: &self.peaks,
            counts: &self.counts,
            candidates: &self.candidates,
            levels: &self.levels,
            file_samples: &self.batch.file_samples,
        };
        self.path.launch(&self.stream, &found)
    }

    fn stream(&self) -> Option<&Stream> {
        Some(&self.stream)
    }

    fn poison(&mut self) -> Result<(), WorkloadError> {
        self.peaks.fill_bytes(&self.stream, 0xFF)?;
        self.counts.fill_bytes(&self.stream, 0xFF)?;
        self.candidates.fill_bytes(&self.stream, 0xFF)?;
        self.levels.poison(&self.stream)?;
        self.path.poison(&self.stream)
    }

    fn output(&mut self) -> Result<Output, WorkloadError> {
        let pairs = self.track()?;
        Ok(Output::F32(
            pairs.chunks_exact(2).map(|pair| pair[0]).collect(),
        ))
    }
}

/// Pitch and voicing of each signal as Praat finds them, in frames `hop` samples apart.
pub fn praat_on_cuda(
    gpu: &CudaDevice,
    sample_rate: u32,
    hop: usize,
    range: PitchRange,
    settings: PraatSettings,
    signals: &[&[f32]],
) -> Result<Vec<PraatTrack>, WorkloadError> {
    let placement = Placement::under(settings.window, sample_rate, hop, range, settings.periods);
    let placement = checked(ID, placement)?;
    let batch = Batch::of(signals, |samples| placement.frames(samples));
    if batch.frames() == 0 {
        return Ok(vec![PraatTrack::default(); signals.len()]);
    }
    let mut prepared = CudaPraat::new(gpu, placement, range, settings, &batch)?;
    prepared.run_once()?;
    let pairs = prepared.track()?;
    let files = batch.frames_of_files().zip(signals);
    Ok(files
        .map(|(frames, signal)| {
            let pairs = &pairs[2 * frames.start..2 * frames.end];
            PraatTrack {
                step: placement.step(),
                seconds: placement.times(frames.len(), signal.len()),
                frequency: pairs.chunks_exact(2).map(|pair| pair[0]).collect(),
                strength: pairs.chunks_exact(2).map(|pair| pair[1]).collect(),
            }
        })
        .collect())
}
