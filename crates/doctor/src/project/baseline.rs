//! A baseline: findings that were there when the project began to look, so that only new ones count.
//!
//! A finding is known by its code, file and message; its line may move.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use warpsmith_core::Finding;

/// Known findings and how many of each.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Baseline {
    /// Version of the format.
    pub schema: u32,
    /// `code file message` → count.
    pub known: BTreeMap<String, usize>,
}

impl Baseline {
    /// A baseline of these findings.
    pub fn of(findings: &[Finding]) -> Self {
        let mut known = BTreeMap::new();
        for finding in findings {
            *known.entry(key(finding)).or_insert(0) += 1;
        }
        Self { schema: 1, known }
    }

    /// The findings that are not in the baseline.
    pub fn new_ones(&self, findings: Vec<Finding>) -> Vec<Finding> {
        let mut left = self.known.clone();
        findings
            .into_iter()
            .filter(|finding| match left.get_mut(&key(finding)) {
                Some(n) if *n > 0 => {
                    *n -= 1;
                    false
                }
                _ => true,
            })
            .collect()
    }
}

fn key(finding: &Finding) -> String {
    let file = finding.span.as_ref().map_or("", |s| s.file.as_str());
    format!("{} {file} {}", finding.code, finding.message)
}

#[cfg(test)]
mod tests {
    use warpsmith_core::{Severity, Span};

    use super::*;

    #[test]
    fn a_moved_finding_is_known_and_a_second_one_is_new() {
        let finding = |line| {
            Finding::new("DKR001", Severity::Warning, "m").at(Span::line("Dockerfile", line))
        };
        let baseline = Baseline::of(&[finding(3)]);
        assert!(baseline.new_ones(vec![finding(9)]).is_empty());
        assert_eq!(baseline.new_ones(vec![finding(3), finding(4)]).len(), 1);
    }
}
