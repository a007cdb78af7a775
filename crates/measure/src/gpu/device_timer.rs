//! Device time of queued work, by events behind a held stream.
//!
//! The stream is held until start, work and stop of every sample are queued: without this the
//! first few microseconds are launch latency, and every kernel under 5 µs looks equal. The hold
//! ends when the host says so; that it had not ended before is checked for every batch of samples
//! (the first start event must not have happened when queueing ended), and a batch that was not
//! held is taken again, half as long.
//!
//! What events and the launch of a kernel cost behind a hold is constant (2.6 to 2.7 µs on an
//! H200, whatever runs between them), measured with an empty kernel, and taken off. Around each
//! sample, outside of its events, time and cycle count of a multiprocessor are stamped: they give
//! the clock that the sample ran at.

use std::time::Duration;

use warpsmith_core::Seconds;
use warpsmith_device::{CudaDevice, DeviceBuffer, DeviceError, Event, Stream};

use super::clock_stamps::ClockStamps;
use super::hold::Hold;
use super::spin::Spin;
use crate::statistics::order::median_of;

/// State of the caches when a sample begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CacheState {
    /// L2 holds nothing of the workload: as much as it holds has been written since.
    Cold,
    /// As the last run left it.
    Warm,
}

/// One timed piece of work.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DeviceSample {
    /// Device time, the timer's own cost taken off.
    pub seconds: f64,
    /// Mean clock of a multiprocessor during the sample, where it could be read.
    pub clock_mhz: Option<f32>,
}

/// Times work on one device.
pub struct DeviceTimer {
    events: Vec<(Event, Event)>,
    hold: Hold,
    stamps: ClockStamps,
    spin: Spin,
    overhead: Seconds,
    flush: Option<DeviceBuffer<u8>>,
    flush_byte: u8,
    /// Samples that are queued behind one hold.
    ring: usize,
    strikes: u32,
    unheld: usize,
    limit: Duration,
}

impl DeviceTimer {
    /// Event pairs: the host then waits once in so many samples.
    pub const RING: usize = 64;
    /// So many single samples in a row that could not be held: the work waits for itself, and is
    /// timed as it is and counted from then on.
    const STRIKES: u32 = 3;
    /// Work that takes longer never ends.
    pub const LIMIT: Duration = Duration::from_secs(60);

    /// Loads the kernels, allocates what flushing needs, and measures the timer's own cost.
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
        let mut events = Vec::with_capacity(Self::RING);
        for _ in 0..Self::RING {
            events.push((Event::new(device)?, Event::new(device)?));
        }
        let mut timer = Self {
            events,
            hold: Hold::new(device)?,
            stamps: ClockStamps::new(device, Self::RING + 1)?,
            spin: Spin::new(device)?,
            overhead: Seconds(0.0),
            flush: None,
            flush_byte: 0,
            ring: Self::RING,
            strikes: 0,
            unheld: 0,
            limit: Self::LIMIT,
        };
        let empty: Vec<f64> = timer
            .spins(device.stream(), 0, Self::RING)?
            .iter()
            .map(|sample| sample.seconds)
            .collect();
        timer.overhead = Seconds(median_of(&empty));
        timer.flush = flush;
        Ok(timer)
    }

    /// Gives up on work that takes longer than `limit`, and on the context with it.
    pub fn set_limit(&mut self, limit: Duration) {
        self.limit = limit;
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

    /// Device times of kernels that spin for a known time: the timer's own test.
    pub fn spins(
        &mut self,
        stream: &Stream,
        nanoseconds: u64,
        count: usize,
    ) -> Result<Vec<DeviceSample>, DeviceError> {
        let spin = self.spin.clone();
        let mut samples = Vec::with_capacity(count);
        while samples.len() < count {
            let missing = count - samples.len();
            self.time_many(stream, missing, &mut samples, &mut || {
                spin.launch(stream, nanoseconds)
            })?;
        }
        Ok(samples)
    }

    /// Device time of what `work` queues on `stream`.
    pub fn time<E: From<DeviceError>>(
        &mut self,
        stream: &Stream,
        work: &mut dyn FnMut() -> Result<(), E>,
    ) -> Result<DeviceSample, E> {
        let mut samples = Vec::with_capacity(1);
        self.time_many(stream, 1, &mut samples, work)?;
        Ok(samples[0])
    }

    /// Device times of at least one and at most `count` calls of `work`, appended to `samples`,
    /// with one wait for all.
    pub fn time_many<E: From<DeviceError>>(
        &mut self,
        stream: &Stream,
        count: usize,
        samples: &mut Vec<DeviceSample>,
        work: &mut dyn FnMut() -> Result<(), E>,
    ) -> Result<(), E> {
        loop {
            // A flush must be over before the hold: its writes would still fill the memory
            // system when the work begins.
            let together = match self.flush {
                Some(_) => 1,
                None => count.clamp(1, self.ring),
            };
            self.flush_caches(stream)?;
            stream.synchronize_within(self.limit)?;
            let holds = self.strikes < Self::STRIKES;
            if holds {
                self.hold.close(stream)?;
            }
            let queued = self.queue(stream, together, work);
            let held = holds && queued.is_ok() && !self.events[0].0.has_happened()?;
            // Also where queueing failed: a closed hold would cost the next caller its limit.
            self.hold.open();
            queued?;
            stream.synchronize_within(self.limit)?;
            if held {
                self.strikes = 0;
            } else if holds && together > 1 {
                // More than the driver's queue takes at once.
                self.ring = (together / 2).max(1);
                continue;
            } else if holds {
                self.strikes += 1;
                if self.strikes < Self::STRIKES {
                    continue;
                }
            }
            self.unheld += if held { 0 } else { together };
            return Ok(self.collect(stream, together, samples)?);
        }
    }

    fn flush_caches(&mut self, stream: &Stream) -> Result<(), DeviceError> {
        match &mut self.flush {
            Some(flush) => {
                // Another byte each time: nothing may find out that the write is idle.
                self.flush_byte = self.flush_byte.wrapping_add(1);
                flush.fill_bytes(stream, self.flush_byte)
            }
            None => Ok(()),
        }
    }

    fn queue<E: From<DeviceError>>(
        &mut self,
        stream: &Stream,
        count: usize,
        work: &mut dyn FnMut() -> Result<(), E>,
    ) -> Result<(), E> {
        self.stamps.queue(stream, 0)?;
        for (index, (start, stop)) in self.events[..count].iter().enumerate() {
            stream.record(start)?;
            work()?;
            stream.record(stop)?;
            self.stamps.queue(stream, index + 1)?;
        }
        Ok(())
    }

    fn collect(
        &mut self,
        stream: &Stream,
        count: usize,
        samples: &mut Vec<DeviceSample>,
    ) -> Result<(), DeviceError> {
        self.stamps.fetch(stream)?;
        for (index, (start, stop)) in self.events[..count].iter().enumerate() {
            samples.push(DeviceSample {
                seconds: stop.since(start)?.0 - self.overhead.0,
                clock_mhz: self.stamps.mhz_between(index, index + 1),
            });
        }
        Ok(())
    }
}
