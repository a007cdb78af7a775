//! One gain for all channels, so that a signal has a wanted level.

use serde::{Deserialize, Serialize};

use crate::audio::Audio;
use crate::error::{Result, SignalError};
use crate::loudness::{SILENCE_LUFS, integrated_loudness};

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

/// Scales `audio` to the target; returns the gain in dB. Silence is an error: no gain makes it louder.
pub fn normalise(audio: &mut Audio, target: LevelTarget) -> Result<f64> {
    let samples = || audio.channels.iter().flatten().map(|x| f64::from(*x));
    let decibels = |amplitude: f64| 20.0 * amplitude.log10();
    let (found, wanted) = match target {
        LevelTarget::Peak(wanted) => {
            let peak = samples().fold(0.0f64, |peak, x| peak.max(x.abs()));
            (decibels(peak), wanted)
        }
        LevelTarget::Rms(wanted) => {
            let squares: f64 = samples().map(|x| x * x).sum();
            let count = (audio.frames() * audio.channels.len()).max(1);
            (decibels((squares / count as f64).sqrt()), wanted)
        }
        LevelTarget::Lufs(wanted) => {
            let found = integrated_loudness(audio)?;
            let silent = found <= SILENCE_LUFS;
            (if silent { f64::NEG_INFINITY } else { found }, wanted)
        }
    };
    let gain = wanted - found;
    if !gain.is_finite() {
        return Err(SignalError::parameter(
            "level",
            found,
            format!("a signal without sound cannot be brought to {wanted}"),
        ));
    }
    let factor = 10f64.powf(gain / 20.0);
    for x in audio.channels.iter_mut().flatten() {
        *x = (f64::from(*x) * factor) as f32;
    }
    Ok(gain)
}

#[cfg(test)]
mod tests {
    use super::*;

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
