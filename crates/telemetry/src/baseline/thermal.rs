//! How warm is too warm: by the margin that the GPU itself gives, by fixed bands where it gives
//! none.

use std::fmt;

use serde::{Deserialize, Serialize};

/// The temperature's verdict, in rising order of worry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ThermalBand {
    /// More than 22 degrees of margin (below 65 °C).
    Excellent,
    /// 12 to 22 degrees (65 to 75 °C).
    Good,
    /// 5 to 12 degrees (75 to 85 °C).
    Warm,
    /// Up to 5 degrees (85 to 95 °C).
    Hot,
    /// No margin (95 °C and above), or the GPU has slowed itself down for heat.
    Critical,
}

impl ThermalBand {
    /// By the smallest margin (T.Limit) seen.
    pub fn from_margin(degrees: f64) -> Self {
        match degrees {
            d if d > 22.0 => Self::Excellent,
            d if d > 12.0 => Self::Good,
            d if d > 5.0 => Self::Warm,
            d if d > 0.0 => Self::Hot,
            _ => Self::Critical,
        }
    }

    /// By the highest temperature seen, for GPUs without a margin.
    pub fn from_temperature(celsius: f64) -> Self {
        match celsius {
            c if c < 65.0 => Self::Excellent,
            c if c < 75.0 => Self::Good,
            c if c < 85.0 => Self::Warm,
            c if c < 95.0 => Self::Hot,
            _ => Self::Critical,
        }
    }
}

impl fmt::Display for ThermalBand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Excellent => "excellent",
            Self::Good => "good",
            Self::Warm => "warm",
            Self::Hot => "hot",
            Self::Critical => "critical",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::ThermalBand::*;
    use super::*;

    #[test]
    fn bands_meet_at_their_edges() {
        let margins = [53.0, 22.0, 12.0, 5.0, 1.0, 0.0, -3.0].map(ThermalBand::from_margin);
        assert_eq!(
            margins,
            [Excellent, Good, Warm, Hot, Hot, Critical, Critical]
        );
        let degrees = [64.0, 65.0, 75.0, 85.0, 94.9, 95.0].map(ThermalBand::from_temperature);
        assert_eq!(degrees, [Excellent, Good, Warm, Hot, Hot, Critical]);
    }
}
