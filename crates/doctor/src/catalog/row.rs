//! One row of the catalogue, and the view of the catalogue that `explain` prints.

use serde::{Deserialize, Serialize};
use warpsmith_core::{CodeDoc, Severity};

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

/// Whether Warpsmith can write the mending down.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Mend {
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
    /// Code, title, explanation and fix, as `explain` prints them.
    pub doc: CodeDoc,
    /// What it is about.
    pub area: Area,
    /// How much it matters when it fires.
    pub severity: Severity,
    /// Whether the mending can be written down.
    pub mend: Mend,
}

pub(crate) const fn row(
    code: &'static str,
    area: Area,
    severity: Severity,
    title: &'static str,
    explanation: &'static str,
    fix: &'static str,
    mend: Mend,
) -> RuleInfo {
    RuleInfo {
        doc: CodeDoc {
            code,
            title,
            explanation,
            fix,
        },
        area,
        severity,
        mend,
    }
}

const COUNT: usize = MACHINE_RULES.len() + PROJECT_RULES.len();

/// Every code of this crate, for `warpsmith explain`.
pub const CODE_DOCS: &[CodeDoc] = &{
    let mut docs = [MACHINE_RULES[0].doc; COUNT];
    let mut n = 0;
    while n < COUNT {
        docs[n] = if n < MACHINE_RULES.len() {
            MACHINE_RULES[n].doc
        } else {
            PROJECT_RULES[n - MACHINE_RULES.len()].doc
        };
        n += 1;
    }
    docs
};

/// The row of `code`.
pub fn rule_info(code: &str) -> Option<&'static RuleInfo> {
    MACHINE_RULES
        .iter()
        .chain(PROJECT_RULES)
        .find(|info| info.doc.code == code)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_code_is_used_once_and_explained() {
        let codes: BTreeSet<_> = CODE_DOCS.iter().map(|doc| doc.code).collect();
        assert_eq!(codes.len(), CODE_DOCS.len());
        assert!(MACHINE_RULES.len() >= 90 && PROJECT_RULES.len() >= 95);
        for doc in CODE_DOCS {
            assert!(
                doc.title.len() > 8 && doc.explanation.len() > 2,
                "{}",
                doc.code
            );
            assert!(doc.fix.len() > 2, "{} has no fix", doc.code);
            assert!(!doc.title.ends_with('.'), "{}", doc.code);
        }
    }
}
