//! The one sentence that answers whether the machine is well.

use serde::{Deserialize, Serialize};

use super::State;

/// The sentence below the title.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Verdict {
    /// Which row of the table of verdicts applied.
    pub state: VerdictState,
    /// `<state>; <exception>`, without a full stop.
    pub headline: String,
    /// At most three facts, as one sentence with its full stop; may be empty.
    pub detail: String,
}

/// The rows of the table of verdicts; the first that applies is chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum VerdictState {
    /// A GPU vanished or hangs.
    Lost,
    /// Too busy, throttled or taken away to be measured.
    Unfit,
    /// Results may be wrong.
    Wrong,
    /// A headline number is far below what it should be.
    Slow,
    /// Fast, with something to look into.
    Fault,
    /// Nothing to say.
    Well,
}

impl VerdictState {
    /// How the verdict is shown.
    pub fn state(self) -> State {
        match self {
            Self::Lost | Self::Unfit | Self::Wrong => State::Act,
            Self::Slow | Self::Fault => State::Look,
            Self::Well => State::Good,
        }
    }
}
