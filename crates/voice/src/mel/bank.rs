//! Triangular filters on a mel axis, as sparse rows over the bins of a spectrum.
//!
//! Invariant: the weights are computed in f64 and rounded once; a row stores its first bin and its
//! non-zero weights only.

use serde::{Deserialize, Serialize};
use warpsmith_signal::{Result, SignalError};

/// `2595 / ln 10`.
const HTK_MELS: f64 = 2595.0 / std::f64::consts::LN_10;

/// Filters of the largest bank: far more than any transform has bins for.
const MOST_FILTERS: usize = 1 << 16;

/// Which curve maps hertz to mel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum MelScale {
    /// Slaney's Auditory Toolbox: linear to 1 kHz, logarithmic above (librosa's default).
    Slaney,
    /// `2595·log10(1 + f/700)` (HTK, torchaudio's default).
    Htk,
}

/// What a filter's weights are divided by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum MelNorm {
    /// Nothing: each triangle peaks at one.
    Peak,
    /// Half the triangle's width in hertz: each triangle has unit area.
    Area,
}

/// On which axis the triangles are straight.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum MelSlope {
    /// On the hertz axis (librosa, torchaudio).
    Hertz,
    /// On the mel axis, without the bin at half the sample rate (Kaldi, HTK).
    Mel,
}

/// A bank of mel filters.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct MelSettings {
    /// Number of filters.
    pub filters: usize,
    /// Lower edge of the first filter, Hz.
    pub low_hz: f64,
    /// Upper edge of the last filter, Hz; half the sample rate where absent.
    pub high_hz: Option<f64>,
    /// The mel curve.
    pub scale: MelScale,
    /// What weights are divided by.
    pub norm: MelNorm,
    /// The axis on which triangles are straight.
    pub slope: MelSlope,
}

impl MelScale {
    /// Mels of a frequency.
    pub fn mel(self, hertz: f64) -> f64 {
        match self {
            Self::Htk => HTK_MELS * (hertz / 700.0).ln_1p(),
            Self::Slaney => {
                if hertz < 1000.0 {
                    hertz * 3.0 / 200.0
                } else {
                    15.0 + (hertz / 1000.0).ln() / (6.4f64.ln() / 27.0)
                }
            }
        }
    }

    /// The frequency of a number of mels.
    pub fn hertz(self, mel: f64) -> f64 {
        match self {
            Self::Htk => 700.0 * (mel / HTK_MELS).exp_m1(),
            Self::Slaney => {
                if mel < 15.0 {
                    mel * 200.0 / 3.0
                } else {
                    1000.0 * ((mel - 15.0) * (6.4f64.ln() / 27.0)).exp()
                }
            }
        }
    }
}

/// One filter: the weights of the bins from `first` on.
#[derive(Clone, Debug, PartialEq)]
pub struct MelFilter {
    /// First bin with a weight.
    pub first: usize,
    /// The weights; empty where no bin lies inside the triangle.
    pub weights: Vec<f32>,
}

/// The filters of a bank, lowest first.
#[derive(Clone, Debug, PartialEq)]
pub struct MelBank {
    filters: Vec<MelFilter>,
    bins: usize,
}

impl MelBank {
    /// The bank of `settings` over a transform of `transform` points at `sample_rate`.
    pub fn new(settings: &MelSettings, sample_rate: u32, transform: usize) -> Result<Self> {
        let nyquist = f64::from(sample_rate) / 2.0;
        let high_hz = settings.high_hz.unwrap_or(nyquist);
        if settings.filters == 0 || settings.filters > MOST_FILTERS {
            return Err(SignalError::parameter(
                "mel filters",
                settings.filters,
                format!("1 to {MOST_FILTERS} are possible"),
            ));
        }
        if !(settings.low_hz >= 0.0 && settings.low_hz < high_hz && high_hz <= nyquist) {
            return Err(SignalError::parameter(
                "mel range",
                format!("{} to {high_hz} Hz", settings.low_hz),
                format!("0 ≤ low < high ≤ {nyquist} Hz, half the sample rate, must hold"),
            ));
        }
        let bins = transform / 2 + 1;
        let scale = settings.scale;
        let (low, high) = (scale.mel(settings.low_hz), scale.mel(high_hz));
        let step = (high - low) / (settings.filters + 1) as f64;
        let mel_edge = |at: usize| low + step * at as f64;
        let bin_hz = |bin: usize| bin as f64 * f64::from(sample_rate) / transform as f64;
        let filters = (0..settings.filters)
            .map(|filter| {
                let mels = [mel_edge(filter), mel_edge(filter + 1), mel_edge(filter + 2)];
                let hz = mels.map(|mel| scale.hertz(mel));
                let gain = match settings.norm {
                    MelNorm::Peak => 1.0,
                    MelNorm::Area => 2.0 / (hz[2] - hz[0]),
                };
                let weight = |bin: usize| {
                    let ([left, centre, right], at) = match settings.slope {
                        MelSlope::Hertz => (hz, bin_hz(bin)),
                        MelSlope::Mel if bin + 1 == bins && transform.is_multiple_of(2) => {
                            return 0.0;
                        }
                        MelSlope::Mel => (mels, scale.mel(bin_hz(bin))),
                    };
                    let rise = (at - left) / (centre - left);
                    let fall = (right - at) / (right - centre);
                    (rise.min(fall).max(0.0) * gain) as f32
                };
                let first = (0..bins).find(|&bin| weight(bin) > 0.0).unwrap_or(0);
                let weights = (first..bins)
                    .map(weight)
                    .take_while(|weight| *weight > 0.0)
                    .collect();
                MelFilter { first, weights }
            })
            .collect();
        Ok(Self { filters, bins })
    }

    /// The filters, lowest first.
    pub fn filters(&self) -> &[MelFilter] {
        &self.filters
    }

    /// Bins of the spectrum that the bank is made for.
    pub fn bins(&self) -> usize {
        self.bins
    }

    /// Filters without a bin: their output is always zero, which is rarely what was meant.
    pub fn empty_filters(&self) -> usize {
        self.filters
            .iter()
            .filter(|filter| filter.weights.is_empty())
            .count()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mel_curves_invert() {
        for scale in [MelScale::Slaney, MelScale::Htk] {
            for hz in [0.0, 20.0, 440.0, 999.9, 1000.0, 4000.0, 22_050.0] {
                assert!((scale.hertz(scale.mel(hz)) - hz).abs() < 1e-8 * (1.0 + hz));
            }
        }
        assert!((MelScale::Htk.mel(1000.0) - 999.985_537).abs() < 1e-4);
        assert!((MelScale::Slaney.mel(1000.0) - 15.0).abs() < 1e-12);
    }

    #[test]
    fn too_many_filters_are_counted_and_a_bad_range_is_an_error() {
        let mut settings = MelSettings {
            filters: 128,
            low_hz: 0.0,
            high_hz: None,
            scale: MelScale::Htk,
            norm: MelNorm::Peak,
            slope: MelSlope::Hertz,
        };
        assert!(
            MelBank::new(&settings, 16_000, 400)
                .unwrap()
                .empty_filters()
                > 0
        );
        settings.filters = 40;
        assert_eq!(
            MelBank::new(&settings, 16_000, 512)
                .unwrap()
                .empty_filters(),
            0
        );
        settings.filters = 1_000_000_000;
        let refused = MelBank::new(&settings, 16_000, 512).unwrap_err();
        assert!(refused.to_string().contains("1 to 65536"), "{refused}");
        settings.filters = 40;
        settings.high_hz = Some(9000.0);
        assert!(MelBank::new(&settings, 16_000, 512).is_err());
        settings.high_hz = Some(0.0);
        assert!(MelBank::new(&settings, 16_000, 512).is_err());
    }
}
