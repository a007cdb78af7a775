//! What makes a finding an error.
//!
//! A rule finds places. Whether a place is an *error* is decided here and nowhere else: the project's own
//! files must prove the consequence that the message states. Where a link of the proof is missing (the
//! release that is installed, the configuration that is built, whose code it is) the same finding is a
//! warning, and says what is left open.

mod image;
mod licence;
mod place;
mod python;
mod toolkit;
mod torch;
mod workflow;

use warpsmith_core::{Certainty, Finding, Severity};

use super::facts::ProjectFacts;

pub(super) use licence::speaks_of_a_licence;

/// What proves a finding, or what its evidence leaves open.
type Standing = Result<String, String>;

/// Looks for the proof of one rule's findings.
type Question = fn(&ProjectFacts, &Finding) -> Standing;

/// Every rule that may give errors, with what it has to prove.
const QUESTIONS: &[(&str, Question)] = &[
    ("BLD003", python::undotted_list),
    ("BLD004", toolkit::unsupported_architecture),
    ("BLD006", python::build_isolation),
    ("BLD007", |_, _| {
        proved("setup.py ends on every way that has no GPU")
    }),
    ("BLD008", torch::old_standard),
    ("BLD009", torch::removed_header),
    ("CIA004", workflow::branch_of_others),
    ("CIA006", workflow::foreign_code_runs),
    ("CIA007", workflow::stated_permissions),
    ("DEP001", image::compiles_with_pinned_torch),
    ("DEP004", image::both_are_installed),
    ("DEP008", |_, _| proved("PyPI has no such release")),
    ("DKR005", image::old_by_neglect),
    ("DKR006", image::cannot_be_built),
    ("DOC005", licence::none_is_named),
    ("SEC001", |_, _| {
        proved("it has the form and the length of a real one")
    }),
    ("SRC007", toolkit::architecture_without_intrinsic),
    ("SRC008", toolkit::version_without_function),
];

fn proved(why: impl Into<String>) -> Standing {
    Ok(why.into())
}

fn open(what: impl Into<String>) -> Standing {
    Err(what.into())
}

/// Lets an error stand where it is proved, and makes it a warning that says what is open otherwise.
pub(super) fn settle(facts: &ProjectFacts, mut finding: Finding) -> Finding {
    if finding.severity != Severity::Error {
        return finding;
    }
    let question = QUESTIONS.iter().find(|(code, _)| *code == finding.code);
    let standing = place::of_the_project(facts, &finding).and_then(|()| match question {
        Some((_, question)) => question(facts, &finding),
        None => open("nothing says what would prove it"),
    });
    match standing {
        Ok(why) => finding.sure(Certainty::Certain, why),
        Err(what) => {
            finding.severity = Severity::Warning;
            finding.sure(Certainty::Likely, what)
        }
    }
}

/// The file that a finding is in; the empty text where it is about the whole project.
fn file_of(finding: &Finding) -> &str {
    finding.span.as_ref().map_or("", |span| span.file.as_str())
}

/// What the rule saw there.
fn seen(finding: &Finding) -> &str {
    finding.evidence.first().map_or("", |e| e.seen.as_str())
}

/// The folder of a path, with its slash; empty at the root.
fn folder_of(path: &str) -> &str {
    path.rfind('/').map_or("", |at| &path[..=at])
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::catalog::PROJECT_RULES;

    #[test]
    fn every_rule_that_may_give_errors_says_what_proves_them() {
        let asked: BTreeSet<_> = QUESTIONS.iter().map(|(code, _)| *code).collect();
        let errors: BTreeSet<_> = PROJECT_RULES
            .iter()
            .filter(|info| info.severity == Severity::Error)
            .map(|info| info.code)
            .collect();
        assert_eq!(asked, errors);
        assert_eq!(asked.len(), QUESTIONS.len());
    }

    #[test]
    fn what_is_not_proved_is_a_warning_that_says_why() {
        let facts = ProjectFacts::default();
        let found = settle(&facts, Finding::new("BLD009", Severity::Error, "m"));
        assert_eq!(found.severity, Severity::Warning);
        assert!(found.confidence.unwrap().why.contains("which torch"));
        let proved = settle(&facts, Finding::new("DEP008", Severity::Error, "m"));
        assert_eq!(proved.severity, Severity::Error);
        assert_eq!(proved.confidence.unwrap().certainty, Certainty::Certain);
    }
}
