//! One cause and its consequences below it, instead of five symptoms in a row.
//!
//! The table names, for a rule, which others explain it when they fired too. A finding is printed
//! under the first of its possible causes that fired; chains end at a finding that has none.

use serde::{Deserialize, Serialize};
use warpsmith_core::{Finding, Severity};

/// Rule, and the rules that explain it.
const CAUSED_BY: &[(&str, &[&str])] = &[
    ("DRV001", &["DRV002", "DRV010"]),
    ("DRV003", &["ENV006"]),
    ("DRV004", &["DRV001"]),
    ("DRV005", &["TKT006", "TKT005"]),
    ("TKT005", &["TKT006"]),
    ("DRV006", &["TKT006"]),
    ("PYE003", &["DRV005"]),
    ("PYE008", &["TKT006", "TKT005", "PYE007"]),
    ("PYE009", &["TKT003"]),
    ("PYE016", &["PYE015"]),
    ("GPU001", &["CTR005"]),
    ("GPU002", &["DRV001", "DRV003", "CTR005"]),
    ("LIB001", &[]),
    ("LIB002", &["LIB001"]),
    ("LIB007", &["DRV001", "CTR005", "ENV006"]),
    ("TKT008", &["TKT003"]),
    ("TKT004", &["TKT002"]),
    ("ENV007", &["TKT002"]),
    ("PRF005", &["LIB006"]),
    ("PYE006", &["LIB006"]),
];

/// A finding, and those that follow from it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Cause {
    /// What to fix.
    pub finding: Finding,
    /// What is expected to go away with it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub consequences: Vec<Finding>,
}

/// Orders findings into causes, the gravest first.
pub(crate) fn arrange(findings: &[Finding]) -> Vec<Cause> {
    let fired = |code: &str| {
        findings
            .iter()
            .any(|f| f.code == code && f.severity > Severity::Info)
    };
    let parent = |code: &str| -> Option<&'static str> {
        let (_, causes) = CAUSED_BY.iter().find(|(rule, _)| *rule == code)?;
        causes.iter().copied().find(|cause| fired(cause))
    };
    let root = |code: &str| -> Option<&'static str> {
        let mut top = parent(code)?;
        // The table has no cycles (tested); the bound keeps a slip from hanging the program.
        for _ in 0..CAUSED_BY.len() {
            match parent(top) {
                Some(next) => top = next,
                None => break,
            }
        }
        Some(top)
    };
    let mut causes: Vec<Cause> = findings
        .iter()
        .filter(|f| root(&f.code).is_none())
        .map(|f| Cause {
            finding: f.clone(),
            consequences: Vec::new(),
        })
        .collect();
    for finding in findings {
        if let Some(top) = root(&finding.code)
            && let Some(cause) = causes.iter_mut().find(|c| c.finding.code == top)
        {
            cause.consequences.push(finding.clone());
        }
    }
    causes
        .sort_by_key(|cause| std::cmp::Reverse((cause.finding.severity, cause.consequences.len())));
    causes
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalog::rule_info;

    #[test]
    fn the_table_names_known_rules_and_has_no_cycles() {
        for (code, causes) in CAUSED_BY {
            assert!(rule_info(code).is_some(), "{code}");
            for cause in *causes {
                assert!(rule_info(cause).is_some(), "{cause}");
                let mut at = vec![*cause];
                for _ in 0..CAUSED_BY.len() {
                    at = at
                        .iter()
                        .flat_map(|c| {
                            CAUSED_BY
                                .iter()
                                .find(|(r, _)| r == c)
                                .map_or(&[][..], |(_, c)| *c)
                        })
                        .copied()
                        .collect();
                    assert!(!at.contains(code), "{code} is its own cause");
                }
            }
        }
    }

    #[test]
    fn consequences_stand_below_their_cause() {
        let finding = |code: &str| Finding::new(code, Severity::Error, "x");
        let causes = arrange(&[
            finding("DRV005"),
            finding("TKT005"),
            finding("TKT006"),
            finding("GPU003"),
        ]);
        assert_eq!(causes.len(), 2);
        assert_eq!(causes[0].finding.code, "TKT006");
        assert_eq!(causes[0].consequences.len(), 2);
    }
}
