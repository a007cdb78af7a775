//! What techniques gain, and which defaults their measurements contradict.

use warpsmith_measure::comparison::evaluation::Evaluation;

use crate::document::State;
use crate::facts::{Default, TechniqueFacts};

/// Differences up to this share are none.
const MARGIN: f64 = 0.01;

/// How much time a technique saves.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Impact {
    High,
    Medium,
    Low,
    None,
    Harmful,
}

impl Impact {
    /// From a speed-up with its interval.
    pub(super) fn of(speed_up: f64, low: f64, high: f64) -> Self {
        if high < 1.0 - MARGIN {
            Self::Harmful
        } else if low <= 1.0 + MARGIN {
            Self::None
        } else {
            match 1.0 - 1.0 / speed_up {
                saved if saved > 0.30 => Self::High,
                saved if saved >= 0.10 => Self::Medium,
                _ => Self::Low,
            }
        }
    }

    pub(super) fn word(self) -> &'static str {
        match self {
            Self::High => "high",
            Self::Medium => "medium",
            Self::Low => "low",
            Self::None => "none",
            Self::Harmful => "harmful",
        }
    }

    pub(super) fn state(self) -> Option<State> {
        match self {
            Self::High | Self::Medium | Self::Low => Some(State::Good),
            Self::None => None,
            Self::Harmful => Some(State::Act),
        }
    }

    pub(super) fn helps(self) -> bool {
        matches!(self, Self::High | Self::Medium | Self::Low)
    }
}

/// The speed-up of a technique that is on alone, with its interval: time off over time on.
pub(crate) fn speed_up(row: &TechniqueFacts) -> (f64, f64, f64) {
    let Evaluation {
        ratio, low, high, ..
    } = row.alone.evaluation;
    (1.0 / ratio, 1.0 / high, 1.0 / low)
}

/// Whether the interval says anything.
pub(super) fn is_known(row: &TechniqueFacts) -> bool {
    let (ratio, low, high) = speed_up(row);
    ratio.is_finite() && low.is_finite() && high.is_finite() && low > 0.0
}

pub(super) fn impact(row: &TechniqueFacts) -> Impact {
    let (ratio, low, high) = speed_up(row);
    Impact::of(ratio, low, high)
}

/// Rows whose default a measurement contradicts.
pub(crate) fn wrong_defaults(rows: &[TechniqueFacts]) -> Vec<&TechniqueFacts> {
    rows.iter()
        .filter(|row| is_known(row))
        .filter(|row| match (impact(row), &row.default) {
            (Impact::Harmful, Default::On) => true,
            (impact, Default::Off) => impact.helps(),
            _ => false,
        })
        .collect()
}

/// Whether a technique costs time here.
pub(crate) fn impact_is_harmful(row: &TechniqueFacts) -> bool {
    impact(row) == Impact::Harmful
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn impact_follows_from_the_interval() {
        assert_eq!(Impact::of(2.0, 1.9, 2.1), Impact::High);
        assert_eq!(Impact::of(1.25, 1.2, 1.3), Impact::Medium);
        assert_eq!(Impact::of(1.05, 1.03, 1.07), Impact::Low);
        assert_eq!(Impact::of(1.05, 0.9, 1.2), Impact::None);
        assert_eq!(Impact::of(0.8, 0.7, 0.9), Impact::Harmful);
        // An interval that touches the band says nothing, however far its middle is.
        assert_eq!(Impact::of(0.8, 0.5, 1.0), Impact::None);
    }
}
