//! Spectra of sound that is still arriving: any cutting into chunks gives the bits of the whole.

use warpsmith_lanes::Blocks;
use warpsmith_signal::{FrameQueue, Result, SpectrumSettings};

use super::cpu::Stft;

/// Complex spectra of a stream, a frame's bins together.
pub struct StftStream {
    queue: FrameQueue,
    stft: Stft,
    bins: usize,
}

impl StftStream {
    /// A stream of spectra; the padding is zeros or none.
    pub fn new(settings: SpectrumSettings) -> Result<Self> {
        let queue = FrameQueue::new(settings.framing)?;
        let inner = SpectrumSettings {
            framing: queue.inner_framing(),
            ..settings
        };
        Ok(Self {
            bins: settings.bins(),
            stft: Stft::with_blocks(inner, Blocks::Single)?,
            queue,
        })
    }

    /// Takes the next samples; appends the frames that they complete.
    pub fn process(&mut self, chunk: &[f32], out: &mut Vec<[f32; 2]>) -> Result<()> {
        self.queue.push(chunk);
        self.emit(self.queue.ready(), out)
    }

    /// Ends the signal; appends the frames that reach beyond its end.
    pub fn finish(mut self, out: &mut Vec<[f32; 2]>) -> Result<()> {
        let frames = self.queue.close();
        self.emit(frames, out)
    }

    fn emit(&mut self, frames: usize, out: &mut Vec<[f32; 2]>) -> Result<()> {
        for _ in 0..frames {
            let at = out.len();
            out.resize(at + self.bins, [0.0; 2]);
            self.stft.complex(self.queue.frames(1), &mut out[at..])?;
            self.queue.remove(1);
        }
        Ok(())
    }
}
