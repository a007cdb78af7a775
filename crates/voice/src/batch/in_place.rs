//! Signals that lie on a GPU already, analysed there: neither they nor the result pass the host.

use warpsmith_device::{CudaDevice, DeviceBuffer};
use warpsmith_workload::{Prepared, WorkloadError};

use super::ragged::Batch;

/// Signals in the memory of a GPU, which somebody else owns.
#[derive(Clone, Debug)]
pub struct DeviceSignals {
    /// Address and samples of each.
    pub(super) places: Vec<(u64, usize)>,
}

impl DeviceSignals {
    /// Arrays, each of an address and so many signals of so many samples, one after the other.
    ///
    /// # Safety
    /// There are as many 32-bit floats at each address, in the memory of the GPU that they are analysed on, and they
    /// live, unchanged, until the analysis has returned.
    pub unsafe fn new(arrays: impl IntoIterator<Item = (u64, usize, usize)>) -> Self {
        let places = arrays.into_iter().flat_map(|(address, count, samples)| {
            let bytes = (samples * size_of::<f32>()) as u64;
            (0..count as u64).map(move |n| (address + n * bytes, samples))
        });
        Self {
            places: places.collect(),
        }
    }

    /// Where all signals begin, if each begins where the one before ends.
    pub(super) fn one_block(&self) -> Option<u64> {
        let follows = |pair: &[(u64, usize)]| {
            let (address, samples) = pair[0];
            pair[1].0 == address + (samples * size_of::<f32>()) as u64
        };
        let first = self.places.first().map_or(0, |place| place.0);
        self.places.windows(2).all(follows).then_some(first)
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
