//! Words that show that something is there: one pass over a file finds which of them occur.
//!
//! The words and the rules that ask for them are data: `data/keyword_rules.toml`.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

use aho_corasick::{AhoCorasick, AhoCorasickKind};
use serde::Deserialize;

/// A rule that fires where none of its words occurs in the files it looks at.
#[derive(Clone, Debug, Deserialize)]
pub(super) struct KeywordRule {
    pub(super) code: String,
    /// What must be true of the project: `service`, `cuda`, `ci`, `extension`, `image`.
    pub(super) applies: String,
    /// Where to look: `python`, `ci`, `yaml`, `docs`, `scripts`, `image`, `paths`.
    pub(super) scope: Vec<String>,
    /// Any of these words will do; lower case.
    pub(super) words: Vec<String>,
    pub(super) message: String,
    pub(super) hint: String,
}

#[derive(Deserialize)]
struct KeywordFile {
    rule: Vec<KeywordRule>,
}

/// The rules of `data/keyword_rules.toml`.
pub(super) static RULES: LazyLock<Vec<KeywordRule>> = LazyLock::new(|| {
    toml::from_str::<KeywordFile>(include_str!("../../data/keyword_rules.toml"))
        .map(|file| file.rule)
        .unwrap_or_default()
});

static WORDS: LazyLock<Vec<&'static str>> = LazyLock::new(|| {
    let mut words: Vec<&'static str> = RULES
        .iter()
        .flat_map(|r| r.words.iter().map(String::as_str))
        .collect();
    words.sort_unstable();
    words.dedup();
    words
});

/// The automaton of one scope: which words its rules ask for, and their places in [`WORDS`].
struct ScopeFinder {
    automaton: AhoCorasick,
    places: Vec<usize>,
}

/// A small automaton per scope: the words of other scopes would only be searched in vain.
static FINDERS: LazyLock<BTreeMap<&'static str, ScopeFinder>> = LazyLock::new(|| {
    let scopes: BTreeSet<&'static str> = RULES
        .iter()
        .flat_map(|r| r.scope.iter().map(String::as_str))
        .collect();
    scopes
        .into_iter()
        .filter_map(|scope| {
            let asked: BTreeSet<&'static str> = RULES
                .iter()
                .filter(|r| r.scope.iter().any(|s| s == scope))
                .flat_map(|r| r.words.iter().map(String::as_str))
                .collect();
            let places = asked
                .iter()
                .filter_map(|word| WORDS.binary_search(word).ok())
                .collect();
            let automaton = AhoCorasick::builder()
                .ascii_case_insensitive(true)
                .kind(Some(AhoCorasickKind::DFA))
                .build(&asked)
                .ok()?;
            Some((scope, ScopeFinder { automaton, places }))
        })
        .collect()
});

/// The set of words that occur in some files.
#[derive(Clone, Debug, Default)]
pub(super) struct WordSet(Vec<bool>);

impl WordSet {
    /// The words of a scope that occur in a text.
    pub(super) fn of(scope: &str, text: &str) -> Self {
        let mut set = vec![false; WORDS.len()];
        if let Some(finder) = FINDERS.get(scope) {
            // Overlapping: one word may begin inside another.
            for found in finder.automaton.find_overlapping_iter(text) {
                set[finder.places[found.pattern().as_usize()]] = true;
            }
        }
        Self(set)
    }

    pub(super) fn merge(&mut self, other: &Self) {
        self.0.resize(WORDS.len(), false);
        for (mine, theirs) in self.0.iter_mut().zip(&other.0) {
            *mine |= theirs;
        }
    }

    pub(super) fn has(&self, word: &str) -> bool {
        WORDS
            .binary_search(&word)
            .ok()
            .and_then(|n| self.0.get(n))
            .copied()
            .unwrap_or(false)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalog::rule_info;

    #[test]
    fn the_table_names_known_rules_and_lower_case_words() {
        assert!(RULES.len() >= 10);
        for rule in RULES.iter() {
            assert!(rule_info(&rule.code).is_some(), "{}", rule.code);
            assert!(
                !rule.words.is_empty() && rule.words.iter().all(|w| *w == w.to_lowercase()),
                "{}",
                rule.code
            );
        }
        assert!(WordSet::of("ci", "uses: aquasecurity/Trivy-action").has("trivy"));
        assert!(!WordSet::of("python", "trivy").has("trivy"));
    }
}
