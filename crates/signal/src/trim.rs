//! Where a signal begins and ends to be louder than a share of its loudest frame, as
//! `librosa.effects.trim` 0.11 finds it.

use std::ops::Range;

use crate::error::Result;
use crate::frame::{Framing, Padding};
use crate::level::Levels;

/// The choices of a trim; the default is librosa's.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TrimSettings {
    /// Frames further below the loudest than this are silence, dB.
    pub range_db: f32,
    /// Samples in a frame.
    pub frame: usize,
    /// Samples between frames.
    pub hop: usize,
}

impl Default for TrimSettings {
    fn default() -> Self {
        Self {
            range_db: 60.0,
            frame: 2048,
            hop: 512,
        }
    }
}

/// The samples from the first to the last frame that is not silence; empty for a silent signal.
pub fn trim(signal: &[f32], settings: TrimSettings) -> Result<Range<usize>> {
    let framing = Framing {
        length: settings.frame,
        hop: settings.hop,
        padding: Padding::CentredZero,
    };
    let levels = Levels::measure(signal, framing)?;
    let power = |rms: &f32| f64::from(*rms).powi(2).max(1e-10);
    let loudest = levels.rms.iter().map(power).fold(1e-10, f64::max);
    let bound = loudest * 10f64.powf(f64::from(-settings.range_db) / 10.0);
    // A signal at librosa's floor throughout has nothing above it.
    let audible = |rms: &f32| power(rms) > bound && *rms > 0.0;
    let Some(first) = levels.rms.iter().position(audible) else {
        return Ok(0..0);
    };
    let last = levels.rms.iter().rposition(audible).unwrap_or(first);
    let end = ((last + 1) * settings.hop).min(signal.len());
    Ok((first * settings.hop).min(end)..end)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_loud_middle_stays_and_silence_goes() {
        let mut signal = vec![0.0f32; 30_000];
        for (n, x) in signal[10_240..20_480].iter_mut().enumerate() {
            *x = 0.5 * (n as f32 * 0.2).sin();
        }
        let kept = trim(&signal, TrimSettings::default()).unwrap();
        // A frame reaches 1024 samples ahead: the first with sound is centred at 19·512.
        assert_eq!(kept, 9728..21_504);
        assert_eq!(trim(&[0.0; 5000], TrimSettings::default()).unwrap(), 0..0);
        assert_eq!(trim(&[], TrimSettings::default()).unwrap(), 0..0);
        assert_eq!(trim(&[0.5; 100], TrimSettings::default()).unwrap(), 0..100);
    }
}
