//! The rules of `check`: pure functions from machine facts to a verdict, one per code.

mod containers;
mod driver;
mod environment;
mod evidence;
mod frameworks;
mod gpu;
mod libraries;
mod profilers;
mod python;
mod toolkit;

use warpsmith_core::RuleResult;

use super::facts::MachineFacts;
use crate::conclude::{Judgement, applies, verdict};

/// A rule's code, whether it speaks of a GPU, and its function.
#[derive(Clone, Copy)]
struct Check {
    code: &'static str,
    needs_gpu: bool,
    judge: fn(&MachineFacts) -> Judgement,
}

impl Check {
    fn run(&self, facts: &MachineFacts) -> RuleResult {
        let here = applies(
            !self.needs_gpu || facts.has_gpu(),
            "no NVIDIA GPU in this machine",
        );
        RuleResult {
            code: self.code.to_owned(),
            verdict: verdict(here.and_then(|()| (self.judge)(facts))),
        }
    }
}

/// A rule that is asked on every machine.
const fn anywhere(code: &'static str, judge: fn(&MachineFacts) -> Judgement) -> Check {
    Check {
        code,
        needs_gpu: false,
        judge,
    }
}

/// A rule that does not apply to a machine without an NVIDIA GPU.
const fn on_gpu(code: &'static str, judge: fn(&MachineFacts) -> Judgement) -> Check {
    Check {
        needs_gpu: true,
        ..anywhere(code, judge)
    }
}

/// Every rule of `check`, in the catalogue's order.
fn all() -> Vec<Check> {
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
    all().iter().map(|check| check.run(facts)).collect()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use warpsmith_core::Verdict;

    use super::*;
    use crate::catalog::MACHINE_RULES;

    #[test]
    fn every_row_of_the_catalogue_has_its_function_and_none_is_left_over() {
        let functions: Vec<_> = all().into_iter().map(|check| check.code).collect();
        let distinct: BTreeSet<_> = functions.iter().copied().collect();
        let rows: BTreeSet<_> = MACHINE_RULES.iter().map(|info| info.code).collect();
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
