//! What is checked, and what was found.

use serde::{Deserialize, Serialize};

use super::comparison::OutputComparison;
use crate::expression::Scope;

/// What is checked.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Random inputs for each size.
    pub inputs: usize,
    /// Decides the inputs.
    pub seed: u64,
    /// Whether infinities, NaN and denormals are among the inputs of one more round.
    pub special: bool,
}

/// One size with one input.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Check {
    /// The size in words.
    pub size: String,
    /// The dimensions.
    pub dimensions: Scope,
    /// Decides the input.
    pub seed: u64,
    /// Which of the fills that a case leaves open was used.
    pub round: usize,
    /// Whether special values were among the inputs.
    pub special: bool,
    /// What was found.
    pub verdict: Verdict,
}

/// What was found at one size with one input.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "verdict", rename_all = "snake_case")]
pub enum Verdict {
    /// Everything was right, as far as there was something to compare with.
    Right {
        /// How far each output is from the reference; empty without one.
        outputs: Vec<OutputComparison>,
        /// Whether two runs gave different bits.
        varies: bool,
    },
    /// An output is not what the reference says.
    Wrong {
        /// How far each output is from the reference.
        outputs: Vec<OutputComparison>,
        /// Whether two runs gave different bits.
        varies: bool,
        /// The outputs' dimensions, for words.
        axes: Vec<Vec<String>>,
    },
    /// The result follows what an output held before.
    StaleOutput {
        /// The output.
        argument: String,
        /// Elements that follow.
        elements: usize,
    },
    /// Memory outside of an array was written.
    OutOfBounds {
        /// The argument whose array it was.
        argument: String,
        /// Bytes from the array's end to the first byte written; negative before its start.
        offset: i64,
        /// Bytes that were changed.
        bytes: usize,
    },
    /// An input was changed.
    InputChanged {
        /// The input.
        argument: String,
        /// The first element.
        element: usize,
    },
    /// Threads race: the order in which they run decides the result.
    Race {
        /// Where.
        reason: String,
    },
    /// The kernel faulted, never ended or could not be launched.
    Fault {
        /// What was seen.
        reason: String,
        /// Whether it never ended.
        never_ended: bool,
    },
}

impl Verdict {
    /// Whether nothing is wrong.
    pub fn is_right(&self) -> bool {
        matches!(self, Self::Right { .. })
    }
}

/// Everything that was checked.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Verification {
    /// Every size with every input.
    pub checks: Vec<Check>,
    /// Listed sizes that were left out because a reference would take too long.
    pub too_large: Vec<String>,
    /// What the user should know about the reference.
    pub notes: Vec<String>,
    /// Whether there was a reference.
    pub compared: bool,
}
