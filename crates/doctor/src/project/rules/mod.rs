//! The rules of `audit`: pure functions from project facts to a verdict, one per code.

mod build;
mod ci;
mod container;
mod dependencies;
mod docs;
mod keyword;
mod operations;
mod place;
mod source;

use warpsmith_core::{RuleResult, Verdict};

use super::facts::ProjectFacts;

pub(crate) type Check = (&'static str, fn(&ProjectFacts) -> Verdict);

/// Rules that are functions, in the catalogue's order.
pub(crate) fn functions() -> Vec<Check> {
    [
        build::RULES,
        dependencies::RULES,
        container::RULES,
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
            verdict: check(facts),
        })
        .collect();
    results.extend(keyword::run(facts));
    results
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
        let rows: BTreeSet<_> = PROJECT_RULES.iter().map(|info| info.doc.code).collect();
        assert_eq!(codes.len(), distinct.len());
        assert_eq!(distinct, rows);
    }
}
