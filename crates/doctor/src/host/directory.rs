//! A machine kept in a directory: `root/` with its files, `env.json`, `cmd.json` (what commands
//! print), `stat.json` (what cannot be a file here, such as device nodes) and `links.json`.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use thiserror::Error;

use super::{CommandOutput, Host, READ_LIMIT, RealHost, Session, Stat};
use warpsmith_compatibility::ByteSource;

/// A captured or synthesised machine.
pub struct DirectoryHost {
    root: PathBuf,
    session: Session,
    commands: BTreeMap<String, CommandOutput>,
    stats: BTreeMap<String, Stat>,
    links: BTreeMap<String, String>,
    files: RealHost,
}

/// Why a directory is not a machine.
#[derive(Debug, Error)]
#[error("cannot read the machine in `{path}`: {what}")]
pub struct MachineDirectoryError {
    path: String,
    what: String,
}

impl DirectoryHost {
    /// Opens a directory made by `check --capture` or by hand.
    pub fn open(directory: &Path) -> Result<Self, MachineDirectoryError> {
        fn part<T: serde::de::DeserializeOwned>(
            directory: &Path,
            name: &str,
        ) -> Result<T, MachineDirectoryError> {
            let path = directory.join(name);
            let fault = |what: String| MachineDirectoryError {
                path: path.display().to_string(),
                what,
            };
            let text = fs::read_to_string(&path).map_err(|e| fault(e.to_string()))?;
            serde_json::from_str(&text).map_err(|e| fault(e.to_string()))
        }
        Ok(Self {
            root: directory.join("root"),
            session: part(directory, "env.json")?,
            commands: part(directory, "cmd.json").unwrap_or_default(),
            stats: part(directory, "stat.json").unwrap_or_default(),
            links: part(directory, "links.json").unwrap_or_default(),
            files: RealHost::new(),
        })
    }

    /// The path under `root/`; a captured link is followed inside the capture, never outside it.
    fn inside(&self, path: &str) -> Option<String> {
        let mut path = path.to_owned();
        for _ in 0..8 {
            if path.split('/').any(|part| part == "..") {
                return None;
            }
            let own = self.root.join(path.trim_start_matches('/'));
            match fs::read_link(&own) {
                Ok(target) => {
                    let target = target.to_str()?.to_owned();
                    path = if target.starts_with('/') {
                        target
                    } else {
                        let parent = path.rsplit_once('/').map_or("", |(dir, _)| dir);
                        format!("{parent}/{target}")
                    };
                }
                Err(_) => return own.to_str().map(str::to_owned),
            }
        }
        None
    }
}

impl Host for DirectoryHost {
    fn read(&self, path: &str) -> Option<Vec<u8>> {
        let own = self.inside(path)?;
        (fs::metadata(&own).ok()?.len() <= READ_LIMIT)
            .then(|| self.files.read(&own))
            .flatten()
    }

    fn list(&self, path: &str) -> Option<Vec<String>> {
        let mut names = self.inside(path).and_then(|own| self.files.list(&own));
        let prefix = format!("{}/", path.trim_end_matches('/'));
        let extra: Vec<_> = self
            .stats
            .keys()
            .filter_map(|known| known.strip_prefix(&prefix))
            .filter(|rest| !rest.contains('/'))
            .map(str::to_owned)
            .collect();
        if !extra.is_empty() {
            let names = names.get_or_insert_default();
            names.extend(extra);
            names.sort();
            names.dedup();
        }
        names
    }

    fn stat(&self, path: &str) -> Option<Stat> {
        self.stats
            .get(path)
            .cloned()
            .or_else(|| self.files.stat(&self.inside(path)?))
    }

    fn link(&self, path: &str) -> Option<String> {
        let own = || {
            self.files
                .link(self.root.join(path.trim_start_matches('/')).to_str()?)
        };
        self.links.get(path).cloned().or_else(own)
    }

    fn open(&self, path: &str) -> Option<Box<dyn ByteSource + '_>> {
        self.files.open(&self.inside(path)?)
    }

    fn run(&self, argv: &[&str], _limit: Duration) -> Option<CommandOutput> {
        self.commands.get(&argv.join(" ")).cloned()
    }

    fn session(&self) -> &Session {
        &self.session
    }
}
