//! The engine's techniques as switches, so that each can be measured against what it replaces.

use serde::{Deserialize, Serialize};

/// How oscillators count and multiply.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Arithmetic {
    /// 32-bit integer phase, polynomial sine, single precision.
    #[default]
    IntegerPhase,
    /// The same with the C library's sine.
    LibrarySine,
    /// Phase as time times frequency in single precision: the original's.
    FloatPhase,
    /// Everything in double precision.
    Double,
    /// Integer phase; waves and amplitudes rounded to half precision.
    HalfAmplitude,
    /// Integer phase; waves and amplitudes rounded to bfloat16.
    BrainAmplitude,
    /// Time, phase, waves and amplitudes in half precision.
    HalfEverything,
}

/// How often envelope and tremolo are computed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum EnvelopeRate {
    /// A cubic over 64 samples.
    #[default]
    Cubic,
    /// By the formula for every sample.
    Sample,
    /// By the formula for every 16th sample, held.
    Hold16,
    /// By the formula for every 64th sample, held.
    Hold64,
}

/// How a swell is averaged.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Average {
    /// One addition and one subtraction a sample.
    #[default]
    RunningSum,
    /// A hundred additions a sample: the original's.
    Convolution,
}

/// All switches.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Techniques {
    /// How oscillators count and multiply.
    pub arithmetic: Arithmetic,
    /// How often envelopes are computed.
    pub envelope: EnvelopeRate,
    /// How swells are averaged.
    pub average: Average,
}

/// Rounds to `24 − BITS` significant bits: Veltkamp's split. Half precision drops 13, bfloat16 16.
#[inline(always)]
pub(crate) fn rounded<const BITS: u32>(value: f32) -> f32 {
    let scaled = value * ((1u32 << BITS) + 1) as f32;
    scaled - (scaled - value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rounding_keeps_eleven_or_eight_bits() {
        assert_eq!(rounded::<13>(1.0 + 1.0 / 1024.0), 1.0 + 1.0 / 1024.0);
        assert_eq!(rounded::<13>(1.0 + 1.0 / 4096.0), 1.0);
        assert_eq!(rounded::<16>(1.0 + 1.0 / 128.0), 1.0 + 1.0 / 128.0);
        assert_eq!(rounded::<16>(-1.0 - 1.0 / 1024.0), -1.0);
    }
}
