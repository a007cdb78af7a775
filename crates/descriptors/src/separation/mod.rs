//! Harmonic and percussive parts of a recording (Fitzgerald, 2010; margins after Driedger, 2014), with
//! the numbers of `librosa.decompose.hpss` 0.11.
//!
//! A tone is a line along time and a click is a line along frequency. A median along time keeps the
//! first and loses the second, a median along frequency the other way round; where each of them is
//! larger, that part of the spectrum belongs to it.

mod median;
mod stream;

use warpsmith_voice::{
    Istft, Preset, Result, SignalError, Sizes, SpectrumSettings, Stage, Stft, check_room,
};

use median::{median_along_frames, median_along_rows};
pub use stream::SplitStream;

/// Longest kernel of a median.
const LONGEST_KERNEL: usize = 1001;

/// Choices of the split; the default is librosa's.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SplitSettings {
    /// Points of the transform.
    pub transform: usize,
    /// Samples between frames.
    pub hop: usize,
    /// Frames of the median along time.
    pub harmonic_kernel: usize,
    /// Bins of the median along frequency.
    pub percussive_kernel: usize,
    /// How sharply the masks decide.
    pub power: f32,
    /// How many times the other part a tone must exceed to count as harmonic.
    pub harmonic_margin: f32,
    /// How many times the other part a click must exceed to count as percussive.
    pub percussive_margin: f32,
}

impl Default for SplitSettings {
    fn default() -> Self {
        Self {
            transform: 2048,
            hop: 512,
            harmonic_kernel: 31,
            percussive_kernel: 31,
            power: 2.0,
            harmonic_margin: 1.0,
            percussive_margin: 1.0,
        }
    }
}

impl SplitSettings {
    fn checked(&self) -> Result<()> {
        for kernel in [self.harmonic_kernel, self.percussive_kernel] {
            if !(1..=LONGEST_KERNEL).contains(&kernel) {
                return Err(SignalError::parameter(
                    "median kernel",
                    kernel,
                    format!("1 to {LONGEST_KERNEL} are possible"),
                ));
            }
        }
        for margin in [self.harmonic_margin, self.percussive_margin] {
            if !(1.0..=1e6).contains(&margin) {
                return Err(SignalError::parameter(
                    "margin",
                    margin,
                    "1 to 1e6 are possible",
                ));
            }
        }
        if !(self.power > 0.0 && self.power <= 100.0) {
            return Err(SignalError::parameter(
                "mask power",
                self.power,
                "a number above 0 and up to 100 is needed",
            ));
        }
        Ok(())
    }

    /// The spectra that are split.
    pub fn spectrum(&self, sample_rate: u32) -> SpectrumSettings {
        let sizes = Sizes {
            transform: self.transform,
            hop: self.hop,
            filters: 1,
        };
        Preset::Librosa
            .feature(sample_rate, sizes, Stage::Mel)
            .spectrum
    }
}

/// The parts of a signal, each as long as it. What margins leave to neither is the rest.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Parts {
    /// Tones.
    pub harmonic: Vec<f32>,
    /// Clicks.
    pub percussive: Vec<f32>,
}

/// The shares of every bin, `[bin, frame]`, 0 to 1.
#[derive(Clone, Debug, PartialEq)]
pub struct Masks {
    /// Share of the harmonic part.
    pub harmonic: Vec<f32>,
    /// Share of the percussive part.
    pub percussive: Vec<f32>,
}

/// Splits a signal.
pub fn split(signal: &[f32], sample_rate: u32, settings: &SplitSettings) -> Result<Parts> {
    settings.checked()?;
    let spectrum = settings.spectrum(sample_rate);
    let mut stft = Stft::new(spectrum)?;
    let (bins, frames) = stft.shape(signal.len());
    // The spectrum, what becomes of it, its magnitude, two medians and two masks.
    stft.check_room(signal.len(), 9 * size_of::<f32>())?;
    check_room("the parts", 2 * signal.len(), size_of::<f32>())?;
    let mut whole = vec![[0.0f32; 2]; bins * frames];
    stft.complex(signal, &mut whole)?;
    let magnitude: Vec<f32> = whole.iter().map(|[re, im]| re.hypot(*im)).collect();
    let masks = masks(&magnitude, frames, settings)?;
    drop(magnitude);
    let mut istft = Istft::new(spectrum)?;
    let mut part = |mask: &[f32]| -> Result<Vec<f32>> {
        let masked: Vec<[f32; 2]> = whole
            .iter()
            .zip(mask)
            .map(|([re, im], share)| [re * share, im * share])
            .collect();
        let mut samples = vec![0.0f32; signal.len()];
        istft.reconstruct(&masked, &mut samples)?;
        Ok(samples)
    };
    Ok(Parts {
        harmonic: part(&masks.harmonic)?,
        percussive: part(&masks.percussive)?,
    })
}

/// Which share of every bin of a `[bin, frame]` magnitude spectrogram belongs to which part.
pub fn masks(magnitude: &[f32], frames: usize, settings: &SplitSettings) -> Result<Masks> {
    settings.checked()?;
    let bins = magnitude.len().checked_div(frames).unwrap_or(0);
    SignalError::expect_size("the spectrogram", magnitude.len(), bins * frames)?;
    let tones = median_along_frames(magnitude, frames, settings.harmonic_kernel);
    let clicks = median_along_rows(magnitude, frames, settings.percussive_kernel);
    // With margins silence belongs to neither, else to both.
    let halves = settings.harmonic_margin == 1.0 && settings.percussive_margin == 1.0;
    let silence = if halves { 0.5 } else { 0.0 };
    let mask = |ours: &[f32], others: &[f32], margin: f32| -> Vec<f32> {
        ours.iter()
            .zip(others)
            .map(|(ours, other)| share(*ours, other * margin, settings.power, silence))
            .collect()
    };
    Ok(Masks {
        harmonic: mask(&tones, &clicks, settings.harmonic_margin),
        percussive: mask(&clicks, &tones, settings.percussive_margin),
    })
}

/// `oursᵖ / (oursᵖ + otherᵖ)`, scaled first so that nothing overflows.
fn share(ours: f32, other: f32, power: f32, silence: f32) -> f32 {
    let larger = ours.max(other);
    if larger < f32::MIN_POSITIVE {
        return silence;
    }
    let raised = |value: f32| {
        let scaled = value / larger;
        if power == 2.0 {
            scaled * scaled
        } else {
            scaled.powf(power)
        }
    };
    let (ours, other) = (raised(ours), raised(other));
    ours / (ours + other)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn energy(signal: &[f32]) -> f64 {
        signal.iter().map(|x| f64::from(*x).powi(2)).sum()
    }

    #[test]
    fn a_tone_and_clicks_come_apart_and_add_up() {
        let rate = 22_050u32;
        let tone: Vec<f32> = (0..3 * rate)
            .map(|n| 0.3 * (n as f32 * std::f32::consts::TAU * 440.0 / rate as f32).sin())
            .collect();
        let mut clicks = vec![0.0f32; tone.len()];
        clicks
            .iter_mut()
            .skip(4000)
            .step_by(9000)
            .for_each(|x| *x = 0.9);
        let mix: Vec<f32> = tone.iter().zip(&clicks).map(|(a, b)| a + b).collect();
        let settings = SplitSettings::default();
        let parts = split(&mix, rate, &settings).unwrap();
        // Without margins nothing is left over.
        let sums = parts.harmonic.iter().zip(&parts.percussive);
        for (sum, whole) in sums.map(|(a, b)| a + b).zip(&mix) {
            assert!((sum - whole).abs() < 1e-5);
        }
        let left = |part: &[f32], truth: &[f32]| {
            let rest: Vec<f32> = part.iter().zip(truth).map(|(a, b)| a - b).collect();
            energy(&rest) / energy(&mix)
        };
        assert!(left(&parts.harmonic, &tone) < 0.01);
        assert!(left(&parts.percussive, &clicks) < 0.01);
        // With margins both parts become purer, and something is left to neither.
        let strict = SplitSettings {
            harmonic_margin: 3.0,
            percussive_margin: 3.0,
            ..settings
        };
        let purer = split(&mix, rate, &strict).unwrap();
        assert!(energy(&purer.percussive) < energy(&parts.percussive));
        let silent = split(&[0.0; 5000], rate, &strict).unwrap();
        assert!(silent.harmonic.iter().all(|x| *x == 0.0));
        assert!(split(&[], rate, &settings).unwrap().harmonic.is_empty());
    }

    #[test]
    fn hostile_settings_are_refused() {
        let fine = SplitSettings::default();
        let all = [
            SplitSettings {
                harmonic_kernel: 0,
                ..fine
            },
            SplitSettings {
                percussive_kernel: 1 << 40,
                ..fine
            },
            SplitSettings {
                harmonic_margin: 0.9,
                ..fine
            },
            SplitSettings {
                percussive_margin: f32::NAN,
                ..fine
            },
            SplitSettings { power: 0.0, ..fine },
            SplitSettings {
                power: f32::INFINITY,
                ..fine
            },
            SplitSettings { hop: 0, ..fine },
            SplitSettings {
                transform: 0,
                ..fine
            },
        ];
        for settings in all {
            assert!(
                split(&[0.1; 100], 16_000, &settings).is_err(),
                "{settings:?}"
            );
        }
    }
}
