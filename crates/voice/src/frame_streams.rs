//! Spectra, their statistics, levels and WebRTC's decisions of sound that is still arriving: any cutting
//! into chunks gives the bits of the whole.

use crate::error::{Result, VoiceError};
use crate::frame_queue::FrameQueue;
use crate::frame_spectrum::SpectrumSettings;
use crate::framing::Framing;
use crate::level::{HopLevels, Levels};
use crate::spectrum::Stft;
use crate::statistics::{SpectralShape, SpectralStatistics};
use crate::vad::{FrameMillis, WebrtcMode, WebrtcVad};
use warpsmith_lanes::Blocks;

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

/// WebRTC's detector on a stream of any chunks.
#[derive(Clone, Debug)]
pub struct WebrtcStream {
    vad: WebrtcVad,
    waiting: Vec<i16>,
    frame: usize,
}

impl WebrtcStream {
    /// A stream of decisions at 8, 16, 32 or 48 kHz.
    pub fn new(sample_rate: u32, mode: WebrtcMode, length: FrameMillis) -> Result<Self> {
        let vad = WebrtcVad::new(sample_rate, mode)?;
        let frame = (f64::from(sample_rate) * length.seconds()).round() as usize;
        if frame == 0 {
            return Err(VoiceError::parameter("frame", frame, "it has no samples"));
        }
        Ok(Self {
            vad,
            waiting: Vec::with_capacity(frame),
            frame,
        })
    }

    /// Takes the next samples; appends the decision of each frame that they complete. What is left of
    /// a signal after its last whole frame is not decided.
    pub fn process(&mut self, chunk: &[i16], out: &mut Vec<bool>) -> Result<()> {
        let mut rest = chunk;
        while self.waiting.len() + rest.len() >= self.frame {
            let (now, after) = rest.split_at(self.frame - self.waiting.len());
            out.push(if self.waiting.is_empty() {
                self.vad.process(now)?
            } else {
                self.waiting.extend_from_slice(now);
                self.vad.process(&self.waiting)?
            });
            self.waiting.clear();
            rest = after;
        }
        self.waiting.extend_from_slice(rest);
        Ok(())
    }
}
