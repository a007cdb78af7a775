//! Mel features of sound that is still arriving: any cutting into chunks gives the bits of the whole.
//!
//! A stream keeps no more than one frame and one chunk of samples. Frames come out as soon as their
//! last sample is in: `length − left` samples after their time stamp. After the first chunks have
//! set the size of the buffers nothing is allocated.

use warpsmith_lanes::Blocks;
use warpsmith_signal::{FrameQueue, Result, SignalError};

use super::cpu::MelFeature;
use super::settings::{FeatureSettings, Layout};

/// A mel feature of a stream.
pub struct MelStream {
    queue: FrameQueue,
    feature: MelFeature,
    rows: usize,
    /// Frames that are held back, because the last of a signal may not be wanted.
    held: usize,
}

impl MelStream {
    /// A stream of the feature; its dynamic range must be unlimited, because a limited one looks at the whole
    /// signal.
    pub fn new(settings: FeatureSettings) -> Result<Self> {
        Self::with_blocks(settings, Blocks::Single)
    }

    /// The same stream for chunks of many frames, as a long file is read: the same bits, more of them at a
    /// time.
    pub fn in_bulk(settings: FeatureSettings) -> Result<Self> {
        Self::with_blocks(settings, Blocks::Wide)
    }

    /// A stream for a second look at a signal whose largest compressed power is known from the first: the bits
    /// of the whole, its dynamic range included.
    pub fn second_look(settings: FeatureSettings, largest: f32) -> Result<Self> {
        let plain = FeatureSettings {
            dynamic_range: None,
            ..settings
        };
        let mut stream = Self::in_bulk(plain)?;
        if let Some(range) = settings.dynamic_range {
            stream.feature.limit(largest - range);
        }
        Ok(stream)
    }

    /// A stream of compressed mel powers, whose largest a second look needs.
    pub fn first_look(settings: FeatureSettings) -> Result<Self> {
        Self::in_bulk(FeatureSettings {
            dynamic_range: None,
            cepstrum: None,
            scale: (1.0, 0.0),
            ..settings
        })
    }

    fn with_blocks(settings: FeatureSettings, blocks: Blocks) -> Result<Self> {
        if settings.dynamic_range.is_some() {
            return Err(SignalError::parameter(
                "dynamic range",
                "limited",
                "it depends on the loudest frame of the whole signal; a stream needs it off",
            ));
        }
        let queue = FrameQueue::new(settings.spectrum.framing)?;
        let mut inner = FeatureSettings {
            drop_last_frame: false,
            ..settings
        };
        inner.spectrum.framing = queue.inner_framing();
        inner.layout = Layout::FramesFirst;
        Ok(Self {
            queue,
            rows: settings.rows(),
            held: usize::from(settings.drop_last_frame),
            feature: MelFeature::with_blocks(inner, blocks)?,
        })
    }

    /// Takes the next samples; appends the frames that they complete to `out`, a frame's rows
    /// together.
    pub fn process(&mut self, chunk: &[f32], out: &mut Vec<f32>) -> Result<()> {
        self.queue.push(chunk);
        self.emit(self.queue.ready().saturating_sub(self.held), out)
    }

    /// Ends the signal; appends the frames that reach beyond its end.
    pub fn finish(mut self, out: &mut Vec<f32>) -> Result<()> {
        let frames = self.queue.close();
        self.emit(frames.saturating_sub(self.held), out)
    }

    fn emit(&mut self, frames: usize, out: &mut Vec<f32>) -> Result<()> {
        if frames == 0 {
            return Ok(());
        }
        let at = out.len();
        out.resize(at + frames * self.rows, 0.0);
        let signal = self.queue.frames(frames);
        self.feature.compute_into(signal, &mut out[at..])?;
        self.queue.remove(frames);
        Ok(())
    }
}
