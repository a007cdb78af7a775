//! The body of an `audit` report.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use thiserror::Error;
use warpsmith_config::ConfigError;
use warpsmith_core::{Finding, MachineIdentity, Report, Severity, Verdict};

use super::apart::{self, ApartCount, Include};
use super::baseline::Baseline;
use super::confidence;
use super::facts::ProjectFacts;
use super::rules;
use super::score::{Score, score};
use super::settings::ProjectSettings;
use super::suppression::{self, Suppressed};
use super::twelve_factor::{self, FactorRow};
use crate::catalog::{Area, rule_info};
use crate::outcome::Outcome;

/// Why a project could not be audited.
#[derive(Debug, Error)]
pub enum AuditError {
    /// Not a directory.
    #[error("`{0}` is not a directory that can be read; name the root of a project")]
    NotADirectory(PathBuf),
    /// Nothing in it.
    #[error("`{0}` holds no files")]
    Empty(PathBuf),
    /// The project's settings cannot be used.
    #[error(transparent)]
    Settings(#[from] ConfigError),
}

/// How to audit.
#[derive(Clone, Debug, Default)]
pub struct AuditOptions {
    /// Findings that were there before.
    pub baseline: Option<Baseline>,
    /// Keep the severity of every place; otherwise a warning speaks once per rule, and its other
    /// places are listed as information.
    pub every_place: bool,
    /// Code apart that is judged like the project's own.
    pub include: Include,
}

/// What one rule concluded.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AuditOutcome {
    /// The rule.
    pub code: String,
    /// What it is about.
    pub area: Area,
    /// What the rule is called.
    pub title: String,
    /// What it concluded.
    pub outcome: Outcome,
    /// In how many places it fired.
    pub findings: usize,
    /// Why it is unknown or does not apply.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
}

/// A question that files cannot answer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct NotAssessed {
    /// The item.
    pub item: String,
    /// The question for a human.
    pub question: String,
}

/// What `audit` has to say.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AuditBody {
    /// The project's folder.
    pub project: String,
    /// Files seen, and files of CUDA code.
    pub files: usize,
    /// Files of CUDA code.
    pub cuda_files: usize,
    /// Files that were not read: too large, binary, or unreadable.
    pub unread: Vec<String>,
    /// Files that no parser accepts: place and why.
    pub faults: Vec<(String, String)>,
    /// Every rule.
    pub outcomes: Vec<AuditOutcome>,
    /// Files that were not judged: inputs of tests, and what the project excludes.
    #[serde(default)]
    pub excluded: Vec<String>,
    /// Code that neither the findings nor the score have.
    #[serde(default)]
    pub apart: Vec<ApartCount>,
    /// Findings that the project accepts.
    pub suppressed: Vec<Suppressed>,
    /// Findings that the baseline knew.
    pub known: usize,
    /// The score with its formula.
    pub score: Score,
    /// The twelve factors.
    pub twelve_factor: Vec<FactorRow>,
    /// What only a human can judge.
    pub not_assessed: Vec<NotAssessed>,
}

/// Audits the project in `root`.
pub fn audit_project(root: &Path, options: &AuditOptions) -> Result<Report<AuditBody>, AuditError> {
    if !root.is_dir() {
        return Err(AuditError::NotADirectory(root.to_owned()));
    }
    let facts = ProjectFacts::collect(root, ProjectSettings::read(root)?, options.include);
    if facts.files.is_empty() {
        return Err(AuditError::Empty(root.to_owned()));
    }
    let results = rules::run(&facts);
    let mut findings = Vec::new();
    let mut outcomes = Vec::new();
    let mut suppressed = Vec::new();
    let mut in_examples = Vec::new();
    let mut known = 0;
    for result in results {
        let Some(info) = rule_info(&result.code) else {
            continue;
        };
        let (outcome, why, count) = match result.verdict {
            Verdict::Pass => (Outcome::Pass, None, 0),
            Verdict::Unknown(why) => (Outcome::Unknown, Some(why), 0),
            Verdict::NotApplicable(why) => (Outcome::NotApplicable, Some(why), 0),
            Verdict::Found(found) => {
                let found = found.into_iter().map(confidence::fill).collect();
                let (mut kept, accepted) = suppression::split(&facts, found);
                suppressed.extend(accepted);
                in_examples.extend(apart::leave_examples(&facts, &mut kept));
                // The score is the project's, whoever knew of it: a baseline changes what is new.
                let worst = kept.iter().map(|f| f.severity).max();
                if let Some(baseline) = &options.baseline {
                    let before = kept.len();
                    kept = baseline.new_ones(kept);
                    known += before - kept.len();
                }
                if !options.every_place {
                    speak_once(&mut kept);
                }
                let count = kept.len();
                findings.extend(kept);
                (worst.map_or(Outcome::Pass, Outcome::of), None, count)
            }
        };
        outcomes.push(AuditOutcome {
            code: result.code,
            area: info.area,
            title: info.title().to_owned(),
            outcome,
            findings: count,
            why,
        });
    }
    // Same project, same bytes: by severity, then place, then code.
    findings.sort_by_cached_key(|f| {
        let place = f.span.as_ref().map(|s| (s.file.clone(), s.line));
        (std::cmp::Reverse(f.severity), place, f.code.clone())
    });
    outcomes.sort_by(|a, b| a.code.cmp(&b.code));
    let yaml = facts
        .workflows
        .iter()
        .chain(&facts.yaml)
        .chain(&facts.other_ci);
    let mut faults: Vec<(String, String)> = yaml
        .flat_map(|y| {
            y.outline
                .faults
                .iter()
                .map(move |(line, why)| (format!("{}:{line}", y.path), (*why).to_owned()))
        })
        .collect();
    faults.extend(facts.pyprojects.iter().filter_map(|p| {
        let (line, why) = p.fault.as_ref()?;
        Some((format!("{}:{line}", p.path), why.clone()))
    }));
    faults.extend(suppression::faults(&facts));
    let body = AuditBody {
        project: root.display().to_string(),
        files: facts.files.len(),
        cuda_files: facts.cuda.len(),
        unread: facts.unreadable.clone(),
        excluded: facts
            .excluded
            .iter()
            .chain(&facts.fixtures)
            .cloned()
            .collect(),
        apart: apart::counts(&facts, &in_examples),
        faults,
        score: score(&outcomes),
        twelve_factor: twelve_factor::table(&facts, &outcomes),
        not_assessed: not_assessed(),
        outcomes,
        suppressed,
        known,
    };
    let mut report = Report::new("audit", MachineIdentity::default(), body);
    report.findings = findings;
    Ok(report)
}

/// A warning speaks once per rule, an error once per message; the other places stay in the list as information, so that one
/// habit of a project does not bury the rest.
fn speak_once(findings: &mut [Finding]) {
    let loud = findings
        .iter()
        .filter(|f| f.severity == Severity::Warning)
        .count();
    let mut said: Vec<String> = Vec::new();
    for finding in findings
        .iter_mut()
        .filter(|f| f.severity == Severity::Error)
    {
        if said.contains(&finding.message) {
            finding.severity = Severity::Info;
        } else {
            said.push(finding.message.clone());
        }
    }
    let mut spoken = false;
    for finding in findings
        .iter_mut()
        .filter(|f| f.severity == Severity::Warning)
    {
        if spoken {
            finding.severity = Severity::Info;
        } else if loud > 1 {
            finding.message = format!("{} (and {} more places)", finding.message, loud - 1);
        }
        spoken = true;
    }
}

fn not_assessed() -> Vec<NotAssessed> {
    [
        (
            "kernel naming and comments",
            "can a new engineer say what each kernel does from its name and comment?",
        ),
        (
            "error handling",
            "does the program degrade in a way its users understand?",
        ),
        (
            "edge cases in tests",
            "are empty, odd-sized and very large inputs tested?",
        ),
        ("several GPUs", "has it been run on more than one GPU?"),
        (
            "architecture document",
            "does the description match the code?",
        ),
        (
            "resource limits",
            "what happens when the GPU's memory is full?",
        ),
        (
            "input validation",
            "which inputs come from people who are not trusted?",
        ),
        ("privacy", "what data is kept, and for how long?"),
        (
            "licences of models",
            "may the models be used for this purpose?",
        ),
        (
            "measured baselines",
            "were latency and throughput measured on named hardware?",
        ),
    ]
    .into_iter()
    .map(|(item, question)| NotAssessed {
        item: item.to_owned(),
        question: question.to_owned(),
    })
    .collect()
}
