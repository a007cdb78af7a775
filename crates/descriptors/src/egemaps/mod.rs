//! Eighty-eight numbers that describe a voice, with the names and definitions of eGeMAPSv02 (Eyben et al.,
//! 2016, *The Geneva Minimalistic Acoustic Parameter Set*) and openSMILE's units.
//!
//! Loudness, the spectrum's balance, flux and cepstra repeat openSMILE's numbers. What stands on the pitch
//! uses Praat's autocorrelation instead of openSMILE's subharmonic summation, formants are Burg's, and
//! jitter and shimmer are of glottal pulses: those numbers are of the same kind and differ.

mod contour;
mod functionals;
mod names;
mod spectral;
mod voiced;

use warpsmith_voice::signal::{Quality, Resampler};
use warpsmith_voice::{Result, SignalError, check_room};

use contour::{smooth, smooth_present};
use functionals::{moments, percentiles, present, runs, slopes, tops_per_second};
use spectral::Spectral;
use voiced::Voiced;

pub use names::NAMES;

/// The rate that the set is computed at, Hz.
pub const RATE: u32 = 16_000;
/// Features of a recording.
pub const FEATURES: usize = NAMES.len();
/// The shortest recording: one frame of the pitch and a neighbour for its smoothing.
const SHORTEST: usize = 1280;

/// The features of a signal in the order of [`NAMES`]; sound of another rate than [`RATE`] is resampled.
pub fn summarise(signal: &[f32], sample_rate: u32) -> Result<Vec<f64>> {
    if sample_rate != RATE {
        let resampler = Resampler::new(sample_rate, RATE, Quality::High)?;
        let samples = resampler.output_length(signal.len());
        check_room("the resampled signal", samples, size_of::<f32>())?;
        return summarise(&resampler.process(signal), RATE);
    }
    if signal.len() < SHORTEST {
        return Err(SignalError::parameter(
            "length",
            format!("{} samples", signal.len()),
            "the set needs 80 ms of sound",
        ));
    }
    let spectral = Spectral::of(signal);
    let voiced = Voiced::of(signal)?;
    Ok(Features::of(&spectral, &voiced))
}

/// Features in their order.
struct Features(Vec<f64>);

impl Features {
    fn of(spectral: &Spectral, voiced: &Voiced) -> Vec<f64> {
        let mut all = Self(Vec::with_capacity(FEATURES));
        let pitch = smooth_present(&voiced.semitones);
        let heard = present(&pitch);
        all.shape(&heard);
        let loudness = smooth(&spectral.loudness);
        all.shape(&loudness);
        let [c1, c2, c3, c4] = &spectral.cepstra;
        for contour in [&spectral.flux, c1, c2, c3, c4] {
            all.extend(moments(&smooth(contour)));
        }
        for contour in [
            &voiced.jitter,
            &voiced.shimmer,
            &voiced.harmonicity,
            &voiced.first_to_second,
            &voiced.first_to_third_formant,
        ] {
            all.present(contour);
        }
        for contour in voiced.formants.iter().flatten() {
            all.present(contour);
        }
        let is_voiced = |n: usize| voiced.semitones.get(n).map(|tone| *tone > 0.0);
        let only = |contour: &[f64], wanted: bool| -> Vec<f64> {
            let chosen = contour.iter().enumerate();
            chosen
                .map(|(n, value)| match is_voiced(n) {
                    Some(voiced) if voiced == wanted => *value,
                    _ => 0.0,
                })
                .collect()
        };
        let [low_slope, high_slope] = &spectral.slopes;
        let balance = [
            &spectral.alpha_ratio,
            &spectral.hammarberg,
            low_slope,
            high_slope,
            &spectral.flux,
        ];
        for contour in balance.into_iter().chain([c1, c2, c3, c4]) {
            all.present(&only(contour, true));
        }
        for contour in balance {
            let unvoiced = present(&smooth_present(&only(contour, false)));
            all.extend([moments(&unvoiced)[0]]);
        }
        all.extend([tops_per_second(&loudness)]);
        all.extend(runs(&pitch, |tone| tone > 0.0));
        let [_, mean, deviation] = runs(&pitch, |tone| tone == 0.0);
        all.extend([mean, deviation]);
        all.extend([10.0 * spectral.mean_square.max(1e-20).log10()]);
        all.0
    }

    fn extend<const N: usize>(&mut self, values: [f64; N]) {
        self.0.extend(values);
    }

    /// Moments of what is there of a contour.
    fn present(&mut self, contour: &[f64]) {
        self.extend(moments(&present(&smooth_present(contour))));
    }

    /// Moments, percentiles and slopes.
    fn shape(&mut self, contour: &[f64]) {
        self.extend(moments(contour));
        self.extend(percentiles(contour));
        self.extend(slopes(contour));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn voice(seconds: f64, hertz: f64, rate: u32) -> Vec<f32> {
        (0..(seconds * f64::from(rate)) as usize)
            .map(|n| {
                let t = n as f64 / f64::from(rate);
                let phase = std::f64::consts::TAU * hertz * t;
                let sum: f64 = (1..20)
                    .map(|k| (f64::from(k) * phase).sin() / f64::from(k))
                    .sum();
                // Half a second of voice, half a second of almost nothing.
                let on = if t.fract() < 0.5 { 0.2 } else { 0.0001 };
                (on * sum) as f32
            })
            .collect()
    }

    fn of(features: &[f64], name: &str) -> f64 {
        features[NAMES.iter().position(|known| *known == name).unwrap()]
    }

    #[test]
    fn a_tone_of_known_pitch_is_described_by_name() {
        let features = summarise(&voice(4.0, 110.0, RATE), RATE).unwrap();
        assert_eq!(features.len(), 88);
        assert!(features.iter().all(|value| value.is_finite()));
        let tone = of(&features, "F0semitoneFrom27.5Hz_sma3nz_amean");
        assert!((tone - 24.0).abs() < 0.1, "{tone}");
        let runs = of(&features, "VoicedSegmentsPerSec");
        assert!((0.75..=1.1).contains(&runs), "{runs}");
        let steady = of(&features, "jitterLocal_sma3nz_amean");
        assert!(steady < 0.01, "{steady}");
        assert!(of(&features, "HNRdBACF_sma3nz_amean") > 5.0);
        // Twice as loud is 6 dB more.
        let louder: Vec<f32> = voice(4.0, 110.0, RATE).iter().map(|x| 2.0 * x).collect();
        let louder = summarise(&louder, RATE).unwrap();
        let name = "equivalentSoundLevel_dBp";
        assert!((of(&louder, name) - of(&features, name) - 6.0206).abs() < 1e-3);
    }

    #[test]
    fn another_rate_is_resampled_and_silence_is_finite() {
        let at_44 = summarise(&voice(3.0, 200.0, 44_100), 44_100).unwrap();
        let at_16 = summarise(&voice(3.0, 200.0, RATE), RATE).unwrap();
        for name in [
            "F0semitoneFrom27.5Hz_sma3nz_amean",
            "loudness_sma3_percentile80.0",
            "equivalentSoundLevel_dBp",
        ] {
            let (a, b) = (of(&at_44, name), of(&at_16, name));
            assert!((a / b - 1.0).abs() < 0.03, "{name}: {a}, {b}");
        }
        let silent = summarise(&[0.0; 16_000], RATE).unwrap();
        assert!(silent.iter().all(|value| value.is_finite()), "{silent:?}");
        let short = summarise(&[0.0; 500], RATE).unwrap_err().to_string();
        assert!(short.contains("80 ms"), "{short}");
    }
}
