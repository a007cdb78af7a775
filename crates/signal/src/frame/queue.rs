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
}

impl FrameQueue {
    /// A queue for checked frames; a stream has nothing to mirror, so no reflection.
    pub fn new(framing: Framing) -> Result<Self> {
        let framing = hop_within_frame(framing)?;
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
        self.samples.extend_from_slice(chunk);
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
        let gone = (frames * self.framing.hop).min(self.waiting().len());
        self.start += gone;
        if self.start >= self.waiting().len() {
            self.samples.drain(..self.start);
            self.start = 0;
        }
        self.emitted += frames;
    }

    /// Adds the zeros after the signal; returns how many frames are still to come.
    pub fn close(&mut self) -> usize {
        let zeros = self.framing.left();
        self.samples.resize(self.samples.len() + zeros, 0.0);
        self.framing
            .count(self.received)
            .saturating_sub(self.emitted)
    }
}

/// Streams drop samples hop by hop; a hop beyond the frame would drop samples not yet there.
fn hop_within_frame(framing: Framing) -> Result<Framing> {
    if framing.hop > framing.length {
        return Err(SignalError::parameter(
            "hop",
            framing.hop,
            format!(
                "a stream's hop is at most the frame, {} samples",
                framing.length
            ),
        ));
    }
    framing.checked()
}
