//! Longer or shorter at the same pitch, by a phase vocoder with librosa's conventions.

use std::f64::consts::TAU;

use crate::error::{Result, VoiceError};
use crate::frame_spectrum::{Conditioning, SpectrumSettings};
use crate::framing::{Framing, Padding};
use crate::overlap_add::Istft;
use crate::spectrum::Stft;
use crate::window::{Symmetry, Window};

/// The spectra that a stretch goes by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StretchSettings {
    /// Points of the transform (librosa: 2048).
    pub transform: usize,
    /// Samples between frames, a quarter of the transform.
    pub hop: usize,
}

impl StretchSettings {
    /// Frames of about 64 ms, which suit voices.
    pub fn for_voice(sample_rate: u32) -> Self {
        let transform = (sample_rate as usize * 64 / 1000)
            .next_power_of_two()
            .max(64);
        Self {
            transform,
            hop: transform / 4,
        }
    }

    pub(super) fn spectrum(self) -> SpectrumSettings {
        SpectrumSettings {
            framing: Framing {
                length: self.transform,
                hop: self.hop,
                padding: Padding::CentredZero,
            },
            transform: self.transform,
            window: Window::Hann,
            window_length: self.transform,
            symmetry: Symmetry::Periodic,
            conditioning: Conditioning::default(),
        }
    }
}

/// `signal` at `rate` times its speed: 2 is half as long, and as high as before.
pub fn time_stretch(signal: &[f32], rate: f64, settings: StretchSettings) -> Result<Vec<f32>> {
    if !(rate > 0.0 && rate.is_finite()) {
        return Err(VoiceError::parameter("rate", rate, "it must be above 0"));
    }
    let spectrum = settings.spectrum();
    let mut stft = Stft::new(spectrum)?;
    let (bins, frames) = stft.shape(signal.len());
    if frames == 0 {
        return Ok(Vec::new());
    }
    let mut from = vec![[0.0f32; 2]; bins * frames];
    stft.complex(signal, &mut from)?;
    let stretched = phase_vocoder(&from, bins, rate, settings);
    let mut out = vec![0.0; (signal.len() as f64 / rate).round() as usize];
    Istft::new(spectrum)?.reconstruct(&stretched, &mut out)?;
    Ok(out)
}

/// Reads the `[bin, frame]` matrix at steps of `rate` frames: magnitudes are interpolated, phases go
/// on by what they did between the two frames that are read.
fn phase_vocoder(
    from: &[[f32; 2]],
    bins: usize,
    rate: f64,
    settings: StretchSettings,
) -> Vec<[f32; 2]> {
    let frames = from.len() / bins;
    let steps = (frames as f64 / rate).ceil() as usize;
    let mut to = vec![[0.0f32; 2]; bins * steps];
    for ((bin, from), to) in from
        .chunks_exact(frames)
        .enumerate()
        .zip(to.chunks_exact_mut(steps))
    {
        let advance = TAU * (settings.hop * bin) as f64 / settings.transform as f64;
        // Beyond the last frame there is silence.
        let at = |frame: usize| {
            let [re, im] = from.get(frame).copied().unwrap_or([0.0; 2]).map(f64::from);
            (re.hypot(im), im.atan2(re))
        };
        let mut phase = at(0).1;
        for (step, slot) in to.iter_mut().enumerate() {
            let position = step as f64 * rate;
            let frame = position as usize;
            let share = position - frame as f64;
            let ((low, low_phase), (high, high_phase)) = (at(frame), at(frame + 1));
            let magnitude = (1.0 - share) * low + share * high;
            *slot = [
                (magnitude * phase.cos()) as f32,
                (magnitude * phase.sin()) as f32,
            ];
            let beyond = high_phase - low_phase - advance;
            phase += advance + beyond - TAU * (beyond / TAU).round_ties_even();
            // Turns add nothing but rounding errors.
            phase -= TAU * (phase / TAU).floor();
        }
    }
    to
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tone(hertz: f64, samples: usize) -> Vec<f32> {
        (0..samples)
            .map(|n| (0.5 * (TAU * hertz * n as f64 / 16_000.0).sin()) as f32)
            .collect()
    }

    /// Frequency by the number of rising zero crossings between two samples.
    fn frequency(signal: &[f32]) -> f64 {
        let rising: Vec<f64> = (1..signal.len())
            .filter(|n| signal[n - 1] < 0.0 && signal[*n] >= 0.0)
            .map(|n| n as f64 - f64::from(signal[n] / (signal[n] - signal[n - 1])))
            .collect();
        16_000.0 * (rising.len() - 1) as f64 / (rising[rising.len() - 1] - rising[0])
    }

    #[test]
    fn a_stretched_tone_keeps_its_pitch_and_level() {
        let settings = StretchSettings::for_voice(16_000);
        for rate in [0.5, 0.8, 1.0, 1.37, 2.0] {
            let out = time_stretch(&tone(330.0, 32_000), rate, settings).unwrap();
            assert_eq!(out.len(), (32_000.0 / rate).round() as usize);
            let middle = &out[out.len() / 4..out.len() * 3 / 4];
            let cents = 1200.0 * (frequency(middle) / 330.0).log2();
            assert!(cents.abs() < 0.5, "rate {rate}: {cents} cents");
            // Neighbouring bins drift apart in phase, which costs a phase vocoder a decibel or so.
            let peak = middle.iter().fold(0.0f32, |peak, x| peak.max(x.abs()));
            assert!((peak - 0.5).abs() < 0.08, "rate {rate}: {peak}");
        }
    }

    #[test]
    fn the_same_speed_is_the_same_sound() {
        let signal = tone(200.0, 8000);
        let out = time_stretch(&signal, 1.0, StretchSettings::for_voice(16_000)).unwrap();
        for (a, b) in signal.iter().zip(&out) {
            assert!((a - b).abs() < 1e-5);
        }
        assert!(time_stretch(&signal, 0.0, StretchSettings::for_voice(16_000)).is_err());
        assert!(
            time_stretch(&[], 2.0, StretchSettings::for_voice(16_000))
                .unwrap()
                .is_empty()
        );
    }
}
