//! The clock that each sample ran at, from time and cycle count before and after it.

use std::sync::Arc;

use warpsmith_core::{Element, KernelImage, Parameter};
use warpsmith_device::{CudaDevice, DeviceBuffer, DeviceError, Kernel, LaunchShape, Stream};

// SAFETY: `cuda/clock_stamp.cu` takes a buffer of u64 with its length and a u64, and writes three
// elements from three times the slot on, where the length allows.
static KERNEL: KernelImage = unsafe {
    KernelImage::trusted(
        "measure/clock_stamp",
        "clock_stamp",
        &[Parameter::Out(Element::U64), Parameter::Value(Element::U64)],
        include_str!("../../cuda/clock_stamp.ptx"),
    )
};

/// A row of stamps on one device.
pub(crate) struct ClockStamps {
    kernel: Arc<Kernel>,
    stamps: DeviceBuffer<u64>,
    read: Vec<u64>,
}

impl ClockStamps {
    const WORDS: usize = 3;

    /// Room for `count` stamps; the kernel is loaded.
    pub(crate) fn new(device: &CudaDevice, count: usize) -> Result<Self, DeviceError> {
        let mut stamps = Self {
            kernel: device.kernel(&KERNEL)?,
            stamps: device.alloc(count * Self::WORDS)?,
            read: vec![0; count * Self::WORDS],
        };
        stamps.queue(device.stream(), 0)?;
        device.stream().synchronize()?;
        Ok(stamps)
    }

    /// Queues a stamp into `slot`.
    pub(crate) fn queue(&mut self, stream: &Stream, slot: usize) -> Result<(), DeviceError> {
        let shape = LaunchShape::linear(1, 1);
        let arguments = [self.stamps.write(), (slot as u64).into()];
        stream.launch(&self.kernel, shape, &arguments)
    }

    /// Fetches the stamps once what was queued is done.
    pub(crate) fn fetch(&mut self, stream: &Stream) -> Result<(), DeviceError> {
        self.stamps.download_into(stream, &mut self.read)
    }

    /// The mean clock between two fetched stamps in MHz; none where they were taken on different
    /// multiprocessors.
    pub(crate) fn mhz_between(&self, early: usize, late: usize) -> Option<f32> {
        let words = |slot: usize| self.read.get(slot * Self::WORDS..(slot + 1) * Self::WORDS);
        mhz(words(early)?, words(late)?)
    }
}

/// Cycles per microsecond between two stamps of nanoseconds, cycles and multiprocessor.
fn mhz(early: &[u64], late: &[u64]) -> Option<f32> {
    let [time, cycles, place] = early.try_into().ok()?;
    let [later_time, later_cycles, later_place]: [u64; 3] = late.try_into().ok()?;
    let nanoseconds = later_time.checked_sub(time)?;
    let counted = later_cycles.checked_sub(cycles)?;
    (place == later_place && nanoseconds > 0)
        .then(|| (1e3 * counted as f64 / nanoseconds as f64) as f32)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clocks_need_two_stamps_of_one_multiprocessor() {
        assert_eq!(mhz(&[1000, 50, 3], &[3000, 4010, 3]), Some(1980.0));
        assert_eq!(mhz(&[1000, 50, 3], &[3000, 4010, 4]), None);
        assert_eq!(mhz(&[1000, 50, 3], &[1000, 4010, 3]), None);
        assert_eq!(mhz(&[1000, 5000, 3], &[3000, 4010, 3]), None);
    }
}
