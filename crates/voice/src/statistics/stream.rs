//! Spectral statistics of sound that is still arriving: any cutting into chunks gives the bits of the whole.

use warpsmith_lanes::Blocks;
use warpsmith_signal::{FrameQueue, Result, SpectrumSettings};

use super::cpu::{SpectralShape, SpectralStatistics};

/// Spectral statistics of a stream.
pub struct StatisticsStream {
    /// From the second frame on it starts with the frame before, which the flux looks back to.
    queue: FrameQueue,
    shape: SpectralShape,
    begun: bool,
}

impl StatisticsStream {
    /// A stream of statistics; the padding is zeros or none.
    pub fn new(settings: SpectrumSettings, sample_rate: u32) -> Result<Self> {
        Self::with_blocks(settings, sample_rate, Blocks::Single)
    }

    /// The same stream for pieces of many frames, as a long file is read.
    pub fn in_bulk(settings: SpectrumSettings, sample_rate: u32) -> Result<Self> {
        Self::with_blocks(settings, sample_rate, Blocks::Wide)
    }

    fn with_blocks(settings: SpectrumSettings, sample_rate: u32, blocks: Blocks) -> Result<Self> {
        let queue = FrameQueue::new(settings.framing)?;
        let inner = SpectrumSettings {
            framing: queue.inner_framing(),
            ..settings
        };
        Ok(Self {
            shape: SpectralShape::with_blocks(inner, sample_rate, blocks)?,
            queue,
            begun: false,
        })
    }

    /// With another share of the magnitudes below the roll-off frequency.
    pub fn with_rolloff(mut self, share: f32) -> Result<Self> {
        self.shape = self.shape.with_rolloff(share)?;
        Ok(self)
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
        let known = usize::from(self.begun);
        if frames > known {
            out.append(self.shape.measure(self.queue.frames(frames)), known);
            self.queue.remove(frames - 1);
            self.begun = true;
        }
    }
}
