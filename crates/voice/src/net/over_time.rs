//! Layers that compare a frame with an earlier and a later one, of a sound that is still arriving.
//!
//! Frames that a layer still needs are kept in a ring, so that an hour takes no more memory than a
//! second. Before the first frame and after the last there is silence, as in training.

use std::collections::VecDeque;

/// What a layer remembers: frames `t − 2·reach + after ..= t + after` of which it takes three.
pub(super) struct OverTime {
    reach: usize,
    /// Frames after the one in question that the layer looks at.
    after: usize,
    length: usize,
    frames: VecDeque<Vec<f32>>,
    /// Frames that have arrived.
    arrived: usize,
}

impl OverTime {
    /// A layer that looks as far back as forth.
    pub(super) fn both_sides(reach: usize, length: usize) -> Self {
        Self::new(reach, reach, length)
    }

    /// A layer that looks back alone.
    pub(super) fn before(reach: usize, length: usize) -> Self {
        Self::new(reach, 0, length)
    }

    fn new(reach: usize, after: usize, length: usize) -> Self {
        let mut frames = VecDeque::with_capacity(2 * reach + 1);
        frames.resize(2 * reach, vec![0.0; length]);
        Self {
            reach,
            after,
            length,
            frames,
            arrived: 0,
        }
    }

    /// Frames that the layer must be given after the last before all are done.
    pub(super) fn late(&self) -> usize {
        self.after
    }

    /// Takes the next frame; the three frames that the layer looks at, once it is its turn, and which
    /// of them it is about.
    pub(super) fn take(&mut self, frame: &[f32]) -> Option<([&[f32]; 3], usize)> {
        debug_assert_eq!(frame.len(), self.length);
        // A frame that is no longer needed gives its memory to the next.
        let mut memory = if self.frames.len() > 2 * self.reach {
            self.frames.pop_front().unwrap_or_default()
        } else {
            Vec::with_capacity(self.length)
        };
        memory.clear();
        memory.extend_from_slice(frame);
        self.frames.push_back(memory);
        self.arrived += 1;
        let three = [0, self.reach, 2 * self.reach].map(|n| &self.frames[n][..]);
        (self.arrived > self.after).then_some((three, if self.after > 0 { 1 } else { 2 }))
    }

    /// A frame of silence.
    pub(super) fn silence(&self) -> Vec<f32> {
        vec![0.0; self.length]
    }
}
