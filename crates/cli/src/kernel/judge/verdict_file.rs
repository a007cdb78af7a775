//! Verdicts line by line, so that a run goes on where it stopped.

use std::collections::BTreeMap;
use std::fs::{self, OpenOptions};
use std::io::{ErrorKind, Write, stdout};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};
use warpsmith_case::judge::Judgement;
use warpsmith_formats::{is_stdout, write_output};

/// A line of the file.
#[derive(Clone, Serialize, Deserialize)]
struct Line {
    #[serde(flatten)]
    judgement: Judgement,
    /// What decides the verdict: source, case and limits.
    key: String,
}

/// The file of verdicts.
pub(super) struct VerdictFile {
    path: PathBuf,
    known: BTreeMap<String, Judgement>,
}

impl VerdictFile {
    /// Reads what is there; a line that is none of ours is an error, because the file would be lost.
    /// `keys` has the candidates of this run: a verdict under another key, or on what could not be run,
    /// leaves the file, because a new one follows. Verdicts on other candidates stay.
    pub(super) fn open(path: &Path, keys: &BTreeMap<String, String>) -> Result<Self> {
        let mut file = Self {
            path: path.to_owned(),
            known: BTreeMap::new(),
        };
        if is_stdout(path) {
            return Ok(file);
        }
        let text = match fs::read_to_string(path) {
            Ok(text) => text,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(file),
            Err(error) => {
                return Err(error).with_context(|| format!("cannot read `{}`", path.display()));
            }
        };
        let mut kept = String::new();
        for (index, whole) in text.split_inclusive('\n').enumerate() {
            match serde_json::from_str::<Line>(whole) {
                Ok(line) => {
                    let id = line.judgement.id.clone();
                    let key = keys.get(&id);
                    let is_wanted = key.is_some_and(|key| {
                        *key == line.key && line.judgement.outcome.word() != "not_run"
                    });
                    if is_wanted {
                        file.known.insert(id, line.judgement);
                    }
                    if is_wanted || key.is_none() {
                        kept.push_str(whole);
                    }
                }
                // The last line of a run that was killed may be half a line.
                Err(_) if !whole.ends_with('\n') => {}
                Err(error) => {
                    return Err(error).with_context(|| {
                        format!(
                            "`{}:{}` is not a verdict; name another file with `--output`",
                            path.display(),
                            index + 1
                        )
                    });
                }
            }
        }
        if kept != text {
            write_output(path, kept.as_bytes())?;
        }
        Ok(file)
    }

    /// The verdict of an earlier run on the same source, case and limits.
    pub(super) fn get(&self, id: &str) -> Option<&Judgement> {
        self.known.get(id)
    }

    /// Writes what limits kernels into their verdicts, which are there already.
    pub(super) fn amend(path: &Path, judgements: &[Judgement]) -> Result<()> {
        let explained = judgements.iter().filter(|one| one.limits.is_some());
        let explained: BTreeMap<&str, &Judgement> =
            explained.map(|one| (one.id.as_str(), one)).collect();
        let text = fs::read_to_string(path)
            .with_context(|| format!("cannot read `{}`", path.display()))?;
        let mut amended = String::with_capacity(text.len());
        for whole in text.split_inclusive('\n') {
            let line: Option<Line> = serde_json::from_str(whole).ok();
            let known = |line: &Line| explained.get(line.judgement.id.as_str()).copied();
            match line.and_then(|line| Some((known(&line)?.clone(), line.key))) {
                Some((judgement, key)) => {
                    amended.push_str(&serde_json::to_string(&Line { judgement, key })?);
                    amended.push('\n');
                }
                None => amended.push_str(whole),
            }
        }
        Ok(write_output(path, amended.as_bytes())?)
    }

    /// Appends a verdict.
    pub(super) fn note(&self, judgement: &Judgement, key: &str) -> Result<()> {
        let mut text = serde_json::to_string(&Line {
            judgement: judgement.clone(),
            key: key.to_owned(),
        })?;
        text.push('\n');
        if is_stdout(&self.path) {
            let mut out = stdout().lock();
            out.write_all(text.as_bytes())?;
            return Ok(out.flush()?);
        }
        // A line at a time behind what is there: the run may be killed at any moment.
        let mut file = OpenOptions::new()
            .create(true)
            .append(true)
            .open(&self.path)
            .with_context(|| format!("cannot write `{}`", self.path.display()))?;
        Ok(file.write_all(text.as_bytes())?)
    }
}

#[cfg(test)]
mod tests {
    use warpsmith_case::Counters;
    use warpsmith_case::judge::{Explanation, Outcome};

    use super::*;

    fn judgement(id: &str) -> Judgement {
        let detail = "by far".into();
        Judgement::new(id, 1, Outcome::Wrong { detail })
    }

    fn keys(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
        let pairs = pairs.iter();
        pairs
            .map(|(id, key)| ((*id).to_owned(), (*key).to_owned()))
            .collect()
    }

    #[test]
    fn verdicts_are_found_again_and_half_a_line_is_dropped() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("v.jsonl");
        let wanted = keys(&[("a", "one")]);
        let file = VerdictFile::open(&path, &wanted).unwrap();
        file.note(&judgement("a"), "one").unwrap();
        let whole = fs::read_to_string(&path).unwrap();
        fs::write(&path, format!("{whole}{{\"id\": \"b\", \"ver")).unwrap();
        let file = VerdictFile::open(&path, &wanted).unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), whole);
        assert_eq!(file.get("a"), Some(&judgement("a")));
    }

    #[test]
    fn what_is_judged_again_leaves_the_file_and_others_stay() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("v.jsonl");
        let file = VerdictFile::open(&path, &keys(&[])).unwrap();
        file.note(&judgement("changed"), "old").unwrap();
        file.note(&judgement("other"), "other").unwrap();
        file.note(&Judgement::not_run("later", 1, "no GPU".into()), "key")
            .unwrap();
        let wanted = keys(&[("changed", "new"), ("later", "key")]);
        let file = VerdictFile::open(&path, &wanted).unwrap();
        assert_eq!((file.get("changed"), file.get("later")), (None, None));
        let left = fs::read_to_string(&path).unwrap();
        assert!(
            left.starts_with("{\"id\":\"other\"") && left.lines().count() == 1,
            "{left}"
        );
    }

    #[test]
    fn what_limits_a_kernel_comes_to_its_verdict_and_others_stay() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("v.jsonl");
        let wanted = keys(&[("a", "one"), ("b", "two")]);
        let file = VerdictFile::open(&path, &wanted).unwrap();
        file.note(&judgement("a"), "one").unwrap();
        file.note(&judgement("b"), "two").unwrap();
        let mut explained = judgement("b");
        explained.limits = Some(Explanation {
            sentences: vec!["it waits".into()],
            counters: Counters::default(),
        });
        VerdictFile::amend(&path, &[judgement("a"), explained.clone()]).unwrap();
        let file = VerdictFile::open(&path, &wanted).unwrap();
        assert_eq!(file.get("a"), Some(&judgement("a")));
        assert_eq!(file.get("b"), Some(&explained));
    }

    #[test]
    fn a_file_of_something_else_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("v.jsonl");
        fs::write(&path, "a letter\nanother\n").unwrap();
        let error = VerdictFile::open(&path, &keys(&[])).err().unwrap();
        assert!(error.to_string().contains("v.jsonl:1` is not a verdict"));
        assert_eq!(fs::read_to_string(&path).unwrap(), "a letter\nanother\n");
    }
}
