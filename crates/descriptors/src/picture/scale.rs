//! Axes: where a value lies, and which values get a mark.

use warpsmith_voice::MelScale;

/// How frequencies lie on an axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FrequencyScale {
    /// As an ear tells them apart.
    Mel,
    /// Evenly.
    Linear,
}

impl FrequencyScale {
    /// The place of a frequency on an axis up to `highest`, 0 to 1 from the bottom.
    pub(super) fn share(self, hertz: f64, highest: f64) -> f64 {
        match self {
            Self::Mel => MelScale::Htk.mel(hertz) / MelScale::Htk.mel(highest),
            Self::Linear => hertz / highest,
        }
    }

    /// The frequency at a place.
    pub(super) fn hertz(self, share: f64, highest: f64) -> f64 {
        match self {
            // The inverse of 2595·log10(1 + f/700).
            Self::Mel => 700.0 * (10f64.powf(share * MelScale::Htk.mel(highest) / 2595.0) - 1.0),
            Self::Linear => share * highest,
        }
    }

    /// Frequencies that get a mark.
    pub(super) fn ticks(self, highest: f64) -> Vec<f64> {
        match self {
            Self::Linear => steps(0.0, highest, 6),
            Self::Mel => [
                0.0, 250.0, 500.0, 1000.0, 2000.0, 4000.0, 8000.0, 16_000.0, 32_000.0, 64_000.0,
            ]
            .into_iter()
            .filter(|hertz| *hertz <= highest)
            .collect(),
        }
    }
}

/// Round values between two, about `count` of them: steps of 1, 2 or 5 times a power of ten.
pub(super) fn steps(from: f64, to: f64, count: usize) -> Vec<f64> {
    let span = to - from;
    if span.is_nan() || span <= 0.0 {
        return vec![from];
    }
    let rough = span / count.max(1) as f64;
    let power = 10f64.powf(rough.log10().floor());
    let step = [1.0, 2.0, 5.0, 10.0]
        .map(|factor| factor * power)
        .into_iter()
        .find(|step| *step >= rough * 0.999)
        .unwrap_or(10.0 * power);
    let first = (from / step - 1e-9).ceil() as i64;
    let last = (to / step + 1e-9).floor() as i64;
    (first..=last).map(|n| n as f64 * step).collect()
}

/// A number as short as it can be at such steps.
pub(super) fn short(value: f64) -> String {
    let text = format!("{value:.3}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// A frequency with its unit.
pub(super) fn frequency(hertz: f64) -> String {
    if hertz >= 1000.0 {
        format!("{} kHz", short(hertz / 1000.0))
    } else {
        format!("{} Hz", short(hertz))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_are_round_and_inside() {
        assert_eq!(steps(0.0, 10.0, 5), [0.0, 2.0, 4.0, 6.0, 8.0, 10.0]);
        assert_eq!(steps(-80.0, 0.0, 4), [-80.0, -60.0, -40.0, -20.0, 0.0]);
        assert_eq!(steps(0.0, 0.03, 3).len(), 4);
        assert_eq!(steps(0.0, 0.0, 5), [0.0]);
        assert_eq!(short(0.25) + &frequency(1500.0), "0.251.5 kHz");
    }

    #[test]
    fn a_place_and_its_frequency_belong_together() {
        for scale in [FrequencyScale::Mel, FrequencyScale::Linear] {
            for hertz in [0.0, 440.0, 7999.0] {
                let back = scale.hertz(scale.share(hertz, 8000.0), 8000.0);
                assert!((back - hertz).abs() < 0.5, "{hertz}: {back}");
            }
            assert!(scale.ticks(8000.0).iter().all(|hertz| *hertz <= 8000.0));
        }
    }
}
