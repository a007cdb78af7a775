//! Levels of sound that is still arriving: any cutting into chunks gives the bits of the whole.

use super::cpu::{HopLevels, Levels};
use crate::error::{Result, SignalError};
use crate::frame::{FrameQueue, Framing, Padding};

/// Levels of a stream.
#[derive(Clone, Debug)]
pub struct LevelStream {
    queue: FrameQueue,
    framing: Framing,
    /// Memory to work in.
    hops: Vec<HopLevels>,
}

impl LevelStream {
    /// A stream of levels; the padding is zeros or none.
    pub fn new(framing: Framing) -> Result<Self> {
        if framing.padding == Padding::CentredReflect {
            return Err(SignalError::parameter(
                "padding",
                "reflect",
                "levels are those of the signal alone; use zeros or frames inside",
            ));
        }
        Ok(Self {
            queue: FrameQueue::new(framing)?,
            framing,
            hops: Vec::new(),
        })
    }

    /// Takes the next samples; appends the levels of the frames that they complete.
    pub fn process(&mut self, chunk: &[f32], out: &mut Levels) {
        self.queue.push(chunk);
        self.emit(self.queue.ready(), out);
    }

    /// Ends the signal; appends the frames that reach beyond its end.
    pub fn finish(mut self, out: &mut Levels) {
        let frames = self.queue.close();
        self.emit(frames, out);
    }

    fn emit(&mut self, frames: usize, out: &mut Levels) {
        for _ in 0..frames {
            let (before, samples) = self.queue.inside();
            out.push(samples, before, self.framing, &mut self.hops);
            self.queue.remove(1);
        }
    }
}
