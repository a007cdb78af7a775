//! What is in force, and where it comes from.

use std::path::{Path, PathBuf};

use serde::Serialize;

use crate::document::{Document, Owner};
use crate::error::ConfigError;
use crate::keys::{KEYS, Key, Kind};

/// Where a value comes from; each wins over those before it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case", tag = "origin")]
pub enum Origin {
    /// The program's own.
    Default,
    /// The user's file.
    UserFile {
        /// The file.
        path: PathBuf,
        /// The line.
        line: usize,
    },
    /// The project's file.
    ProjectFile {
        /// The file.
        path: PathBuf,
        /// The line.
        line: usize,
    },
    /// A variable of the environment.
    Variable {
        /// Its name.
        variable: &'static str,
    },
    /// An option of this call.
    CommandLine {
        /// The option.
        option: String,
    },
}

impl std::fmt::Display for Origin {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Default => f.write_str("default"),
            Self::UserFile { path, line } | Self::ProjectFile { path, line } => {
                write!(f, "{}:{line}", path.display())
            }
            Self::Variable { variable } => write!(f, "variable {variable}"),
            Self::CommandLine { option } => write!(f, "option --{option}"),
        }
    }
}

/// A key with what is in force for it.
#[derive(Clone, Debug)]
pub struct Setting {
    /// The key.
    pub key: &'static Key,
    /// Its value, as its option would take it.
    pub value: String,
    /// Who says so.
    pub origin: Origin,
}

/// Every key with its value.
#[derive(Clone, Debug)]
pub struct Configuration {
    /// In the order of [`KEYS`].
    pub settings: Vec<Setting>,
    /// Files that were read.
    pub files: Vec<PathBuf>,
}

impl Configuration {
    /// Reads both files where there are any, and the variables.
    pub fn read(
        user: Option<&Path>,
        project: Option<&Path>,
        variable: &dyn Fn(&str) -> Option<String>,
    ) -> Result<Self, ConfigError> {
        let mut documents = Vec::new();
        for (path, owner) in [(user, Owner::User), (project, Owner::Project)] {
            if let Some(path) = path {
                documents.extend(Document::read(path, owner)?);
            }
        }
        Self::of(&documents, variable)
    }

    /// What `documents` say, the user's before the project's, with the variables.
    pub fn of(
        documents: &[Document],
        variable: &dyn Fn(&str) -> Option<String>,
    ) -> Result<Self, ConfigError> {
        let mut settings: Vec<Setting> = KEYS
            .iter()
            .map(|key| Setting {
                key,
                value: key.default.to_owned(),
                origin: Origin::Default,
            })
            .collect();
        for document in documents {
            for (key, value) in &document.values {
                let (path, line) = (document.path.clone(), value.line);
                let origin = match document.owner {
                    Owner::User => Origin::UserFile { path, line },
                    Owner::Project => Origin::ProjectFile { path, line },
                };
                let place = settings.iter_mut().find(|known| known.key.name == key.name);
                if let Some(setting) = place {
                    setting.value = value.text.clone();
                    setting.origin = origin;
                }
            }
        }
        for setting in &mut settings {
            let Some(name) = setting.key.variable else {
                continue;
            };
            let Some(value) = variable(name).filter(|value| !value.is_empty()) else {
                continue;
            };
            if let Some(problem) = setting.key.kind.problem(&value) {
                return Err(ConfigError::Variable {
                    variable: name,
                    value,
                    problem,
                });
            }
            setting.value = value;
            setting.origin = Origin::Variable { variable: name };
        }
        Ok(Self {
            settings,
            files: documents.iter().map(|one| one.path.clone()).collect(),
        })
    }

    /// A value that somebody set, as opposed to the program's own.
    pub fn set(&self, name: &str) -> Option<&Setting> {
        let named = self.settings.iter().find(|one| one.key.name == name);
        named.filter(|setting| setting.origin != Origin::Default)
    }

    /// A folder that somebody set: `~/` is `home`, and a relative one begins at the file's own folder.
    pub fn folder(&self, name: &str, home: Option<&Path>) -> Option<PathBuf> {
        let setting = self.set(name).filter(|one| one.key.kind == Kind::Path)?;
        let below_home = setting.value.strip_prefix("~/");
        if let (Some(rest), Some(home)) = (below_home, home) {
            return Some(home.join(rest));
        }
        let base = match &setting.origin {
            Origin::UserFile { path, .. } | Origin::ProjectFile { path, .. } => path.parent(),
            _ => None,
        };
        Some(base.unwrap_or(Path::new("")).join(&setting.value))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn document(owner: Owner, text: &str) -> Document {
        let path = match owner {
            Owner::User => "/u/config.toml",
            Owner::Project => "/p/.warpsmith.toml",
        };
        Document::parse(Path::new(path), owner, text.to_owned()).unwrap()
    }

    #[test]
    fn the_nearer_one_wins() {
        let documents = [
            document(
                Owner::User,
                "device = \"cpu\"\nformat = \"json\"\ncache = \"c\"\n",
            ),
            document(
                Owner::Project,
                "device = \"cuda\"\n[measure]\nbudget = \"5s\"\n",
            ),
        ];
        let none = |_: &str| None;
        let in_force = Configuration::of(&documents, &none).unwrap();
        let said = |name: &str| {
            let setting = in_force.set(name).unwrap();
            (setting.value.clone(), setting.origin.to_string())
        };
        assert_eq!(
            said("device"),
            ("cuda".into(), "/p/.warpsmith.toml:1".into())
        );
        assert_eq!(said("format"), ("json".into(), "/u/config.toml:2".into()));
        assert_eq!(said("measure.budget").1, "/p/.warpsmith.toml:3");
        assert!(in_force.set("color").is_none());
        assert_eq!(in_force.folder("cache", None), Some("/u/c".into()));
        let environment = |name: &str| (name == "WARPSMITH_DEVICE").then(|| "cuda:1".to_owned());
        let in_force = Configuration::of(&documents, &environment).unwrap();
        assert_eq!(in_force.set("device").unwrap().value, "cuda:1");
    }

    #[test]
    fn a_variable_that_means_nothing_is_an_error() {
        let environment = |name: &str| (name == "WARPSMITH_DEVICE").then(|| "gpu".to_owned());
        let said = Configuration::of(&[], &environment)
            .unwrap_err()
            .to_string();
        assert!(
            said.contains("`WARPSMITH_DEVICE`") && said.contains("`cuda:N`"),
            "{said}"
        );
        let empty = |_: &str| Some(String::new());
        assert!(Configuration::of(&[], &empty).is_ok());
    }

    #[test]
    fn the_home_folder_is_the_users() {
        let documents = [document(Owner::User, "cache = \"~/kernels\"\n")];
        let in_force = Configuration::of(&documents, &|_| None).unwrap();
        let folder = in_force.folder("cache", Some(Path::new("/h")));
        assert_eq!(folder, Some("/h/kernels".into()));
    }
}
