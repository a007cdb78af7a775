//! The path of probabilistic YIN on a GPU: the files' frames in pieces, all at once.
//!
//! How pieces meet is said in `pieces`.

use warpsmith_core::{KernelImage, kernel, ptx};
use warpsmith_device::{CudaDevice, DeviceBuffer, Kernel, LaunchShape, Stream};
use warpsmith_workload::WorkloadError;

use super::cuda::ID;
use super::plan::PyinPlan;
use super::transitions::Transitions;
use crate::pitch::path::{PieceMemory, PieceSearch, Pieces, Searched};

const PTX: &[u8] = ptx!("voice/pyin_path");

// SAFETY: `pyin_forward` in `pyin_path.cu` takes these in this order. A piece is checked against rows,
// origins and tops before it is walked; tables, edges and shared memory before the first piece.
static FORWARD: KernelImage = unsafe {
    kernel!("voice/pyin_path", PTX, pyin_forward(
        in i32, in u64, in i32, out u16, out u32, out i32, u32, u32
    ))
};

// SAFETY: `pyin_compare` takes these in this order; a block's piece is checked against pieces and results,
// and edges against all pieces.
static COMPARE: KernelImage =
    unsafe { kernel!("voice/pyin_path", PTX, pyin_compare(in u64, in i32, out u32, u32)) };

// SAFETY: `pyin_repair` takes these in this order and checks what `pyin_forward` does, a file's pieces
// against all buffers of pieces, and its result against the file.
static REPAIR: KernelImage = unsafe {
    kernel!("voice/pyin_path", PTX, pyin_repair(
        in i32, in u64, in i32, in u64, in u32, out u16, out u32, out i32, out u32, u32, u32
    ))
};

// SAFETY: `pyin_back` takes these in this order. A thread's piece is checked against origins, tops, places
// and entries, and every place that it follows is cut at a row's length.
static BACK: KernelImage = unsafe {
    kernel!("voice/pyin_path", PTX, pyin_back(
        in u64, in u16, in u32, out u32, out u32, u32, u32
    ))
};

// SAFETY: `pyin_join` takes these in this order. A file's pieces are checked against pieces and entries, a
// piece against origins and places, and every place that it follows is cut at a row's length.
static JOIN: KernelImage = unsafe {
    kernel!("voice/pyin_path", PTX, pyin_join(in u64, in u64, in u16, in u32, out u32, u32))
};

/// Bins that a thread has, and the most that a block has.
const OWN: usize = 4;
pub(super) const MOST_BINS: usize = 1024 - 4;
/// Blocks that a multiprocessor holds at once.
const RESIDENT: usize = 4;

/// Rows of scores: bins, the unvoiced one, and what makes a multiple of four.
pub(super) fn stride(plan: &PyinPlan) -> usize {
    (plan.bins + 1).next_multiple_of(OWN)
}

/// Kernels and memory of the search.
pub(super) struct CudaPyinPath {
    plan: PyinPlan,
    tables: DeviceBuffer<i32>,
    search: PieceSearch<u16, i32>,
}

impl CudaPyinPath {
    /// For the frames of files, of which `file_frames` holds the running total.
    pub(super) fn new(
        gpu: &CudaDevice,
        plan: PyinPlan,
        file_frames: &[u64],
    ) -> Result<Self, WorkloadError> {
        let frames = file_frames.last().copied().unwrap_or(0) as usize;
        let files = file_frames.len().saturating_sub(1);
        let table = Pieces::new(file_frames, gpu.facts().multiprocessors as usize * RESIDENT);
        let pieces = table.count();
        let row = 2 * stride(&plan);
        let threads = stride(&plan).div_ceil(OWN).next_multiple_of(32);
        let width = 2 * plan.reach + 1;
        // Two rows of keys between borders, the weights, and tops of eight warps.
        let keys = (OWN * threads + width + 11).next_multiple_of(4);
        let words = 2 * keys + (width + 7).next_multiple_of(4) + 16;
        let walk_bytes = 4 * words as u32;
        let walk = |kernel: &Kernel| kernel.allow_shared_bytes(walk_bytes);
        let shape = |blocks: usize, threads: usize, shared_bytes: u32| LaunchShape {
            shared_bytes,
            ..LaunchShape::linear(blocks * threads, threads as u32)
        };
        let forward = gpu.kernel(&FORWARD)?;
        let repair = gpu.kernel(&REPAIR)?;
        walk(&forward)?;
        walk(&repair)?;
        let search = PieceSearch {
            forward: (forward, shape(pieces, threads, walk_bytes)),
            compare: (gpu.kernel(&COMPARE)?, shape(pieces, 256, 0)),
            repair: (repair, shape(files, threads, walk_bytes)),
            back: (gpu.kernel(&BACK)?, LaunchShape::linear(pieces, 32)),
            join: (gpu.kernel(&JOIN)?, shape(files, 32, 0)),
            memory: PieceMemory::new(gpu, &table, frames, (row, row))?,
        };
        Ok(Self {
            tables: gpu.upload(&tables(&plan))?,
            search,
            plan,
        })
    }

    /// Queues the search among `rows`.
    pub(super) fn launch(
        &mut self,
        stream: &Stream,
        rows: &DeviceBuffer<i32>,
    ) -> Result<(), WorkloadError> {
        let (bins, reach) = (self.plan.bins as u32, self.plan.reach as u32);
        let tables = [self.tables.read()];
        let searched = Searched {
            scores: &[rows.read()],
            tables: [&tables, &tables],
            walk: &[bins.into(), reach.into()],
            row: &[bins.into()],
        };
        self.search.launch(stream, &searched)
    }

    /// The state of every frame: a bin, or a bin plus their number where it is unvoiced.
    pub(super) fn states(&mut self, stream: &Stream) -> Result<Vec<usize>, WorkloadError> {
        let (bins, stride) = (self.plan.bins, stride(&self.plan));
        let places = self.search.memory.places.download(stream)?;
        let state = |place: u32| {
            let (voicing, bin) = (place as usize / stride, place as usize % stride);
            (voicing < 2 && bin < bins).then_some(voicing * bins + bin)
        };
        let states: Option<Vec<usize>> = places.into_iter().map(state).collect();
        states.ok_or(WorkloadError::Failed {
            workload: ID,
            reason: "a frame has no state: the kernel did not reach it".into(),
        })
    }

    /// Pieces, and how many of them were walked again.
    pub(super) fn repaired(&mut self, stream: &Stream) -> Result<(usize, usize), WorkloadError> {
        let repaired = self.search.memory.repaired.download(stream)?;
        let sum = repaired.into_iter().map(|count| count as usize).sum();
        Ok((self.search.memory.pieces.len() / 4, sum))
    }

    /// Fills everything that the search writes with bytes that are not a result.
    pub(super) fn poison(&mut self, stream: &Stream) -> Result<(), WorkloadError> {
        self.search.memory.poison(stream)
    }
}

/// What the kernels look up.
fn tables(plan: &PyinPlan) -> Vec<i32> {
    let steps = Transitions::new(plan.bins, plan.reach, plan.settings.switch);
    let mut tables = vec![steps.stay, steps.switch];
    tables.extend(steps.kernel);
    tables.extend(steps.normaliser);
    tables
}
