//! What was generated so far, in numbers that can be added up across blocks and shares.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::distinct::Distinct;

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
