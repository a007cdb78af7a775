//! What a mel feature is: every choice between samples and numbers, as plain data.

use serde::{Deserialize, Serialize};
use warpsmith_signal::{Result, SignalError, SpectrumSettings};

use super::bank::MelSettings;

/// What is done to a mel power.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Compression {
    /// Nothing.
    None,
    /// `10·log10(max(x, floor))`.
    Decibel {
        /// Powers below count as this.
        floor: f32,
    },
    /// `ln(max(x, floor))`.
    NaturalLog {
        /// Powers below count as this.
        floor: f32,
    },
    /// `log10(max(x, floor))`.
    CommonLog {
        /// Powers below count as this.
        floor: f32,
    },
}

impl Compression {
    /// The logarithm's factor and floor, or `None` where there is no logarithm.
    pub(crate) fn logarithm(self) -> Option<(f32, f32)> {
        let per_decade = std::f64::consts::LOG10_E;
        match self {
            Self::None => None,
            Self::Decibel { floor } => Some(((10.0 * per_decade) as f32, floor)),
            Self::NaturalLog { floor } => Some((1.0, floor)),
            Self::CommonLog { floor } => Some((per_decade as f32, floor)),
        }
    }
}

/// How cepstral coefficients are weighted.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Lifter {
    /// Not at all.
    None,
    /// `1 + L/2·sin(π(k+1)/L)` for coefficient `k` (librosa).
    FromOne {
        /// L.
        length: f64,
    },
    /// `1 + L/2·sin(πk/L)` for coefficient `k` (Kaldi, HTK).
    FromZero {
        /// L.
        length: f64,
    },
}

/// Cepstral coefficients: an orthonormal DCT-II of the compressed mel powers.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct CepstrumSettings {
    /// How many coefficients are kept.
    pub coefficients: usize,
    /// Their weights.
    pub lifter: Lifter,
}

/// How the numbers lie in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Layout {
    /// `[row, frame]`: librosa and torchaudio.
    RowsFirst,
    /// `[frame, row]`: Kaldi.
    FramesFirst,
}

/// A mel feature, from samples to numbers.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct FeatureSettings {
    /// Samples per second.
    pub sample_rate: u32,
    /// What samples are multiplied with first: 32768 for peers that expect 16-bit integers.
    pub gain: f32,
    /// The spectra.
    pub spectrum: SpectrumSettings,
    /// The filters over `|X|²`.
    pub mel: MelSettings,
    /// What becomes of a mel power.
    pub compression: Compression,
    /// Values further below the *signal's* largest than this are raised to that distance. This looks
    /// at the whole signal: streams cannot have it.
    pub dynamic_range: Option<f32>,
    /// `(factor, offset)` applied last.
    pub scale: (f32, f32),
    /// Cepstral coefficients in place of mel powers.
    pub cepstrum: Option<CepstrumSettings>,
    /// Whether the last frame is left out, as Whisper does.
    pub drop_last_frame: bool,
    /// How the numbers lie in memory.
    pub layout: Layout,
}

impl FeatureSettings {
    /// Rows: mel filters or cepstral coefficients.
    pub fn rows(&self) -> usize {
        self.cepstrum
            .map_or(self.mel.filters, |cepstrum| cepstrum.coefficients)
    }

    /// Frames of a signal of `samples` samples.
    pub fn frames(&self, samples: usize) -> usize {
        let frames = self.spectrum.framing.count(samples);
        frames.saturating_sub(usize::from(self.drop_last_frame))
    }

    /// Checks what can be checked without a signal.
    pub fn checked(self) -> Result<Self> {
        self.spectrum.checked()?;
        if let Some(cepstrum) = self.cepstrum
            && (cepstrum.coefficients == 0 || cepstrum.coefficients > self.mel.filters)
        {
            return Err(SignalError::parameter(
                "cepstral coefficients",
                cepstrum.coefficients,
                format!("there are {} mel filters", self.mel.filters),
            ));
        }
        Ok(self)
    }
}
