//! Signals that lie on a GPU already, analysed there: neither they nor the result pass the host.

use warpsmith_device::{CudaDevice, DeviceBuffer};
use warpsmith_workload::{Prepared, WorkloadError};

use super::ragged::Batch;

/// Signals of one length in the memory of a GPU, one after the other, which somebody else owns.
#[derive(Clone, Copy, Debug)]
pub struct DeviceSignals {
    pub(super) address: u64,
    pub(super) count: usize,
    pub(super) length: usize,
}

impl DeviceSignals {
    /// `count` signals of `length` samples.
    ///
    /// # Safety
    /// There are as many 32-bit floats at `address`, in the memory of the GPU that they are analysed on, and they
    /// live, unchanged, until the analysis has returned.
    pub unsafe fn new(address: u64, count: usize, length: usize) -> Self {
        Self {
            address,
            count,
            length,
        }
    }

    /// Samples of each signal.
    pub fn samples(&self) -> usize {
        self.length
    }
}

/// A kernel that leaves its result in device memory.
pub(crate) trait DeviceResult: Prepared {
    /// The result, once it has been computed.
    fn into_values(self: Box<Self>) -> DeviceBuffer<f32>;
}

/// What a kernel makes of signals, each in frames as `count` says of its length; waits until it is done.
pub(crate) fn in_place(
    gpu: &CudaDevice,
    signals: DeviceSignals,
    count: impl Fn(usize) -> usize,
    prepare: impl FnOnce(&Batch) -> Result<Box<dyn DeviceResult>, WorkloadError>,
) -> Result<DeviceBuffer<f32>, WorkloadError> {
    let batch = Batch::lent(signals, count);
    if batch.frames() == 0 {
        return Ok(gpu.alloc(0)?);
    }
    let mut prepared = prepare(&batch)?;
    prepared.run_once()?;
    gpu.stream().synchronize()?;
    Ok(prepared.into_values())
}
