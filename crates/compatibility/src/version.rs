//! Versions and ranges as Python packages, drivers and toolkits write them.
//!
//! Invariants: parsing never fails loudly (a text without a leading number is `None`); ordering is
//! PEP 440's for the parts that occur in practice: release numbers padded with zeros, then
//! dev < pre-release < final < post. A local part (`+cu128`) does not take part in ordering.

use std::cmp::Ordering;
use std::fmt;

use serde::{Deserialize, Serialize};

/// A version such as `2.5.1+cu121`, `550.54.15` or `13.0`.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct Version {
    release: Vec<u64>,
    /// (-2 dev, -1 pre-release, 0 final, 1 post) and its number, a letter rank folded in.
    stage: (i8, u64),
    local: Option<String>,
    text: String,
}

impl Version {
    /// Reads a version; `None` where the text does not begin with a number.
    pub fn parse(text: &str) -> Option<Self> {
        let text = text.trim();
        let body = text.strip_prefix(['v', 'V']).unwrap_or(text);
        let (public, local) = match body.split_once('+') {
            Some((public, local)) => (public, Some(local.to_ascii_lowercase())),
            None => (body, None),
        };
        let digits_end = public
            .find(|c: char| !c.is_ascii_digit() && c != '.')
            .unwrap_or(public.len());
        let (numbers, tail) = public.split_at(digits_end);
        let mut release = Vec::new();
        for part in numbers.split('.') {
            if part.is_empty() {
                continue;
            }
            // More than twelve numbers, or one beyond u64, is not a version anybody wrote.
            release.push(part.parse().ok()?);
            if release.len() > 12 {
                return None;
            }
        }
        if release.is_empty() {
            return None;
        }
        Some(Self {
            release,
            stage: stage(tail),
            local,
            text: text.chars().take(80).collect(),
        })
    }

    /// The `n`th release number; numbers that are not written are zero.
    pub fn part(&self, n: usize) -> u64 {
        self.release.get(n).copied().unwrap_or(0)
    }

    /// The first release number.
    pub fn major(&self) -> u64 {
        self.part(0)
    }

    /// `major.minor`, as toolkits are named.
    pub fn minor_name(&self) -> String {
        format!("{}.{}", self.part(0), self.part(1))
    }

    /// How many release numbers are written.
    pub fn precision(&self) -> usize {
        self.release.len()
    }

    /// The part after `+`.
    pub fn local(&self) -> Option<&str> {
        self.local.as_deref()
    }

    /// Whether this is a development or pre-release.
    pub fn is_prerelease(&self) -> bool {
        self.stage.0 < 0
    }

    fn same_prefix(&self, other: &Self, parts: usize) -> bool {
        (0..parts).all(|n| self.part(n) == other.part(n))
    }
}

fn stage(tail: &str) -> (i8, u64) {
    let tail = tail
        .trim_start_matches(['.', '-', '_'])
        .to_ascii_lowercase();
    let number = |s: &str| {
        s.chars()
            .filter(char::is_ascii_digit)
            .take(9)
            .collect::<String>()
            .parse()
            .unwrap_or(0)
    };
    let ranked = |rank: u64, s: &str| (-1, rank * 1_000_000_000 + number(s));
    match tail.as_bytes().first() {
        None => (0, 0),
        _ if tail.starts_with("dev") => (-2, number(&tail)),
        _ if tail.starts_with("post") => (1, number(&tail)),
        _ if tail.starts_with("rc") || tail.starts_with('c') => ranked(3, &tail),
        Some(b'b') => ranked(2, &tail),
        Some(b'a') => ranked(1, &tail),
        _ => (0, 0),
    }
}

impl PartialOrd for Version {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Version {
    fn cmp(&self, other: &Self) -> Ordering {
        let parts = self.release.len().max(other.release.len());
        (0..parts)
            .map(|n| self.part(n).cmp(&other.part(n)))
            .find(|order| order.is_ne())
            .unwrap_or(Ordering::Equal)
            .then(self.stage.cmp(&other.stage))
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.text)
    }
}

impl From<Version> for String {
    fn from(version: Version) -> Self {
        version.text
    }
}

impl TryFrom<String> for Version {
    type Error = String;
    fn try_from(text: String) -> Result<Self, String> {
        Self::parse(&text).ok_or_else(|| format!("`{text}` is not a version"))
    }
}

/// A comparison in a range.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Op {
    Equal,
    NotEqual,
    Less,
    LessEqual,
    Greater,
    GreaterEqual,
    Compatible,
    Caret,
}

/// A range of versions such as `>=2.0,<2.2` or `==2.1.*`; the empty range holds every version.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct VersionRange {
    clauses: Vec<(Op, Version, bool)>,
    text: String,
}

impl VersionRange {
    /// Reads a comma-separated list of comparisons; a clause that cannot be read is left out, so
    /// the range is then wider than written, never narrower.
    pub fn parse(text: &str) -> Self {
        const OPS: [(&str, Op); 10] = [
            ("===", Op::Equal),
            ("==", Op::Equal),
            ("!=", Op::NotEqual),
            ("<=", Op::LessEqual),
            (">=", Op::GreaterEqual),
            ("~=", Op::Compatible),
            ("<", Op::Less),
            (">", Op::Greater),
            ("^", Op::Caret),
            ("=", Op::Equal),
        ];
        let text = text.trim().trim_start_matches('(').trim_end_matches(')');
        let mut clauses = Vec::new();
        for clause in text.split(',').map(str::trim).filter(|c| !c.is_empty()) {
            let Some((op, rest)) = OPS
                .iter()
                .find_map(|(sign, op)| clause.strip_prefix(sign).map(|rest| (*op, rest.trim())))
            else {
                continue;
            };
            let wildcard = rest.ends_with(".*");
            if let Some(version) = Version::parse(rest.trim_end_matches(".*")) {
                clauses.push((op, version, wildcard));
            }
        }
        Self {
            clauses,
            text: text.to_owned(),
        }
    }

    /// Whether `version` is inside every comparison.
    pub fn contains(&self, version: &Version) -> bool {
        self.clauses.iter().all(|(op, bound, wildcard)| {
            let same = if *wildcard {
                version.same_prefix(bound, bound.precision())
            } else {
                version == bound || version.cmp(bound).is_eq()
            };
            match op {
                Op::Equal => same,
                Op::NotEqual => !same,
                Op::Less => version < bound,
                Op::LessEqual => version <= bound,
                Op::Greater => version > bound,
                Op::GreaterEqual => version >= bound,
                Op::Compatible => {
                    version >= bound
                        && version.same_prefix(bound, bound.precision().saturating_sub(1).max(1))
                }
                Op::Caret => {
                    let fixed = if bound.major() > 0 { 1 } else { 2 };
                    version >= bound && version.same_prefix(bound, fixed)
                }
            }
        })
    }

    /// Whether nothing is demanded.
    pub fn is_unbounded(&self) -> bool {
        self.clauses.is_empty()
    }

    /// Whether some comparison keeps newer versions out.
    pub fn has_upper_bound(&self) -> bool {
        self.clauses.iter().any(|(op, ..)| {
            matches!(
                op,
                Op::Equal | Op::Less | Op::LessEqual | Op::Compatible | Op::Caret
            )
        })
    }

    /// The single version of an exact pin.
    pub fn pinned(&self) -> Option<&Version> {
        match self.clauses.as_slice() {
            [(Op::Equal, version, false)] => Some(version),
            _ => None,
        }
    }
}

impl fmt::Display for VersionRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.text)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn v(text: &str) -> Version {
        Version::parse(text).unwrap()
    }

    #[test]
    fn versions_sort_as_their_makers_mean_them() {
        let mut rising = [
            "2.1.0.dev5",
            "2.1.0a1",
            "2.1.0rc1",
            "2.1.0",
            "2.1.0.post1",
            "2.10",
        ];
        rising.reverse();
        let mut sorted: Vec<_> = rising.iter().map(|t| v(t)).collect();
        sorted.sort();
        let texts: Vec<_> = sorted.iter().map(ToString::to_string).collect();
        rising.reverse();
        assert_eq!(texts, rising);
        assert!(v("550.54.15") < v("550.163.01"));
        assert_eq!(v("12.0").cmp(&v("12.0.0")), Ordering::Equal);
        assert_eq!(v("2.5.1+cu121").local(), Some("cu121"));
    }

    #[test]
    fn ranges_hold_what_pip_would_take() {
        let range = VersionRange::parse(">=2.0.0,<2.2.0");
        assert!(range.contains(&v("2.1.2")) && !range.contains(&v("2.2.0")));
        assert!(VersionRange::parse("==2.1.*").contains(&v("2.1.7")));
        assert!(!VersionRange::parse("~=2.1.1").contains(&v("2.2")));
        assert!(VersionRange::parse("^2.0").contains(&v("2.9")));
        assert!(VersionRange::parse("(==2.13.0)").pinned().is_some());
        assert!(!VersionRange::parse(">=1.8").has_upper_bound());
        assert!(VersionRange::parse("").contains(&v("1")));
    }

    proptest! {
        #[test]
        fn any_text_is_read_without_a_panic(text in "\\PC{0,60}") {
            let _ = Version::parse(&text);
            let _ = VersionRange::parse(&text).contains(&v("1.2.3"));
        }

        #[test]
        fn a_version_survives_json(a in 0u64..999, b in 0u64..999, c in 0u64..99) {
            let version = v(&format!("{a}.{b}.{c}"));
            let json = serde_json::to_string(&version).unwrap();
            prop_assert_eq!(serde_json::from_str::<Version>(&json).unwrap(), version);
        }
    }
}
