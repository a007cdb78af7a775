//! Samples of a stream that are waiting for their frames to be complete.
//!
//! Invariant: the queue starts where the next frame starts, what stands before the signal included. Samples
//! before are gone, but make room only when they have become many: a hop moves as many samples as it brings.
//!
//! A mirrored start is there as soon as the samples are that it mirrors, a mirrored end when the signal has ended.

use std::borrow::Cow;

use super::framing::{Framing, Padding};
use crate::error::Result;

/// Samples that are waiting for their frames to be complete.
#[derive(Clone, Debug)]
pub struct FrameQueue {
    /// The framing that the caller requested.
    framing: Framing,
    /// Samples that are gone, and from `start` on those of the next frames, the zeros before the signal
    /// included.
    samples: Vec<f32>,
    start: usize,
    received: usize,
    emitted: usize,
    /// Samples to come that no frame sees, because the hop is longer than the frame.
    skipped: usize,
    /// What is mirrored, where the signal is.
    ends: Option<Ends>,
}

/// The ends of a signal that is mirrored at them.
#[derive(Clone, Debug, Default)]
struct Ends {
    /// All samples, while they are too few for the mirrored start.
    start: Option<Vec<f32>>,
    /// The last samples.
    last: Vec<f32>,
}

impl Ends {
    fn new() -> Self {
        Self {
            start: Some(Vec::new()),
            last: Vec::new(),
        }
    }

    /// Takes the next samples of a signal of which `kept` make up an end; returns those that may follow what is
    /// queued.
    fn take<'a>(&mut self, chunk: &'a [f32], kept: usize) -> Cow<'a, [f32]> {
        if chunk.len() < kept {
            self.last.extend_from_slice(chunk);
            self.last.drain(..self.last.len().saturating_sub(kept));
        } else {
            self.last.clear();
            self.last.extend_from_slice(&chunk[chunk.len() - kept..]);
        }
        let Some(mut start) = self.start.take() else {
            return Cow::Borrowed(chunk);
        };
        start.extend_from_slice(chunk);
        if start.len() < kept {
            self.start = Some(start);
            return Cow::Borrowed(&[]);
        }
        let mirrored = start[1..kept].iter().rev();
        Cow::Owned(mirrored.chain(&start).copied().collect())
    }

    /// What stands after the signal, and before it where it was too short for that.
    fn finish(self, framing: Framing) -> Vec<f32> {
        let left = framing.left();
        match self.start {
            None => self.last[..left].iter().rev().copied().collect(),
            Some(all) => {
                let end = (all.len() + left) as i64;
                let places = (-(left as i64)..end).filter_map(|at| framing.source(at, all.len()));
                places.map(|at| all[at]).collect()
            }
        }
    }
}

impl FrameQueue {
    /// A queue for checked frames.
    pub fn new(framing: Framing) -> Result<Self> {
        Ok(Self::of(framing.checked()?, Vec::new()))
    }

    /// An empty queue for the same frames.
    pub fn restarted(self) -> Self {
        Self::of(self.framing, self.samples)
    }

    /// An empty queue in memory that was used before.
    fn of(framing: Framing, mut samples: Vec<f32>) -> Self {
        let ends = (framing.padding == Padding::CentredReflect).then(Ends::new);
        let zeros = if ends.is_none() { framing.left() } else { 0 };
        samples.clear();
        samples.resize(zeros, 0.0);
        Self {
            framing,
            samples,
            start: 0,
            received: 0,
            emitted: 0,
            skipped: 0,
            ends,
        }
    }

    /// The same frames without padding, for an engine that sees only what is waiting.
    #[inline]
    pub fn inner_framing(&self) -> Framing {
        self.framing.inside()
    }

    /// Adds samples that have arrived.
    #[inline]
    pub fn push(&mut self, chunk: &[f32]) {
        self.received += chunk.len();
        match &mut self.ends {
            None => self.append(chunk),
            Some(ends) => {
                let next = ends.take(chunk, self.framing.left() + 1);
                self.append(&next);
            }
        }
    }

    #[inline]
    fn append(&mut self, chunk: &[f32]) {
        let skipped = self.skipped.min(chunk.len());
        self.skipped -= skipped;
        self.samples.extend_from_slice(&chunk[skipped..]);
    }

    fn waiting(&self) -> &[f32] {
        &self.samples[self.start..]
    }

    /// Frames that are complete.
    #[inline]
    pub fn ready(&self) -> usize {
        self.inner_framing().count(self.waiting().len())
    }

    /// The samples of the first `frames` frames, at least one.
    #[inline]
    pub fn frames(&self, frames: usize) -> &[f32] {
        &self.waiting()[..(frames - 1) * self.framing.hop + self.framing.length]
    }

    /// The samples of the first frame that belong to the signal, no zeros from before or after it, and how many
    /// of the frame's lie before them.
    #[inline]
    pub fn inside(&self) -> (usize, &[f32]) {
        let (left, gone) = (self.framing.left(), self.emitted * self.framing.hop);
        let end = (left + self.received)
            .saturating_sub(gone)
            .min(self.framing.length);
        let before = left.saturating_sub(gone).min(end);
        (before, &self.waiting()[before..end])
    }

    /// Drops what only the first `frames` frames need.
    #[inline]
    pub fn remove(&mut self, frames: usize) {
        // A hop longer than the frame skips samples that may not have arrived yet.
        let hops = frames * self.framing.hop;
        let gone = hops.min(self.waiting().len());
        self.skipped += hops - gone;
        self.start += gone;
        if self.start >= self.waiting().len() {
            self.samples.drain(..self.start);
            self.start = 0;
        }
        self.emitted += frames;
    }

    /// Adds what stands after the signal; returns how many frames are still to come.
    pub fn close(&mut self) -> usize {
        match self.ends.take() {
            Some(ends) => self.append(&ends.finish(self.framing)),
            None => {
                let zeros = self.framing.left().saturating_sub(self.skipped);
                self.samples.resize(self.samples.len() + zeros, 0.0);
            }
        }
        self.framing
            .count(self.received)
            .saturating_sub(self.emitted)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_are_those_of_the_whole_signal_for_short_and_long_hops() {
        for samples in [1, 3, 4, 5, 9, 57] {
            for padding in [
                Padding::Inside,
                Padding::CentredZero,
                Padding::CentredReflect,
            ] {
                for (hop, size) in [(1, 5), (3, 1), (8, 5), (11, 57), (20, 2)] {
                    let framing = Framing {
                        length: 8,
                        hop,
                        padding,
                    };
                    frames_are_those_of_the_whole(framing, samples, size);
                }
            }
        }
    }

    fn frames_are_those_of_the_whole(framing: Framing, samples: usize, size: usize) {
        let signal: Vec<f32> = (0..samples).map(|n| n as f32 + 1.0).collect();
        let mut queue = FrameQueue::new(framing).unwrap();
        for _ in 0..2 {
            let mut found = Vec::new();
            let mut take = |queue: &mut FrameQueue, frames: usize| {
                for _ in 0..frames {
                    found.extend_from_slice(queue.frames(1));
                    queue.remove(1);
                }
            };
            for chunk in signal.chunks(size) {
                queue.push(chunk);
                let ready = queue.ready();
                take(&mut queue, ready);
            }
            let left = queue.close();
            take(&mut queue, left);
            let sample = |position: i64| {
                let source = framing.source(position, samples);
                source.map_or(0.0, |at| signal[at])
            };
            let starts = (0..framing.count(samples))
                .map(|frame| (frame * framing.hop) as i64 - framing.left() as i64);
            let expected: Vec<f32> = starts
                .flat_map(|at| (at..at + framing.length as i64).map(sample))
                .collect();
            assert_eq!(
                found, expected,
                "{framing:?}, {samples} in chunks of {size}"
            );
            queue = queue.restarted();
        }
    }
}
