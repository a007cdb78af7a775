//! pYIN of sound that is still arriving.
//!
//! A frame's pitch is known once all paths to the present come through one state: mostly within a few
//! frames of clear voice. A frame comes out then, or, in a long pause that decides nothing, after
//! [`LONGEST`] frames by the best path of the moment. When frames come out depends on their number alone,
//! so that any cutting into chunks gives the same bits. Voiced frames and voicing are those of the
//! whole signal; what unvoiced frames of a long pause say about pitch may differ.

use warpsmith_lanes::Blocks;
use warpsmith_signal::{FrameQueue, Framing, Result};

use super::cpu::{Pyin, PyinSettings, PyinTrack};
use super::viterbi::Lattice;
use crate::pitch::range::PitchRange;

/// The longest that a frame waits, in frames: some 0.9 MB of paths over the range of a voice.
const LONGEST: usize = 512;
/// Frames between looks at whether paths have met.
const EVERY: usize = 16;

/// pYIN on a stream.
pub struct PyinStream {
    queue: FrameQueue,
    pyin: Pyin,
    lattice: Lattice,
    taken: usize,
    samples: usize,
    /// Probabilities of the frames that wait.
    probability: Vec<f32>,
}

impl PyinStream {
    /// A stream of [`Pyin`] tracks; the hop is not longer than the frame.
    pub fn new(
        sample_rate: u32,
        framing: Framing,
        range: PitchRange,
        settings: PyinSettings,
    ) -> Result<Self> {
        Self::with_blocks(sample_rate, framing, range, settings, Blocks::Single)
    }

    /// The same stream for pieces of many frames, as a long file is read: the same bits, more of them at a time.
    pub fn in_bulk(
        sample_rate: u32,
        framing: Framing,
        range: PitchRange,
        settings: PyinSettings,
    ) -> Result<Self> {
        Self::with_blocks(sample_rate, framing, range, settings, Blocks::Wide)
    }

    fn with_blocks(
        sample_rate: u32,
        framing: Framing,
        range: PitchRange,
        settings: PyinSettings,
        blocks: Blocks,
    ) -> Result<Self> {
        let queue = FrameQueue::new(framing)?;
        let inner = queue.inner_framing();
        let pyin = Pyin::with_blocks(sample_rate, inner, range, settings, blocks)?;
        Ok(Self {
            lattice: pyin.lattice(LONGEST + 2 * EVERY),
            queue,
            pyin,
            taken: 0,
            samples: 0,
            probability: Vec::new(),
        })
    }

    /// Takes the next samples; appends the frames that they decide.
    pub fn process(&mut self, chunk: &[f32], out: &mut PyinTrack) {
        self.samples += chunk.len();
        self.queue.push(chunk);
        self.take(self.queue.ready(), out);
    }

    /// Ends the signal; appends all frames that are left.
    pub fn finish(mut self, out: &mut PyinTrack) {
        let first = out.voiced.len();
        let frames = self.queue.close();
        self.take(frames, out);
        let path = self.lattice.path();
        self.emit(&path, out);
        if self.pyin.is_too_short(self.samples) {
            out.silence(first);
        }
    }

    /// Frames that have arrived and wait to be decided.
    pub fn waiting(&self) -> usize {
        self.probability.len()
    }

    fn take(&mut self, mut frames: usize, out: &mut PyinTrack) {
        while frames > 0 {
            let together = frames.min(EVERY - self.taken % EVERY);
            let samples = self.queue.frames(together);
            self.pyin
                .observe(samples, together, &mut self.lattice, &mut self.probability);
            self.queue.remove(together);
            self.taken += together;
            frames -= together;
            if self.taken.is_multiple_of(EVERY) {
                let path = self.lattice.settle(LONGEST);
                self.emit(&path, out);
            }
        }
    }

    fn emit(&mut self, path: &[usize], out: &mut PyinTrack) {
        self.pyin.append(path, out);
        out.probability.extend(self.probability.drain(..path.len()));
    }
}
