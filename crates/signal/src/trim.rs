//! Where a signal begins and ends to be louder than a share of its loudest frame, as
//! `librosa.effects.trim` 0.11 finds it.

use std::ops::Range;

use crate::error::Result;
use crate::frame::{Framing, Padding};
use crate::level::{LevelStream, Levels};

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

impl TrimSettings {
    fn framing(&self) -> Framing {
        Framing {
            length: self.frame,
            hop: self.hop,
            padding: Padding::CentredZero,
        }
    }

    /// What is kept of so many samples, by the levels of their frames.
    fn kept(&self, rms: &[f32], samples: usize) -> Range<usize> {
        let power = |rms: &f32| f64::from(*rms).powi(2).max(1e-10);
        let loudest = rms.iter().map(power).fold(1e-10, f64::max);
        let bound = loudest * 10f64.powf(f64::from(-self.range_db) / 10.0);
        // A signal at librosa's floor throughout has nothing above it.
        let audible = |rms: &f32| power(rms) > bound && *rms > 0.0;
        let Some(first) = rms.iter().position(audible) else {
            return 0..0;
        };
        let last = rms.iter().rposition(audible).unwrap_or(first);
        let end = ((last + 1) * self.hop).min(samples);
        (first * self.hop).min(end)..end
    }
}

/// The samples from the first to the last frame that is not silence; empty for a silent signal.
pub fn trim(signal: &[f32], settings: TrimSettings) -> Result<Range<usize>> {
    let levels = Levels::measure(signal, settings.framing())?;
    Ok(settings.kept(&levels.rms, signal.len()))
}

/// A first look at sound that arrives in pieces: of it a level is kept to each hop.
pub struct TrimLook {
    settings: TrimSettings,
    stream: LevelStream,
    levels: Levels,
    rms: Vec<f32>,
    samples: usize,
}

impl TrimLook {
    /// Nothing heard yet.
    pub fn new(settings: TrimSettings) -> Result<Self> {
        Ok(Self {
            settings,
            stream: LevelStream::new(settings.framing())?,
            levels: Levels::default(),
            rms: Vec::new(),
            samples: 0,
        })
    }

    /// Takes the next samples.
    pub fn hear(&mut self, piece: &[f32]) {
        self.stream.process(piece, &mut self.levels);
        self.rms.extend(&std::mem::take(&mut self.levels).rms);
        self.samples += piece.len();
    }

    /// What [`trim`] keeps of the whole.
    pub fn finish(self) -> Range<usize> {
        let Self {
            settings,
            stream,
            mut levels,
            mut rms,
            samples,
        } = self;
        stream.finish(&mut levels);
        rms.extend(&levels.rms);
        settings.kept(&rms, samples)
    }
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
        for size in [1, 511, 4096] {
            let mut look = TrimLook::new(TrimSettings::default()).unwrap();
            signal.chunks(size).for_each(|piece| look.hear(piece));
            assert_eq!(look.finish(), kept);
        }
        assert_eq!(trim(&[0.0; 5000], TrimSettings::default()).unwrap(), 0..0);
        assert_eq!(trim(&[], TrimSettings::default()).unwrap(), 0..0);
        assert_eq!(trim(&[0.5; 100], TrimSettings::default()).unwrap(), 0..100);
    }
}
