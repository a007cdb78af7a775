//! The body of a `check` report: every rule's outcome, causes, specification and matrix.

use serde::{Deserialize, Serialize};
use warpsmith_core::{Finding, MachineIdentity, Report, Severity, Verdict};

use super::causes::{Cause, arrange};
use super::facts::{MachineFacts, OtherGpu};
use super::rules;
use super::specification::{GpuSpecification, MatrixRow, matrix, specifications};
use crate::catalog::{Area, rule_info};
use crate::outcome::Outcome;

/// What one rule concluded.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CheckOutcome {
    /// The rule.
    pub code: String,
    /// What it is about.
    pub area: Area,
    /// What the rule is called.
    pub title: String,
    /// What it concluded.
    pub outcome: Outcome,
    /// Why it is unknown or does not apply.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
}

/// What `check` has to say.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CheckBody {
    /// Every rule.
    pub outcomes: Vec<CheckOutcome>,
    /// Findings as causes with their consequences.
    pub causes: Vec<Cause>,
    /// The GPUs, with what the database knows about them.
    pub gpus: Vec<GpuSpecification>,
    /// What goes with this machine: library by library.
    pub matrix: Vec<MatrixRow>,
    /// Date of the compatibility database.
    pub database: String,
}

/// Runs every rule over facts.
pub fn check_machine(facts: &MachineFacts) -> Report<CheckBody> {
    let mut findings: Vec<Finding> = Vec::new();
    let mut outcomes = Vec::new();
    for result in rules::run(facts) {
        let Some(info) = rule_info(&result.code) else {
            continue;
        };
        let (outcome, why) = match result.verdict {
            Verdict::Pass => (Outcome::Pass, None),
            Verdict::Unknown(why) => (Outcome::Unknown, Some(why)),
            Verdict::NotApplicable(why) => (Outcome::NotApplicable, Some(why)),
            Verdict::Found(found) => {
                let worst = found.iter().map(|f| f.severity).max();
                findings.extend(found);
                (Outcome::of(worst.unwrap_or(Severity::Info)), None)
            }
        };
        outcomes.push(CheckOutcome {
            code: result.code,
            area: info.area,
            title: info.title().to_owned(),
            outcome,
            why,
        });
    }
    findings.sort_by_key(|finding| std::cmp::Reverse(finding.severity));
    let body = CheckBody {
        outcomes,
        causes: arrange(&findings),
        gpus: specifications(facts),
        matrix: matrix(facts),
        database: warpsmith_compatibility::database().generated.clone(),
    };
    let mut report = Report::new("check", machine_identity(facts), body);
    report.findings = findings;
    report
}

/// The machine's identity for the report's envelope.
pub fn machine_identity(facts: &MachineFacts) -> MachineIdentity {
    MachineIdentity {
        system: format!(
            "{} {} {}",
            facts.system.distribution.as_deref().unwrap_or("linux"),
            facts.session.kernel,
            facts.session.arch
        ),
        cpu: facts.system.cpu.clone(),
        cores: std::thread::available_parallelism().map_or(0, usize::from),
        gpus: facts
            .gpus
            .iter()
            .map(|gpu| gpu.name.clone())
            .chain(facts.other_gpus.iter().map(OtherGpu::name))
            .collect(),
        driver: facts.driver_version().map(|d| d.value.to_string()),
    }
}
