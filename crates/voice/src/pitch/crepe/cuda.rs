//! CREPE on a GPU: frames of all files one after another through the layers, as many at a time as fit.

use std::sync::Arc;

use rayon::prelude::*;
use warpsmith_device::{
    Argument, CudaDevice, DeviceBuffer, DeviceError, Kernel, LaunchShape, Stream, TiledMatrix,
};
use warpsmith_neural::{Weights, half_bits};
use warpsmith_workload::{Output, Prepared, WorkloadError};

use super::cpu::{CrepePlan, CrepeTrack};
use super::kernels::{FRAME_TILE, FRAMES, PITCHES, WEIGHT_TILE, Way};
use super::network::{BINS, CrepeLayers, FRAME};
use super::path_cuda::PathMemory;
use super::windows::Windows;
use crate::batch::failed;
use crate::pitch::range::PitchRange;

pub(super) const ID: &str = "voice/crepe";

/// A matrix that one kernel writes and another reads.
enum Matrix {
    Buffer(DeviceBuffer<u16>),
    Tiled(TiledMatrix<u16>),
}

impl Matrix {
    fn new(
        way: &Way,
        buffer: DeviceBuffer<u16>,
        [rows, columns]: [usize; 2],
        tile: [u32; 2],
    ) -> Result<Self, DeviceError> {
        Ok(if way.by_tiles {
            Self::Tiled(TiledMatrix::new(buffer, rows, columns, tile)?)
        } else {
            Self::Buffer(buffer)
        })
    }

    fn read(&self) -> Argument<'_> {
        match self {
            Self::Buffer(buffer) => buffer.read(),
            Self::Tiled(matrix) => matrix.read(),
        }
    }

    fn write(&mut self) -> Argument<'_> {
        match self {
            Self::Buffer(buffer) => buffer.write(),
            Self::Tiled(matrix) => matrix.write(),
        }
    }

    fn poison(&mut self, stream: &Stream) -> Result<(), DeviceError> {
        match self {
            Self::Buffer(buffer) => buffer.fill_bytes(stream, 0xFF),
            Self::Tiled(matrix) => matrix.fill_bytes(stream, 0xFF),
        }
    }
}

struct Layer {
    input: Matrix,
    weights: Matrix,
    /// Biases, scales and shifts.
    affine: DeviceBuffer<f32>,
    tiles: usize,
    /// Channels, a frame's width, a window's depth, the windows' step and how far the first reaches out.
    sizes: [u32; 5],
}

/// Signals with zeros around them, and where their frames start.
pub(super) struct FrameStarts {
    samples: Vec<f32>,
    starts: Vec<u64>,
    /// Running totals of frames, one more than there are signals.
    pub(super) file_frames: Vec<u64>,
}

impl FrameStarts {
    pub(super) fn of<'a>(plan: &CrepePlan, signals: impl Iterator<Item = &'a [f32]>) -> Self {
        let mut all = Self {
            samples: Vec::new(),
            starts: Vec::new(),
            file_frames: vec![0],
        };
        for signal in signals {
            let begin = all.samples.len();
            let frames = 0..plan.frames(signal.len());
            let starts = frames.map(|frame| (begin + plan.middle(frame)) as u64);
            all.starts.extend(starts);
            all.file_frames.push(all.starts.len() as u64);
            all.samples.resize(begin + FRAME / 2, 0.0);
            all.samples.extend_from_slice(signal);
            all.samples.resize(all.samples.len() + FRAME / 2, 0.0);
        }
        all
    }
}

/// Bytes of all layers' frames at a time.
const AT_ONCE: usize = 1 << 30;
/// A multiple of the frames that blocks take.
const BLOCK_FRAMES: usize = 256;

pub(super) struct CudaCrepe {
    way: &'static Way,
    kernels: [Arc<Kernel>; 3],
    samples: DeviceBuffer<f32>,
    starts: DeviceBuffer<u64>,
    layers: Vec<Layer>,
    features: DeviceBuffer<u16>,
    /// Weights and biases of the dense layer.
    dense: (DeviceBuffer<u16>, DeviceBuffer<f32>),
    /// The probabilities, [`BINS`] to a frame.
    pub(super) out: DeviceBuffer<f32>,
    /// Frames that go through the layers together.
    at_once: usize,
    multiprocessors: u32,
    stream: Stream,
}

impl CudaCrepe {
    /// Of GPUs newer than `newest`, only what that one could do is used.
    pub(super) fn new(
        gpu: &CudaDevice,
        layers: &CrepeLayers,
        frames: &FrameStarts,
        newest: u32,
    ) -> Result<Self, WorkloadError> {
        let unsupported = |reason: &str| WorkloadError::Unsupported {
            workload: ID,
            reason: reason.to_owned(),
        };
        let way = Way::of(gpu.facts().sm().min(newest))
            .ok_or_else(|| unsupported("the kernels need a GPU from Ampere (sm_80) on"))?;
        let windows: Vec<Windows> = layers
            .convolutions
            .iter()
            .map(Windows::new)
            .collect::<Option<_>>()
            .filter(|_| layers.features.is_multiple_of(64))
            .ok_or_else(|| unsupported("the channels of this network do not fill the tiles"))?;
        let numbers: usize = FRAME + windows.iter().map(Windows::out_width).sum::<usize>();
        let fitting = (AT_ONCE / (2 * numbers)).next_multiple_of(BLOCK_FRAMES);
        let count = frames.starts.len();
        let at_once = fitting.min(count.next_multiple_of(BLOCK_FRAMES));
        let mut planned = Vec::new();
        for (windows, layer) in windows.iter().zip(&layers.convolutions) {
            let input = gpu.alloc(at_once * windows.width)?;
            let right = [windows.depth, windows.columns()];
            let affine = [&layer.bias[..], &layer.scale, &layer.shift].concat();
            planned.push(Layer {
                input: Matrix::new(way, input, [at_once, windows.width], FRAME_TILE)?,
                weights: Matrix::new(way, gpu.upload(&windows.matrix)?, right, WEIGHT_TILE)?,
                affine: gpu.upload(&affine)?,
                tiles: windows.tiles,
                sizes: [
                    windows.channels,
                    windows.width,
                    windows.depth,
                    windows.step,
                    windows.before,
                ]
                .map(|size| size as u32),
            });
        }
        let features = layers.features;
        let dense: Vec<u16> = (0..features * BINS)
            .map(|n| half_bits(layers.weights[n % BINS * features + n / BINS]))
            .collect();
        let layer = gpu.kernel(&way.kernel)?;
        layer.allow_shared_bytes(way.shared_bytes)?;
        Ok(Self {
            way,
            kernels: [gpu.kernel(&FRAMES)?, layer, gpu.kernel(&PITCHES)?],
            samples: gpu.upload(&frames.samples)?,
            starts: gpu.upload(&frames.starts)?,
            layers: planned,
            features: gpu.alloc(at_once * features)?,
            dense: (gpu.upload(&dense)?, gpu.upload(&layers.bias)?),
            out: gpu.alloc(count * BINS)?,
            at_once,
            multiprocessors: gpu.facts().multiprocessors,
            stream: gpu.stream().clone(),
        })
    }

    /// Frames from number `first` on through all layers.
    fn run_piece(&mut self, first: usize, count: usize) -> Result<(), WorkloadError> {
        let [frames, layer, pitches] = &self.kernels;
        let (at, many) = (first as u64, count as u32);
        let arguments = [
            self.samples.read(),
            self.starts.read(),
            self.layers[0].input.write(),
            at.into(),
            many.into(),
        ];
        let shape = LaunchShape::linear(32 * count, 256);
        self.stream.launch(frames, shape, &arguments)?;
        for number in 0..self.layers.len() {
            let (here, after) = self.layers.split_at_mut(number + 1);
            let this = &here[number];
            let out = match after {
                [next, ..] => next.input.write(),
                [] => self.features.write(),
            };
            let blocks = self.way.blocks(count, this.tiles, self.multiprocessors);
            let shape = LaunchShape {
                grid: [u32::try_from(blocks).unwrap_or(u32::MAX), 1, 1],
                block: [self.way.threads, 1, 1],
                shared_bytes: self.way.shared_bytes,
            };
            let [channels, width, depth, step, before] = this.sizes;
            let arguments = [
                this.input.read(),
                this.weights.read(),
                this.affine.read(),
                out,
                many.into(),
                (this.tiles as u32).into(),
                channels.into(),
                width.into(),
                depth.into(),
                step.into(),
                before.into(),
            ];
            self.stream.launch(layer, shape, &arguments)?;
        }
        let (weights, bias) = &self.dense;
        let arguments = [
            self.features.read(),
            weights.read(),
            bias.read(),
            self.out.write(),
            at.into(),
            many.into(),
            ((weights.len() / BINS) as u32).into(),
        ];
        let shape = LaunchShape {
            grid: [3 * count.div_ceil(64) as u32, 1, 1],
            block: [128, 1, 1],
            shared_bytes: 2 * 2 * 64 * (64 + BINS as u32 / 3),
        };
        Ok(self.stream.launch(pitches, shape, &arguments)?)
    }
}

impl Prepared for CudaCrepe {
    fn run_once(&mut self) -> Result<(), WorkloadError> {
        let count = self.starts.len();
        for first in (0..count).step_by(self.at_once) {
            self.run_piece(first, self.at_once.min(count - first))?;
        }
        Ok(())
    }

    fn stream(&self) -> Option<&Stream> {
        Some(&self.stream)
    }

    fn poison(&mut self) -> Result<(), WorkloadError> {
        for layer in &mut self.layers {
            layer.input.poison(&self.stream)?;
        }
        self.features.fill_bytes(&self.stream, 0xFF)?;
        Ok(self.out.fill_bytes(&self.stream, 0xFF)?)
    }

    fn output(&mut self) -> Result<Output, WorkloadError> {
        Ok(Output::F32(self.out.download(&self.stream)?))
    }
}

/// The most likely path of each signal by CREPE, in frames `hop` samples apart. Where sample rates differ from the
/// network's, the host resamples, files side by side.
pub fn crepe_on_cuda(
    gpu: &CudaDevice,
    weights: &Weights,
    sample_rate: u32,
    hop: usize,
    range: PitchRange,
    signals: &[&[f32]],
) -> Result<Vec<CrepeTrack>, WorkloadError> {
    let wrong = |error| failed(ID, &error);
    let plan = CrepePlan::new(sample_rate, hop, range).map_err(wrong)?;
    if signals.is_empty() {
        return Ok(Vec::new());
    }
    let layers = CrepeLayers::new(weights).map_err(wrong)?;
    let resampled: Vec<_> = signals
        .par_iter()
        .map(|signal| plan.resampled(signal))
        .collect();
    let frames = FrameStarts::of(&plan, resampled.iter().map(AsRef::as_ref));
    drop(resampled);
    let mut network = CudaCrepe::new(gpu, &layers, &frames, u32::MAX)?;
    let mut path = PathMemory::new(gpu, &plan, &frames.file_frames)?;
    network.run_once()?;
    path.search(&network.out)?;
    let steps = path.steps.download(gpu.stream())?;
    let pairs = path.pairs.download(gpu.stream())?;
    let files = frames.file_frames.windows(2);
    Ok(files
        .map(|ends| {
            let frames = ends[0] as usize..ends[1] as usize;
            let pairs = &pairs[2 * frames.start..2 * frames.end];
            CrepeTrack {
                seconds: plan.seconds(frames.len()),
                steps: steps[frames].iter().map(|step| *step as usize).collect(),
                frequency: pairs.iter().step_by(2).copied().collect(),
                periodicity: pairs.iter().skip(1).step_by(2).copied().collect(),
            }
        })
        .collect())
}
