//! SWIPE' on a GPU: the loudness of all windows' frames, the strengths of their candidates as a product of
//! matrices, and the best candidate between two of each window's frames, a warp to a frame.

use std::sync::Arc;

use warpsmith_core::{KernelImage, kernel};
use warpsmith_device::{CudaDevice, DeviceBuffer, Kernel, LaunchShape, Stream};
use warpsmith_signal::{Symmetry, Window, transform_roots};
use warpsmith_workload::{Output, Prepared, WorkloadError};

use super::cpu::SwipeTrack;
use super::plan::{SwipePlan, SwipeWindow};
use crate::batch::{Batch, DeviceBatch, checked, each_on_cuda};
use crate::pitch::range::PitchRange;

// SAFETY: `swipe_loudness` in `swipe.cu` takes these in this order. Samples are read between a file's two
// places, which are checked against their length; window, roots, shared memory and rows before the first frame.
static LOUDNESS: KernelImage = unsafe {
    kernel!("voice/swipe", swipe_loudness(
        in f32, in u64, in u64, in f32, in f32, in f32, out f32, out f32, u32, u32, u32, f32
    ))
};

// SAFETY: `swipe_strengths` in `swipe.cu` takes these in this order; a tile's rows are checked against the
// levels, the scales and the result, its columns against the kernels and the result.
static STRENGTHS: KernelImage = unsafe {
    kernel!("voice/swipe", swipe_strengths(
        in f32, in f32, in f32, in u64, out f32, u32, u32, u32
    ))
};

// SAFETY: `swipe_choose` in `swipe.cu` takes these in this order. Tables and the result are checked before
// the first frame, a frame's rows against those of its file.
static CHOOSE: KernelImage = unsafe {
    kernel!("voice/swipe", swipe_choose(
        in f32, in u64, in u64, in u32, in f32, in f64, in f64, out f32, u32, u32, f32
    ))
};

pub(super) const ID: &str = "voice/swipe";

/// The longest window whose frames a block can transform, a thread to eight samples.
const LONGEST: usize = 8192;
/// Rows and columns of a block's tile, and the channels that it takes at a time.
const TILE: (usize, usize) = (128, 64);
const DEPTH: usize = 16;
/// Windows for which the last kernel has room.
const MOST_WINDOWS: usize = 16;

/// What the first kernel knows of all windows, one after the other.
struct Tables {
    shape: LaunchShape,
    file_frames: DeviceBuffer<u64>,
    windows: DeviceBuffer<f32>,
    roots: DeviceBuffer<f32>,
    taps: DeviceBuffer<f32>,
    count: u32,
    /// Of the first window.
    hop: u32,
    slope: f32,
}

pub(super) struct CudaSwipe {
    kernels: [Arc<Kernel>; 3],
    batch: DeviceBatch,
    tables: Tables,
    levels: DeviceBuffer<f32>,
    scales: DeviceBuffer<f32>,
    weights: DeviceBuffer<f32>,
    tiles: (LaunchShape, DeviceBuffer<u64>),
    rows: DeviceBuffer<f32>,
    first_rows: DeviceBuffer<u64>,
    heard: DeviceBuffer<u32>,
    shares: DeviceBuffer<f32>,
    pitches: DeviceBuffer<f64>,
    parabola: DeviceBuffer<f64>,
    out: (LaunchShape, DeviceBuffer<f32>),
    /// Channels of a row of levels, candidates of a row of kernels, and of a row of strengths.
    widths: [u32; 3],
    hop: u32,
    threshold: f32,
    stream: Stream,
}

/// A window's first candidate with loads of four in mind.
fn base(window: &SwipeWindow) -> usize {
    window.candidates.start / 4 * 4
}

impl CudaSwipe {
    pub(super) fn new(
        gpu: &CudaDevice,
        plan: &SwipePlan,
        threshold: f32,
        batch: &Batch,
    ) -> Result<Self, WorkloadError> {
        let longest = plan.windows[0].length;
        let shortest = plan.windows[plan.windows.len() - 1].length;
        if longest > LONGEST || shortest < 16 || plan.windows.len() > MOST_WINDOWS {
            return Err(WorkloadError::Unsupported {
                workload: ID,
                reason: format!(
                    "windows of {shortest} to {longest} samples: the kernel takes 16 to {LONGEST}; use a \
                     lower sample rate, or a narrower range of pitch"
                ),
            });
        }
        let pitch = plan.channels().next_multiple_of(DEPTH);
        let columns = plan.candidates.len().next_multiple_of(4);
        let reach = |window: &SwipeWindow| window.candidates.end.saturating_sub(base(window));
        let widest = plan.windows.iter().map(reach).max().unwrap_or(0);
        let width = widest.max(1).next_multiple_of(4);
        let loudness = gpu.kernel(&LOUDNESS)?;
        let (mut frames_of_windows, mut first_rows, mut tiles) =
            (Vec::new(), Vec::new(), Vec::new());
        let mut row = 0u64;
        for window in &plan.windows {
            let first_row = row;
            let mut file_frames = vec![0u64];
            for ends in batch.file_samples.chunks_exact(2) {
                first_rows.push(row);
                // One beyond the last sample's, so that every frame lies between two.
                let samples = ends[1] - ends[0];
                if samples > 0 {
                    row += samples.div_ceil(window.length as u64 / 2) + 1;
                }
                file_frames.push(row - first_row);
            }
            let columns: Vec<_> = (0..reach(window))
                .step_by(TILE.1)
                .map(|column| (column, first_channel(plan, base(window) + column)))
                .collect();
            for first in (first_row..row).step_by(TILE.0) {
                for (column, channel) in &columns {
                    let numbers = [base(window), *column, *channel].map(|number| number as u64);
                    tiles.extend([first, row]);
                    tiles.extend(numbers);
                }
            }
            frames_of_windows.push(file_frames);
        }
        first_rows.push(row);
        let rows = row as usize;
        let mut kernels = vec![0.0f32; pitch * columns];
        for candidate in 0..plan.candidates.len() {
            for (channel, value) in plan.kernel(candidate).into_iter().enumerate() {
                kernels[channel * columns + candidate] = value;
            }
        }
        let shares: Vec<f32> = (0..plan.candidates.len())
            .flat_map(|candidate| shares(plan, candidate))
            .collect();
        let heard: Vec<u32> = plan
            .windows
            .iter()
            .flat_map(|window| {
                let heard = &window.candidates;
                [window.length / 2, heard.start, heard.end, base(window)]
                    .map(|number| number as u32)
            })
            .collect();
        let frames = batch.frames();
        Ok(Self {
            tables: Tables::new(gpu, &loudness, plan, &frames_of_windows)?,
            kernels: [loudness, gpu.kernel(&STRENGTHS)?, gpu.kernel(&CHOOSE)?],
            batch: batch.upload(gpu)?,
            levels: gpu.alloc(rows * pitch)?,
            scales: gpu.alloc(rows)?,
            weights: gpu.upload(&kernels)?,
            tiles: (
                LaunchShape::linear(tiles.len() / 5 * 256, 256),
                gpu.upload(&tiles)?,
            ),
            rows: gpu.alloc(rows * width)?,
            first_rows: gpu.upload(&first_rows)?,
            heard: gpu.upload(&heard)?,
            shares: gpu.upload(&shares)?,
            pitches: gpu.upload(&plan.candidates)?,
            parabola: gpu.upload(&SwipePlan::parabola())?,
            out: (
                LaunchShape::linear(32 * frames, 128),
                gpu.alloc(2 * frames)?,
            ),
            widths: [pitch, columns, width].map(|width| width as u32),
            hop: plan.hop as u32,
            threshold,
            stream: gpu.stream().clone(),
        })
    }
}

/// The first channel in which `candidate` or a higher one looks for something.
fn first_channel(plan: &SwipePlan, candidate: usize) -> usize {
    let kernel = plan.kernel(candidate.min(plan.candidates.len() - 1));
    kernel.iter().position(|value| *value != 0.0).unwrap_or(0)
}

/// The first window that hears a candidate, how much that one counts, how much the next, and nothing.
fn shares(plan: &SwipePlan, candidate: usize) -> [f32; 4] {
    let share = |number: usize| {
        let window = plan.windows.get(number)?;
        let place = candidate.checked_sub(window.candidates.start)?;
        window.weights.get(place).copied()
    };
    let first = (0..plan.windows.len()).find(|number| share(*number).is_some());
    let first = first.unwrap_or(0);
    let [own, next] = [first, first + 1].map(|number| share(number).unwrap_or(0.0));
    [first as f32, own, next, 0.0]
}

impl Tables {
    /// Tables of all windows, and blocks of threads for one frame of the longest, or 256.
    fn new(
        gpu: &CudaDevice,
        kernel: &Kernel,
        plan: &SwipePlan,
        file_frames: &[Vec<u64>],
    ) -> Result<Self, WorkloadError> {
        let longest = &plan.windows[0];
        let threads = (longest.length / 8).max(256);
        let (mut blocks, mut shared_bytes) = (0, 0);
        let [mut windows, mut roots, mut taps] = [const { Vec::new() }; 3];
        for (window, file_frames) in plan.windows.iter().zip(file_frames) {
            let together = threads * 8 / window.length;
            blocks += file_frames[file_frames.len() - 1].div_ceil(together as u64) as usize;
            // Two halves for the transform, and differences with sixteen beyond either end.
            shared_bytes = shared_bytes.max((together * (10 * window.length + 128)) as u32);
            windows.extend(Window::Hann.centred(window.length, window.length, Symmetry::Periodic));
            roots.extend(transform_roots(window.length));
            let numbers = window.taps.iter();
            taps.extend(
                numbers.flat_map(|tap| [tap.below as f32, tap.share[0], tap.share[1], tap.bend]),
            );
        }
        let most = gpu.facts().shared_bytes_per_block;
        if u64::from(shared_bytes) > most {
            return Err(WorkloadError::Unsupported {
                workload: ID,
                reason: format!(
                    "windows of {} samples need {shared_bytes} B of shared memory, and this GPU has {most} \
                     for a block; use a lower sample rate or a higher lowest frequency",
                    longest.length
                ),
            });
        }
        // Plans of all lengths share the kernel: none may take away what another was allowed.
        kernel.allow_shared_bytes(u32::try_from(most).unwrap_or(u32::MAX))?;
        Ok(Self {
            shape: LaunchShape {
                shared_bytes,
                ..LaunchShape::linear(blocks * threads, threads as u32)
            },
            file_frames: gpu.upload(&file_frames.concat())?,
            windows: gpu.upload(&windows)?,
            roots: gpu.upload(&roots)?,
            taps: gpu.upload(&taps)?,
            count: plan.windows.len() as u32,
            hop: (longest.length / 2) as u32,
            slope: longest.end_slope,
        })
    }
}

impl Prepared for CudaSwipe {
    fn run_once(&mut self) -> Result<(), WorkloadError> {
        let [loudness, strengths, choose] = &self.kernels;
        let [pitch, columns, width] = self.widths;
        let tables = &self.tables;
        let arguments = [
            self.batch.samples.read(),
            self.batch.file_samples.read(),
            tables.file_frames.read(),
            tables.windows.read(),
            tables.roots.read(),
            tables.taps.read(),
            self.levels.write(),
            self.scales.write(),
            tables.count.into(),
            tables.hop.into(),
            pitch.into(),
            tables.slope.into(),
        ];
        self.stream.launch(loudness, tables.shape, &arguments)?;
        let (shape, tiles) = &self.tiles;
        let arguments = [
            self.levels.read(),
            self.scales.read(),
            self.weights.read(),
            tiles.read(),
            self.rows.write(),
            pitch.into(),
            columns.into(),
            width.into(),
        ];
        self.stream.launch(strengths, *shape, &arguments)?;
        let (shape, out) = &mut self.out;
        let arguments = [
            self.rows.read(),
            self.batch.file_frames.read(),
            self.first_rows.read(),
            self.heard.read(),
            self.shares.read(),
            self.pitches.read(),
            self.parabola.read(),
            out.write(),
            self.hop.into(),
            width.into(),
            self.threshold.into(),
        ];
        Ok(self.stream.launch(choose, *shape, &arguments)?)
    }

    fn stream(&self) -> Option<&Stream> {
        Some(&self.stream)
    }

    fn poison(&mut self) -> Result<(), WorkloadError> {
        self.levels.fill_bytes(&self.stream, 0xFF)?;
        self.scales.fill_bytes(&self.stream, 0xFF)?;
        self.rows.fill_bytes(&self.stream, 0xFF)?;
        Ok(self.out.1.fill_bytes(&self.stream, 0xFF)?)
    }

    fn output(&mut self) -> Result<Output, WorkloadError> {
        Ok(Output::F32(self.out.1.download(&self.stream)?))
    }
}

/// Pitch and voicing of each signal by SWIPE', in frames `hop` samples apart; see [`crate::Swipe`].
pub fn swipe_on_cuda(
    gpu: &CudaDevice,
    sample_rate: u32,
    hop: usize,
    range: PitchRange,
    threshold: f32,
    signals: &[&[f32]],
) -> Result<Vec<SwipeTrack>, WorkloadError> {
    let plan = checked(ID, SwipePlan::new(sample_rate, hop, range))?;
    let count = |samples| plan.frames(samples);
    let tracks = each_on_cuda(signals, count, 2, |batch| {
        CudaSwipe::new(gpu, &plan, threshold, batch)
    })?;
    Ok(tracks
        .iter()
        .map(|pairs| SwipeTrack {
            seconds: (0..pairs.len() / 2).map(|n| plan.seconds(n)).collect(),
            frequency: pairs.chunks_exact(2).map(|pair| pair[0]).collect(),
            strength: pairs.chunks_exact(2).map(|pair| pair[1]).collect(),
        })
        .collect())
}
