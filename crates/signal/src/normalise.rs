//! One gain for all channels, so that a signal has a wanted level.

use serde::{Deserialize, Serialize};

use crate::audio::Audio;
use crate::error::{Result, SignalError};
use crate::loudness::{IntegratedMeter, SILENCE_LUFS};

/// What level is wanted.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum LevelTarget {
    /// Largest magnitude of all channels, dBFS.
    Peak(f64),
    /// Root of the mean square over all channels, dBFS.
    Rms(f64),
    /// Integrated loudness, LUFS.
    Lufs(f64),
}

/// Measures sound that arrives in pieces for a level that is wanted; any cutting gives the same bits.
pub struct GainMeter {
    target: LevelTarget,
    found: Found,
}

/// What has been measured.
enum Found {
    Peak(f64),
    /// Sums of the squares of each channel, and samples of all.
    Rms(Vec<f64>, usize),
    Lufs(IntegratedMeter),
}

impl GainMeter {
    /// A meter for all channels together.
    pub fn new(target: LevelTarget, sample_rate: u32, channels: usize) -> Self {
        let found = match target {
            LevelTarget::Peak(_) => Found::Peak(0.0),
            LevelTarget::Rms(_) => Found::Rms(vec![0.0; channels], 0),
            LevelTarget::Lufs(_) => Found::Lufs(IntegratedMeter::new(sample_rate, channels)),
        };
        Self { target, found }
    }

    /// Takes the next samples of each channel.
    pub fn push(&mut self, channels: &[&[f32]]) {
        match &mut self.found {
            Found::Peak(peak) => {
                let samples = channels.iter().copied().flatten();
                *peak = samples.fold(*peak, |peak, x| peak.max(f64::from(*x).abs()));
            }
            Found::Rms(sums, count) => {
                for (sum, channel) in sums.iter_mut().zip(channels) {
                    *sum = channel
                        .iter()
                        .fold(*sum, |sum, x| sum + f64::from(*x).powi(2));
                    *count += channel.len();
                }
            }
            Found::Lufs(meter) => meter.push(channels),
        }
    }

    /// The gain that brings what was heard to the target, dB. Silence is an error: no gain makes it louder.
    pub fn finish(self) -> Result<f64> {
        let decibels = |amplitude: f64| 20.0 * amplitude.log10();
        let found = match self.found {
            Found::Peak(peak) => decibels(peak),
            Found::Rms(sums, count) => {
                decibels((sums.iter().sum::<f64>() / count.max(1) as f64).sqrt())
            }
            Found::Lufs(meter) => {
                let found = meter.finish()?;
                let silent = found <= SILENCE_LUFS;
                if silent { f64::NEG_INFINITY } else { found }
            }
        };
        let (LevelTarget::Peak(wanted) | LevelTarget::Rms(wanted) | LevelTarget::Lufs(wanted)) =
            self.target;
        let gain = wanted - found;
        if !gain.is_finite() {
            return Err(SignalError::parameter(
                "level",
                found,
                format!("a signal without sound cannot be brought to {wanted}"),
            ));
        }
        Ok(gain)
    }
}

/// Makes a sound louder by so many dB.
pub fn amplify(audio: &mut Audio, gain_db: f64) {
    let factor = 10f64.powf(gain_db / 20.0);
    for x in audio.channels.iter_mut().flatten() {
        *x = (f64::from(*x) * factor) as f32;
    }
}

/// Scales `audio` to the target; returns the gain in dB. Silence is an error: no gain makes it louder.
pub fn normalise(audio: &mut Audio, target: LevelTarget) -> Result<f64> {
    let mut meter = GainMeter::new(target, audio.sample_rate, audio.channels.len());
    let channels: Vec<&[f32]> = audio.channels.iter().map(Vec::as_slice).collect();
    meter.push(&channels);
    let gain = meter.finish()?;
    amplify(audio, gain);
    Ok(gain)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::loudness::integrated_loudness;

    #[test]
    fn every_target_is_met_and_silence_is_an_error() {
        let tone: Vec<f32> = (0..48_000).map(|n| 0.1 * (n as f32 * 0.13).sin()).collect();
        let audio = Audio {
            sample_rate: 48_000,
            channels: vec![tone.clone(), tone],
        };
        let mut peak = audio.clone();
        normalise(&mut peak, LevelTarget::Peak(-1.0)).unwrap();
        let largest = peak.channels[0].iter().fold(0.0f32, |p, x| p.max(x.abs()));
        assert!((20.0 * largest.log10() + 1.0).abs() < 1e-4);
        let mut rms = audio.clone();
        normalise(&mut rms, LevelTarget::Rms(-20.0)).unwrap();
        let squares: f32 = rms.channels[0].iter().map(|x| x * x).sum();
        assert!((10.0 * (squares / 48_000.0).log10() + 20.0).abs() < 1e-3);
        let mut loud = audio;
        normalise(&mut loud, LevelTarget::Lufs(-16.0)).unwrap();
        assert!((integrated_loudness(&loud).unwrap() + 16.0).abs() < 1e-3);
        // However it is cut.
        for target in [
            LevelTarget::Peak(-1.0),
            LevelTarget::Rms(-20.0),
            LevelTarget::Lufs(-16.0),
        ] {
            let mut whole = GainMeter::new(target, 48_000, 2);
            whole.push(&[&loud.channels[0], &loud.channels[1]]);
            let mut pieces = GainMeter::new(target, 48_000, 2);
            for piece in loud.channels[0].chunks(777) {
                pieces.push(&[piece, piece]);
            }
            assert_eq!(whole.finish().unwrap(), pieces.finish().unwrap());
        }
        let mut silence = Audio {
            sample_rate: 48_000,
            channels: vec![vec![0.0; 48_000]],
        };
        for target in [
            LevelTarget::Peak(0.0),
            LevelTarget::Rms(0.0),
            LevelTarget::Lufs(-20.0),
        ] {
            assert!(normalise(&mut silence, target).is_err());
        }
    }
}
