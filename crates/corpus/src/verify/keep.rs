//! What rows keep of what the checks brought to light.

use serde::{Deserialize, Serialize};

use crate::by_name::{display_by_name, parse_by_name};

/// A column that is empty unless it is requested.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Keep {
    /// The arguments of the launch of the level `executed`.
    Inputs,
    /// Whole arrays of results, of which otherwise only the first values are kept.
    Outputs,
    /// Seeds and results of the backward pass.
    Gradients,
    /// PTX of both kernels, of the level `compiled`.
    Ptx,
    /// Registers, spills and instructions of the machine code, of the level `compiled`.
    Sass,
}

impl Keep {
    /// Everything that can be kept.
    pub const ALL: [Self; 5] = [
        Self::Inputs,
        Self::Outputs,
        Self::Gradients,
        Self::Ptx,
        Self::Sass,
    ];

    /// The name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Inputs => "inputs",
            Self::Outputs => "outputs",
            Self::Gradients => "gradients",
            Self::Ptx => "ptx",
            Self::Sass => "sass",
        }
    }

    /// The level that brings it to light.
    pub fn level(self) -> super::Level {
        match self {
            Self::Inputs | Self::Outputs | Self::Gradients => super::Level::Executed,
            Self::Ptx | Self::Sass => super::Level::Compiled,
        }
    }
}

display_by_name!(Keep);

/// A column that does not exist.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("there is no optional column `{0}`; known are {known}", known = Keep::ALL.map(Keep::name).join(", "))]
pub struct UnknownColumn(pub String);

parse_by_name!(Keep, UnknownColumn);
