//! WebRTC's decisions of sound that is still arriving: any cutting into chunks gives the bits of the whole.

use crate::{Result, SignalError};

use super::detector::{FrameMillis, WebrtcMode, WebrtcVad};

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
            return Err(SignalError::parameter("frame", frame, "it has no samples"));
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
