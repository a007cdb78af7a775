//! Device time of queued work, by events behind a held stream.
//!
//! The stream is held until start, work and stop of every sample are queued: without this the
//! first few microseconds are launch latency, and every kernel under 5 µs looks equal. The hold
//! ends when the host says so; that it had not ended before is checked for every batch of samples
//! (the first start event must not have happened when queueing ended), and a batch that was not
//! held is taken again, half as long.
//!
//! What events and the launch of a kernel cost behind a hold is measured with empty kernels and taken
//! off. It is 2.6 to 2.8 µs on an H200, by where the driver's queue happens to be cut between the events;
//! a flush moves that cut from sample to sample, so a timer that flushes also flushes before the empty
//! kernels. One sample behind a hold is the steadiest; several share one wait and cost the host half as
//! much, but the first event of a sample then follows close on the last of the one before. How much that
//! adds to the spread differs between GPUs: it is measured, and samples are taken together only where it
//! is little. Around what is taken together, outside of its events, time and cycle count of a
//! multiprocessor are stamped: they give the clock that it ran at.

use std::time::Duration;

use warpsmith_core::Seconds;
use warpsmith_device::{CudaDevice, DeviceBuffer, DeviceError, Event, Stream};

use super::clock_stamps::ClockStamps;
use super::hold::Hold;
use super::spin::Spin;

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
    /// Taken off a sample that is alone behind its hold…
    overhead: Seconds,
    /// …and off one of several.
    ring_overhead: Seconds,
    flush: Option<DeviceBuffer<u8>>,
    flush_byte: u8,
    /// Samples that are queued behind one hold, and how many the timer began with.
    ring: usize,
    first_ring: usize,
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
    /// Most that samples of an empty kernel may spread (P5 to P95) for being taken together.
    const RING_SPREAD: f64 = 0.25e-6;
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
            stamps: ClockStamps::new(device, 2)?,
            spin: Spin::new(device)?,
            overhead: Seconds(0.0),
            ring_overhead: Seconds(0.0),
            flush,
            flush_byte: 0,
            ring: Self::RING,
            first_ring: Self::RING,
            strikes: 0,
            unheld: 0,
            limit: Self::LIMIT,
        };
        timer.calibrate(device.stream())?;
        timer.first_ring = timer.ring;
        Ok(timer)
    }

    fn calibrate(&mut self, stream: &Stream) -> Result<(), DeviceError> {
        let empty = |timer: &mut Self, together: usize| -> Result<Vec<f64>, DeviceError> {
            let mut times = Vec::new();
            while times.len() < 4 * Self::RING {
                let samples = timer.spins(stream, 0, together)?;
                times.extend(samples.iter().map(|sample| sample.seconds));
            }
            times.sort_unstable_by(f64::total_cmp);
            Ok(times)
        };
        // Costs come in steps of 160 ns on an H200, and a median would choose one of two steps by chance.
        let usual = |sorted: &[f64]| {
            let middle = &sorted[sorted.len() / 4..sorted.len() * 3 / 4];
            Seconds(middle.iter().sum::<f64>() / middle.len() as f64)
        };
        let alone = empty(self, 1)?;
        self.overhead = usual(&alone);
        if self.flush.is_some() {
            // These are never taken together.
            return Ok(());
        }
        let several = empty(self, Self::RING)?;
        self.ring_overhead = usual(&several);
        let spread = several[several.len() * 95 / 100] - several[several.len() * 5 / 100];
        if spread > Self::RING_SPREAD {
            self.ring = 1;
        }
        Ok(())
    }

    /// Begins with other work: what was learnt about the work before is forgotten, the timer's own cost is not.
    pub fn renew(&mut self) {
        self.ring = self.first_ring;
        self.strikes = 0;
        self.unheld = 0;
    }

    /// How many samples are taken together.
    pub fn together(&self) -> usize {
        self.ring
    }

    /// Gives up on work that takes longer than `limit`, and on the context with it.
    pub fn set_limit(&mut self, limit: Duration) {
        self.limit = limit;
    }

    /// What is taken off every sample that is alone behind its hold.
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
            return Ok(self.collect(together, samples)?);
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
        for (start, stop) in &self.events[..count] {
            stream.record(start)?;
            work()?;
            stream.record(stop)?;
        }
        self.stamps.queue(stream, 1)?;
        Ok(())
    }

    fn collect(
        &mut self,
        count: usize,
        samples: &mut Vec<DeviceSample>,
    ) -> Result<(), DeviceError> {
        let clock_mhz = self.stamps.mhz_between(0, 1);
        let overhead = if count > 1 {
            self.ring_overhead
        } else {
            self.overhead
        };
        for (start, stop) in &self.events[..count] {
            samples.push(DeviceSample {
                seconds: stop.since(start)?.0 - overhead.0,
                clock_mhz,
            });
        }
        Ok(())
    }
}
