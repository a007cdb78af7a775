//! What was tried, line by line, so that a tuning goes on where it stopped.
//!
//! A line is written before a point runs and another after it: a point that took its process with it
//! is found as begun and never ended, and is not tried again.

use std::collections::BTreeMap;
use std::fs::{self, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};

/// How a point fared.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Tried {
    /// It runs from here on.
    Begun,
    /// Seconds of each sample.
    Measured(Vec<f64>),
    /// It does not compile, is wrong, or faults.
    Refused(String),
}

#[derive(Serialize, Deserialize)]
struct Line {
    /// What decides the result: the case, the sources, the GPU, the compiler.
    key: String,
    size: String,
    point: String,
    tried: Tried,
}

/// The journal of one case on one GPU.
pub(super) struct Journal {
    path: PathBuf,
    key: String,
    known: BTreeMap<(String, String), Tried>,
}

impl Journal {
    /// Reads what is there for this key; a line that is no line of ours is left alone and not used.
    pub(super) fn open(path: &Path, key: &str) -> Result<Self> {
        let text = match fs::read_to_string(path) {
            Ok(text) => text,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => String::new(),
            Err(error) => {
                return Err(error).with_context(|| format!("cannot read `{}`", path.display()));
            }
        };
        let mut known = BTreeMap::new();
        for line in text
            .lines()
            .filter_map(|line| serde_json::from_str::<Line>(line).ok())
        {
            if line.key == key {
                known.insert((line.size, line.point), line.tried);
            }
        }
        Ok(Self {
            path: path.to_owned(),
            key: key.to_owned(),
            known,
        })
    }

    /// How a point fared before.
    pub(super) fn get(&self, size: &str, point: &str) -> Option<&Tried> {
        self.known.get(&(size.to_owned(), point.to_owned()))
    }

    /// Notes how a point fared.
    pub(super) fn note(&mut self, size: &str, point: &str, tried: Tried) -> Result<()> {
        let line = Line {
            key: self.key.clone(),
            size: size.to_owned(),
            point: point.to_owned(),
            tried: tried.clone(),
        };
        let mut text = serde_json::to_string(&line)?;
        text.push('\n');
        // A line at a time behind what is there: the file of a session that may be killed at any moment.
        let mut file = OpenOptions::new()
            .create(true)
            .append(true)
            .open(&self.path)
            .with_context(|| format!("cannot write `{}`", self.path.display()))?;
        file.write_all(text.as_bytes())?;
        self.known.insert((line.size, line.point), tried);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_journal_is_read_again_and_other_keys_are_left_alone() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.jsonl");
        let mut journal = Journal::open(&path, "one").unwrap();
        journal.note("n=1", "B=2", Tried::Begun).unwrap();
        journal
            .note("n=1", "B=2", Tried::Measured(vec![0.5]))
            .unwrap();
        journal.note("n=1", "B=4", Tried::Begun).unwrap();
        fs::write(
            &path,
            fs::read_to_string(&path).unwrap() + "no line of ours\n",
        )
        .unwrap();
        let journal = Journal::open(&path, "one").unwrap();
        assert_eq!(journal.get("n=1", "B=2"), Some(&Tried::Measured(vec![0.5])));
        assert_eq!(journal.get("n=1", "B=4"), Some(&Tried::Begun));
        assert_eq!(Journal::open(&path, "two").unwrap().get("n=1", "B=2"), None);
    }
}
