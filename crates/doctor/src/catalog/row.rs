//! One row of the catalogue, and the families of stories that `explain` tells about it.

use serde::{Deserialize, Serialize};
use warpsmith_core::{Family, Severity, Story};

use super::{MACHINE_RULES, PROJECT_RULES};

/// What a rule is about; reports are grouped by it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[allow(missing_docs)] // The names say it.
pub enum Area {
    Driver,
    Gpu,
    Health,
    Permissions,
    Toolkit,
    Libraries,
    Python,
    Profilers,
    Containers,
    Environment,
    Build,
    Dependencies,
    Source,
    Container,
    Ci,
    Tests,
    Docs,
    Legal,
    Operations,
    Security,
}

impl Area {
    /// The heading in a report.
    pub fn title(self) -> &'static str {
        match self {
            Self::Driver => "Driver",
            Self::Gpu => "GPUs",
            Self::Health => "GPU health",
            Self::Permissions => "Permissions",
            Self::Toolkit => "CUDA toolkits",
            Self::Libraries => "Libraries",
            Self::Python => "Python environments",
            Self::Profilers => "Profilers",
            Self::Containers => "Containers on this machine",
            Self::Environment => "Environment",
            Self::Build => "Build",
            Self::Dependencies => "Dependencies",
            Self::Source => "CUDA sources",
            Self::Container => "Container image",
            Self::Ci => "Continuous integration",
            Self::Tests => "Tests",
            Self::Docs => "Documentation",
            Self::Legal => "Licence",
            Self::Operations => "Operations",
            Self::Security => "Security",
        }
    }
}

/// Whether Warpsmith can write the fix down.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Fix {
    /// A human decides.
    None,
    /// The finding carries a command or a shell line.
    Command,
    /// `audit --fix` writes a patch.
    Patch,
}

/// What is known about a rule before it runs.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct RuleInfo {
    /// The rule's code.
    pub code: &'static str,
    /// What it is about.
    pub area: Area,
    /// How much it matters when it fires.
    pub severity: Severity,
    /// Whether the fix can be written down.
    pub fix: Fix,
}

pub(crate) const fn row(code: &'static str, area: Area, severity: Severity, fix: Fix) -> RuleInfo {
    RuleInfo {
        code,
        area,
        severity,
        fix,
    }
}

/// What each code of this crate means, family by family.
#[rustfmt::skip] // one to a line
pub static FAMILIES: [Family; 17] = [
    Family::new(include_str!("stories/DRV.md")),
    Family::new(include_str!("stories/GPU.md")),
    Family::new(include_str!("stories/TKT.md")),
    Family::new(include_str!("stories/LIB.md")),
    Family::new(include_str!("stories/PYE.md")),
    Family::new(include_str!("stories/PRF.md")),
    Family::new(include_str!("stories/CTR.md")),
    Family::new(include_str!("stories/ENV.md")),
    Family::new(include_str!("stories/BLD.md")),
    Family::new(include_str!("stories/DEP.md")),
    Family::new(include_str!("stories/SRC.md")),
    Family::new(include_str!("stories/TST.md")),
    Family::new(include_str!("stories/DKR.md")),
    Family::new(include_str!("stories/CIA.md")),
    Family::new(include_str!("stories/OPS.md")),
    Family::new(include_str!("stories/SEC.md")),
    Family::new(include_str!("stories/DOC.md")),
];

impl RuleInfo {
    /// What the code means. The tests see that every row has a story.
    pub fn story(&self) -> Option<&'static Story> {
        FAMILIES.iter().find_map(|family| family.story(self.code))
    }

    /// What the code says, in a line.
    pub fn title(&self) -> &'static str {
        self.story().map_or(self.code, |story| story.title)
    }
}

/// The row of `code`.
pub fn rule_info(code: &str) -> Option<&'static RuleInfo> {
    MACHINE_RULES
        .iter()
        .chain(PROJECT_RULES)
        .find(|info| info.code == code)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_rule_has_a_story_and_every_story_a_rule() {
        let rules: Vec<_> = MACHINE_RULES.iter().chain(PROJECT_RULES).collect();
        let codes: BTreeSet<_> = rules.iter().map(|info| info.code).collect();
        assert_eq!(codes.len(), rules.len(), "a code is used twice");
        let told: BTreeSet<_> = FAMILIES
            .iter()
            .flat_map(Family::stories)
            .map(|story| story.code)
            .collect();
        assert_eq!(codes, told);
        assert!(MACHINE_RULES.len() >= 90 && PROJECT_RULES.len() >= 95);
    }
}
