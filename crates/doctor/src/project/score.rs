//! A score that does not invent anything.
//!
//! Per area: passed and failed weights of the rules that were decided; `score = passed / (passed +
//! failed)`, shown with `coverage = decided / (decided + unknown)`. No score below half coverage or
//! three decided rules. The total is the weighted mean over areas that have one, with the interval
//! it would have if every unknown failed, or passed.

use serde::{Deserialize, Serialize};
use warpsmith_core::Severity;

use super::report::AuditOutcome;
use crate::catalog::{Area, RuleInfo, rule_info};
use crate::outcome::Outcome;

/// Weights, printed with every score: error, error about security, warning, anything else.
pub(crate) const WEIGHTS: [(&str, f64); 4] = [
    ("error", 8.0),
    ("security error", 10.0),
    ("warning", 3.0),
    ("info", 1.0),
];

/// The score of an area.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AreaScore {
    /// The area.
    pub area: Area,
    /// 0 to 100; absent where there is not enough evidence.
    pub score: Option<f64>,
    /// Part of the applicable weight that was decided, 0 to 1.
    pub coverage: f64,
    /// Weight that passed.
    pub passed: f64,
    /// Weight that failed.
    pub failed: f64,
    /// Weight that could not be decided.
    pub unknown: f64,
}

impl AreaScore {
    /// The score as people read it.
    pub(crate) fn score_text(&self) -> String {
        self.score
            .map_or("not enough evidence".into(), |s| format!("{s:.0}"))
    }
}

/// The score of a project.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Score {
    /// 0 to 100; absent below half coverage.
    pub total: Option<f64>,
    /// What it would be if every unknown rule failed, and if every one passed.
    pub interval: (f64, f64),
    /// Part of the applicable weight that was decided.
    pub coverage: f64,
    /// The formula.
    pub formula: String,
    /// Weights by name.
    pub weights: Vec<(String, f64)>,
    /// By area.
    pub areas: Vec<AreaScore>,
    /// What would raise the score most, best first.
    #[serde(default)]
    pub steps: Vec<Step>,
}

/// A rule that fails, and what fixing it is worth.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Step {
    /// The rule.
    pub code: String,
    /// Points of the total.
    pub points: f64,
}

/// How many steps are named.
const STEPS: usize = 3;

/// One decimal: more would claim what the weights do not carry.
fn tenth(value: f64) -> f64 {
    (value * 10.0).round() / 10.0
}

fn weight(info: &RuleInfo) -> f64 {
    match (info.severity, info.area) {
        (Severity::Error, Area::Security) => WEIGHTS[1].1,
        (Severity::Error, _) => WEIGHTS[0].1,
        (Severity::Warning, _) => WEIGHTS[2].1,
        _ => WEIGHTS[3].1,
    }
}

pub(super) fn score(outcomes: &[AuditOutcome]) -> Score {
    let mut areas: Vec<AreaScore> = Vec::new();
    for outcome in outcomes {
        let Some(info) = rule_info(&outcome.code) else {
            continue;
        };
        let at = match areas.iter().position(|a| a.area == info.area) {
            Some(at) => at,
            None => {
                areas.push(AreaScore {
                    area: info.area,
                    score: None,
                    coverage: 0.0,
                    passed: 0.0,
                    failed: 0.0,
                    unknown: 0.0,
                });
                areas.len() - 1
            }
        };
        match outcome.outcome {
            Outcome::Pass => areas[at].passed += weight(info),
            Outcome::Fail | Outcome::Warn => areas[at].failed += weight(info),
            Outcome::Unknown => areas[at].unknown += weight(info),
            // Information is not a fault, and what does not apply says nothing.
            Outcome::Info | Outcome::NotApplicable => {}
        }
    }
    for area in &mut areas {
        let decided = area.passed + area.failed;
        let all = decided + area.unknown;
        area.coverage = if all > 0.0 {
            tenth(1000.0 * decided / all) / 1000.0
        } else {
            0.0
        };
        let rules = outcomes
            .iter()
            .filter(|o| rule_info(&o.code).is_some_and(|i| i.area == area.area))
            .filter(|o| matches!(o.outcome, Outcome::Pass | Outcome::Fail | Outcome::Warn))
            .count();
        if area.coverage >= 0.5 && rules >= 3 {
            area.score = Some(tenth(100.0 * area.passed / decided));
        }
    }
    areas.sort_by_key(|a| a.area);
    let sum = |f: fn(&AreaScore) -> f64| areas.iter().map(f).sum::<f64>();
    let (passed, failed, unknown) = (sum(|a| a.passed), sum(|a| a.failed), sum(|a| a.unknown));
    let all = passed + failed + unknown;
    let coverage = if all > 0.0 {
        (passed + failed) / all
    } else {
        0.0
    };
    let scored: Vec<&AreaScore> = areas.iter().filter(|a| a.score.is_some()).collect();
    let mass: f64 = scored.iter().map(|a| a.passed + a.failed).sum();
    // From weights, not from rounded scores of areas: the point must lie inside its interval.
    let passed_there: f64 = scored.iter().map(|a| a.passed).sum();
    let total = (coverage >= 0.5 && mass > 0.0).then(|| 100.0 * passed_there / mass);
    let mut steps: Vec<Step> = outcomes
        .iter()
        .filter(|o| matches!(o.outcome, Outcome::Fail | Outcome::Warn))
        .filter_map(|o| {
            let info = rule_info(&o.code)?;
            let counts = scored.iter().any(|a| a.area == info.area);
            counts.then(|| Step {
                code: o.code.clone(),
                points: tenth(100.0 * weight(info) / mass),
            })
        })
        .collect();
    steps.sort_by(|a, b| b.points.total_cmp(&a.points).then(a.code.cmp(&b.code)));
    steps.truncate(STEPS);
    // Over the areas that count, so that the score lies inside its interval.
    let counted = |f: fn(&AreaScore) -> f64| scored.iter().map(|a| f(a)).sum::<f64>();
    let (passed, unknown) = (counted(|a| a.passed), counted(|a| a.unknown));
    let part = |weight: f64| {
        if mass > 0.0 {
            tenth(100.0 * weight / (mass + unknown))
        } else {
            0.0
        }
    };
    Score {
        total: total.map(tenth),
        interval: (part(passed), part(passed + unknown)),
        coverage: tenth(1000.0 * coverage) / 1000.0,
        formula: "passed / (passed + failed), weighted; information, suppressed and inapplicable rules are left out".to_owned(),
        weights: WEIGHTS.iter().map(|(name, w)| ((*name).to_owned(), *w)).collect(),
        areas,
        steps,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn outcome(code: &str, outcome: Outcome) -> AuditOutcome {
        AuditOutcome {
            code: code.to_owned(),
            area: rule_info(code).unwrap().area,
            title: String::new(),
            outcome,
            findings: 0,
            why: None,
        }
    }

    /// Every area counted alone rounds its own way: the total must not be made of rounded parts.
    #[test]
    fn the_score_lies_inside_its_interval() {
        let codes: Vec<&str> = crate::catalog::PROJECT_RULES
            .iter()
            .map(|r| r.code)
            .collect();
        for failing in 1..codes.len() {
            let outcomes: Vec<AuditOutcome> = codes
                .iter()
                .enumerate()
                .map(
                    |(n, code)| match (n * 7 + failing) % codes.len() < failing {
                        true => outcome(code, Outcome::Warn),
                        false => outcome(code, Outcome::Pass),
                    },
                )
                .collect();
            let score = score(&outcomes);
            let total = score.total.unwrap();
            assert!(
                score.interval.0 <= total && total <= score.interval.1,
                "{score:?}"
            );
        }
    }

    #[test]
    fn unknown_is_neither_good_nor_bad_and_too_little_evidence_has_no_score() {
        let codes = ["BLD001", "BLD002", "BLD003", "BLD004"];
        let all = |o: Outcome| codes.iter().map(|c| outcome(c, o)).collect::<Vec<_>>();
        assert_eq!(score(&all(Outcome::Unknown)).total, None);
        assert_eq!(score(&all(Outcome::Pass)).total, Some(100.0));
        assert_eq!(score(&all(Outcome::NotApplicable)).total, None);
        let mixed = score(&[
            outcome("BLD001", Outcome::Pass),
            outcome("BLD002", Outcome::Warn),
            outcome("BLD003", Outcome::Fail),
            outcome("BLD004", Outcome::Unknown),
        ]);
        assert_eq!(mixed.total, Some(21.4));
        assert!(mixed.interval.0 < mixed.total.unwrap() && mixed.total.unwrap() < mixed.interval.1);
        let steps: Vec<&str> = mixed.steps.iter().map(|s| s.code.as_str()).collect();
        assert_eq!(steps, ["BLD003", "BLD002"]);
        // An area with too little evidence counts neither in the score nor in its interval.
        let apart = score(&[
            outcome("BLD001", Outcome::Pass),
            outcome("BLD002", Outcome::Warn),
            outcome("BLD003", Outcome::Pass),
            outcome("DOC005", Outcome::Fail),
        ]);
        assert_eq!(Some(apart.interval.0), apart.total);
        assert_eq!(Some(apart.interval.1), apart.total);
    }
}
