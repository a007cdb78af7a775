//! Device time of queued work, by events behind a held stream.
//!
//! The stream is held until start, work and stop are all queued: without this the first few
//! microseconds are launch latency, and every kernel under 5 µs looks equal. That the hold was
//! long enough is checked for every sample (the start event must not have happened when queueing
//! ended); a hold that was too short is doubled and the sample taken again.
//!
//! What events and the launch of a kernel cost behind a hold is constant (2.6 to 2.7 µs on an
//! H200, whatever runs between them), measured with an empty kernel, and taken off.

use warpsmith_core::Seconds;
use warpsmith_device::{CudaDevice, DeviceBuffer, DeviceError, Event, Stream};

use super::hold::Hold;
use crate::statistics::order::median_of;

/// State of the caches when a sample begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CacheState {
    /// L2 holds nothing of the workload: as much as it holds has been written since.
    Cold,
    /// As the last run left it.
    Warm,
}

/// Times work on one device.
pub struct DeviceTimer {
    start: Event,
    stop: Event,
    hold: Hold,
    hold_nanoseconds: u64,
    overhead: Seconds,
    flush: Option<DeviceBuffer<u8>>,
    flush_byte: u8,
    unheld: usize,
}

impl DeviceTimer {
    /// A hold that fits most launches.
    const FIRST_HOLD: u64 = 30_000;
    /// Work that waits for itself can never be held; it is timed as it is and counted.
    const LONGEST_HOLD: u64 = 20_000_000;

    /// Loads the hold, allocates what flushing needs, and measures the timer's own cost.
    pub fn new(device: &CudaDevice, caches: CacheState) -> Result<Self, DeviceError> {
        let flush = match caches {
            // One L2 suffices: two and four give the same times on an H200.
            CacheState::Cold => {
                let bytes = usize::try_from(device.facts().l2_bytes)
                    .unwrap_or(0)
                    .max(1 << 20);
                Some(device.alloc(bytes)?)
            }
            CacheState::Warm => None,
        };
        let mut timer = Self {
            start: Event::new(device)?,
            stop: Event::new(device)?,
            hold: Hold::new(device)?,
            hold_nanoseconds: Self::FIRST_HOLD,
            overhead: Seconds(0.0),
            flush,
            flush_byte: 0,
            unheld: 0,
        };
        let stream = device.stream().clone();
        let mut empty = Vec::new();
        for _ in 0..64 {
            empty.push(timer.spin(&stream, 0)?.0);
        }
        timer.overhead = Seconds(median_of(&empty));
        Ok(timer)
    }

    /// What is taken off every sample.
    pub fn overhead(&self) -> Seconds {
        self.overhead
    }

    /// Samples whose work could not be queued while the stream was held: their times contain
    /// launch latency.
    pub fn unheld(&self) -> usize {
        self.unheld
    }

    /// Device time of a kernel that spins for a known time: the timer's own test.
    pub fn spin(&mut self, stream: &Stream, nanoseconds: u64) -> Result<Seconds, DeviceError> {
        // The spin is launched by the same kernel that holds, so it is always loaded.
        let hold_nanoseconds = self.hold_nanoseconds;
        stream.synchronize()?;
        self.hold.launch(stream, hold_nanoseconds)?;
        stream.record(&self.start)?;
        self.hold.launch(stream, nanoseconds)?;
        stream.record(&self.stop)?;
        self.stop.synchronize()?;
        Ok(Seconds(self.stop.since(&self.start)?.0 - self.overhead.0))
    }

    /// Device time of what `work` queues on `stream`.
    pub fn time<E: From<DeviceError>>(
        &mut self,
        stream: &Stream,
        work: &mut dyn FnMut() -> Result<(), E>,
    ) -> Result<Seconds, E> {
        loop {
            if let Some(flush) = &mut self.flush {
                // Another byte each time: nothing may find out that the write is idle.
                self.flush_byte = self.flush_byte.wrapping_add(1);
                flush.fill_bytes(stream, self.flush_byte)?;
            }
            stream.synchronize()?;
            self.hold.launch(stream, self.hold_nanoseconds)?;
            stream.record(&self.start)?;
            work()?;
            stream.record(&self.stop)?;
            let held = !self.start.has_happened()?;
            self.stop.synchronize()?;
            if held || self.hold_nanoseconds >= Self::LONGEST_HOLD {
                self.unheld += usize::from(!held);
                let elapsed = self.stop.since(&self.start)?.0 - self.overhead.0;
                return Ok(Seconds(elapsed));
            }
            self.hold_nanoseconds *= 2;
        }
    }
}
