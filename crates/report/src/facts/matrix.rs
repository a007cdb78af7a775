//! Techniques on and off.

use serde::Serialize;
use warpsmith_measure::ablation::AblationRow;
use warpsmith_measure::measurement::SampleMode;

/// A technique of a workload, measured on and off.
#[derive(Clone, Debug, Serialize)]
pub struct TechniqueFacts {
    /// Id of the workload.
    pub workload: String,
    /// Its name.
    pub technique: String,
    /// The parameter that switches it, and its value when on.
    pub setting: (String, String),
    /// What the parameter is by default.
    pub default: Default,
    /// `low`, `medium` or `high`, judged.
    pub effort: String,
    /// `low`, `medium` or `high`, judged.
    pub risk: String,
    /// On alone.
    pub alone: AblationRow,
    /// Off among all others; absent where there are none.
    pub among: Option<AblationRow>,
    /// How the runs were timed.
    pub mode: SampleMode,
}

/// What a switch is where nobody sets it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Default {
    /// The technique is on.
    On,
    /// The technique is off.
    Off,
    /// Something else, such as a choice by size.
    Other(String),
}
