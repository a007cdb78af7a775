//! Wrong kernels: never taken for right ones, and repaired by their diff.

use std::collections::BTreeSet;

use warpsmith_intent::{FaultKind, Language, Specification, faults};

/// Applies a diff of one hunk.
fn patched(text: &str, diff: &str) -> String {
    let mut lines: Vec<&str> = text.lines().collect();
    let mut hunk = diff.lines().skip(2);
    let place = hunk.next().unwrap();
    let first = place.trim_start_matches("@@ -").split(',').next().unwrap();
    let mut at = first.parse::<usize>().unwrap() - 1;
    for line in hunk {
        match line.split_at(1) {
            (" ", same) => {
                assert_eq!(lines[at], same);
                at += 1;
            }
            ("-", gone) => assert_eq!(lines.remove(at), gone),
            (_, new) => {
                lines.insert(at, new);
                at += 1;
            }
        }
    }
    lines.join("\n") + "\n"
}

#[test]
fn a_mistake_is_no_longer_the_specification_and_its_repair_is() {
    let mut kinds = BTreeSet::new();
    for specification in (0..176).filter_map(Specification::at) {
        let found = faults(&specification);
        assert!(!found.is_empty(), "{}", specification.family());
        for fault in found {
            let language = match fault.language {
                "cuda" => Language::Cuda,
                _ => Language::Warp,
            };
            let wrong = Specification::of_code(&fault.source, language);
            assert_ne!(wrong.as_ref(), Some(&specification), "{}", fault.source);
            let right = patched(&fault.source, &fault.repair);
            let back = Specification::of_code(&right, language);
            assert_eq!(back.as_ref(), Some(&specification), "{}", fault.repair);
            kinds.insert(fault.kind);
        }
    }
    assert!(
        kinds.contains(&FaultKind::MissingBarrier) && kinds.len() == 10,
        "{kinds:?}"
    );
}
