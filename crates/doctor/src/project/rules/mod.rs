//! The rules of `audit`: pure functions from project facts to a verdict, one per code.

mod architectures;
mod build;
mod ci;
mod cmake;
mod container;
mod dependencies;
mod docs;
mod final_stage;
mod image_eol;
mod keyword;
mod lock;
mod operations;
mod place;
mod source;

use warpsmith_core::{RuleResult, Verdict};

use super::facts::ProjectFacts;
use super::proof;
use crate::conclude::{Judgement, verdict};

pub(crate) use architectures::{arch_lists, cuda_of_image, pinned_cuda};
pub(crate) use build::newest_allowed_torch;
pub(super) use ci::owner;
pub(super) use container::compiles;
pub(super) use docs::documented_cuda;
pub(super) use image_eol::{names_of, system_of};

pub(crate) type Check = (&'static str, fn(&ProjectFacts) -> Judgement);

/// Rules that are functions, in the catalogue's order.
pub(crate) fn functions() -> Vec<Check> {
    [
        architectures::RULES,
        build::RULES,
        cmake::RULES,
        dependencies::RULES,
        lock::RULES,
        container::RULES,
        final_stage::RULES,
        ci::RULES,
        docs::RULES,
        source::RULES,
        operations::RULES,
    ]
    .concat()
}

/// Runs every rule, functions and data.
pub(crate) fn run(facts: &ProjectFacts) -> Vec<RuleResult> {
    use rayon::prelude::*;
    let mut results: Vec<RuleResult> = functions()
        .into_par_iter()
        .map(|(code, check)| RuleResult {
            code: code.to_owned(),
            verdict: verdict(check(facts)),
        })
        .collect();
    results.extend(keyword::run(facts));
    for result in &mut results {
        let quiet = match result.verdict {
            Verdict::Pass => true,
            // What could not be read may be what the rule is about.
            Verdict::NotApplicable(_) => result.code.starts_with("SRC"),
            _ => false,
        };
        if let Some(why) = missing_input(facts, &result.code).filter(|_| quiet) {
            result.verdict = Verdict::Unknown(why);
        }
        if let Verdict::Found(found) = &mut result.verdict {
            for finding in found {
                *finding = proof::settle(facts, finding.clone());
            }
        }
    }
    results
}

/// Why silence of a rule proves nothing here: a file that it rests on could not be read.
fn missing_input(facts: &ProjectFacts, code: &str) -> Option<String> {
    match code.get(..3)? {
        "SRC" => facts
            .unreadable
            .iter()
            .find(|path| path.ends_with(".cu") || path.ends_with(".cuh"))
            .map(|path| format!("`{path}` could not be read")),
        "CIA" => facts
            .workflows
            .iter()
            .find(|w| !w.outline.faults.is_empty())
            .map(|w| format!("`{}` is not valid YAML", w.path)),
        "DEP" | "BLD" if code.starts_with("DEP") || matches!(code, "BLD006" | "BLD016") => facts
            .pyprojects
            .iter()
            .find(|p| p.fault.is_some())
            .map(|p| format!("`{}` is not valid TOML", p.path)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::catalog::PROJECT_RULES;

    #[test]
    fn every_row_of_the_catalogue_is_run_once() {
        let facts = ProjectFacts::default();
        let codes: Vec<_> = run(&facts).into_iter().map(|r| r.code).collect();
        let distinct: BTreeSet<_> = codes.iter().map(String::as_str).collect();
        let rows: BTreeSet<_> = PROJECT_RULES.iter().map(|info| info.code).collect();
        assert_eq!(codes.len(), distinct.len());
        assert_eq!(distinct, rows);
    }
}
