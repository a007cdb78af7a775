//! The search on a GPU: all levels in one launch, whose blocks meet between levels.

use std::sync::Arc;

use warpsmith_core::{KernelImage, kernel};
use warpsmith_device::{CudaDevice, DeviceBuffer, DeviceError, Kernel, LaunchShape, Stream};

use super::labels::{Labels, Reach};
use super::maze::Maze;
use crate::error::LatticeError;
use crate::shape::Cell;

// SAFETY: `bfs.cu` takes these buffers and values in this order and returns unless each buffer
// holds what `tiles` tiles need; every access is at a tile below `tiles`.
static BEGIN: KernelImage = unsafe {
    kernel!("lattice/bfs", bfs_begin(
        in u64, out u64, out u64, out u64, out u32, out u32, out u64, out u32, u64, u64, u64
    ))
};

// SAFETY: as above; tiles that are read from the lists are used only where they are below the
// number of tiles, and a tile's neighbours only where they are inside the tiling.
static LEVELS: KernelImage = unsafe {
    kernel!("lattice/bfs", bfs_levels(
        out u64, out u64, out u64, out u32, out u32, out u64, out u32, u32, u32, u32, u32, u64
    ))
};

const THREADS: u32 = 256;

/// Searches in one maze on a GPU.
#[derive(Debug)]
pub struct CudaSearch {
    maze: Maze,
    blocked: DeviceBuffer<u64>,
    free: DeviceBuffer<u64>,
    sent: DeviceBuffer<u64>,
    labels: DeviceBuffer<u64>,
    lists: DeviceBuffer<u32>,
    state: DeviceBuffer<u32>,
    reached: DeviceBuffer<u64>,
    arrived: DeviceBuffer<u32>,
    begin: Arc<Kernel>,
    levels: Arc<Kernel>,
    blocks: u32,
    stream: Stream,
}

impl CudaSearch {
    /// Uploads the maze; `blocks_per_multiprocessor` is how many blocks share one.
    pub fn new(
        gpu: &CudaDevice,
        maze: Maze,
        blocks_per_multiprocessor: u32,
    ) -> Result<Self, LatticeError> {
        let tiles = maze.tiling().tiles();
        if tiles >= 1 << 31 {
            return Err(LatticeError::Shape {
                text: maze.shape().to_string(),
                problem: "it has more than 2³¹ tiles of 64 cells".to_owned(),
            });
        }
        let levels = gpu.kernel(&LEVELS)?;
        let most = levels.resident_blocks(THREADS, 0)?;
        Ok(Self {
            blocked: gpu.upload(maze.words())?,
            free: gpu.alloc(tiles)?,
            sent: gpu.alloc(2 * tiles)?,
            labels: gpu.alloc(2 * tiles)?,
            lists: gpu.alloc(2 * tiles)?,
            state: gpu.alloc(6)?,
            reached: gpu.alloc(1)?,
            arrived: gpu.alloc(1)?,
            begin: gpu.kernel(&BEGIN)?,
            blocks: most.min(blocks_per_multiprocessor * gpu.facts().multiprocessors),
            levels,
            stream: gpu.stream().clone(),
            maze,
        })
    }

    /// The stream that searches are queued on.
    pub fn stream(&self) -> &Stream {
        &self.stream
    }

    /// Bytes of device memory beside the maze.
    pub fn state_bytes(&self) -> usize {
        self.free.bytes() + self.sent.bytes() + self.labels.bytes() + self.lists.bytes()
    }

    /// Queues a search.
    pub fn queue(&mut self, source: Cell, target: Option<Cell>) -> Result<(), LatticeError> {
        self.maze.ensure_free("source", source)?;
        let tiling = self.maze.tiling();
        let tiles = tiling.tiles();
        let (source_tile, source_bit) = tiling.place(source);
        // No tile has this number, so a search without a target never stops early.
        let (target_tile, target_bit) = match target {
            Some(cell) => {
                self.maze.ensure_free("target", cell)?;
                let (tile, bit) = tiling.place(cell);
                (tile as u32, bit)
            }
            None => (u32::MAX, 0),
        };
        let arguments = [
            self.blocked.read(),
            self.free.write(),
            self.sent.write(),
            self.labels.write(),
            self.lists.write(),
            self.state.write(),
            self.reached.write(),
            self.arrived.write(),
            (tiles as u64).into(),
            (source_tile as u64).into(),
            source_bit.into(),
        ];
        self.stream
            .launch(&self.begin, LaunchShape::linear(tiles, THREADS), &arguments)?;
        let [tz, ty, tx] = tiling.extents.map(|extent| extent as u32);
        let arguments = [
            self.free.write(),
            self.sent.write(),
            self.labels.write(),
            self.lists.write(),
            self.state.write(),
            self.reached.write(),
            self.arrived.write(),
            tx.into(),
            ty.into(),
            tz.into(),
            target_tile.into(),
            target_bit.into(),
        ];
        let shape = LaunchShape {
            grid: [self.blocks, 1, 1],
            block: [THREADS, 1, 1],
            shared_bytes: 0,
        };
        Ok(self
            .stream
            .launch_cooperative(&self.levels, shape, &arguments)?)
    }

    /// Waits, and says how far the last search came.
    pub fn reach(&self) -> Result<Reach, DeviceError> {
        let cells = self.reached.download(&self.stream)?;
        let state = self.state.download(&self.stream)?;
        Ok(Reach {
            cells: cells[0],
            eccentricity: state[4],
        })
    }

    /// Waits, and brings the labels of the last search back.
    pub fn labels(&self) -> Result<Labels, DeviceError> {
        let mut low = self.labels.download(&self.stream)?;
        let high = low.split_off(low.len() / 2);
        Ok(Labels {
            shape: self.maze.shape(),
            tiling: self.maze.tiling(),
            low,
            high,
        })
    }

    /// Fills what a search computes with ones.
    pub fn poison(&mut self) -> Result<(), DeviceError> {
        let stream = self.stream.clone();
        self.labels.fill_bytes(&stream, 0xFF)?;
        self.state.fill_bytes(&stream, 0xFF)?;
        self.reached.fill_bytes(&stream, 0xFF)
    }
}
