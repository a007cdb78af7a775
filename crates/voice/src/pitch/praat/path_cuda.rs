//! The best path through pitch candidates on a GPU: the files' frames in pieces, all at once. How pieces meet
//! is said in `pieces`.

use warpsmith_core::{KernelImage, kernel, ptx};
use warpsmith_device::{CudaDevice, DeviceBuffer, LaunchShape, Stream};
use warpsmith_workload::WorkloadError;

use super::levels_cuda::CudaLevels;
use crate::pitch::path::{Launch, PathCosts, PieceMemory, PieceSearch, Pieces, Searched};

const PTX: &[u8] = ptx!("voice/praat_path");

// SAFETY: `praat_forward` in `praat_path.cu` takes these in this order. A block's piece is checked
// against everything of frames, its file against tiles and samples, before it is walked.
static FORWARD: KernelImage = unsafe {
    kernel!("voice/praat_path", PTX, praat_forward(
        in f32, in u32, in f64, in f64, in u64, in u64, in f64, in u64, in u32, out u8,
        out u32, out f64, u32
    ))
};

// SAFETY: `praat_compare` takes these in this order; a block's piece is checked against all three.
static COMPARE: KernelImage =
    unsafe { kernel!("voice/praat_path", PTX, praat_compare(in u64, in f64, out u32)) };

// SAFETY: `praat_repair` takes these in this order and checks what `praat_forward` does, and a file's
// pieces against all buffers of pieces.
static REPAIR: KernelImage = unsafe {
    kernel!("voice/praat_path", PTX, praat_repair(
        in f32, in u32, in f64, in f64, in u64, in u64, in f64, in u64, in u64, in u32, out u8,
        out u32, out f64, out u32, u32
    ))
};

// SAFETY: `praat_back` takes these in this order. A thread's piece is checked against origins, tops, places
// and entries, and every place that it follows is cut at a row's length.
static BACK: KernelImage = unsafe {
    kernel!("voice/praat_path", PTX, praat_back(in u64, in u8, in u32, out u32, out u32, u32))
};

// SAFETY: `praat_join` takes these in this order. A file's pieces are checked against pieces and entries, a
// piece against origins and places, and every place that it follows is cut at a row's length.
static JOIN: KernelImage =
    unsafe { kernel!("voice/praat_path", PTX, praat_join(in u64, in u64, in u8, in u32, out u32)) };

// SAFETY: `praat_track` takes these in this order and reads and writes frames that all three have.
static TRACK: KernelImage =
    unsafe { kernel!("voice/praat_path", PTX, praat_track(in u32, in f64, out f32, u32)) };

/// Bytes of a frame's origins, and scores of an edge.
const ROW: usize = 32;
/// Warps, a block each, that a multiprocessor holds at once.
const RESIDENT: usize = 24;

/// What a path pays, and what being unvoiced is worth.
pub(crate) struct PathTable {
    pub(crate) costs: PathCosts,
    /// Strength of the unvoiced candidate.
    pub(crate) unvoiced: f64,
    /// What a silent frame adds to it, and the share of the loudest sample that takes 1 of that away.
    pub(crate) silent: f64,
    /// See `silent`.
    pub(crate) silence: f64,
    /// Whether the loudest sample is measured from the mean.
    pub(crate) from_mean: bool,
}

impl PathTable {
    /// As the kernels read it.
    fn numbers(&self) -> [f64; 8] {
        [
            self.costs.ceiling_hz,
            self.costs.octave,
            self.costs.octave_jump,
            self.costs.voicing_change,
            self.unvoiced,
            self.silent,
            self.silence,
            f64::from(u8::from(self.from_mean)),
        ]
    }
}

/// What the search looks at: frames' peaks and candidates, files' levels.
pub(crate) struct Found<'a> {
    pub(crate) peaks: &'a DeviceBuffer<f32>,
    pub(crate) counts: &'a DeviceBuffer<u32>,
    pub(crate) candidates: &'a DeviceBuffer<f64>,
    pub(crate) levels: &'a CudaLevels,
    pub(crate) file_samples: &'a DeviceBuffer<u64>,
}

/// Kernels and memory of the search.
pub(crate) struct CudaPraatPath {
    search: PieceSearch<u8, f64>,
    finish: Launch,
    piece_files: DeviceBuffer<u32>,
    costs: DeviceBuffer<f64>,
    most: u32,
    /// Frequency and strength.
    track: DeviceBuffer<f32>,
}

impl CudaPraatPath {
    /// For the frames of files, of which `file_frames` holds the running total; `most` candidates of a frame,
    /// at most 31, have room.
    pub(crate) fn new(
        gpu: &CudaDevice,
        file_frames: &[u64],
        table: &PathTable,
        most: usize,
    ) -> Result<Self, WorkloadError> {
        let frames = file_frames.last().copied().unwrap_or(0) as usize;
        let files = file_frames.len().saturating_sub(1);
        let pieces = Pieces::new(file_frames, gpu.facts().multiprocessors as usize * RESIDENT);
        let count = pieces.count();
        let piece_files: Vec<u32> = pieces
            .of_files
            .windows(2)
            .enumerate()
            .flat_map(|(file, ends)| (ends[0]..ends[1]).map(move |_| file as u32))
            .collect();
        let warps = |count: usize| LaunchShape::linear(count * 32, 32);
        let search = PieceSearch {
            forward: (gpu.kernel(&FORWARD)?, warps(count)),
            compare: (gpu.kernel(&COMPARE)?, warps(count)),
            repair: (gpu.kernel(&REPAIR)?, warps(files)),
            back: (gpu.kernel(&BACK)?, LaunchShape::linear(count, 32)),
            join: (gpu.kernel(&JOIN)?, warps(files)),
            memory: PieceMemory::new(gpu, &pieces, frames, (ROW, ROW))?,
        };
        Ok(Self {
            search,
            finish: (gpu.kernel(&TRACK)?, LaunchShape::linear(frames, 256)),
            piece_files: gpu.upload(&piece_files)?,
            costs: gpu.upload(&table.numbers())?,
            most: most as u32,
            track: gpu.alloc(2 * frames)?,
        })
    }

    /// Queues the search among what was found.
    pub(crate) fn launch(
        &mut self,
        stream: &Stream,
        found: &Found<'_>,
    ) -> Result<(), WorkloadError> {
        let scores = [
            found.peaks.read(),
            found.counts.read(),
            found.candidates.read(),
            found.levels.levels.read(),
            found.levels.file_tiles.read(),
            found.file_samples.read(),
            self.costs.read(),
        ];
        let searched = Searched {
            scores: &scores,
            tables: [&[self.piece_files.read()], &[]],
            walk: &[self.most.into()],
            row: &[],
        };
        self.search.launch(stream, &searched)?;
        let arguments = [
            self.search.memory.places.read(),
            found.candidates.read(),
            self.track.write(),
            self.most.into(),
        ];
        Ok(stream.launch(&self.finish.0, self.finish.1, &arguments)?)
    }

    /// Frequency and strength of all frames in pairs, where kernels find them.
    pub(crate) fn tracked(&self) -> &DeviceBuffer<f32> {
        &self.track
    }

    /// Frequency and strength of all frames in pairs, both 0 where they are unvoiced.
    pub(crate) fn track(&mut self, stream: &Stream) -> Result<Vec<f32>, WorkloadError> {
        Ok(self.track.download(stream)?)
    }

    /// Fills everything that the search writes with bytes that are not a result.
    pub(crate) fn poison(&mut self, stream: &Stream) -> Result<(), WorkloadError> {
        self.search.memory.poison(stream)?;
        Ok(self.track.fill_bytes(stream, 0xFF)?)
    }
}
