//! Higher or lower at the same speed: stretched, then resampled to the old length.

use warpsmith_signal::{Quality, Resampler, Result, SignalError};

use super::time_stretch::{StretchSettings, time_stretch};

/// Largest part of the fraction that stands for a frequency ratio: good to 3e-5, or 0.05 cents.
const LARGEST_PART: u32 = 2000;

/// `signal`, `semitones` higher; as long as before.
pub fn pitch_shift(signal: &[f32], semitones: f64, settings: StretchSettings) -> Result<Vec<f32>> {
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
    let stretched = time_stretch(signal, 1.0 / exact, settings)?;
    let mut shifted = Resampler::new(up, down, Quality::High)?.process(&stretched);
    shifted.resize(signal.len(), 0.0);
    Ok(shifted)
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
    use crate::pitch::{PitchRange, Yin};
    use warpsmith_signal::{Framing, Padding};

    #[test]
    fn a_shifted_tone_is_within_a_cent_of_where_it_should_be() {
        let rate = 16_000;
        let signal: Vec<f32> = (0..32_000)
            .map(|n| {
                let phase = std::f64::consts::TAU * 220.0 * f64::from(n) / 16_000.0;
                (1..6)
                    .map(|k| 0.2 * (f64::from(k) * phase).sin() / f64::from(k))
                    .sum::<f64>() as f32
            })
            .collect();
        for semitones in [-7.0, -1.0, 0.5, 3.0, 12.0] {
            let out = pitch_shift(&signal, semitones, StretchSettings::for_voice(rate)).unwrap();
            assert_eq!(out.len(), signal.len());
            let framing = Framing {
                length: 2048,
                hop: 160,
                padding: Padding::Inside,
            };
            let track = Yin::new(rate, framing, PitchRange::VOICE, 0.1)
                .unwrap()
                .track(&out[8000..24_000])
                .unwrap();
            let mut cents: Vec<f64> = track
                .iter()
                .map(|hz| 1200.0 * (f64::from(*hz) / 220.0).log2() - 100.0 * semitones)
                .collect();
            cents.sort_unstable_by(f64::total_cmp);
            let median = cents[cents.len() / 2];
            assert!(median.abs() < 1.0, "{semitones}: {median} cents");
        }
        assert!(pitch_shift(&signal, f64::NAN, StretchSettings::for_voice(rate)).is_err());
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
