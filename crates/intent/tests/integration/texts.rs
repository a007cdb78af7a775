//! What follows from a specification, and the way back.

use std::collections::HashSet;

use warpsmith_intent::{Language, Specification};

/// Specifications of every family, spread over all numbers.
fn sample(count: u64) -> impl Iterator<Item = Specification> {
    let step = (Specification::count() / count) | 1;
    let first = (0..count).filter_map(Specification::at);
    first.chain((0..count).filter_map(move |at| Specification::at(at * step)))
}

#[test]
fn code_leads_back_to_its_specification() {
    lead_back(200);
}

#[test]
#[ignore = "slow: ten thousand specifications"]
fn ten_thousand_kernels_lead_back_to_their_specifications() {
    lead_back(5000);
}

fn lead_back(count: u64) {
    for specification in sample(count) {
        let back = Specification::of_code(&specification.warp(), Language::Warp);
        assert_eq!(
            back.as_ref(),
            Some(&specification),
            "{}",
            specification.warp()
        );
        // What the code says is what the description says.
        let described = back.map(|one| one.descriptions());
        assert_eq!(described, Some(specification.descriptions()));
        for kernel in specification.cuda() {
            let back = Specification::of_code(&kernel.source, Language::Cuda);
            assert_eq!(back.as_ref(), Some(&specification), "{}", kernel.source);
        }
    }
}

#[test]
fn names_and_layout_are_free_and_anything_else_is_not() {
    for specification in sample(60) {
        let code = specification.warp();
        let other = code.replace("import warp as wp\n", "import warp as wp  # a remark\n\n");
        let other = other.replace("out", "result").replace("    ", "  ");
        let back = Specification::of_code(&other, Language::Warp);
        assert_eq!(back.as_ref(), Some(&specification), "{other}");
        let wrong = code.replacen("wp.tid()", "wp.tid() + 1", 1);
        assert_eq!(Specification::of_code(&wrong, Language::Warp), None);
    }
}

#[test]
fn descriptions_are_finished_and_no_two_are_the_same() {
    let mut seen = HashSet::new();
    for specification in sample(400).collect::<HashSet<_>>() {
        let descriptions = specification.descriptions();
        assert!(descriptions.len() >= 3, "{}", specification.family());
        for text in descriptions {
            assert!(!text.contains(['$', '{']), "{text}");
            assert!(seen.insert(text.clone()), "{text}");
        }
    }
}
