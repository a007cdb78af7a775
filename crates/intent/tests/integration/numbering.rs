//! Every number is one specification, and no two are the same.

use std::collections::{BTreeSet, HashSet};

use warpsmith_intent::Specification;

#[test]
fn a_million_numbers_are_a_million_specifications() {
    assert!(
        Specification::count() >= 1_000_000,
        "{}",
        Specification::count()
    );
    let mut seen = HashSet::new();
    for number in 0..1_000_000 {
        let specification = Specification::at(number).unwrap();
        // The inverse proves it for each; the set does not trust the inverse.
        assert_eq!(specification.number(), Some(number));
        assert!(seen.insert(specification), "{number}");
    }
    assert_eq!(Specification::at(Specification::count()), None);
    let last = Specification::count() - 1;
    assert_eq!(Specification::at(last).unwrap().number(), Some(last));
}

#[test]
fn the_first_numbers_are_one_of_each_family() {
    let names = |upto: u64| -> BTreeSet<&str> {
        (0..upto)
            .filter_map(Specification::at)
            .map(|one| one.family())
            .collect()
    };
    let all = names(1000);
    assert_eq!(names(all.len() as u64), all);
}
