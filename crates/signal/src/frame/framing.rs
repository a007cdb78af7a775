//! Where frames lie in a signal: length, hop, and what stands beyond the signal's ends.
//!
//! Invariant: the number of frames depends on the signal's length alone, and frame `f` covers the
//! samples from `f · hop − left` on, where `left` is 0 without centring and `length / 2` with it.

use serde::{Deserialize, Serialize};

use crate::error::{Result, SignalError};

/// Samples of the longest frame: at this length the buffers of a transform take hundreds of megabytes.
const LONGEST_FRAME: usize = 1 << 22;

/// What a frame sees beyond the ends of the signal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Padding {
    /// Nothing: frames lie inside the signal (librosa `center=False`, Kaldi `snip_edges`).
    Inside,
    /// Frames are centred on multiples of the hop; zeros beyond the ends (librosa's default).
    CentredZero,
    /// Frames are centred; the signal is mirrored at its ends (torch's and Whisper's default).
    CentredReflect,
}

/// How a signal is cut into frames.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Framing {
    /// Samples in a frame.
    pub length: usize,
    /// Samples between the starts of neighbouring frames.
    pub hop: usize,
    /// What lies beyond the ends.
    pub padding: Padding,
}

impl Framing {
    /// Checks that frames and hops have samples in them.
    pub fn checked(self) -> Result<Self> {
        if self.length == 0 {
            return Err(SignalError::parameter(
                "frame length",
                0,
                "a frame needs at least one sample",
            ));
        }
        check_frame_length("frame length", self.length)?;
        if self.hop == 0 {
            return Err(SignalError::parameter(
                "hop",
                0,
                "frames must move by at least one sample",
            ));
        }
        Ok(self)
    }

    /// The same frames without anything beyond the ends.
    #[inline]
    pub fn inside(self) -> Self {
        Self {
            padding: Padding::Inside,
            ..self
        }
    }

    /// Samples that the first frame reaches out before the signal.
    #[inline]
    pub fn left(&self) -> usize {
        match self.padding {
            Padding::Inside => 0,
            Padding::CentredZero | Padding::CentredReflect => self.length / 2,
        }
    }

    /// Number of frames of a signal of `samples` samples; none for an empty one.
    #[inline]
    pub fn count(&self, samples: usize) -> usize {
        let padded = samples + 2 * self.left();
        if samples == 0 || padded < self.length {
            0
        } else {
            1 + (padded - self.length) / self.hop
        }
    }

    /// The sample that stands at `position` of a signal of `samples` samples, or `None` for a zero.
    #[inline]
    pub fn source(&self, position: i64, samples: usize) -> Option<usize> {
        let end = samples as i64;
        if (0..end).contains(&position) {
            return Some(position as usize);
        }
        if self.padding != Padding::CentredReflect || samples == 0 {
            return None;
        }
        if samples == 1 {
            return Some(0);
        }
        // Mirrored again and again, so that a signal shorter than the frame is defined too.
        let period = 2 * (end - 1);
        let folded = position.rem_euclid(period);
        Some(folded.min(period - folded) as usize)
    }
}

/// Checks that `samples` samples can be a frame or a transform.
pub(crate) fn check_frame_length(name: &'static str, samples: usize) -> Result<()> {
    if samples > LONGEST_FRAME {
        return Err(SignalError::parameter(
            name,
            samples,
            format!(
                "a frame has at most {LONGEST_FRAME} samples; a long frame may come from a wrong sample rate"
            ),
        ));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn framing(length: usize, hop: usize, padding: Padding) -> Framing {
        Framing {
            length,
            hop,
            padding,
        }
    }

    #[test]
    fn the_number_of_frames_is_librosas() {
        let centred = framing(512, 160, Padding::CentredZero);
        assert_eq!(centred.count(16_000), 101);
        assert_eq!(centred.count(1), 1);
        assert_eq!(centred.count(0), 0);
        let inside = framing(400, 160, Padding::Inside);
        assert_eq!(inside.count(399), 0);
        assert_eq!(inside.count(400), 1);
        assert_eq!(inside.count(16_000), 98);
    }

    #[test]
    fn a_frame_that_no_memory_holds_is_refused_before_it_is_allocated() {
        let refused = framing(1 << 40, 160, Padding::Inside)
            .checked()
            .unwrap_err();
        assert!(refused.to_string().contains("at most 4194304"), "{refused}");
    }

    #[test]
    fn mirroring_does_not_repeat_the_edge_and_never_leaves_the_signal() {
        let framing = framing(8, 1, Padding::CentredReflect);
        let seen: Vec<_> = (-4..8).map(|at| framing.source(at, 4).unwrap()).collect();
        assert_eq!(seen, [2, 3, 2, 1, 0, 1, 2, 3, 2, 1, 0, 1]);
        assert_eq!(framing.source(-3, 1), Some(0));
    }
}
