//! The stories behind the findings of baselines, for `warpsmith explain`.

use warpsmith_core::Family;

/// What each code of `warpsmith baseline`, and of `warpsmith compare` over two baselines, means.
pub static FAMILY: Family = Family::new(include_str!("stories/B.md"));

#[cfg(test)]
mod tests {
    use super::super::gpu_rules::gpu_rules;
    use super::super::host_rules::host_rules;
    use super::*;

    #[test]
    fn every_rule_has_its_story_and_codes_are_unique() {
        let rules = gpu_rules().into_iter().map(|rule| rule.code);
        let used: Vec<_> = rules
            .chain(host_rules().into_iter().map(|rule| rule.code))
            .collect();
        let told: Vec<_> = FAMILY.stories().iter().map(|story| story.code).collect();
        // Those above are of comparisons, which have no rules.
        assert_eq!(used, told[..used.len()]);
        assert!(told.windows(2).all(|pair| pair[0] < pair[1]));
    }
}
