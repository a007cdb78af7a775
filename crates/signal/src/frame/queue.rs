//! Samples of a stream that are waiting for their frames to be complete.
//!
//! Invariant: the queue starts where the next frame starts, the zeros before the signal included. Samples
//! before are gone, but make room only when they have become many: a hop moves as many samples as it brings.

use super::framing::{Framing, Padding};
use crate::error::{Result, SignalError};

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
}

impl FrameQueue {
    /// A queue for checked frames; a stream has nothing to mirror, so no reflection.
    pub fn new(framing: Framing) -> Result<Self> {
        let framing = framing.checked()?;
        if framing.padding == Padding::CentredReflect {
            return Err(SignalError::parameter(
                "padding",
                "reflect",
                "a stream does not know what it would mirror; use zeros or frames inside",
            ));
        }
        Ok(Self {
            framing,
            samples: vec![0.0; framing.left()],
            start: 0,
            received: 0,
            emitted: 0,
            skipped: 0,
        })
    }

    /// The same frames without padding, for an engine that sees only what is waiting.
    #[inline]
    pub fn inner_framing(&self) -> Framing {
        Framing {
            padding: Padding::Inside,
            ..self.framing
        }
    }

    /// Adds samples that have arrived.
    #[inline]
    pub fn push(&mut self, chunk: &[f32]) {
        let skipped = self.skipped.min(chunk.len());
        self.skipped -= skipped;
        self.samples.extend_from_slice(&chunk[skipped..]);
        self.received += chunk.len();
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

    /// Adds the zeros after the signal; returns how many frames are still to come.
    pub fn close(&mut self) -> usize {
        let zeros = self.framing.left().saturating_sub(self.skipped);
        self.samples.resize(self.samples.len() + zeros, 0.0);
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
        let signal: Vec<f32> = (0..57).map(|n| n as f32 + 1.0).collect();
        for padding in [Padding::Inside, Padding::CentredZero] {
            for hop in [1, 3, 8, 11, 20] {
                let framing = Framing {
                    length: 8,
                    hop,
                    padding,
                };
                let mut found = Vec::new();
                let mut queue = FrameQueue::new(framing).unwrap();
                let mut take = |queue: &mut FrameQueue, frames: usize| {
                    for _ in 0..frames {
                        found.extend_from_slice(queue.frames(1));
                        queue.remove(1);
                    }
                };
                for chunk in signal.chunks(5) {
                    queue.push(chunk);
                    let ready = queue.ready();
                    take(&mut queue, ready);
                }
                let left = queue.close();
                take(&mut queue, left);
                let beyond = vec![0.0; framing.left()];
                let padded = [&beyond[..], &signal, &beyond].concat();
                let starts = (0..framing.count(signal.len())).map(|frame| frame * hop);
                let expected: Vec<f32> =
                    starts.flat_map(|at| padded[at..at + 8].to_vec()).collect();
                assert_eq!(found, expected, "{framing:?}");
            }
        }
    }
}
