//! Praat's pitch on a GPU: candidates, a warp to a frame; the files' levels, a block to a tile;
//! `praat_path_cuda` finds the path.

use std::sync::Arc;

use warpsmith_core::{Element, KernelImage, Parameter, packed};
use warpsmith_device::{CudaDevice, DeviceBuffer, Kernel, LaunchShape, Stream};
use warpsmith_measure::{Output, Prepared, WorkloadError};

use super::batch::{Batch, DeviceBatch};
use super::praat_path_cuda::{CudaPraatPath, Found};
use super::warp_room::WarpRoom;
use crate::pitch::{PitchRange, Placement, PraatSettings};

// SAFETY: `praat` in `cuda/praat.cu` takes these in this order. A frame's samples are checked against
// theirs before it is read; window, tables, shared memory and results before the first frame.
static CANDIDATES: KernelImage = unsafe {
    KernelImage::trusted(
        "voice/praat",
        "praat",
        &[
            Parameter::In(Element::F32),
            Parameter::In(Element::U64),
            Parameter::In(Element::F32),
            Parameter::In(Element::F32),
            Parameter::Out(Element::F32),
            Parameter::Out(Element::U32),
            Parameter::Out(Element::F64),
            Parameter::Value(Element::U32),
            Parameter::Value(Element::U32),
            Parameter::Value(Element::U32),
            Parameter::Value(Element::U32),
            Parameter::Value(Element::U32),
            Parameter::Value(Element::U32),
            Parameter::Value(Element::F32),
            Parameter::Value(Element::F64),
            Parameter::Value(Element::F64),
            Parameter::Value(Element::F64),
            Parameter::Value(Element::F64),
        ],
        packed!("cuda/praat.ptx"),
    )
};

// SAFETY: `levels` in `cuda/praat_path.cu` takes these in this order; a tile's end is cut at the
// samples', its result checked against the number of tiles.
static LEVELS: KernelImage = unsafe {
    KernelImage::trusted(
        "voice/praat_path",
        "levels",
        &[
            Parameter::In(Element::F32),
            Parameter::In(Element::U64),
            Parameter::Out(Element::F64),
        ],
        packed!("cuda/praat_path.ptx"),
    )
};

/// Candidates of a frame that have room.
const MOST: usize = 16;
/// Samples to a tile of levels.
const TILE: usize = 8192;
/// Lags beyond the longest period that the interpolation of a top reaches.
const BEYOND: usize = 34;

pub(super) struct CudaPraat {
    placement: Placement,
    range: PitchRange,
    settings: PraatSettings,
    candidates_kernel: (Arc<Kernel>, LaunchShape, WarpRoom),
    levels_kernel: (Arc<Kernel>, LaunchShape),
    path: CudaPraatPath,
    batch: DeviceBatch,
    starts: DeviceBuffer<u64>,
    window: DeviceBuffer<f32>,
    unwindow: DeviceBuffer<f32>,
    peaks: DeviceBuffer<f32>,
    counts: DeviceBuffer<u32>,
    candidates: DeviceBuffer<f64>,
    tiles: DeviceBuffer<u64>,
    file_tiles: DeviceBuffer<u64>,
    levels: DeviceBuffer<f64>,
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
                workload: "voice/praat",
                reason: format!(
                    "{} candidates in {} periods: at most {} in at least two",
                    settings.candidates,
                    settings.periods,
                    MOST + 1
                ),
            });
        }
        let frames = batch.frames();
        let unwindow = placement.unwindow();
        let lags = (placement.lags + BEYOND).min(unwindow.len());
        let lists = 2 * placement.lags + 8 + 2 * MOST;
        let room = WarpRoom::new(2 * placement.half, lags, lists);
        let kernel = gpu.kernel(&CANDIDATES)?;
        let shape = room.shape(gpu, &kernel, "voice/praat", frames)?;
        let mut starts = Vec::with_capacity(frames);
        let (mut tiles, mut file_tiles) = (Vec::new(), vec![0]);
        for (first, signal) in batch.file_samples.iter().step_by(2).zip(batch.signals()) {
            let of_file = placement.frames(signal.len());
            starts.extend(
                (0..of_file).map(|frame| first + placement.start(frame, signal.len()) as u64),
            );
            tiles.extend(
                (0..signal.len()).step_by(TILE).flat_map(|n| {
                    [n, (n + TILE).min(signal.len())].map(|edge| first + edge as u64)
                }),
            );
            file_tiles.push(tiles.len() as u64 / 2);
        }
        let count = tiles.len() / 2;
        let window: Vec<f32> = placement.window().iter().map(|w| *w as f32).collect();
        let costs = settings.costs(placement, range);
        let costs = [
            costs.ceiling_hz,
            costs.octave,
            costs.octave_jump,
            costs.voicing_change,
            settings.voicing,
            settings.silence,
        ];
        Ok(Self {
            placement,
            range,
            settings,
            candidates_kernel: (kernel, shape, room),
            levels_kernel: (gpu.kernel(&LEVELS)?, LaunchShape::linear(count * 256, 256)),
            path: CudaPraatPath::new(gpu, &batch.file_frames, &costs)?,
            batch: batch.upload(gpu)?,
            starts: gpu.upload(&starts)?,
            window: gpu.upload(&window)?,
            unwindow: gpu.upload(&unwindow)?,
            peaks: gpu.alloc(frames)?,
            counts: gpu.alloc(frames)?,
            candidates: gpu.alloc(2 * MOST * frames)?,
            tiles: gpu.upload(&tiles)?,
            file_tiles: gpu.upload(&file_tiles)?,
            levels: gpu.alloc(3 * count)?,
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
        let arguments = [
            self.batch.samples.read(),
            self.tiles.read(),
            self.levels.write(),
        ];
        let (kernel, shape) = &self.levels_kernel;
        self.stream.launch(kernel, *shape, &arguments)?;
        let (kernel, shape, room) = &self.candidates_kernel;
        let arguments = [
            self.batch.samples.read(),
            self.starts.read(),
            self.window.read(),
            self.unwindow.read(),
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
            file_tiles: &self.file_tiles,
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
        self.levels.fill_bytes(&self.stream, 0xFF)?;
        self.path.poison(&self.stream)
    }

    fn output(&mut self) -> Result<Output, WorkloadError> {
        let pairs = self.track()?;
        Ok(Output::F32(
            pairs.chunks_exact(2).map(|pair| pair[0]).collect(),
        ))
    }
}
