//! A TOML text as a tree whose every key and value knows its line.
//!
//! Readers take what they know from a [`Table`] and end with [`Table::finish`], which refuses what is
//! left over: a misspelt key is an error, never a default.

use std::fmt;
use std::path::{Path, PathBuf};

use thiserror::Error;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use crate::expression::{Expression, number};

/// What is wrong with a case, and where.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("{}:{line}: {}{problem}", .file.display(), key_words(.key))]
pub struct CaseError {
    /// The file.
    pub file: PathBuf,
    /// The line, from 1.
    pub line: u32,
    /// The key, with those of the tables around it; empty where the text is no TOML.
    pub key: String,
    /// What is wrong, and what would be right.
    pub problem: String,
}

fn key_words(key: &str) -> String {
    match key {
        "" => String::new(),
        key => format!("`{key}`: "),
    }
}

/// Texts longer than this are no cases.
const LONGEST: usize = 1 << 20;

/// A place in the file: a line and the key there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    pub(crate) line: u32,
    pub(crate) key: String,
}

impl Place {
    pub(crate) fn error(&self, file: &Path, problem: impl fmt::Display) -> CaseError {
        CaseError {
            file: file.to_owned(),
            line: self.line,
            key: self.key.clone(),
            problem: problem.to_string(),
        }
    }
}

/// A value and its place.
#[derive(Clone, Debug)]
pub(crate) struct Item {
    pub(crate) place: Place,
    pub(crate) value: Value,
}

/// What a value is.
#[derive(Clone, Debug)]
pub(crate) enum Value {
    Text(String),
    Integer(i64),
    Float(f64),
    Truth(bool),
    Date(String),
    List(Vec<Item>),
    Table(Table),
}

/// Keys in the order of the file.
#[derive(Clone, Debug, Default)]
pub(crate) struct Table {
    entries: Vec<(String, Item)>,
}

/// Reads a text; `file` is what messages call it.
pub(crate) fn parse(file: &Path, text: &str) -> Result<Table, CaseError> {
    let bad = |line: u32, problem: String| CaseError {
        file: file.to_owned(),
        line,
        key: String::new(),
        problem,
    };
    if text.len() > LONGEST {
        return Err(bad(1, format!("longer than {LONGEST} bytes")));
    }
    let lines = Lines::of(text);
    let document = DeTable::parse(text).map_err(|error| {
        let line = error.span().map_or(1, |span| lines.line(span.start));
        bad(line, error.message().trim().replace('\n', "; "))
    })?;
    convert(document.get_ref(), "", &lines).map_err(|(line, problem)| bad(line, problem))
}

/// Where lines begin.
struct Lines(Vec<usize>);

impl Lines {
    fn of(text: &str) -> Self {
        let breaks = text.bytes().enumerate().filter(|(_, byte)| *byte == b'\n');
        Self(
            std::iter::once(0)
                .chain(breaks.map(|(at, _)| at + 1))
                .collect(),
        )
    }

    fn line(&self, at: usize) -> u32 {
        u32::try_from(self.0.partition_point(|start| *start <= at)).unwrap_or(u32::MAX)
    }
}

fn convert(table: &DeTable<'_>, path: &str, lines: &Lines) -> Result<Table, (u32, String)> {
    let mut entries: Vec<_> = table.iter().collect();
    entries.sort_by_key(|(key, _)| key.span().start);
    let entries = entries.into_iter().map(|(key, value)| {
        let name = key.get_ref().to_string();
        let full = match path {
            "" => name.clone(),
            path => format!("{path}.{name}"),
        };
        let place = Place {
            line: lines.line(key.span().start),
            key: full,
        };
        Ok((name, item(value, place, lines)?))
    });
    Ok(Table {
        entries: entries.collect::<Result<_, (u32, String)>>()?,
    })
}

fn item(value: &Spanned<DeValue<'_>>, place: Place, lines: &Lines) -> Result<Item, (u32, String)> {
    let line = lines.line(value.span().start);
    let converted = match value.get_ref() {
        DeValue::String(text) => Value::Text(text.to_string()),
        DeValue::Boolean(truth) => Value::Truth(*truth),
        DeValue::Datetime(date) => Value::Date(date.to_string()),
        DeValue::Integer(digits) => Value::Integer(
            i64::from_str_radix(digits.as_str(), digits.radix())
                .map_err(|_| (line, format!("`{}` does not fit 64 bits", digits.as_str())))?,
        ),
        DeValue::Float(digits) => Value::Float(
            digits
                .as_str()
                .parse()
                .map_err(|_| (line, format!("`{}` is not a number", digits.as_str())))?,
        ),
        DeValue::Array(values) => {
            let items = values.iter().enumerate().map(|(index, value)| {
                let place = Place {
                    line: lines.line(value.span().start),
                    key: format!("{}[{index}]", place.key),
                };
                item(value, place, lines)
            });
            Value::List(items.collect::<Result<_, _>>()?)
        }
        DeValue::Table(table) => Value::Table(convert(table, &place.key, lines)?),
    };
    Ok(Item {
        place,
        value: converted,
    })
}

impl Table {
    /// Takes the value of a key out, where it is there.
    pub(crate) fn take(&mut self, key: &str) -> Option<Item> {
        let at = self.entries.iter().position(|(name, _)| name == key)?;
        Some(self.entries.remove(at).1)
    }

    /// Takes everything out, in the order of the file.
    pub(crate) fn take_all(&mut self) -> Vec<(String, Item)> {
        std::mem::take(&mut self.entries)
    }

    /// Refuses what nobody took; `known` is said to the user.
    pub(crate) fn finish(self, file: &Path, known: &[&str]) -> Result<(), CaseError> {
        match self.entries.first() {
            None => Ok(()),
            Some((name, item)) => {
                let near = known.iter().find(|word| nearly(word, name));
                let problem = match near {
                    Some(word) => format!("there is no such key (did you mean `{word}`?)"),
                    None => format!("there is no such key; there are {}", known.join(", ")),
                };
                Err(item.place.error(file, problem))
            }
        }
    }
}

/// Whether two words differ by one letter changed, missing or added, or by an `s` at the end.
fn nearly(a: &str, b: &str) -> bool {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    let front = a.iter().zip(&b).take_while(|(x, y)| x == y).count();
    let back = a.iter().rev().zip(b.iter().rev());
    let back = back.take_while(|(x, y)| x == y).count();
    a.len().abs_diff(b.len()) <= 1 && front + back + 1 >= a.len().max(b.len())
}

impl Item {
    pub(crate) fn error(&self, file: &Path, problem: impl fmt::Display) -> CaseError {
        self.place.error(file, problem)
    }

    pub(crate) fn text(&self, file: &Path) -> Result<String, CaseError> {
        match &self.value {
            Value::Text(text) => Ok(text.clone()),
            other => Err(self.error(file, format!("a text expected, this is {}", other.kind()))),
        }
    }

    pub(crate) fn float(&self, file: &Path) -> Result<f64, CaseError> {
        match self.value {
            Value::Float(value) => Ok(value),
            Value::Integer(value) => Ok(value as f64),
            ref other => {
                Err(self.error(file, format!("a number expected, this is {}", other.kind())))
            }
        }
    }

    pub(crate) fn truth(&self, file: &Path) -> Result<bool, CaseError> {
        match self.value {
            Value::Truth(truth) => Ok(truth),
            ref other => Err(self.error(
                file,
                format!("true or false expected, this is {}", other.kind()),
            )),
        }
    }

    /// A whole number, also as `"4K"`.
    pub(crate) fn integer(&self, file: &Path) -> Result<i64, CaseError> {
        match &self.value {
            Value::Integer(value) => Ok(*value),
            Value::Text(text) => number(text).map_err(|problem| self.error(file, problem)),
            other => Err(self.error(
                file,
                format!("a whole number expected, this is {}", other.kind()),
            )),
        }
    }

    /// A whole number or an expression.
    pub(crate) fn expression(&self, file: &Path) -> Result<Expression, CaseError> {
        match &self.value {
            Value::Integer(value) => Ok((*value).into()),
            Value::Text(text) => Expression::parse(text).map_err(|error| self.error(file, error)),
            other => Err(self.error(
                file,
                format!(
                    "a number or an expression in quotes expected, this is {}",
                    other.kind()
                ),
            )),
        }
    }

    pub(crate) fn table(self, file: &Path) -> Result<(Place, Table), CaseError> {
        match self.value {
            Value::Table(table) => Ok((self.place, table)),
            ref other => {
                Err(self.error(file, format!("a table expected, this is {}", other.kind())))
            }
        }
    }

    /// The items of a list; one value stands for a list of one.
    pub(crate) fn list(self) -> Vec<Self> {
        match self.value {
            Value::List(items) => items,
            _ => vec![self],
        }
    }

    pub(crate) fn texts(self, file: &Path) -> Result<Vec<String>, CaseError> {
        self.list().iter().map(|item| item.text(file)).collect()
    }
}

impl Value {
    pub(crate) fn kind(&self) -> String {
        match self {
            Self::Text(text) => format!("the text `{}`", text.chars().take(40).collect::<String>()),
            Self::Integer(value) => format!("{value}"),
            Self::Float(value) => format!("{value}"),
            Self::Truth(value) => format!("{value}"),
            Self::Date(date) => format!("the date {date}"),
            Self::List(_) => "a list".to_owned(),
            Self::Table(_) => "a table".to_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_know_their_lines_and_what_is_left_over_is_refused() {
        let file = Path::new("a.toml");
        let mut table = parse(file, "a = 1\n\n[launch]\ngrid = \"n\"\nblok = 2\n").unwrap();
        assert_eq!(table.take("a").unwrap().integer(file), Ok(1));
        let (place, mut launch) = table.take("launch").unwrap().table(file).unwrap();
        assert_eq!((place.line, place.key.as_str()), (3, "launch"));
        launch.take("grid").unwrap();
        assert_eq!(
            launch
                .finish(file, &["grid", "block"])
                .unwrap_err()
                .to_string(),
            "a.toml:5: `launch.blok`: there is no such key (did you mean `block`?)"
        );
    }

    #[test]
    fn what_is_no_toml_names_its_line() {
        let error = parse(Path::new("a.toml"), "a = 1\nb = = 2\n").unwrap_err();
        assert_eq!((error.line, error.key.as_str()), (2, ""));
        assert!(parse(Path::new("a.toml"), "a = 99999999999999999999").is_err());
    }

    #[test]
    fn misspelt_words_are_near() {
        for (a, b) in [
            ("block", "blok"),
            ("flags", "flag"),
            ("grid", "grad"),
            ("a", "ab"),
        ] {
            assert!(nearly(a, b), "{a} {b}");
        }
        assert!(!nearly("grid", "block"));
    }
}
