//! Candidates as lines of JSON, or as the files of a KernelBench run.

use std::fs;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::cuda_source::read_cuda_source;
use crate::description::Launch;
use crate::expression::Expression;
use crate::judge::fenced_answer::code_of_answer;

/// A line of candidates is at most this long: source text, not data.
const LONGEST_LINE: usize = 16 << 20;

/// A candidate for a task.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Candidate {
    /// What its verdict is called.
    pub id: String,
    /// Its source text; this or `file`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
    /// The file that holds its source.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<PathBuf>,
    /// The function, class or kernel; the case's own name where it is missing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub entry: Option<String>,
    /// The case or KernelBench problem, where it is not the same for all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub case: Option<PathBuf>,
    /// What it is written in; seen from the source where it is missing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub language: Option<Language>,
    /// How a CUDA kernel is launched, where it is not as the case says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub launch: Option<CandidateLaunch>,
}

/// Blocks and threads of a candidate: one to three whole numbers or expressions each.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CandidateLaunch {
    /// Blocks.
    pub grid: Vec<Amount>,
    /// Threads of a block.
    pub block: Vec<Amount>,
    /// Bytes of dynamic shared memory.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shared: Option<Amount>,
}

/// A whole number, or an expression as in a case.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Amount {
    /// A whole number.
    Whole(i64),
    /// An expression.
    Text(String),
}

impl CandidateLaunch {
    /// The launch as a case has it, or what is wrong with it.
    pub(crate) fn read(&self) -> Result<Launch, String> {
        let amount = |amount: &Amount| match amount {
            Amount::Whole(number) => Ok(Expression::from(*number)),
            Amount::Text(text) => Expression::parse(text).map_err(|error| error.to_string()),
        };
        let three = |key: &str, list: &[Amount]| {
            if list.is_empty() || list.len() > 3 {
                return Err(format!("`launch.{key}` has one to three dimensions"));
            }
            let mut three: [Expression; 3] = [1.into(), 1.into(), 1.into()];
            for (slot, one) in three.iter_mut().zip(list) {
                *slot = amount(one)?;
            }
            Ok(three)
        };
        Ok(Launch::Grid {
            grid: three("grid", &self.grid)?,
            block: three("block", &self.block)?,
            shared: amount(self.shared.as_ref().unwrap_or(&Amount::Whole(0)))?,
        })
    }
}

/// What a candidate is written in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Language {
    /// CUDA C++.
    Cuda,
    /// A Warp-style Python kernel.
    Warp,
    /// A Python function or model.
    Python,
}

impl Candidate {
    /// The source text, without the Markdown that models write around it.
    pub fn text(&self) -> Result<String, String> {
        match (&self.source, &self.file) {
            (Some(source), None) => Ok(code_of_answer(source).to_owned()),
            (None, Some(file)) => match read_cuda_source(file) {
                Ok(text) => Ok(code_of_answer(&text).to_owned()),
                Err(error) => Err(format!("cannot read `{}`: {error}", file.display())),
            },
            _ => Err("either `source` or `file` is needed".into()),
        }
    }

    /// What it is written in.
    pub fn language(&self, text: &str) -> Language {
        if let Some(language) = self.language {
            return language;
        }
        let ending = self.file.as_ref().and_then(|file| file.extension());
        let is_cuda = ending.is_some_and(|ending| ending == "cu");
        let starts = |word: &str| text.lines().any(|line| line.trim_start().starts_with(word));
        if is_cuda || (text.contains("__global__") && !starts("def ") && !starts("import ")) {
            Language::Cuda
        } else if starts("@wp.kernel") || starts("@warp.kernel") {
            Language::Warp
        } else {
            Language::Python
        }
    }
}

/// Reads candidates, one to a line; each mistake names its line. Files are relative to `folder`.
pub fn read_candidates(name: &str, text: &str, folder: &Path) -> Result<Vec<Candidate>, String> {
    let mut candidates: Vec<Candidate> = Vec::new();
    for (index, line) in text.lines().enumerate() {
        let place = format!("{name}:{}", index + 1);
        if line.trim().is_empty() {
            continue;
        }
        if line.len() > LONGEST_LINE {
            return Err(format!(
                "{place}: a candidate of more than {LONGEST_LINE} bytes"
            ));
        }
        let mut candidate: Candidate = serde_json::from_str(line)
            // Its own line number is always 1.
            .map_err(|error| {
                format!(
                    "{place}: {}",
                    error.to_string().replace(" at line 1 column", ", column")
                )
            })?;
        if candidate.source.is_some() == candidate.file.is_some() {
            return Err(format!(
                "{place}: `{}` needs either `source` or `file`",
                candidate.id
            ));
        }
        for path in [&mut candidate.file, &mut candidate.case]
            .into_iter()
            .flatten()
        {
            *path = folder.join(&*path);
        }
        if candidates.iter().any(|other| other.id == candidate.id) {
            return Err(format!("{place}: the id `{}` is used twice", candidate.id));
        }
        candidates.push(candidate);
    }
    Ok(candidates)
}

/// The candidates of a KernelBench run, `level_1_problem_19_sample_0_kernel.py`, each with its problem
/// from the folder of problems.
pub fn candidates_of_folder(run: &Path, problems: &Path) -> Result<Vec<Candidate>, String> {
    let list = |folder: &Path| -> Result<Vec<PathBuf>, String> {
        let entries = fs::read_dir(folder)
            .map_err(|error| format!("cannot read `{}`: {error}", folder.display()))?;
        let mut files: Vec<PathBuf> = entries
            .filter_map(|entry| Some(entry.ok()?.path()))
            .collect();
        files.sort();
        Ok(files)
    };
    let mut found = Vec::new();
    for file in list(run)? {
        let stem = file
            .file_stem()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned();
        let words: Vec<&str> = stem.split('_').collect();
        let ["level", level, "problem", problem, "sample", _, "kernel"] = words[..] else {
            continue;
        };
        let beginning = format!("{problem}_");
        let folder = problems.join(format!("level{level}"));
        let case = list(&folder)?.into_iter().find(|path| {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            name.starts_with(&beginning) && name.ends_with(".py")
        });
        let Some(case) = case else {
            return Err(format!(
                "`{}`: there is no problem {problem} in `{}`",
                file.display(),
                folder.display()
            ));
        };
        found.push(Candidate {
            id: stem.trim_end_matches("_kernel").to_owned(),
            source: None,
            file: Some(file),
            entry: None,
            case: Some(case),
            language: Some(Language::Python),
            launch: None,
        });
    }
    match found.is_empty() {
        true => Err(format!(
            "`{}` has no files like `level_1_problem_19_sample_0_kernel.py`",
            run.display()
        )),
        false => Ok(found),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn candidates_are_read_and_mistakes_name_their_line() {
        let read = |text: &str| read_candidates("c.jsonl", text, Path::new("/x"));
        let good = read("{\"id\":\"a\",\"source\":\"def f(x): return x\"}\n\n{\"id\":\"b\",\"file\":\"b.cu\"}\n").unwrap();
        assert_eq!(good[1].file.as_deref(), Some(Path::new("/x/b.cu")));
        assert_eq!(good[0].language("def f(x): return x"), Language::Python);
        assert_eq!(good[1].language(""), Language::Cuda);
        for (text, said) in [
            ("{\"id\":\"a\",\"source\":\"\"}\n{", "c.jsonl:2: "),
            (
                "{\"id\":\"a\"}",
                "c.jsonl:1: `a` needs either `source` or `file`",
            ),
            (
                "{\"id\":\"a\",\"source\":\"\"}\n{\"id\":\"a\",\"source\":\"\"}",
                "c.jsonl:2: the id `a` is used twice",
            ),
            ("{\"id\":\"a\",\"sorce\":\"\"}", "unknown field `sorce`"),
        ] {
            let error = read(text).unwrap_err();
            assert!(error.contains(said), "{error}");
        }
    }

    #[test]
    fn a_candidate_may_have_a_launch_of_its_own() {
        let read = |launch: &str| {
            let line = format!(r#"{{"id": "a", "source": "x", "launch": {launch}}}"#);
            let read = read_candidates("c.jsonl", &line, Path::new(""))?;
            read[0]
                .launch
                .as_ref()
                .map(CandidateLaunch::read)
                .transpose()
        };
        let Ok(Some(Launch::Grid { grid, block, .. })) =
            read(r#"{"grid": ["ceil_div(n, 256)", 2], "block": [256]}"#)
        else {
            panic!();
        };
        let size = [("n".to_owned(), 1000)].into_iter().collect();
        assert_eq!(grid.map(|one| one.value(&size).unwrap()), [4, 2, 1]);
        assert_eq!(block.map(|one| one.value(&size).unwrap()), [256, 1, 1]);
        for wrong in [
            r#"{"grid": [], "block": [1]}"#,
            r#"{"grid": ["n +"], "block": [1]}"#,
            r#"{"grid": [1]}"#,
            r#"{"grid": [1], "block": [1], "threads": 3}"#,
        ] {
            assert!(read(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn languages_are_seen_from_the_source() {
        let candidate = |source: &str| Candidate {
            id: "a".into(),
            source: Some(source.into()),
            file: None,
            entry: None,
            case: None,
            language: None,
            launch: None,
        };
        for (source, language) in [
            (
                "extern \"C\" __global__ void f(float *x) {}",
                Language::Cuda,
            ),
            (
                "import warp as wp\n@wp.kernel\ndef f(x: int): pass",
                Language::Warp,
            ),
            (
                "import torch\nsource = '__global__ void f() {}'\ndef g(x): return x",
                Language::Python,
            ),
        ] {
            assert_eq!(candidate(source).language(source), language, "{source}");
        }
    }
}
