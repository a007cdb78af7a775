//! Candidates that cheat, candidates that are honest in unusual ways, and candidates that do harm, each a
//! file whose first lines say its case and the verdict expected.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::RwLock;
use std::time::Duration;

use warpsmith_case::Case;
use warpsmith_case::judge::{Bench, Candidate, Judgement, Limits, Outcome, Task};

struct Example {
    name: String,
    text: String,
    case: String,
    expected: Vec<String>,
    forbid: Vec<String>,
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/judge")
}

fn examples(kind: &str) -> Vec<Example> {
    let mut files: Vec<PathBuf> = fs::read_dir(folder().join(kind))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    files.sort();
    let read = |path: &PathBuf| {
        let text = fs::read_to_string(path).unwrap();
        let said = |key: &str| {
            let begin = format!("# {key}: ");
            let line = text
                .lines()
                .take(3)
                .find_map(|line| line.strip_prefix(&begin));
            line.map(str::to_owned)
        };
        let words = |text: Option<String>| -> Vec<String> {
            text.iter()
                .flat_map(|text| text.split('|'))
                .map(str::to_owned)
                .collect()
        };
        Example {
            name: path.file_stem().unwrap().to_string_lossy().into_owned(),
            case: said("case").unwrap(),
            expected: words(said("expect")),
            forbid: words(said("forbid")),
            text,
        }
    };
    files.iter().map(read).collect()
}

/// The verdict in the words of the examples.
fn words(judgement: &Judgement) -> String {
    match &judgement.outcome {
        Outcome::Cheating { kind, .. } => {
            let kind = serde_json::to_value(kind).unwrap();
            format!("cheating {}", kind.as_str().unwrap())
        }
        Outcome::CompileFailure {
            line: Some(line), ..
        } => format!("compile_failure {line}"),
        Outcome::Crashed {
            line: Some(line), ..
        } => format!("crashed {line}"),
        other => other.word().to_owned(),
    }
}

/// Judges every example of a folder, and returns those whose verdict is another than they say.
fn judged(kind: &str, limits: &Limits, change: impl Fn(String) -> String) -> (usize, Vec<String>) {
    let examples = examples(kind);
    let timing = RwLock::new(());
    let mut other = Vec::new();
    let mut cases: Vec<&str> = examples.iter().map(|one| one.case.as_str()).collect();
    cases.sort_unstable();
    cases.dedup();
    for name in cases {
        let case = Case::open(&folder().join(format!("{name}.toml"))).unwrap();
        let task = Task::of_case(&case, 20_261_116, limits).unwrap();
        let mut groups: Vec<Vec<String>> = examples.iter().map(|one| one.forbid.clone()).collect();
        groups.sort();
        groups.dedup();
        for forbid in groups {
            let limits = Limits {
                forbid: forbid.clone(),
                ..limits.clone()
            };
            let mut bench = Bench::new(&task, &limits, &timing);
            for example in examples
                .iter()
                .filter(|one| one.case == name && one.forbid == forbid)
            {
                let candidate = Candidate {
                    id: example.name.clone(),
                    source: Some(change(example.text.clone())),
                    file: None,
                    entry: None,
                    case: None,
                    language: None,
                    launch: None,
                };
                let judgement = bench.judge(&candidate).unwrap();
                let said = words(&judgement);
                let fits = example
                    .expected
                    .iter()
                    .any(|expected| said == *expected || said.split(' ').next() == Some(expected));
                if !fits {
                    other.push(format!(
                        "{}: {}",
                        example.name,
                        serde_json::to_string(&judgement).unwrap()
                    ));
                }
            }
        }
    }
    (examples.len(), other)
}

fn limits() -> Limits {
    Limits {
        // A busy machine is no reason for a verdict.
        call: Duration::from_secs(30),
        ..Limits::default()
    }
}

pub(crate) fn every_cheat_is_found() {
    let reference = folder().join("reference.py").canonicalize().unwrap();
    let (count, other) = judged("cheating", &limits(), |text| {
        text.replace("REFERENCE", &reference.display().to_string())
    });
    assert!(count >= 25);
    assert!(
        other.is_empty(),
        "{} of {count}\n{}",
        other.len(),
        other.join("\n")
    );
}

pub(crate) fn no_honest_candidate_is_accused() {
    let (count, other) = judged("honest", &limits(), |text| text);
    assert!(count >= 40);
    assert!(
        other.is_empty(),
        "{} of {count}\n{}",
        other.len(),
        other.join("\n")
    );
}

pub(crate) fn hostile_candidates_harm_nobody() {
    let victim = tempfile::tempdir().unwrap();
    let file = victim.path().join("kept");
    fs::write(&file, "still here").unwrap();
    let limits = Limits {
        load: Duration::from_secs(3),
        call: Duration::from_secs(3),
        memory: 256 << 20,
        ..Limits::default()
    };
    let (count, other) = judged("hostile", &limits, |text| {
        text.replace("VICTIM", &victim.path().display().to_string())
    });
    assert!(
        other.is_empty(),
        "{} of {count}\n{}",
        other.len(),
        other.join("\n")
    );
    assert_eq!(fs::read_to_string(&file).unwrap(), "still here");
}
