//! Sound that an analysis hears from its start as often as it needs, piece by piece: what is in memory, and what is
//! too long for that.

use crate::error::Result;
use crate::frame::{FrameQueue, Framing};

/// Samples of a signal in memory that are shown at a time.
const PIECE: usize = 1 << 16;

/// One channel of sound that can be heard again.
pub trait Recording {
    /// Hz.
    fn sample_rate(&self) -> u32;

    /// Shows all samples in their order, the same ones each time.
    fn hear(&self, see: &mut dyn FnMut(&[f32]) -> Result<()>) -> Result<()>;
}

/// A signal that is there as a whole.
#[derive(Clone, Copy, Debug)]
pub struct InMemory<'a> {
    /// Its samples.
    pub signal: &'a [f32],
    /// Hz.
    pub sample_rate: u32,
}

impl Recording for InMemory<'_> {
    fn sample_rate(&self) -> u32 {
        self.sample_rate
    }

    fn hear(&self, see: &mut dyn FnMut(&[f32]) -> Result<()>) -> Result<()> {
        self.signal.chunks(PIECE).try_for_each(see)
    }
}

/// Samples of a recording.
pub fn count_samples(recording: &dyn Recording) -> Result<usize> {
    let mut samples = 0;
    recording.hear(&mut |piece| {
        samples += piece.len();
        Ok(())
    })?;
    Ok(samples)
}

/// Shows the frames of a recording, as many at a time as are there: their samples, what stands before and after the
/// signal included, for an engine of the [`FrameQueue::inner_framing`], and how many frames these are.
pub fn each_frames(
    recording: &dyn Recording,
    framing: Framing,
    see: &mut dyn FnMut(&[f32], usize) -> Result<()>,
) -> Result<()> {
    let mut queue = FrameQueue::new(framing)?;
    let mut take = |queue: &mut FrameQueue, frames: usize| {
        if frames > 0 {
            see(queue.frames(frames), frames)?;
            queue.remove(frames);
        }
        Ok(())
    };
    recording.hear(&mut |piece| {
        queue.push(piece);
        let ready = queue.ready();
        take(&mut queue, ready)
    })?;
    let left = queue.close();
    take(&mut queue, left)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frame::Padding;

    #[test]
    fn all_frames_of_a_signal_in_memory_are_shown_once() {
        let signal: Vec<f32> = (0..150_000).map(|n| n as f32).collect();
        let recording = InMemory {
            signal: &signal,
            sample_rate: 8000,
        };
        assert_eq!(count_samples(&recording).unwrap(), signal.len());
        let framing = Framing {
            length: 1000,
            hop: 400,
            padding: Padding::CentredZero,
        };
        let (mut frames, mut calls) = (0, 0);
        each_frames(&recording, framing, &mut |samples, here| {
            assert_eq!(samples.len(), (here - 1) * 400 + 1000);
            // A frame's middle is at its number of hops.
            assert_eq!(samples[500], (frames * 400) as f32);
            (frames, calls) = (frames + here, calls + 1);
            Ok(())
        })
        .unwrap();
        assert_eq!(frames, framing.count(signal.len()));
        assert!(calls > 2, "{calls}");
    }
}
