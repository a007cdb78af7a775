//! What `warpsmith judge` said about the kernels of a folder, where it has been there.

use std::collections::HashMap;
use std::path::Path;

use anyhow::{Context, Result, bail};
use warpsmith_case::judge::{Explanation, Judgement, Outcome, Speed};

/// Verdicts by the candidates' names.
#[derive(Default)]
pub(super) struct Verdicts(HashMap<String, Judgement>);

impl Verdicts {
    /// Reads the verdicts beside `NAME.jsonl`: one file, or one for each share of a judge.
    pub(super) fn read(folder: &Path, name: &str) -> Result<Self> {
        let mut found = HashMap::new();
        let Ok(entries) = std::fs::read_dir(folder) else {
            return Ok(Self(found));
        };
        for entry in entries {
            let path = entry?.path();
            let file = path.file_name().unwrap_or_default().to_string_lossy();
            let rest = file.strip_prefix(name);
            let is_verdicts =
                rest.is_some_and(|rest| rest.starts_with(".verdicts") && rest.ends_with(".jsonl"));
            if is_verdicts {
                read_file(&path, &mut found)?;
            }
        }
        Ok(Self(found))
    }

    /// The speed of a kernel that was found correct and timed.
    pub(super) fn speed(&self, id: &str) -> Option<Speed> {
        match &self.0.get(id)?.outcome {
            Outcome::Correct { speed, .. } => *speed,
            _ => None,
        }
    }

    /// What limits a slow kernel by its counters, where they were read.
    pub(super) fn limits(&self, id: &str) -> Option<&Explanation> {
        self.0.get(id)?.limits.as_ref()
    }

    /// How a mistake shows: the verdict in a word and what it rests on. `None` where nobody looked.
    pub(super) fn shows(&self, id: &str) -> Option<(&'static str, String)> {
        match &self.0.get(id)?.outcome {
            Outcome::NotRun { .. } => None,
            correct @ Outcome::Correct { .. } => Some((correct.word(), String::new())),
            other => Some((other.word(), other.detail())),
        }
    }
}

/// Adds the verdicts of a file; a candidate that was judged again has its last one.
fn read_file(path: &Path, found: &mut HashMap<String, Judgement>) -> Result<()> {
    let text = std::fs::read_to_string(path)
        .with_context(|| format!("cannot read `{}`", path.display()))?;
    for (index, line) in text.split_inclusive('\n').enumerate() {
        match serde_json::from_str::<Judgement>(line) {
            Ok(judgement) => found.insert(judgement.id.clone(), judgement),
            // A judge that is at work, or was killed, may leave half a line.
            Err(_) if !line.ends_with('\n') => continue,
            Err(error) => bail!(
                "`{}:{}` is not a verdict ({error}); remove the file and judge again",
                path.display(),
                index + 1
            ),
        };
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn verdict(id: &str, outcome: &str) -> String {
        format!(r#"{{"id":"{id}","calls":1,"took":0.1,{outcome}}}"#) + "\n"
    }

    #[test]
    fn verdicts_of_all_shares_are_read_and_half_a_line_is_left_out() {
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str, text: String| std::fs::write(folder.path().join(name), text);
        let speed = r#""verdict":"correct","speed":{"speedup":2.0,"low":1.9,"high":2.1,"seconds":1e-5,"reference_seconds":2e-5,"rounds":9}"#;
        write("candidates.verdicts-0-of-2.jsonl", verdict("a", speed)).unwrap();
        let wrong = verdict("b", r#""verdict":"wrong","detail":"out[3] is 1, not 2""#);
        let half = wrong + r#"{"id":"c","ver"#;
        write("candidates.verdicts-1-of-2.jsonl", half).unwrap();
        write("fault_candidates.verdicts.jsonl", "no JSON\n".to_owned()).unwrap();
        let verdicts = Verdicts::read(folder.path(), "candidates").unwrap();
        assert_eq!(verdicts.0.len(), 2);
        assert_eq!(verdicts.speed("a").unwrap().low, 1.9);
        let shown = Some(("wrong", "out[3] is 1, not 2".to_owned()));
        assert_eq!(verdicts.shows("b"), shown);
        assert!(verdicts.shows("c").is_none() && verdicts.speed("b").is_none());
        let error = Verdicts::read(folder.path(), "fault_candidates")
            .err()
            .unwrap();
        assert!(
            error
                .to_string()
                .contains("fault_candidates.verdicts.jsonl:1"),
            "{error}"
        );
    }
}
