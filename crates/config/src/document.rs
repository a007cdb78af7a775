//! One file: what it says, key by key, each with its line.

use std::ops::Range;
use std::path::{Path, PathBuf};

use toml::de::{DeTable, DeValue};
use warpsmith_core::did_you_mean;

use crate::audit::{self, Audit};
use crate::error::ConfigError;
use crate::keys::{KEYS, Key, Kind, TABLES};

/// Bytes of a file at most: a configuration is written by hand.
const MOST_BYTES: u64 = 1 << 20;

/// Whose file it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Owner {
    /// `config.toml` of the user, for every project.
    User,
    /// `.warpsmith.toml` of a project, for everybody who works on it.
    Project,
}

/// A value with its place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Value {
    pub(crate) text: String,
    pub(crate) line: usize,
}

/// A file that was read and has no mistakes.
#[derive(Clone, Debug)]
pub struct Document {
    /// Where it lies.
    pub path: PathBuf,
    /// Whose it is.
    pub owner: Owner,
    /// What `[audit]` says.
    pub audit: Audit,
    pub(crate) values: Vec<(&'static Key, Value)>,
    text: String,
}

impl Document {
    /// Reads a file; `None` where there is none.
    pub fn read(path: &Path, owner: Owner) -> Result<Option<Self>, ConfigError> {
        let unreadable = |source| ConfigError::Unreadable {
            path: path.to_owned(),
            source,
        };
        let text = match std::fs::metadata(path) {
            Ok(facts) if facts.len() > MOST_BYTES => {
                let size = format!(
                    "it has {} bytes, at most {MOST_BYTES} are read",
                    facts.len()
                );
                return Err(unreadable(std::io::Error::other(size)));
            }
            Ok(facts) if !facts.is_file() => {
                return Err(unreadable(std::io::Error::other("it is not a file")));
            }
            Ok(_) => std::fs::read_to_string(path).map_err(unreadable)?,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(unreadable(error)),
        };
        Self::parse(path, owner, text).map(Some)
    }

    /// Reads the text of a file.
    pub fn parse(path: &Path, owner: Owner, text: String) -> Result<Self, ConfigError> {
        let at = |span: Range<usize>, problem: String| {
            ConfigError::at(path.to_owned(), &text, span, problem)
        };
        let root = DeTable::parse(&text).map_err(|error| {
            at(
                error.span().unwrap_or(0..0),
                format!("not TOML: {}", error.message()),
            )
        })?;
        let mut values = Vec::new();
        let mut audit = Audit::default();
        for (name, value) in root.get_ref() {
            match value.get_ref().as_table() {
                Some(table) if name.get_ref() == "audit" => {
                    if owner == Owner::User {
                        let problem = "`[audit]` belongs in a project's `.warpsmith.toml`";
                        return Err(at(name.span(), problem.to_owned()));
                    }
                    audit = audit::read(table).map_err(|(span, problem)| at(span, problem))?;
                }
                Some(table) if TABLES.contains(&name.get_ref().as_ref()) => {
                    for (inner, value) in table {
                        let whole = format!("{}.{}", name.get_ref(), inner.get_ref());
                        let key = find(&whole, owner).map_err(|why| at(inner.span(), why))?;
                        let text_of = text_of(key, value.get_ref());
                        let said = text_of.map_err(|why| at(value.span(), why))?;
                        values.push((key, said, inner.span()));
                    }
                }
                Some(_) => {
                    let list = format!("there are {}", quoted_list(TABLES));
                    let advice = did_you_mean(name.get_ref(), TABLES.iter().copied(), &list);
                    let problem = format!("there is no table `{}`; {advice}", name.get_ref());
                    return Err(at(name.span(), problem));
                }
                None => {
                    let key = find(name.get_ref(), owner).map_err(|why| at(name.span(), why))?;
                    let text_of = text_of(key, value.get_ref());
                    let said = text_of.map_err(|why| at(value.span(), why))?;
                    values.push((key, said, name.span()));
                }
            }
        }
        let line = |span: &Range<usize>| text[..span.start].matches('\n').count() + 1;
        let values = values
            .into_iter()
            .map(|(key, said, span)| {
                let line = line(&span);
                (key, Value { text: said, line })
            })
            .collect();
        Ok(Self {
            path: path.to_owned(),
            owner,
            audit,
            values,
            text,
        })
    }

    /// An error about a place of this file that only its reader can judge.
    pub fn error_at(&self, span: Range<usize>, problem: String) -> ConfigError {
        ConfigError::at(self.path.clone(), &self.text, span, problem)
    }
}

/// The key of a name, or why there is none for this file.
fn find(name: &str, owner: Owner) -> Result<&'static Key, String> {
    let Some(key) = KEYS.iter().find(|key| key.name == name) else {
        // Somebody who forgets the table types the rest of the name.
        let exact = KEYS.iter().find(|key| {
            let rest = key.name.split_once('.').map(|(_, rest)| rest);
            rest == Some(name)
        });
        let advice = match exact {
            Some(key) => format!("did you mean `{}`?", key.name),
            None => {
                let names = KEYS.iter().map(|key| key.name);
                did_you_mean(name, names, "`warpsmith config show` lists the keys")
            }
        };
        return Err(format!("there is no key `{name}`; {advice}"));
    };
    match key.only {
        Some(Owner::User) if owner == Owner::Project => Err(format!(
            "`{name}` names a place of the machine and belongs in your own `config.toml`, not in a project"
        )),
        Some(Owner::Project) if owner == Owner::User => {
            Err(format!("`{name}` belongs in a project's `.warpsmith.toml`"))
        }
        _ => Ok(key),
    }
}

/// A value as its option would take it.
fn text_of(key: &Key, value: &DeValue<'_>) -> Result<String, String> {
    let text = match (value, key.kind) {
        (DeValue::String(text), _) => text.to_string(),
        (DeValue::Integer(number), Kind::Time | Kind::Percent) => number.as_str().to_owned(),
        (DeValue::Float(number), Kind::Time | Kind::Percent) => number.as_str().to_owned(),
        (other, _) => {
            let kind = other.type_str();
            return Err(format!(
                "`{}` takes {}, not a value of type {kind}",
                key.name,
                key.kind.words()
            ));
        }
    };
    match key.kind.problem(&text) {
        None => Ok(text),
        Some(problem) => Err(format!("`{}`: {problem}", key.name)),
    }
}

pub(crate) fn quoted_list(names: &[&str]) -> String {
    let quoted: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
    quoted.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(text: &str, owner: Owner) -> String {
        Document::parse(Path::new("c.toml"), owner, text.to_owned())
            .expect_err(text)
            .to_string()
    }

    #[test]
    fn values_are_read_with_their_lines() {
        let text = "device = \"cpu\"\n\n[measure]\nbudget = 5\nmargin = 2.5\n";
        let document = Document::parse(Path::new("c"), Owner::User, text.to_owned()).unwrap();
        let seen: Vec<_> = document
            .values
            .iter()
            .map(|(key, value)| (key.name, value.text.as_str(), value.line))
            .collect();
        assert_eq!(seen.len(), 3);
        assert!(seen.contains(&("device", "cpu", 1)));
        assert!(seen.contains(&("measure.budget", "5", 4)));
        assert!(seen.contains(&("measure.margin", "2.5", 5)));
    }

    #[test]
    fn what_is_misspelt_names_its_line_and_its_neighbour() {
        let unknown = said("[measure]\nbugdet = \"5s\"\n", Owner::Project);
        assert!(unknown.starts_with("c.toml:2:1: "), "{unknown}");
        assert!(
            unknown.contains("did you mean `measure.budget`?"),
            "{unknown}"
        );
        assert!(
            unknown.ends_with("2 | bugdet = \"5s\"\n  | ^^^^^^"),
            "{unknown}"
        );
        assert!(said("budget = 5\n", Owner::User).contains("did you mean `measure.budget`?"));
        assert!(said("[mesure]\n", Owner::User).contains("did you mean `measure`?"));
        assert!(said("[a]\n[b\n", Owner::User).starts_with("c.toml:2:"));
        assert!(said("device = \"gpu\"\n", Owner::User).contains("`cuda:N`"));
        assert!(said("device = 3\n", Owner::User).contains("not a value of type integer"));
        assert!(said("[measure]\nbudget = \"5 apples\"\n", Owner::User).contains("unit of time"));
    }

    #[test]
    fn a_project_names_no_places_of_the_machine_and_a_user_audits_nothing() {
        assert!(said("cache = \"/tmp\"\n", Owner::Project).contains("your own `config.toml`"));
        let outside = "[report]\noutput = \"/etc/cron.d\"\n";
        assert!(said(outside, Owner::Project).contains("below the current folder"));
        assert!(said("[audit]\n", Owner::User).contains("`.warpsmith.toml`"));
    }

    #[test]
    fn a_folder_or_an_endless_file_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let said = Document::read(folder.path(), Owner::User).unwrap_err();
        assert!(said.to_string().contains("cannot read"), "{said}");
        let path = folder.path().join("big.toml");
        std::fs::write(&path, "#".repeat(MOST_BYTES as usize + 1)).unwrap();
        assert!(Document::read(&path, Owner::User).is_err());
        assert!(
            Document::read(&folder.path().join("none"), Owner::User)
                .unwrap()
                .is_none()
        );
    }
}
