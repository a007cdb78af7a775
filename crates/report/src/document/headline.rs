//! The five numbers of the first screen.

use serde::{Deserialize, Serialize};

use super::State;

/// One of the five numbers that describe a machine.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Headline {
    /// Stable name, e.g. `memory-rate`.
    pub id: String,
    /// What it is, e.g. `Memory rate`.
    pub name: String,
    /// The number, or why there is none.
    pub reading: Reading,
    /// How it was judged.
    pub state: State,
    /// The filled part of its bar, 0 to 1; absent where there is nothing to compare with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bar: Option<f64>,
    /// The comparison, its first word to be stressed: `90 %`, then ` of the datasheet, 4.81`.
    pub share: (String, String),
    /// Interval, size and count, e.g. `± 0.05 %, 256 MiB, n = 613`.
    pub basis: String,
}

/// A number with its unit, or the reason that there is none.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Reading {
    /// A trusted number, e.g. `4.31` and `TB/s`; `value` in the base unit.
    Number {
        /// In base units (bytes per second, flop/s, seconds, watts, share).
        value: f64,
        /// As printed.
        text: String,
        /// As printed behind it.
        unit: String,
    },
    /// No number, in a word or two: `few`, `not measured`.
    None(String),
}
