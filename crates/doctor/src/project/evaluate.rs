//! How good the rules are: findings compared with labelled points of public projects.
//!
//! A label says that a rule must (`true`) or must not (`false`) report a place. A finding matches a
//! label of the same rule and file within three lines; line 0 stands for the whole file. Findings
//! without a label are counted and not judged.

use std::collections::BTreeMap;
use std::path::Path;

use serde::{Deserialize, Serialize};
use warpsmith_core::Finding;

use super::apart::Include;
use super::report::{AuditOptions, audit_project};

/// A labelled point.
#[derive(Clone, Debug, Deserialize)]
pub struct Label {
    /// `owner/name`.
    pub repo: String,
    /// The commit that was read.
    pub commit: String,
    /// The rule.
    pub rule: String,
    /// The file.
    pub file: String,
    /// The line; 0 is the whole file.
    pub line: u32,
    /// Must report, must not, or needs a reader.
    pub verdict: Option<bool>,
}

/// Counts of a rule.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Measured {
    /// Must report, and was.
    pub true_positive: usize,
    /// Must not report, and was.
    pub false_positive: usize,
    /// Must report, and was not.
    pub missed: usize,
    /// Must not report, and was not.
    pub true_negative: usize,
    /// Findings without a label.
    pub unlabelled: usize,
    /// Places that were missed or wrongly reported.
    pub wrong: Vec<String>,
}

impl Measured {
    /// Part of the labelled findings that are right, with its 95 % Wilson interval.
    pub fn precision(&self) -> Option<(f64, f64, f64)> {
        wilson(self.true_positive, self.true_positive + self.false_positive)
    }

    /// Part of the labelled positives that were found, with its 95 % Wilson interval.
    pub fn recall(&self) -> Option<(f64, f64, f64)> {
        wilson(self.true_positive, self.true_positive + self.missed)
    }
}

/// The whole evaluation.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Evaluation {
    /// By rule.
    pub rules: BTreeMap<String, Measured>,
    /// Projects that were audited, with their findings above information.
    pub projects: BTreeMap<String, usize>,
    /// Labelled projects for which no checkout was given.
    pub skipped: Vec<String>,
}

/// Audits the checkouts below `checkouts` (`owner+name@commit`) and compares with `labels`.
pub fn evaluate(labels: &[Label], checkouts: &Path) -> Evaluation {
    let mut evaluation = Evaluation::default();
    let mut projects: BTreeMap<(String, String), Vec<&Label>> = BTreeMap::new();
    for label in labels {
        projects
            .entry((label.repo.clone(), label.commit.clone()))
            .or_default()
            .push(label);
    }
    let options = AuditOptions {
        every_place: true,
        // Labels were set before examples were counted apart.
        include: Include {
            examples: true,
            ..Include::default()
        },
        ..AuditOptions::default()
    };
    for ((repo, commit), labels) in projects {
        let name = format!("{repo}@{}", commit.get(..8).unwrap_or(&commit));
        let folder = checkouts.join(format!("{}@{commit}", repo.replace('/', "+")));
        let (Ok(report), Ok(quiet)) = (
            audit_project(&folder, &options),
            audit_project(&folder, &AuditOptions::default()),
        ) else {
            evaluation.skipped.push(name);
            continue;
        };
        let loud = quiet
            .findings
            .iter()
            .filter(|f| f.severity > warpsmith_core::Severity::Info)
            .count();
        evaluation.projects.insert(name.clone(), loud);
        compare(&name, &labels, &report.findings, &mut evaluation.rules);
    }
    evaluation
}

fn compare(
    project: &str,
    labels: &[&Label],
    findings: &[Finding],
    rules: &mut BTreeMap<String, Measured>,
) {
    let mut judged = vec![false; findings.len()];
    for label in labels {
        let hits: Vec<usize> = (0..findings.len())
            .filter(|n| matches(label, &findings[*n]))
            .collect();
        for n in &hits {
            judged[*n] = true;
        }
        let measured = rules.entry(label.rule.clone()).or_default();
        let place = || format!("{project} {}:{}", label.file, label.line);
        match (label.verdict, hits.is_empty()) {
            (Some(true), false) => measured.true_positive += 1,
            (Some(true), true) => {
                measured.missed += 1;
                measured.wrong.push(format!("missed {}", place()));
            }
            (Some(false), true) => measured.true_negative += 1,
            (Some(false), false) => {
                measured.false_positive += 1;
                measured.wrong.push(format!("wrong {}", place()));
            }
            (None, _) => {}
        }
    }
    for (finding, judged) in findings.iter().zip(judged) {
        if !judged {
            rules.entry(finding.code.clone()).or_default().unlabelled += 1;
        }
    }
}

fn matches(label: &Label, finding: &Finding) -> bool {
    if label.rule != finding.code {
        return false;
    }
    // A label on a file that is absent, or on a whole project, matches wherever the rule speaks.
    let whole = label.line == 0;
    match &finding.span {
        None => {
            whole || label.file.starts_with("README") || label.file.starts_with(".github/workflows")
        }
        Some(span) => {
            let same = span.file == label.file
                || (whole
                    && (label.file == "README"
                        || label.file == "LICENSE"
                        || label.file == ".github/workflows"));
            same && (label.line <= 1 || span.line.abs_diff(label.line) <= 3)
        }
    }
}

fn wilson(hits: usize, all: usize) -> Option<(f64, f64, f64)> {
    if all == 0 {
        return None;
    }
    let (n, p, z) = (all as f64, hits as f64 / all as f64, 1.959_964);
    let centre = (p + z * z / (2.0 * n)) / (1.0 + z * z / n);
    let half = z / (1.0 + z * z / n) * (p * (1.0 - p) / n + z * z / (4.0 * n * n)).sqrt();
    Some((p, (centre - half).max(0.0), (centre + half).min(1.0)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_interval_is_wilsons() {
        let (p, low, high) = wilson(9, 10).unwrap();
        assert!(
            (p - 0.9).abs() < 1e-12 && (low - 0.5958).abs() < 1e-3 && (high - 0.9821).abs() < 1e-3
        );
        assert_eq!(wilson(0, 0), None);
    }

    #[test]
    fn projects_without_a_checkout_are_skipped_by_name() {
        let label = Label {
            repo: "a/b".into(),
            commit: "0123456789".into(),
            rule: "DKR001".into(),
            file: "Dockerfile".into(),
            line: 1,
            verdict: Some(true),
        };
        let evaluation = evaluate(&[label], Path::new("/nonexistent"));
        assert_eq!(evaluation.skipped, ["a/b@01234567"]);
        assert!(evaluation.rules.is_empty());
    }
}
