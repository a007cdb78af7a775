//! Sum, least and largest sample of tiles of a batch on a GPU: what silence is measured against.

use std::sync::Arc;

use warpsmith_core::{KernelImage, kernel};
use warpsmith_device::{CudaDevice, DeviceBuffer, Kernel, LaunchShape, Stream};
use warpsmith_workload::WorkloadError;

use crate::batch::Batch;

// SAFETY: `levels` in `praat_path.cu` takes these in this order; a tile's end is cut at the
// samples', its result checked against the number of tiles.
static LEVELS: KernelImage =
    unsafe { kernel!("voice/praat_path", levels(in f32, in u64, out f64)) };

/// Samples to a tile.
const TILE: usize = 8192;

pub(crate) struct CudaLevels {
    kernel: Arc<Kernel>,
    shape: LaunchShape,
    tiles: DeviceBuffer<u64>,
    /// Running totals of tiles, one more than there are files.
    pub(super) file_tiles: DeviceBuffer<u64>,
    /// Three numbers to a tile.
    pub(crate) levels: DeviceBuffer<f64>,
}

impl CudaLevels {
    pub(crate) fn new(gpu: &CudaDevice, batch: &Batch) -> Result<Self, WorkloadError> {
        let (mut tiles, mut file_tiles) = (Vec::new(), vec![0]);
        for ends in batch.file_samples.chunks_exact(2) {
            let starts = (ends[0]..ends[1]).step_by(TILE);
            tiles.extend(starts.flat_map(|start| [start, ends[1].min(start + TILE as u64)]));
            file_tiles.push(tiles.len() as u64 / 2);
        }
        let count = tiles.len() / 2;
        Ok(Self {
            kernel: gpu.kernel(&LEVELS)?,
            shape: LaunchShape::linear(count * 256, 256),
            tiles: gpu.upload(&tiles)?,
            file_tiles: gpu.upload(&file_tiles)?,
            levels: gpu.alloc(3 * count)?,
        })
    }

    pub(crate) fn launch(
        &mut self,
        stream: &Stream,
        samples: &DeviceBuffer<f32>,
    ) -> Result<(), WorkloadError> {
        let arguments = [samples.read(), self.tiles.read(), self.levels.write()];
        Ok(stream.launch(&self.kernel, self.shape, &arguments)?)
    }

    /// Fills the levels with bytes that are not a result.
    pub(crate) fn poison(&mut self, stream: &Stream) -> Result<(), WorkloadError> {
        Ok(self.levels.fill_bytes(stream, 0xFF)?)
    }
}
