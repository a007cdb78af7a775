//! The frequencies that a tracker looks for, and the periods they mean.

use serde::{Deserialize, Serialize};
use warpsmith_signal::{Framing, Result, SignalError};

/// Lowest and highest frequency, Hz.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct PitchRange {
    /// The lowest frequency looked for.
    pub low_hz: f64,
    /// The highest.
    pub high_hz: f64,
}

/// Samples of the longest period that is searched for: windows hold several, and correlations of them.
const LONGEST_PERIOD: f64 = (1u32 << 18) as f64;

impl PitchRange {
    /// Speech and most singing.
    pub const VOICE: Self = Self {
        low_hz: 65.0,
        high_hz: 800.0,
    };

    /// Checks that signals at `sample_rate` can have these frequencies.
    pub(crate) fn check(&self, sample_rate: u32) -> Result<()> {
        let highest = f64::from(sample_rate) / 2.0;
        if self.low_hz > 0.0 && self.low_hz < self.high_hz && self.high_hz <= highest {
            let lowest = f64::from(sample_rate) / LONGEST_PERIOD;
            if self.low_hz >= lowest {
                return Ok(());
            }
            return Err(SignalError::parameter(
                "lowest pitch",
                format!("{} Hz", self.low_hz),
                format!(
                    "at {sample_rate} Hz it must be at least {lowest:.3} Hz: a period has at most {LONGEST_PERIOD} samples"
                ),
            ));
        }
        Err(SignalError::parameter(
            "pitch range",
            format!("{} to {} Hz", self.low_hz, self.high_hz),
            format!("0 < low < high ≤ {highest} Hz, half the sample rate, must hold"),
        ))
    }

    /// Shortest and longest period in samples, as librosa rounds them, after checking that the
    /// range and the frame can hold them.
    pub(crate) fn periods(&self, sample_rate: u32, framing: Framing) -> Result<(usize, usize)> {
        self.check(sample_rate)?;
        let rate = f64::from(sample_rate);
        let longest = (rate / self.low_hz).ceil() as usize;
        if longest + 1 >= framing.length {
            return Err(SignalError::parameter(
                "pitch range",
                format!("{} to {} Hz", self.low_hz, self.high_hz),
                format!(
                    "a period of {longest} samples does not fit into a frame of {}; use frames of at least {} samples",
                    framing.length,
                    2 * longest + 1
                ),
            ));
        }
        let shortest = (rate / self.high_hz).floor() as usize;
        Ok((shortest.max(1), longest))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use warpsmith_signal::Padding;

    #[test]
    fn a_range_that_cannot_be_searched_says_which_frame_would_do() {
        let framing = Framing {
            length: 200,
            hop: 160,
            padding: Padding::CentredZero,
        };
        let error = PitchRange::VOICE.periods(16_000, framing).unwrap_err();
        assert!(error.to_string().contains("at least 495"), "{error}");
        let upside_down = PitchRange {
            low_hz: 500.0,
            high_hz: 100.0,
        };
        assert!(upside_down.periods(16_000, framing).is_err());
        let endless = PitchRange {
            low_hz: 1e-9,
            high_hz: 100.0,
        };
        let refused = endless.check(16_000).unwrap_err();
        assert!(
            refused.to_string().contains("at least 0.061 Hz"),
            "{refused}"
        );
    }
}
