//! What a data set is made of, from its manifests and its small columns.

use std::collections::BTreeMap;
use std::path::Path;

use serde::Serialize;

use crate::coverage::{CORE_BUILTINS, unused_builtins};
use crate::output::{LevelCounts, Manifest, ManifestError, ReadError, Settings, Tally, read_rows};

/// The columns that distributions are taken from; texts stay unread.
const COLUMNS: [&str; 10] = [
    "python_tokens",
    "cuda_tokens",
    "variables",
    "operations",
    "adjoints",
    "branches",
    "loops",
    "nesting",
    "parameters",
    "constructs",
];

/// How a number is distributed over the rows.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Distribution {
    /// The smallest.
    pub min: u32,
    /// Half are below.
    pub median: u32,
    /// Nine of ten are below.
    pub p90: u32,
    /// The largest.
    pub max: u32,
    /// Rows by value, in at most 24 bins of equal width.
    pub bins: Vec<u64>,
    /// The width of a bin.
    pub width: u32,
}

impl Distribution {
    fn of(mut values: Vec<u32>) -> Self {
        values.sort_unstable();
        let (Some(&min), Some(&max)) = (values.first(), values.last()) else {
            return Self::default();
        };
        // The longest tail is left to the last bin, so that the rest can be seen.
        let end = values[values.len() * 99 / 100].max(min + 1);
        let width = (end - min).div_ceil(24).max(1);
        let mut bins = vec![0; ((end - min) / width + 1) as usize];
        for value in &values {
            let bin = ((value - min) / width) as usize;
            let last = bins.len() - 1;
            bins[bin.min(last)] += 1;
        }
        Self {
            min,
            median: values[values.len() / 2],
            p90: values[values.len() * 9 / 10],
            max,
            bins,
            width,
        }
    }
}

/// A data set in numbers.
#[derive(Clone, Debug, Serialize)]
pub struct Statistics {
    /// What it was made with.
    pub settings: Settings,
    /// Pairs that are there.
    pub pairs: u64,
    /// Bytes of its files.
    pub bytes: u64,
    /// Files.
    pub files: u64,
    /// Drafts that were made.
    pub drafts: u64,
    /// Distinct sources: exact where pairs are deduplicated, since then every pair has a shape of its own;
    /// else estimated to within 1 %.
    pub distinct_exact: u64,
    /// Distinct up to names, likewise.
    pub distinct_modulo_names: u64,
    /// Distinct shapes, likewise.
    pub distinct_shapes: u64,
    /// Distinct MinHash signatures, estimated.
    pub distinct_minhash: u64,
    /// Pairs by category.
    pub categories: BTreeMap<String, u64>,
    /// Pairs by difficulty.
    pub difficulties: BTreeMap<u8, u64>,
    /// Pairs by split.
    pub splits: BTreeMap<String, u64>,
    /// Pairs by builtin.
    pub builtins: BTreeMap<String, u64>,
    /// Core builtins that no pair uses.
    pub unused_builtins: Vec<&'static str>,
    /// How many core builtins there are.
    pub core_builtins: usize,
    /// Pairs by construct.
    pub constructs: BTreeMap<String, u64>,
    /// Verification by level.
    pub levels: BTreeMap<String, LevelCounts>,
    /// Numbers by column.
    pub distributions: BTreeMap<&'static str, Distribution>,
}

/// Statistics that cannot be made.
#[derive(Debug, thiserror::Error)]
pub enum StatisticsError {
    /// The manifest.
    #[error(transparent)]
    Manifest(#[from] ManifestError),
    /// A file.
    #[error(transparent)]
    Read(#[from] ReadError),
}

/// Describes the data set in `folder`.
///
/// # Errors
/// A folder without a manifest, or a file that cannot be read.
pub fn statistics(folder: &Path) -> Result<Statistics, StatisticsError> {
    let manifests = Manifest::read_all(folder)?;
    let mut tally = Tally::default();
    manifests
        .iter()
        .for_each(|manifest| tally.merge(&manifest.tally));
    let mut constructs: BTreeMap<String, u64> = BTreeMap::new();
    let mut values: BTreeMap<&'static str, Vec<u32>> = BTreeMap::new();
    let (mut bytes, mut files) = (0, 0);
    for file in manifests.iter().flat_map(|manifest| &manifest.files) {
        bytes += file.bytes;
        files += 1;
        for row in read_rows(&folder.join(&file.path), &COLUMNS)? {
            for (name, value) in [
                ("python_tokens", row.python_tokens),
                ("cuda_tokens", row.cuda_tokens),
                ("variables", row.variables),
                ("operations", row.operations),
                ("adjoints", row.adjoints),
                ("branches", row.branches),
                ("loops", row.loops),
                ("nesting", row.nesting),
                ("parameters", row.parameters),
            ] {
                values.entry(name).or_default().push(value);
            }
            for construct in row.constructs {
                *constructs.entry(construct).or_default() += 1;
            }
        }
    }
    let settings = manifests[0].settings.clone();
    // Never more than there are pairs, which an estimate would not know.
    let estimate =
        |distinct: &crate::Distinct| (distinct.estimate().round() as u64).min(tally.pairs);
    // Every share looks at the shapes of all pairs before its own.
    let distinct = |distinct: &crate::Distinct| match settings.deduplicate {
        true => tally.pairs,
        false => estimate(distinct),
    };
    Ok(Statistics {
        pairs: tally.pairs,
        bytes,
        files,
        drafts: tally.drafts,
        distinct_exact: distinct(&tally.distinct_exact),
        distinct_modulo_names: distinct(&tally.distinct_modulo_names),
        distinct_shapes: distinct(&tally.distinct_shapes),
        distinct_minhash: estimate(&tally.distinct_minhash),
        unused_builtins: unused_builtins(|name| tally.builtins.contains_key(name)),
        core_builtins: CORE_BUILTINS.len(),
        categories: tally.categories,
        difficulties: tally.difficulties,
        splits: tally.splits,
        builtins: tally.builtins,
        constructs,
        levels: tally.levels,
        distributions: values
            .into_iter()
            .map(|(name, values)| (name, Distribution::of(values)))
            .collect(),
        settings,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_distribution_counts_every_value() {
        let distribution = Distribution::of((0..1000).map(|n| n % 50).collect());
        assert_eq!(distribution.bins.iter().sum::<u64>(), 1000);
        assert_eq!((distribution.min, distribution.max), (0, 49));
        assert_eq!(Distribution::of(Vec::new()), Distribution::default());
    }
}
