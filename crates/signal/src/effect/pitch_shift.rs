//! Higher or lower at the same speed: stretched, then resampled to the old length.

use crate::{Quality, ResampleStream, Resampler, Result, SignalError};

use super::time_stretch::{StretchSettings, TimeStretchStream};

/// Largest part of the fraction that stands for a frequency ratio: good to 3e-5, or 0.05 cents.
const LARGEST_PART: u32 = 2000;

/// `signal`, `semitones` higher; as long as before.
pub fn pitch_shift(signal: &[f32], semitones: f64, settings: StretchSettings) -> Result<Vec<f32>> {
    let mut stream = PitchShiftStream::new(signal.len(), semitones, settings)?;
    let mut out = Vec::with_capacity(signal.len());
    for piece in signal.chunks(1 << 14) {
        stream.process(piece, &mut out);
    }
    stream.finish(&mut out);
    Ok(out)
}

/// [`pitch_shift`] of a signal that arrives in pieces: any cutting gives the bits of the whole.
pub struct PitchShiftStream {
    /// Samples that are still to be written.
    left: usize,
    stretch: TimeStretchStream,
    resample: ResampleStream,
    stretched: Vec<f32>,
}

impl PitchShiftStream {
    /// For a signal of `samples` samples.
    pub fn new(samples: usize, semitones: f64, settings: StretchSettings) -> Result<Self> {
        if semitones.is_nan() || semitones.abs() > 48.0 {
            return Err(SignalError::parameter(
                "semitones",
                semitones,
                "shifts go from -48 to 48",
            ));
        }
        let ratio = (semitones / 12.0).exp2();
        let (up, down) = fraction(ratio, LARGEST_PART);
        // Slower by as much as the resampling makes it faster.
        let exact = f64::from(up) / f64::from(down);
        let resampler = Resampler::new(up, down, Quality::High)?;
        Ok(Self {
            left: samples,
            stretch: TimeStretchStream::new(samples, 1.0 / exact, settings)?,
            resample: ResampleStream::new(resampler),
            stretched: Vec::new(),
        })
    }

    /// Takes the next samples; appends what they complete.
    pub fn process(&mut self, chunk: &[f32], out: &mut Vec<f32>) {
        self.stretch.process(chunk, &mut self.stretched);
        let at = out.len();
        self.resample.process(&self.stretched, out);
        self.stretched.clear();
        out.truncate(at + self.left);
        self.left -= out.len() - at;
    }

    /// Ends the signal; appends what is left.
    pub fn finish(self, out: &mut Vec<f32>) {
        let Self {
            left,
            stretch,
            mut resample,
            mut stretched,
        } = self;
        let at = out.len();
        stretch.finish(&mut stretched);
        resample.process(&stretched, out);
        resample.finish(out);
        out.resize(at + left, 0.0);
    }
}

/// The best fraction for `value` with parts up to `largest`, by continued fractions.
fn fraction(value: f64, largest: u32) -> (u32, u32) {
    let (mut before, mut best) = ((0u64, 1u64), (1u64, 0u64));
    let mut rest = value;
    loop {
        let whole = rest.floor();
        let next = (
            whole as u64 * best.0 + before.0,
            whole as u64 * best.1 + before.1,
        );
        if next.0.max(next.1) > u64::from(largest) {
            break;
        }
        (before, best) = (best, next);
        let part = rest - whole;
        if part < 1e-9 {
            break;
        }
        rest = 1.0 / part;
    }
    (best.0.max(1) as u32, best.1.max(1) as u32)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_cutting_gives_the_bits_of_the_whole() {
        let settings = StretchSettings::for_voice(16_000);
        let signal: Vec<f32> = (0..20_011).map(|n| 0.4 * (n as f32 * 0.21).sin()).collect();
        for semitones in [-5.5, 0.0, 4.0] {
            let whole = pitch_shift(&signal, semitones, settings).unwrap();
            assert_eq!(whole.len(), signal.len());
            for size in [1, 777, 65_536] {
                let mut stream = PitchShiftStream::new(signal.len(), semitones, settings).unwrap();
                let mut out = Vec::new();
                for chunk in signal.chunks(size) {
                    stream.process(chunk, &mut out);
                }
                stream.finish(&mut out);
                assert_eq!(out, whole, "{semitones} in chunks of {size}");
            }
        }
    }

    #[test]
    fn fractions_are_close() {
        for semitones in -24..=24 {
            let value = (f64::from(semitones) / 12.0).exp2();
            let (a, b) = fraction(value, 2000);
            assert!(
                (f64::from(a) / f64::from(b) / value - 1.0).abs() < 3e-5,
                "{semitones}"
            );
        }
        assert_eq!(fraction(1.0, 2000), (1, 1));
        assert_eq!(fraction(0.5, 2000), (1, 2));
    }
}
