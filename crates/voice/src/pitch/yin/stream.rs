//! YIN of sound that is still arriving: any cutting into chunks gives the bits of the whole.

use warpsmith_lanes::Blocks;
use warpsmith_signal::{FrameQueue, Framing, Result};

use super::cpu::Yin;
use crate::pitch::range::PitchRange;

/// YIN on a stream.
pub struct YinStream {
    queue: FrameQueue,
    yin: Yin,
    started: bool,
}

impl YinStream {
    /// A stream of [`Yin`] frequencies; the hop is not longer than the frame.
    pub fn new(
        sample_rate: u32,
        framing: Framing,
        range: PitchRange,
        threshold: f32,
    ) -> Result<Self> {
        Self::with_blocks(sample_rate, framing, range, threshold, Blocks::Single)
    }

    /// The same stream for chunks of many frames: the same bits, more of them at a time.
    pub fn in_bulk(
        sample_rate: u32,
        framing: Framing,
        range: PitchRange,
        threshold: f32,
    ) -> Result<Self> {
        Self::with_blocks(sample_rate, framing, range, threshold, Blocks::Wide)
    }

    fn with_blocks(
        sample_rate: u32,
        framing: Framing,
        range: PitchRange,
        threshold: f32,
        blocks: Blocks,
    ) -> Result<Self> {
        let queue = FrameQueue::new(framing)?;
        let inner = queue.inner_framing();
        Ok(Self {
            queue,
            yin: Yin::with_blocks(sample_rate, inner, range, threshold, blocks)?,
            started: false,
        })
    }

    /// Takes the next samples; appends the frequency of each frame that they complete.
    pub fn process(&mut self, chunk: &[f32], out: &mut Vec<f32>) -> Result<()> {
        self.queue.push(chunk);
        self.emit(self.queue.ready(), out)
    }

    /// Ends the signal; appends the frames that reach beyond its end.
    pub fn finish(mut self, out: &mut Vec<f32>) -> Result<()> {
        let frames = self.queue.close();
        self.emit(frames, out)
    }

    fn emit(&mut self, frames: usize, out: &mut Vec<f32>) -> Result<()> {
        if frames == 0 {
            return Ok(());
        }
        let at = out.len();
        out.resize(at + frames, 0.0);
        let signal = self.queue.frames(frames);
        if self.started {
            self.yin.go_on_into(signal, &mut out[at..])?;
        } else {
            self.yin.track_into(signal, &mut out[at..])?;
        }
        self.started = true;
        self.queue.remove(frames);
        Ok(())
    }
}
