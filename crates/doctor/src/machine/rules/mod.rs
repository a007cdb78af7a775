//! The rules of `check`: pure functions from machine facts to a verdict, one per code.

mod containers;
mod driver;
mod environment;
mod frameworks;
mod gpu;
mod libraries;
mod presence;
mod profilers;
mod python;
mod toolkit;

use warpsmith_core::{Rule, RuleResult, Verdict, run_rules};

use super::facts::MachineFacts;
use crate::catalog::rule_info;

pub(crate) type Check = (&'static str, fn(&MachineFacts) -> Verdict);

/// Every rule of `check`, in the catalogue's order.
pub(crate) fn all() -> Vec<Check> {
    [
        driver::RULES,
        gpu::RULES,
        toolkit::RULES,
        libraries::RULES,
        profilers::RULES,
        containers::RULES,
        python::RULES,
        environment::RULES,
    ]
    .concat()
}

/// Runs every rule.
pub(crate) fn run(facts: &MachineFacts) -> Vec<RuleResult> {
    let rules: Vec<Rule<MachineFacts>> = all()
        .into_iter()
        .filter_map(|(code, check)| {
            rule_info(code).map(|info| Rule {
                doc: info.doc,
                check,
            })
        })
        .collect();
    run_rules(&rules, facts)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::catalog::MACHINE_RULES;

    #[test]
    fn every_row_of_the_catalogue_has_its_function_and_none_is_left_over() {
        let functions: Vec<_> = all().into_iter().map(|(code, _)| code).collect();
        let distinct: BTreeSet<_> = functions.iter().copied().collect();
        let rows: BTreeSet<_> = MACHINE_RULES.iter().map(|info| info.doc.code).collect();
        assert_eq!(distinct.len(), functions.len());
        assert_eq!(distinct, rows);
    }

    #[test]
    fn nothing_known_is_never_a_pass_of_a_gpu_rule() {
        let facts = MachineFacts::default();
        for result in run(&facts) {
            if ["DRV", "GPU"].iter().any(|p| result.code.starts_with(p)) {
                assert_ne!(result.verdict, Verdict::Pass, "{}", result.code);
            }
        }
    }
}
