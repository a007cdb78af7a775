//! The twelve factors of a service, as far as files show them.

use serde::{Deserialize, Serialize};

use super::facts::ProjectFacts;
use super::report::AuditOutcome;
use crate::outcome::Outcome;

/// One factor.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FactorRow {
    /// I to XII.
    pub number: String,
    /// Its name.
    pub name: String,
    /// `yes`, `no`, or `not assessed`.
    pub state: String,
    /// What it rests on.
    pub evidence: String,
}

pub(super) fn table(facts: &ProjectFacts, outcomes: &[AuditOutcome]) -> Vec<FactorRow> {
    let passed = |code: &str| {
        outcomes
            .iter()
            .find(|o| o.code == code)
            .and_then(|o| match o.outcome {
                Outcome::Pass => Some(true),
                Outcome::Fail | Outcome::Warn | Outcome::Info => Some(false),
                _ => None,
            })
    };
    let service = facts.is_service();
    let demands = facts.demands().count();
    let rows: [(&str, &str, Option<bool>, String); 12] = [
        (
            "I",
            "codebase",
            facts.root.join(".git").exists().then_some(true),
            "version control".into(),
        ),
        (
            "II",
            "dependencies",
            passed("DEP005").or((demands > 0 && service).then_some(true)),
            format!("{demands} requirements; DEP005"),
        ),
        (
            "III",
            "config",
            passed("OPS006"),
            "OPS006: environment variables".into(),
        ),
        ("IV", "backing services", None, "needs a reader".into()),
        (
            "V",
            "build, release, run",
            passed("DKR006").or(passed("CIA002")),
            "DKR006, CIA002: the build works by itself".into(),
        ),
        ("VI", "processes", None, "needs a reader".into()),
        (
            "VII",
            "port binding",
            service.then_some(true),
            "EXPOSE and a web framework".into(),
        ),
        (
            "VIII",
            "concurrency",
            passed("OPS009"),
            "OPS009: a server made for more than one request".into(),
        ),
        (
            "IX",
            "disposability",
            passed("OPS001").or(passed("DKR002")),
            "OPS001, DKR002: probes".into(),
        ),
        (
            "X",
            "dev/prod parity",
            passed("DKR003"),
            "DKR003: the same base image everywhere".into(),
        ),
        (
            "XI",
            "logs",
            passed("OPS004"),
            "OPS004: standard output or rotation".into(),
        ),
        ("XII", "admin processes", None, "needs a reader".into()),
    ];
    rows.into_iter()
        .map(|(number, name, state, evidence)| FactorRow {
            number: number.to_owned(),
            name: name.to_owned(),
            state: match state {
                Some(true) if service => "yes",
                Some(false) if service => "no",
                _ => "not assessed",
            }
            .to_owned(),
            evidence,
        })
        .collect()
}
