//! The levels of verification, and the outcome of each.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::by_name::{display_by_name, parse_by_name};

/// How much is checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Level {
    /// The compiler accepts the source and writes all four texts. Always done.
    Text,
    /// The interpreter runs the kernel and its adjoint.
    Executed,
    /// NVRTC compiles the CUDA text; ptxas assembles it where there is one.
    Compiled,
    /// A GPU agrees with the interpreter.
    Gpu,
    /// A Vulkan device agrees with the interpreter.
    #[serde(rename = "executed:vulkan")]
    Vulkan,
    /// Warp itself writes the same bytes.
    Warp,
}

impl Level {
    /// Every level.
    pub const ALL: [Self; 6] = [
        Self::Text,
        Self::Executed,
        Self::Compiled,
        Self::Gpu,
        Self::Vulkan,
        Self::Warp,
    ];

    /// The name on the command line and in records.
    pub fn name(self) -> &'static str {
        match self {
            Self::Text => "text",
            Self::Executed => "executed",
            Self::Compiled => "compiled",
            Self::Gpu => "gpu",
            Self::Vulkan => "executed:vulkan",
            Self::Warp => "warp",
        }
    }
}

display_by_name!(Level);

/// A level that does not exist.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("there is no verification level `{0}`; known are {known}", known = Level::ALL.map(Level::name).join(", "))]
pub struct UnknownLevel(pub String);

parse_by_name!(Level, UnknownLevel);

/// How one check went.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Check {
    /// Nobody requested it.
    #[default]
    NotRun,
    /// It holds.
    Passed,
    /// It could not be made, for this reason.
    Skipped(String),
    /// It does not hold, for this reason.
    Failed(String),
}

impl Check {
    /// Whether it was found not to hold.
    pub fn is_failure(&self) -> bool {
        matches!(self, Self::Failed(_))
    }
}

impl fmt::Display for Check {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotRun => f.write_str("not run"),
            Self::Passed => f.write_str("passed"),
            Self::Skipped(reason) => write!(f, "skipped: {reason}"),
            Self::Failed(reason) => write!(f, "failed: {reason}"),
        }
    }
}

/// Everything that was checked of a pair.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Verification {
    /// The interpreter ran it: inside its arrays, finite, race-free, the same twice.
    pub executed: Check,
    /// Its gradients agree with differences.
    pub gradient: Check,
    /// NVRTC compiled it.
    pub compiled: Check,
    /// A GPU agreed with the interpreter.
    pub gpu: Check,
    /// A Vulkan device did.
    pub vulkan: Check,
    /// Warp wrote the same bytes.
    pub warp: Check,
}
