//! Rules: pure functions from facts to a verdict, so that a rule can be tested against a machine
//! that nobody has.
//!
//! Invariant: a rule whose inputs are missing is `Unknown`, never `Pass`.

use serde::{Deserialize, Serialize};

use crate::Finding;

/// What a rule concluded.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// Looked at, and fine.
    Pass,
    /// Looked at, and there is something to say.
    Found(Vec<Finding>),
    /// The facts that the rule needs are missing; says which.
    Unknown(String),
    /// The rule is about something that is not here; says what.
    NotApplicable(String),
}

/// A named check over one kind of facts.
pub struct Rule<Facts: ?Sized> {
    /// The code of what it finds.
    pub code: &'static str,
    /// The check itself.
    pub check: fn(&Facts) -> Verdict,
}

/// One rule's verdict.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RuleResult {
    /// The rule's code.
    pub code: String,
    /// What it concluded.
    pub verdict: Verdict,
}

/// Runs `rules` over `facts` in the order given.
pub fn run_rules<Facts: ?Sized>(rules: &[Rule<Facts>], facts: &Facts) -> Vec<RuleResult> {
    rules
        .iter()
        .map(|rule| RuleResult {
            code: rule.code.to_owned(),
            verdict: (rule.check)(facts),
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Severity;

    struct Machine {
        cores: Option<u32>,
    }

    const ENOUGH_CORES: Rule<Machine> = Rule {
        code: "D900",
        check: |machine| match machine.cores {
            None => Verdict::Unknown("the core count is not known".into()),
            Some(0) => Verdict::Found(vec![Finding::new("D900", Severity::Error, "no cores")]),
            Some(_) => Verdict::Pass,
        },
    };

    #[test]
    fn missing_facts_are_unknown() {
        let verdicts: Vec<_> = [None, Some(0), Some(2)]
            .into_iter()
            .map(|cores| {
                run_rules(&[ENOUGH_CORES], &Machine { cores })
                    .remove(0)
                    .verdict
            })
            .collect();
        assert!(matches!(verdicts[0], Verdict::Unknown(_)));
        assert!(matches!(verdicts[1], Verdict::Found(_)));
        assert_eq!(verdicts[2], Verdict::Pass);
    }
}
