//! What was generated so far, in numbers that can be added up across blocks and shares.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::distinct::Distinct;
use crate::record::Record;
use crate::verify::Check;

/// How a level of verification went, over all pairs.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LevelCounts {
    /// Pairs for which it holds.
    pub passed: u64,
    /// Pairs for which it could not be checked.
    pub skipped: u64,
    /// Pairs for which it does not hold.
    pub failed: u64,
    /// The first few reasons for failures, with the pair's index.
    pub reasons: Vec<String>,
}

/// What was generated so far.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tally {
    /// Pairs that were written.
    pub pairs: u64,
    /// Drafts that were made for them.
    pub drafts: u64,
    /// Indices for which no new shape was found.
    pub exhausted: u64,
    /// Drafts that the compiler refused.
    pub refused: u64,
    /// Pairs by category.
    pub categories: BTreeMap<String, u64>,
    /// Pairs by difficulty.
    pub difficulties: BTreeMap<u8, u64>,
    /// Pairs by split.
    pub splits: BTreeMap<String, u64>,
    /// Pairs by builtin.
    pub builtins: BTreeMap<String, u64>,
    /// Verification by level.
    pub levels: BTreeMap<String, LevelCounts>,
    /// Distinct sources.
    pub distinct_exact: Distinct,
    /// Distinct sources up to names.
    pub distinct_modulo_names: Distinct,
    /// Distinct shapes; exact where pairs are deduplicated, since then every pair has its own.
    pub distinct_shapes: Distinct,
    /// Distinct MinHash signatures.
    pub distinct_minhash: Distinct,
}

impl Tally {
    /// Counts a record.
    pub(crate) fn count(&mut self, record: &Record) {
        self.pairs += 1;
        add_one(&mut self.categories, record.draft.category.name());
        *self
            .difficulties
            .entry(record.draft.difficulty)
            .or_default() += 1;
        add_one(&mut self.splits, record.split.name());
        for builtin in &record.features.builtins {
            add_one(&mut self.builtins, builtin);
        }
        self.distinct_exact.add(record.fingerprint.exact);
        self.distinct_modulo_names
            .add(record.fingerprint.modulo_names);
        self.distinct_shapes.add(record.fingerprint.shape);
        self.distinct_minhash.add(record.fingerprint.minhash_key());
        let checks = &record.verification;
        let levels = [
            ("executed", &checks.executed),
            ("gradient", &checks.gradient),
            ("compiled", &checks.compiled),
            ("gpu", &checks.gpu),
            ("warp", &checks.warp),
        ];
        for (name, check) in levels {
            if *check == Check::NotRun {
                continue;
            }
            let counts = self.levels.entry(name.to_owned()).or_default();
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

    /// Adds another share's numbers.
    pub fn merge(&mut self, other: &Self) {
        self.pairs += other.pairs;
        self.drafts += other.drafts;
        self.exhausted += other.exhausted;
        self.refused += other.refused;
        add_all(&mut self.categories, &other.categories);
        add_all(&mut self.difficulties, &other.difficulties);
        add_all(&mut self.splits, &other.splits);
        add_all(&mut self.builtins, &other.builtins);
        for (level, counts) in &other.levels {
            let ours = self.levels.entry(level.clone()).or_default();
            ours.passed += counts.passed;
            ours.skipped += counts.skipped;
            ours.failed += counts.failed;
            ours.reasons.extend(counts.reasons.iter().cloned());
            ours.reasons.truncate(20);
        }
        self.distinct_exact.merge(&other.distinct_exact);
        self.distinct_modulo_names
            .merge(&other.distinct_modulo_names);
        self.distinct_shapes.merge(&other.distinct_shapes);
        self.distinct_minhash.merge(&other.distinct_minhash);
    }
}

fn add_all<K: Ord + Clone>(ours: &mut BTreeMap<K, u64>, theirs: &BTreeMap<K, u64>) {
    for (key, count) in theirs {
        *ours.entry(key.clone()).or_default() += count;
    }
}

/// Counts a name, without making a `String` of one that is there.
fn add_one(counts: &mut std::collections::BTreeMap<String, u64>, name: &str) {
    match counts.get_mut(name) {
        Some(count) => *count += 1,
        None => {
            counts.insert(name.to_owned(), 1);
        }
    }
}
