//! The key of a piece: which of the 24 major and minor keys its pitch classes fit best
//! (Krumhansl and Schmuckler).
//!
//! The power of the pitch classes over the whole recording is correlated with a profile of how much
//! listeners expect each class in a key. The tuning is estimated first, so that a piece that is not at
//! A4 = 440 Hz does not fall between two classes.

mod profiles;

use serde::Serialize;
use warpsmith_signal::{InMemory, Recording, each_frames};
use warpsmith_voice::{
    Chroma, Density, PITCH_CLASSES, Preset, Result, SignalError, Sizes, SpectrumSettings, Stage,
    estimate_tuning_of,
};

pub use profiles::Profile;

/// Names of the pitch classes.
pub const PITCH_CLASS_NAMES: [&str; PITCH_CLASSES] = [
    "C", "C#", "D", "D#", "E", "F", "F#", "G", "G#", "A", "A#", "B",
];

/// Shortest window of the spectra, seconds: it tells semitones apart from A2 on.
const WINDOW_SECONDS: f64 = 0.18;

/// Choices of the key.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct KeySettings {
    /// What a key is expected to sound like.
    pub profile: Profile,
    /// Semitones above A4 = 440 Hz; `None` estimates them.
    pub tuning: Option<f64>,
}

impl Default for KeySettings {
    fn default() -> Self {
        Self {
            profile: Profile::Temperley,
            tuning: None,
        }
    }
}

/// Major or minor.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Mode {
    /// Major.
    Major,
    /// Minor.
    Minor,
}

/// A key with how well it fits.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Key {
    /// Pitch class of the tonic; 0 is C.
    pub tonic: usize,
    /// Major or minor.
    pub mode: Mode,
    /// Correlation of the piece's classes with the key's profile, −1 to 1.
    pub correlation: f64,
}

impl Key {
    /// Such as `A minor`.
    pub fn name(&self) -> String {
        let mode = match self.mode {
            Mode::Major => "major",
            Mode::Minor => "minor",
        };
        format!("{} {mode}", PITCH_CLASS_NAMES[self.tonic])
    }
}

/// What was heard.
#[derive(Clone, Debug, PartialEq)]
pub struct KeyEstimate {
    /// All keys, the best first; empty where nothing has a pitch.
    pub keys: Vec<Key>,
    /// Semitones from A4 = 440 Hz.
    pub tuning: f64,
    /// Shares of the pitch classes, which add up to 1 where there is any.
    pub classes: [f64; PITCH_CLASSES],
}

/// The key of a signal.
pub fn find_key(signal: &[f32], sample_rate: u32, settings: &KeySettings) -> Result<KeyEstimate> {
    let recording = InMemory {
        signal,
        sample_rate,
    };
    find_key_of(&recording, settings)
}

/// The key of a recording; where the tuning is to be estimated, it is heard three times.
pub fn find_key_of(recording: &dyn Recording, settings: &KeySettings) -> Result<KeyEstimate> {
    if let Some(tuning) = settings.tuning
        && !(-12.0..=12.0).contains(&tuning)
    {
        return Err(SignalError::parameter(
            "tuning",
            tuning,
            "-12 to 12 semitones are possible",
        ));
    }
    let sample_rate = recording.sample_rate();
    let window = (WINDOW_SECONDS * f64::from(sample_rate)) as usize;
    let transform = window.next_power_of_two().max(64);
    let sizes = Sizes {
        transform,
        hop: transform / 2,
        filters: 1,
    };
    let spectrum = Preset::Librosa
        .feature(sample_rate, sizes, Stage::Mel)
        .spectrum;
    let tuning = match settings.tuning {
        Some(tuning) => tuning,
        None => estimate_tuning_of(recording, Density::Power, spectrum)?,
    };
    let framing = spectrum.framing;
    let inside = SpectrumSettings {
        framing: framing.inside(),
        ..spectrum
    };
    let mut chroma = Chroma::tuned(inside, sample_rate, tuning)?;
    let mut classes = [0.0f64; PITCH_CLASSES];
    each_frames(recording, framing, &mut |samples, frames| {
        let shares = chroma.compute(samples)?;
        for (class, row) in classes.iter_mut().zip(shares.chunks_exact(frames)) {
            *class = row
                .iter()
                .fold(*class, |sum, share| sum + f64::from(*share));
        }
        Ok(())
    })?;
    let sum: f64 = classes.iter().sum();
    if sum > 0.0 {
        classes.iter_mut().for_each(|class| *class /= sum);
    }
    Ok(KeyEstimate {
        keys: ranked(&classes, settings.profile),
        tuning,
        classes,
    })
}

/// All keys by how well they fit; none where all classes are alike.
pub fn ranked(classes: &[f64; PITCH_CLASSES], profile: Profile) -> Vec<Key> {
    let mut keys = Vec::with_capacity(2 * PITCH_CLASSES);
    for mode in [Mode::Major, Mode::Minor] {
        let expected = profile.weights(mode);
        for tonic in 0..PITCH_CLASSES {
            let mut turned = *classes;
            turned.rotate_left(tonic);
            if let Some(correlation) = correlation(&turned, &expected) {
                keys.push(Key {
                    tonic,
                    mode,
                    correlation,
                });
            }
        }
    }
    keys.sort_by(|a, b| b.correlation.total_cmp(&a.correlation));
    keys
}

/// Pearson's correlation; `None` where one of the two is constant.
fn correlation(a: &[f64; PITCH_CLASSES], b: &[f64; PITCH_CLASSES]) -> Option<f64> {
    let mean = |x: &[f64; PITCH_CLASSES]| x.iter().sum::<f64>() / PITCH_CLASSES as f64;
    let (mean_a, mean_b) = (mean(a), mean(b));
    let (mut both, mut of_a, mut of_b) = (0.0, 0.0, 0.0);
    for (a, b) in a.iter().zip(b) {
        let (a, b) = (a - mean_a, b - mean_b);
        both += a * b;
        of_a += a * a;
        of_b += b * b;
    }
    let scale = (of_a * of_b).sqrt();
    (scale > 1e-30).then(|| both / scale)
}

#[cfg(test)]
mod tests;
