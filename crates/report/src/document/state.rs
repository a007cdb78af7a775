//! How something was judged, the same four words everywhere.

use serde::{Deserialize, Serialize};

/// How something was judged, in rising order of need.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum State {
    /// Nothing was judged.
    NotMeasured,
    /// Judged, and nothing to say.
    Good,
    /// Worth a look.
    Look,
    /// Needs action.
    Act,
}

impl State {
    /// The word for a place without colours or shapes.
    pub fn word(self) -> &'static str {
        match self {
            Self::NotMeasured => "not measured",
            Self::Good => "good",
            Self::Look => "look",
            Self::Act => "act",
        }
    }
}
