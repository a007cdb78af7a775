//! Blocks of many streams in one launch.
//!
//! Note tables stay on the device; a block is one launch and one copy into page-locked memory, of
//! which there are two, so that the host reads one block while the next is rendered.

use std::sync::Arc;

use warpsmith_device::{
    CudaDevice, DeviceBuffer, DeviceError, Kernel, LaunchShape, PinnedBuffer, Stream,
};

use super::images::BLOCK_PCM16;
use super::note_table::{NOTE_WORDS, note_words};
use crate::note::{Formulas, Note};
use crate::sound::kick::kick_table;
use crate::sound::oscillator::Saw;

/// Frames of a thread block, and its threads, as the kernels insist.
pub(crate) const TILE: usize = 1024;
pub(crate) const THREADS: u32 = 256;
/// Grids are at most this high.
const MOST_STREAMS_A_LAYER: usize = 65_535;

/// The flag for sums as they are, before the limit.
pub(crate) const DRY: u32 = 8;

/// The kernels' flags.
pub(crate) fn flags(formulas: Formulas, saw: Saw) -> u32 {
    let saw = match saw {
        Saw::Naive => 0,
        Saw::PolyBlep => 1,
        Saw::Spline => 2,
    };
    match formulas {
        Formulas::Original => saw | 4,
        Formulas::ClickFree => saw,
    }
}

/// The notes of several streams, on the device.
pub(crate) struct NoteTables {
    pub(crate) notes: DeviceBuffer<u64>,
    pub(crate) offsets: DeviceBuffer<u32>,
    pub(crate) kick: DeviceBuffer<f32>,
}

impl NoteTables {
    pub(crate) fn upload(
        gpu: &CudaDevice,
        streams: &[&[Note]],
        sample_rate: u32,
        formulas: Formulas,
    ) -> Result<Self, DeviceError> {
        let mut words =
            Vec::with_capacity(streams.iter().map(|s| s.len()).sum::<usize>() * NOTE_WORDS);
        let mut offsets = vec![0u32];
        for notes in streams {
            for note in *notes {
                words.extend(note_words(note, sample_rate, formulas).flatten());
            }
            offsets.push(u32::try_from(words.len() / NOTE_WORDS).unwrap_or(u32::MAX));
        }
        // A table of nothing is still a table.
        words.resize(words.len().max(NOTE_WORDS), 0);
        Ok(Self {
            notes: gpu.upload(&words)?,
            offsets: gpu.upload(&offsets)?,
            kick: gpu.upload(&kick_table(sample_rate, formulas))?,
        })
    }
}

/// Threads for `frames` of `streams`.
pub(crate) fn launch_shape(frames: usize, streams: usize) -> LaunchShape {
    let layers = streams.div_ceil(MOST_STREAMS_A_LAYER).max(1);
    LaunchShape {
        grid: [
            frames.div_ceil(TILE).max(1) as u32,
            streams.div_ceil(layers).max(1) as u32,
            layers as u32,
        ],
        block: [THREADS, 1, 1],
        shared_bytes: 0,
    }
}

/// What blocks are.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BlockSettings {
    /// Frames of a block.
    pub frames: usize,
    /// Frames a second.
    pub sample_rate: u32,
    /// The formulas of the voices; effects are the host's.
    pub formulas: Formulas,
    /// How the saw treats its jump.
    pub saw: Saw,
    /// Whether a block is rendered while the one before is copied.
    pub overlap: bool,
}

/// Renders blocks of many dry streams.
pub struct Blocks {
    tables: NoteTables,
    kernel: Arc<Kernel>,
    device: [DeviceBuffer<i16>; 2],
    host: [PinnedBuffer<i16>; 2],
    queues: [Stream; 2],
    turn: usize,
    frames: usize,
    streams: usize,
    flags: u32,
}

impl Blocks {
    /// Uploads the notes of every stream and makes room for two blocks.
    pub fn new(
        gpu: &CudaDevice,
        streams: &[&[Note]],
        settings: BlockSettings,
    ) -> Result<Self, DeviceError> {
        let BlockSettings {
            frames,
            sample_rate,
            formulas,
            saw,
            overlap,
        } = settings;
        let first = gpu.stream().clone();
        let second = if overlap {
            gpu.new_stream()?
        } else {
            first.clone()
        };
        let samples = 2 * frames * streams.len();
        Ok(Self {
            tables: NoteTables::upload(gpu, streams, sample_rate, formulas)?,
            kernel: gpu.kernel(&BLOCK_PCM16)?,
            device: [gpu.alloc(samples)?, gpu.alloc(samples)?],
            host: [
                PinnedBuffer::new(gpu, samples)?,
                PinnedBuffer::new(gpu, samples)?,
            ],
            queues: [first, second],
            turn: 0,
            frames,
            streams: streams.len(),
            flags: flags(formulas, saw),
        })
    }

    /// Queues the block of all streams that begins at `position`; at most two are under way.
    pub fn queue(&mut self, position: u64) -> Result<(), DeviceError> {
        let turn = self.turn;
        let queue = &self.queues[turn];
        let shape = launch_shape(self.frames, self.streams);
        let arguments = [
            self.tables.notes.read(),
            self.tables.offsets.read(),
            self.tables.kick.read(),
            self.device[turn].write(),
            position.into(),
            (self.frames as u32).into(),
            self.flags.into(),
        ];
        queue.launch(&self.kernel, shape, &arguments)?;
        queue.copy_to_host(&self.device[turn], &mut self.host[turn])?;
        self.turn = 1 - turn;
        Ok(())
    }

    /// The queue that the next block goes to.
    pub fn queue_in_turn(&self) -> &Stream {
        &self.queues[self.turn]
    }

    /// Fills both blocks on the device with values that no render leaves there.
    pub fn poison(&mut self) -> Result<(), DeviceError> {
        for (block, queue) in self.device.iter_mut().zip(&self.queues) {
            block.fill_bytes(queue, 0x80)?;
        }
        Ok(())
    }

    /// Waits for the block queued last and gives its samples, stream after stream.
    pub fn last(&self) -> Result<&[i16], DeviceError> {
        self.host[1 - self.turn].as_slice()
    }

    /// Waits for the block queued before the last and gives its samples.
    pub fn before_last(&self) -> Result<&[i16], DeviceError> {
        self.host[self.turn].as_slice()
    }
}
