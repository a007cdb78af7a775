//! The records of a block, counted: what a [`Tally`] says of them.

use std::collections::BTreeMap;

use warpsmith_compiler::ir::small_keys::Map;

use super::tally::Tally;
use crate::record::Record;
use crate::verify::Check;

/// Names that are counted by where they lie in the program, which no two names of one length share: a
/// pair has a dozen builtins, and looking their text up costs more than writing a line of it.
#[derive(Debug, Default)]
struct Names(Map<(usize, usize), (&'static str, u64)>);

impl Names {
    fn add(&mut self, name: &'static str) {
        let place = (name.as_ptr().addr(), name.len());
        self.0.entry(place).or_insert((name, 0)).1 += 1;
    }

    /// The counts by name; a name may lie in several places.
    fn finish(self) -> BTreeMap<String, u64> {
        let mut counts = BTreeMap::new();
        for (name, count) in self.0.into_values() {
            *counts.entry(name.to_owned()).or_default() += count;
        }
        counts
    }
}

/// Counts records.
#[derive(Debug, Default)]
pub(crate) struct Counter {
    tally: Tally,
    categories: Names,
    splits: Names,
    builtins: Names,
}

impl Counter {
    /// Counts a record.
    pub(crate) fn count(&mut self, record: &Record) {
        self.categories.add(record.draft.category.name());
        self.splits.add(record.split.name());
        for builtin in &record.features.builtins {
            self.builtins.add(builtin);
        }
        let tally = &mut self.tally;
        tally.pairs += 1;
        *tally
            .difficulties
            .entry(record.draft.difficulty)
            .or_default() += 1;
        tally.distinct_exact.add(record.fingerprint.exact);
        tally
            .distinct_modulo_names
            .add(record.fingerprint.modulo_names);
        tally.distinct_shapes.add(record.fingerprint.shape);
        tally.distinct_minhash.add(record.fingerprint.minhash_key());
        let checks = &record.verification;
        let levels = [
            ("executed", &checks.executed),
            ("gradient", &checks.gradient),
            ("compiled", &checks.compiled),
            ("gpu", &checks.gpu),
            ("vulkan", &checks.vulkan),
            ("warp", &checks.warp),
        ];
        for (name, check) in levels {
            if *check == Check::NotRun {
                continue;
            }
            let counts = tally.levels.entry(name.to_owned()).or_default();
            match check {
                Check::Passed => counts.passed += 1,
                Check::Skipped(_) => counts.skipped += 1,
                Check::Failed(reason) => {
                    counts.failed += 1;
                    if counts.reasons.len() < 20 {
                        counts
                            .reasons
                            .push(format!("{}: {reason}", record.origin.index));
                    }
                }
                Check::NotRun => {}
            }
        }
    }

    /// What was counted.
    pub(crate) fn finish(self) -> Tally {
        Tally {
            categories: self.categories.finish(),
            splits: self.splits.finish(),
            builtins: self.builtins.finish(),
            ..self.tally
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::generate::Wanted;
    use crate::record::RecordBuilder;
    use crate::selection::write_draft;
    use crate::split::SplitRule;

    #[test]
    fn a_name_in_two_places_is_one() {
        let mut names = Names::default();
        let text: &'static str = "sin sinh sin";
        for part in [&text[..3], &text[9..], &text[4..8], &text[4..7]] {
            names.add(part);
        }
        let counts = names.finish();
        assert_eq!((counts["sin"], counts["sinh"], counts.len()), (3, 1, 2));
    }

    #[test]
    fn every_name_of_every_record_is_counted() {
        let mut builder = RecordBuilder::new();
        let mut counter = Counter::default();
        let (mut builtins, mut categories) = (BTreeMap::new(), BTreeMap::new());
        for index in 0..200 {
            let selected = write_draft(&Wanted::default(), 8, index, 0);
            let (record, module) = builder.build(selected, &SplitRule::default()).unwrap();
            builder.recycle(module);
            counter.count(&record);
            let category = record.draft.category.name().to_owned();
            *categories.entry(category).or_default() += 1;
            for builtin in &record.features.builtins {
                *builtins.entry((*builtin).to_owned()).or_default() += 1;
            }
        }
        let tally = counter.finish();
        assert_eq!((tally.builtins, tally.categories), (builtins, categories));
        assert_eq!(tally.splits.values().sum::<u64>(), 200);
        assert_eq!(tally.pairs, 200);
    }
}
