//! The clock that each sample ran at, from time and cycle count before and after it.

use std::sync::Arc;

use warpsmith_core::{KernelImage, kernel};
use warpsmith_device::{CudaDevice, DeviceError, HostWords, Kernel, LaunchShape, Stream};

// SAFETY: `clock_stamp.cu` takes a buffer of u64 with its length and a u64, and writes three
// elements from three times the slot on, where the length allows.
static KERNEL: KernelImage = unsafe { kernel!("measure/clock_stamp", clock_stamp(out u64, u64)) };

/// A row of stamps on one device.
pub(crate) struct ClockStamps {
    kernel: Arc<Kernel>,
    /// In host memory: a copy of a few words would cost a sample as much as its other calls
    /// together.
    stamps: HostWords,
}

impl ClockStamps {
    const WORDS: usize = 3;

    /// Room for `count` stamps; the kernel is loaded.
    pub(crate) fn new(device: &CudaDevice, count: usize) -> Result<Self, DeviceError> {
        let mut stamps = Self {
            kernel: device.kernel(&KERNEL)?,
            stamps: HostWords::new(device, count * Self::WORDS)?,
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

    /// The mean clock between two stamps in MHz, once what was queued is done; none where they were
    /// taken on different multiprocessors.
    pub(crate) fn mhz_between(&self, early: usize, late: usize) -> Option<f32> {
        let words = |slot: usize| -> Option<[u64; Self::WORDS]> {
            let word = |nth: usize| self.stamps.get(slot * Self::WORDS + nth);
            Some([word(0)?, word(1)?, word(2)?])
        };
        mhz(words(early)?, words(late)?)
    }
}

/// Cycles per microsecond between two stamps of nanoseconds, cycles and multiprocessor.
fn mhz(early: [u64; 3], late: [u64; 3]) -> Option<f32> {
    let [time, cycles, place] = early;
    let [later_time, later_cycles, later_place] = late;
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
        assert_eq!(mhz([1000, 50, 3], [3000, 4010, 3]), Some(1980.0));
        assert_eq!(mhz([1000, 50, 3], [3000, 4010, 4]), None);
        assert_eq!(mhz([1000, 50, 3], [1000, 4010, 3]), None);
        assert_eq!(mhz([1000, 5000, 3], [3000, 4010, 3]), None);
    }
}
