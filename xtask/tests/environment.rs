//! Compares the page of environment variables with the variables that the code names.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

const PAGE: &str = "docs/reference/environment.md";
const PREFIX: &str = "WARPSMITH_";

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap()
}

/// Files of the code below a folder.
fn code(folder: &Path, found: &mut Vec<PathBuf>) {
    const ENDINGS: [&str; 5] = ["rs", "py", "sh", "yaml", "yml"];
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            code(&path, found);
        } else if path
            .extension()
            .is_some_and(|ending| ENDINGS.iter().any(|known| ending == *known))
        {
            found.push(path);
        }
    }
}

/// The variables that a text names.
fn variables(text: &str) -> impl Iterator<Item = String> + '_ {
    text.match_indices(PREFIX).filter_map(|(start, _)| {
        let rest = &text[start + PREFIX.len()..];
        let end = rest
            .find(|c: char| !(c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_'))
            .unwrap_or(rest.len());
        (end > 0).then(|| format!("{PREFIX}{}", &rest[..end]))
    })
}

#[test]
fn the_page_lists_every_variable_of_the_code_and_no_other() {
    let mut files = Vec::new();
    for folder in ["crates", "xtask/src", "python", "deploy", "fuzz"] {
        let folder = root().join(folder);
        if folder.is_dir() {
            code(&folder, &mut files);
        }
    }
    let named: BTreeSet<String> = files
        .iter()
        .filter_map(|path| fs::read_to_string(path).ok())
        .flat_map(|text| variables(&text).collect::<Vec<_>>())
        .collect();
    assert!(named.len() > 20, "only {named:?} were found");
    let page = fs::read_to_string(root().join(PAGE)).unwrap();
    let listed: BTreeSet<String> = page
        .lines()
        .filter(|line| line.starts_with("| `"))
        .flat_map(|line| variables(line).take(1).collect::<Vec<_>>())
        .collect();
    let missing: Vec<_> = named.difference(&listed).collect();
    let unknown: Vec<_> = listed.difference(&named).collect();
    assert!(
        missing.is_empty() && unknown.is_empty(),
        "{PAGE} lacks {missing:?}, and nothing reads {unknown:?}"
    );
}
