//! What techniques gain, and which defaults their measurements contradict.

use warpsmith_measure::comparison::evaluation::{Evaluation, Verdict};

use crate::document::State;
use crate::facts::{Default, TechniqueFacts};

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
    /// From a speed-up and the verdict that its interval gave.
    pub(super) fn of(speed_up: f64, verdict: Verdict) -> Self {
        match (verdict, 1.0 - 1.0 / speed_up) {
            (Verdict::Slower, _) => Self::Harmful,
            (Verdict::Same | Verdict::Undecided, _) => Self::None,
            (Verdict::Faster, saved) if saved > 0.30 => Self::High,
            (Verdict::Faster, saved) if saved >= 0.10 => Self::Medium,
            (Verdict::Faster, _) => Self::Low,
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
    Impact::of(speed_up(row).0, row.alone.evaluation.verdict)
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
    fn impact_follows_from_the_verdict() {
        assert_eq!(Impact::of(2.0, Verdict::Faster), Impact::High);
        assert_eq!(Impact::of(1.25, Verdict::Faster), Impact::Medium);
        assert_eq!(Impact::of(1.05, Verdict::Faster), Impact::Low);
        // Without a verdict there is none, however far the middle of the interval is.
        assert_eq!(Impact::of(1.5, Verdict::Undecided), Impact::None);
        assert_eq!(Impact::of(1.0, Verdict::Same), Impact::None);
        assert_eq!(Impact::of(0.8, Verdict::Slower), Impact::Harmful);
    }
}
