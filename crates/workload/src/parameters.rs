//! Parameters of a workload: declared once, with a range, so that a wrong one is refused with the
//! list of good ones.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};
use thiserror::Error;

/// A parameter that a workload takes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ParameterSpec {
    /// What the user types.
    pub name: &'static str,
    /// What it sets, in a line.
    pub meaning: &'static str,
    /// Kind, range and default.
    pub kind: ParameterKind,
}

impl ParameterSpec {
    /// A whole number from `min` to `max`.
    pub const fn integer(
        name: &'static str,
        meaning: &'static str,
        default: u64,
        min: u64,
        max: u64,
    ) -> Self {
        Self {
            name,
            meaning,
            kind: ParameterKind::Integer { default, min, max },
        }
    }

    /// One of a few words, the first of which is the default.
    pub const fn choice(
        name: &'static str,
        meaning: &'static str,
        words: &'static [&'static str],
    ) -> Self {
        Self {
            name,
            meaning,
            kind: ParameterKind::Choice(words),
        }
    }
}

/// Kind, range and default of a parameter.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ParameterKind {
    /// A whole number; `K`, `M` and `G` multiply by 1024, its square and its cube.
    Integer {
        /// Used when the user says nothing.
        default: u64,
        /// Least value.
        min: u64,
        /// Greatest value.
        max: u64,
    },
    /// One of a few words, the first of which is the default.
    Choice(&'static [&'static str]),
}

/// A parameter's value.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum ParameterValue {
    /// A whole number.
    Integer(u64),
    /// One of a few words.
    Choice(String),
}

impl fmt::Display for ParameterValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Integer(value) => value.fmt(f),
            Self::Choice(word) => word.fmt(f),
        }
    }
}

/// A value for each parameter of a workload.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Parameters(BTreeMap<String, ParameterValue>);

/// A parameter that does not fit.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("parameter `{name}`: {problem}")]
pub struct BadParameter {
    name: String,
    problem: String,
}

impl Parameters {
    /// The defaults of `specs`, with `given` put in their place.
    ///
    /// ```
    /// # use warpsmith_workload::{ParameterSpec, Parameters};
    /// let specs = [ParameterSpec::integer("n", "elements", 1024, 1, 1 << 40)];
    /// let parameters = Parameters::resolve(&specs, &[("n".into(), "64M".into())])?;
    /// assert_eq!(parameters.integer("n"), 64 << 20);
    /// # Ok::<(), warpsmith_workload::BadParameter>(())
    /// ```
    pub fn resolve(
        specs: &[ParameterSpec],
        given: &[(String, String)],
    ) -> Result<Self, BadParameter> {
        let mut values: BTreeMap<String, ParameterValue> = specs
            .iter()
            .map(|spec| (spec.name.to_owned(), spec.kind.default()))
            .collect();
        for (name, text) in given {
            let bad = |problem: String| BadParameter {
                name: name.clone(),
                problem,
            };
            let spec = specs.iter().find(|spec| spec.name == name).ok_or_else(|| {
                let known: Vec<_> = specs
                    .iter()
                    .map(|spec| format!("`{}`", spec.name))
                    .collect();
                bad(match known.len() {
                    0 => "this workload takes none".to_owned(),
                    _ => format!("unknown; this workload takes {}", known.join(", ")),
                })
            })?;
            values.insert(name.clone(), spec.kind.parse(text).map_err(bad)?);
        }
        Ok(Self(values))
    }

    /// A whole number; zero where the workload declares none of this name.
    pub fn integer(&self, name: &str) -> u64 {
        match self.0.get(name) {
            Some(ParameterValue::Integer(value)) => *value,
            _ => 0,
        }
    }

    /// A size; `usize::MAX` where the number does not fit, which no allocation survives.
    pub fn size(&self, name: &str) -> usize {
        usize::try_from(self.integer(name)).unwrap_or(usize::MAX)
    }

    /// A word; empty where the workload declares none of this name.
    pub fn choice(&self, name: &str) -> &str {
        match self.0.get(name) {
            Some(ParameterValue::Choice(word)) => word,
            _ => "",
        }
    }

    /// Names and values, sorted by name.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &ParameterValue)> {
        self.0.iter().map(|(name, value)| (name.as_str(), value))
    }
}

impl fmt::Display for Parameters {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let parts: Vec<_> = self
            .iter()
            .map(|(name, value)| format!("{name}={value}"))
            .collect();
        f.pad(&parts.join(" "))
    }
}

impl ParameterKind {
    /// The value when the user says nothing.
    pub fn default(&self) -> ParameterValue {
        match self {
            Self::Integer { default, .. } => ParameterValue::Integer(*default),
            Self::Choice(words) => ParameterValue::Choice(words[0].to_owned()),
        }
    }

    fn parse(&self, text: &str) -> Result<ParameterValue, String> {
        match self {
            Self::Integer { min, max, .. } => {
                let value =
                    parse_integer(text).ok_or_else(|| format!("`{text}` is not a whole number"))?;
                if !(*min..=*max).contains(&value) {
                    return Err(format!("{value} is outside {min} to {max}"));
                }
                Ok(ParameterValue::Integer(value))
            }
            Self::Choice(words) => {
                let word = words
                    .iter()
                    .find(|word| **word == text)
                    .ok_or_else(|| format!("`{text}` is none of `{}`", words.join("`, `")))?;
                Ok(ParameterValue::Choice((*word).to_owned()))
            }
        }
    }
}

fn parse_integer(text: &str) -> Option<u64> {
    let (digits, factor) = match text.chars().last()? {
        'K' => (&text[..text.len() - 1], 1 << 10),
        'M' => (&text[..text.len() - 1], 1 << 20),
        'G' => (&text[..text.len() - 1], 1 << 30),
        _ => (text, 1u64),
    };
    digits
        .replace('_', "")
        .parse::<u64>()
        .ok()?
        .checked_mul(factor)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SPECS: [ParameterSpec; 2] = [
        ParameterSpec {
            name: "n",
            meaning: "elements",
            kind: ParameterKind::Integer {
                default: 10,
                min: 1,
                max: 1 << 20,
            },
        },
        ParameterSpec {
            name: "what",
            meaning: "variant",
            kind: ParameterKind::Choice(&["sync", "graph"]),
        },
    ];

    fn resolve(name: &str, value: &str) -> Result<Parameters, String> {
        Parameters::resolve(&SPECS, &[(name.into(), value.into())]).map_err(|e| e.to_string())
    }

    #[test]
    fn defaults_stand_where_nothing_is_given() {
        let parameters = Parameters::resolve(&SPECS, &[]).unwrap();
        assert_eq!(
            (parameters.integer("n"), parameters.choice("what")),
            (10, "sync")
        );
        assert_eq!(parameters.to_string(), "n=10 what=sync");
    }

    #[test]
    fn wrong_parameters_are_refused_with_what_would_be_right() {
        for (name, value, message) in [
            ("n", "x", "parameter `n`: `x` is not a whole number"),
            ("n", "0", "parameter `n`: 0 is outside 1 to 1048576"),
            (
                "n",
                "2G",
                "parameter `n`: 2147483648 is outside 1 to 1048576",
            ),
            (
                "n",
                "99999999999999999999",
                "parameter `n`: `99999999999999999999` is not a whole number",
            ),
            (
                "what",
                "fast",
                "parameter `what`: `fast` is none of `sync`, `graph`",
            ),
            (
                "m",
                "1",
                "parameter `m`: unknown; this workload takes `n`, `what`",
            ),
        ] {
            assert_eq!(resolve(name, value).unwrap_err(), message);
        }
    }

    #[test]
    fn suffixes_and_underscores_are_read() {
        assert_eq!(resolve("n", "64K").unwrap().integer("n"), 65536);
        assert_eq!(resolve("n", "1_000").unwrap().integer("n"), 1000);
    }
}
