//! Spectral statistics of sound that is still arriving: any cutting into chunks gives the bits of the whole.

use warpsmith_lanes::Blocks;
use warpsmith_signal::{FrameQueue, Framing, Result, SpectrumSettings};

use super::cpu::{SpectralShape, SpectralStatistics};

/// Spectral statistics of a stream.
pub struct StatisticsStream {
    queue: FrameQueue,
    shape: SpectralShape,
    /// The frame before, which the flux looks back to.
    before: Vec<f32>,
}

impl StatisticsStream {
    /// A stream of statistics; the padding is zeros or none.
    pub fn new(settings: SpectrumSettings, sample_rate: u32) -> Result<Self> {
        let queue = FrameQueue::new(settings.framing)?;
        // Two frames end to end, the one before and this one.
        let inner = SpectrumSettings {
            framing: Framing {
                hop: settings.framing.length,
                ..queue.inner_framing()
            },
            ..settings
        };
        Ok(Self {
            shape: SpectralShape::with_blocks(inner, sample_rate, Blocks::Single)?,
            queue,
            before: Vec::new(),
        })
    }

    /// Takes the next samples; appends the statistics of the frames that they complete.
    pub fn process(&mut self, chunk: &[f32], out: &mut SpectralStatistics) {
        self.queue.push(chunk);
        self.emit(self.queue.ready(), out);
    }

    /// Ends the signal; appends the frames that reach beyond its end.
    pub fn finish(mut self, out: &mut SpectralStatistics) {
        let frames = self.queue.close();
        self.emit(frames, out);
    }

    fn emit(&mut self, frames: usize, out: &mut SpectralStatistics) {
        for _ in 0..frames {
            let frame = self.queue.frames(1);
            let length = frame.len();
            self.before.extend_from_slice(frame);
            out.append_last(self.shape.measure(&self.before));
            self.before.drain(..self.before.len() - length);
            self.queue.remove(1);
        }
    }
}
