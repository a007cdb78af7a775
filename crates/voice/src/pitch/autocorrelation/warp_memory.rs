//! The shared memory of kernels that correlate a frame with itself, a warp to a frame
//! (`correlation.cuh`).

use warpsmith_device::{CudaDevice, Kernel, LaunchShape};
use warpsmith_workload::WorkloadError;

/// Threads of a block, as the kernels insist: four warps, four frames.
const THREADS: u32 = 128;
/// Lags that a warp sums in one pass over a frame.
const PASS: usize = 256;

/// What a warp has, in floats.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct WarpMemory {
    /// Where the lags lie: behind the frame, with zeros for the furthest lag, 4 floats of padding to
    /// every 32.
    pub(crate) lag_at: u32,
    pub(crate) floats: u32,
}

impl WarpMemory {
    /// For frames of `length` samples at `lags` lags; `lists` floats lie where the frame was.
    pub(crate) fn new(length: usize, lags: usize, lists: usize) -> Self {
        let lags = lags.next_multiple_of(PASS);
        let reach = length.next_multiple_of(32) + lags + 8;
        let lag_at = (reach + reach / 32 * 4 + 4).max(lists).next_multiple_of(4);
        Self {
            lag_at: lag_at as u32,
            floats: (lag_at + lags) as u32,
        }
    }

    /// One warp to each of `frames` frames, where the GPU has the memory for it.
    pub(crate) fn shape(
        &self,
        gpu: &CudaDevice,
        kernel: &Kernel,
        workload: &'static str,
        frames: usize,
    ) -> Result<LaunchShape, WorkloadError> {
        shape_of(gpu, kernel, workload, self.floats, frames)
    }
}

/// One warp of so many floats to each of `frames` frames, where the GPU has the memory for it.
pub(crate) fn shape_of(
    gpu: &CudaDevice,
    kernel: &Kernel,
    workload: &'static str,
    warp_floats: u32,
    frames: usize,
) -> Result<LaunchShape, WorkloadError> {
    let shared_bytes = warp_floats * 4 * THREADS / 32;
    let most = gpu.facts().shared_bytes_per_block;
    if u64::from(shared_bytes) > most {
        return Err(WorkloadError::Unsupported {
            workload,
            reason: format!(
                "frames this long need {shared_bytes} B of shared memory, and this GPU has {most} \
                 for a block; use a lower sample rate or a higher lowest frequency"
            ),
        });
    }
    kernel.allow_shared_bytes(shared_bytes)?;
    Ok(LaunchShape {
        shared_bytes,
        ..LaunchShape::linear(frames * 32, THREADS)
    })
}
