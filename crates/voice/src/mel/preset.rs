//! Named settings whose numbers agree with a peer's.
//!
//! `tests/trials/parity.rs` holds each against numbers that the peer itself produced.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use warpsmith_signal::{
    Conditioning, Framing, Padding, SignalError, SpectrumSettings, Symmetry, Window,
};

use super::bank::{MelNorm, MelScale, MelSettings, MelSlope};
use super::settings::{CepstrumSettings, Compression, FeatureSettings, Layout, Lifter};

/// Whose numbers to agree with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Preset {
    /// `librosa.feature.melspectrogram` and `mfcc` 0.11: Slaney mel, zero padding.
    Librosa,
    /// `torchaudio.transforms.MelSpectrogram` and `MFCC` 2.11: HTK mel, mirrored ends.
    Torchaudio,
    /// `kaldi-native-fbank` 1.22: Povey window, pre-emphasis, natural logarithm, no dither.
    Kaldi,
    /// Whisper's 80-band input features: 400 points, 10 ms.
    Whisper,
    /// librosa with `htk=True, norm=None`: HTK's mel curve with peaks of one.
    Htk,
}

/// How far from samples a feature goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// Mel powers.
    Mel,
    /// Logarithms of mel powers, in the peer's unit.
    LogMel,
    /// Cepstral coefficients.
    Cepstrum {
        /// How many.
        coefficients: usize,
    },
}

/// The sizes that a user chooses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sizes {
    /// Points of the transform; frames of Kaldi's preset last 25 ms instead.
    pub transform: usize,
    /// Samples between frames.
    pub hop: usize,
    /// Mel filters.
    pub filters: usize,
}

impl Sizes {
    /// 32 ms (rounded up to a power of two) every 10 ms, 80 bands; 128 bands above 32 kHz.
    pub fn for_speech(sample_rate: u32) -> Self {
        let rate = sample_rate as usize;
        Self {
            transform: (rate * 32).div_ceil(1000).max(2).next_power_of_two(),
            hop: (rate / 100).max(1),
            filters: if rate > 32_000 { 128 } else { 80 },
        }
    }
}

impl Preset {
    /// All of them.
    pub const ALL: [Self; 5] = [
        Self::Librosa,
        Self::Torchaudio,
        Self::Kaldi,
        Self::Whisper,
        Self::Htk,
    ];

    /// The preset's name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Librosa => "librosa",
            Self::Torchaudio => "torchaudio",
            Self::Kaldi => "kaldi",
            Self::Whisper => "whisper",
            Self::Htk => "htk",
        }
    }

    /// The one rate that the peer's numbers are defined at, Hz, where there is one.
    pub fn sample_rate(self) -> Option<u32> {
        (self == Self::Whisper).then_some(16_000)
    }

    /// The sizes that the peer uses by default, where it has such.
    pub fn sizes(self, sample_rate: u32) -> Sizes {
        let speech = Sizes::for_speech(sample_rate);
        match self {
            Self::Librosa | Self::Torchaudio | Self::Htk | Self::Kaldi => speech,
            Self::Whisper => Sizes {
                transform: 400,
                hop: 160,
                filters: 80,
            },
        }
    }

    /// The sizes that the peer's function has when its caller names none: librosa 0.11 and torchaudio 2.11 whatever
    /// the rate, Kaldi 25 ms every 10 ms.
    pub fn own_sizes(self, sample_rate: u32) -> Sizes {
        match self {
            Self::Librosa | Self::Htk => Sizes {
                transform: 2048,
                hop: 512,
                filters: 128,
            },
            Self::Torchaudio => Sizes {
                transform: 400,
                hop: 200,
                filters: 128,
            },
            Self::Kaldi => Sizes {
                filters: 23,
                ..self.sizes(sample_rate)
            },
            Self::Whisper => self.sizes(sample_rate),
        }
    }

    /// Cepstral coefficients that the peer's function keeps when its caller names no number.
    pub fn own_coefficients(self) -> usize {
        match self {
            Self::Librosa | Self::Htk | Self::Whisper => 20,
            Self::Torchaudio => 40,
            Self::Kaldi => 13,
        }
    }

    /// The feature at `sample_rate`, with the sizes given.
    pub fn feature(self, sample_rate: u32, sizes: Sizes, stage: Stage) -> FeatureSettings {
        let (padding, scale, norm) = match self {
            Self::Librosa => (Padding::CentredZero, MelScale::Slaney, MelNorm::Area),
            Self::Torchaudio => (Padding::CentredReflect, MelScale::Htk, MelNorm::Peak),
            Self::Kaldi => return kaldi(sample_rate, sizes, stage),
            Self::Whisper => (Padding::CentredReflect, MelScale::Slaney, MelNorm::Area),
            Self::Htk => (Padding::CentredZero, MelScale::Htk, MelNorm::Peak),
        };
        let whisper = self == Self::Whisper;
        let logarithm = if whisper {
            Compression::CommonLog { floor: 1e-10 }
        } else {
            Compression::Decibel { floor: 1e-10 }
        };
        let cepstrum = match stage {
            Stage::Cepstrum { coefficients } => Some(CepstrumSettings {
                coefficients,
                lifter: Lifter::None,
            }),
            Stage::Mel | Stage::LogMel => None,
        };
        FeatureSettings {
            sample_rate,
            gain: 1.0,
            spectrum: SpectrumSettings {
                framing: Framing {
                    length: sizes.transform,
                    hop: sizes.hop,
                    padding,
                },
                transform: sizes.transform,
                window: Window::Hann,
                window_length: sizes.transform,
                symmetry: Symmetry::Periodic,
                conditioning: Conditioning::default(),
            },
            mel: MelSettings {
                filters: sizes.filters,
                low_hz: 0.0,
                high_hz: None,
                scale,
                norm,
                slope: MelSlope::Hertz,
            },
            compression: match stage {
                Stage::Mel => Compression::None,
                Stage::LogMel | Stage::Cepstrum { .. } => logarithm,
            },
            dynamic_range: match stage {
                Stage::Mel => None,
                _ if whisper => Some(8.0),
                _ => Some(80.0),
            },
            scale: match stage {
                Stage::LogMel if whisper => (0.25, 1.0),
                _ => (1.0, 0.0),
            },
            cepstrum,
            drop_last_frame: whisper,
            layout: Layout::RowsFirst,
        }
    }
}

/// Kaldi's filter bank: 25 ms frames inside the signal, samples as 16-bit integers, power spectrum,
/// HTK mel from 20 Hz, straight on the mel axis, without the last bin.
fn kaldi(sample_rate: u32, sizes: Sizes, stage: Stage) -> FeatureSettings {
    // Kaldi computes 0.001 · 25 · rate in f32 and cuts the fraction off.
    let length = (sample_rate as f32 * 0.001 * 25.0) as usize;
    FeatureSettings {
        sample_rate,
        gain: 32_768.0,
        spectrum: SpectrumSettings {
            framing: Framing {
                length,
                hop: sizes.hop,
                padding: Padding::Inside,
            },
            transform: length.next_power_of_two(),
            window: Window::Povey,
            window_length: length,
            symmetry: Symmetry::Symmetric,
            conditioning: Conditioning {
                remove_dc: true,
                preemphasis: 0.97,
            },
        },
        mel: MelSettings {
            filters: sizes.filters,
            low_hz: 20.0,
            high_hz: None,
            scale: MelScale::Htk,
            norm: MelNorm::Peak,
            slope: MelSlope::Mel,
        },
        compression: match stage {
            Stage::Mel => Compression::None,
            Stage::LogMel | Stage::Cepstrum { .. } => Compression::NaturalLog {
                floor: f32::EPSILON,
            },
        },
        dynamic_range: None,
        scale: (1.0, 0.0),
        cepstrum: match stage {
            Stage::Cepstrum { coefficients } => Some(CepstrumSettings {
                coefficients,
                lifter: Lifter::FromZero { length: 22.0 },
            }),
            Stage::Mel | Stage::LogMel => None,
        },
        drop_last_frame: false,
        layout: Layout::FramesFirst,
    }
}

impl fmt::Display for Preset {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for Preset {
    type Err = SignalError;

    fn from_str(text: &str) -> Result<Self, SignalError> {
        Self::ALL
            .into_iter()
            .find(|preset| preset.name().eq_ignore_ascii_case(text))
            .ok_or_else(|| {
                let names = Self::ALL.map(Self::name).join("`, `");
                SignalError::parameter("preset", text, format!("one of `{names}` is meant"))
            })
    }
}
