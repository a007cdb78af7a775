//! Rules that are data: they fire where none of their words occurs.

use warpsmith_core::RuleResult;

use crate::conclude::{finding, not_applicable, one, pass, verdict};
use crate::project::facts::{ProjectFacts, is_test};
use crate::project::keywords::RULES;

pub(super) fn run(facts: &ProjectFacts) -> Vec<RuleResult> {
    RULES
        .iter()
        .map(|rule| {
            let (applies, why) = match rule.applies.as_str() {
                "service" => (facts.is_service(), "not a web service with an image"),
                "cuda" => (facts.has_cuda(), "no CUDA code"),
                "ci" => (facts.has_ci(), "no CI configuration"),
                "tests" => (
                    facts.has_cuda() && facts.files.iter().any(|f| is_test(f)),
                    "no CUDA code, or no tests",
                ),
                "extension" => (
                    facts.extension().is_some() && facts.has_ci(),
                    "not a library with CI",
                ),
                _ => (
                    !facts.dockerfiles.is_empty() && facts.has_ci(),
                    "no image is built in CI",
                ),
            };
            let judgement = if !applies {
                not_applicable(why)
            } else if facts.has_word(&rule.scope, &rule.words) {
                pass()
            } else {
                one(finding(&rule.code, rule.message.clone())
                    .because(
                        rule.scope.join(", "),
                        format!("none of: {}", rule.words.join(", ")),
                    )
                    .hint(rule.hint.clone()))
            };
            RuleResult {
                code: rule.code.clone(),
                verdict: verdict(judgement),
            }
        })
        .collect()
}
